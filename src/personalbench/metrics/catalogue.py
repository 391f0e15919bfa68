"""What every metric means: the source of docs, tracking descriptions and tooltips."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

MAIN_METRICS = ("tmr", "same_author", "func_cos", "punct_cos", "rouge_l")
"""What is shown first, after the encoder's likeness."""

ReferenceLine = Literal["ceiling", "floor", "calibration", "chance"]
Group = Literal["likeness", "judge", "style", "content", "generation", "validation", "comparison"]


class Metric(BaseModel):
    """One metric.

    Attributes:
        key: Its name in every table and file: lower-case letters, digits and ``_``.
        title: Its name in headings.
        short: Its name in the headings of narrow columns; the title where it is empty.
        group: Which lens it belongs to.
        meaning: One sentence.
        unit: What one unit is; empty for a plain ratio.
        low: Smallest possible value; None without bound.
        high: Largest possible value; None without bound.
        higher_is_better: None where neither end is better.
        target: What a perfect imitation would have, where that is neither end.
        reference_lines: ``ceiling``, the author's own held-out documents put through the
            same measurement; ``floor``, other authors' documents put through it;
            ``calibration``, the distribution over unrelated authors; ``chance``, what
            guessing would get.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    title: str
    short: str = ""
    group: Group
    meaning: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    higher_is_better: bool | None = None
    target: float | None = None
    reference_lines: tuple[ReferenceLine, ...] = ()

    @property
    def column(self) -> str:
        """Its name in a narrow column."""
        return self.short or self.title

    @property
    def range(self) -> str:
        """Smallest and largest value, in words."""
        if self.low is None and self.high is None:
            return "any"
        low, high = (None if end is None else f"{end:g}" for end in (self.low, self.high))
        if high is None:
            return f"from {low}"
        return f"up to {high}" if low is None else f"{low} to {high}"

    @property
    def direction(self) -> str:
        """Which way is better, in words."""
        if self.higher_is_better is not None:
            return "higher is better" if self.higher_is_better else "lower is better"
        return "neither" if self.target is None else f"nearer {self.target:g} is better"


def catalogue(
    family: str = "luar", name: str | None = None, group_size: int = 5
) -> Mapping[str, Metric]:
    """All metrics by key.

    Args:
        family: The encoder's family, which prefixes what it measures; see
            :class:`personalbench.encoders.base.Encoder`.
        name: The encoder's own name, for headings; by default the family's.
        group_size: Documents in one authorship vector.
    """
    shown = name or ("LUAR" if family == "luar" else family)
    own = _encoder_metrics(family, shown, group_size)
    metrics = (*own, *_JUDGE, *_STYLE, *_CONTENT, *_OTHER)
    return {metric.key: metric for metric in metrics}


def _encoder_metrics(family: str, name: str, size: int) -> tuple[Metric, ...]:
    return (
        Metric(
            key=family,
            title=f"{name} likeness",
            short=f"{name} {size}v{size}",
            group="likeness",
            meaning=(
                "Cosine between the authorship vector of a group of answers and that of as many"
                " profile documents, averaged over complete groups."
            ),
            low=-1,
            high=1,
            higher_is_better=True,
            reference_lines=("ceiling", "floor", "calibration"),
        ),
        Metric(
            key=f"{family}_1v5",
            title=f"{name} likeness of one answer",
            short=f"{name} 1v{size}",
            group="likeness",
            meaning=(
                "Cosine between the authorship vector of a single answer and that of the profile"
                " documents: a diagnostic, lower than the likeness of a group by construction."
            ),
            low=-1,
            high=1,
            higher_is_better=True,
            reference_lines=("ceiling", "floor"),
        ),
        *(
            Metric(
                key=f"{key}_uncopied",
                title=f"{title} without copied answers",
                group="likeness",
                meaning=(
                    "The same without answers that repeat documents which the twin saw; a group"
                    " with such an answer is out as a whole."
                ),
                low=-1,
                high=1,
                higher_is_better=True,
                reference_lines=("ceiling", "floor"),
            )
            for key, title in (
                (family, f"{name} likeness"),
                (f"{family}_1v5", f"{name} likeness of one answer"),
            )
        ),
        Metric(
            key=f"{family}_percentile",
            title="Percentile among other authors",
            group="likeness",
            meaning="Share of unrelated authors who are less like the profile than the twin is.",
            unit="%",
            low=0,
            high=100,
            higher_is_better=True,
            reference_lines=("ceiling",),
        ),
        Metric(
            key=f"{family}_improvement",
            title="Improvement over the baseline",
            group="likeness",
            meaning="Likeness of the twin less that of the unpersonalized model.",
            low=-2,
            high=2,
            higher_is_better=True,
        ),
        Metric(
            key=f"{family}_gap_closed",
            title="Gap closed",
            group="likeness",
            meaning=(
                "Improvement as a share of the distance from the baseline to the author's own"
                " held-out documents, below 0 and above 1 included."
            ),
            higher_is_better=True,
        ),
        Metric(
            key=f"{family}_target_auc",
            title="Target against wrong author",
            group="likeness",
            meaning=(
                "Chance that a generation is more like its target author than another generation"
                " is like an author who was not its target."
            ),
            low=0,
            high=1,
            higher_is_better=True,
            reference_lines=("chance",),
        ),
        Metric(
            key=f"{family}_truncated_share",
            title="Truncated documents",
            group="generation",
            meaning="Share of documents longer than the encoder reads.",
            low=0,
            high=1,
            higher_is_better=False,
        ),
    )


_JUDGE = (
    Metric(
        key="tmr",
        title="Trait match rate",
        short="TMR",
        group="judge",
        meaning=(
            "Share of the author's five style traits that the judge finds in a text; above the"
            " author's own rate it measures exaggeration rather than likeness."
        ),
        low=0,
        high=1,
        higher_is_better=True,
        reference_lines=("ceiling", "floor"),
    ),
    Metric(
        key="same_author",
        title="Same-author share",
        short="SA",
        group="judge",
        meaning=(
            "Share of texts that the judge takes for the work of the author of one reference"
            " document."
        ),
        low=0,
        high=1,
        higher_is_better=True,
        reference_lines=("ceiling", "floor"),
    ),
    Metric(
        key="evidence_quoted",
        title="Evidence that is quoted",
        group="judge",
        meaning="Share of the judge's quotes of evidence that stand in the text it judged.",
        low=0,
        high=1,
        higher_is_better=True,
    ),
    Metric(
        key="judge_failure_rate",
        title="Failed judgements",
        group="judge",
        meaning="Share of judge calls that gave no valid verdict; they are left out of all means.",
        low=0,
        high=1,
        higher_is_better=False,
    ),
    Metric(
        key="trait_jaccard",
        title="Trait stability",
        group="judge",
        meaning=(
            "Mean pairwise Jaccard index of the traits found for one author in repeated"
            " extractions."
        ),
        low=0,
        high=1,
        higher_is_better=True,
    ),
)

_STYLE = (
    Metric(
        key="func_cos",
        title="Function-word cosine",
        short="FuncCos",
        group="style",
        meaning=(
            "Cosine between the relative frequencies of 60 function words in a text and in the"
            " author's profile."
        ),
        low=0,
        high=1,
        higher_is_better=True,
        reference_lines=("ceiling", "floor"),
    ),
    Metric(
        key="punct_cos",
        title="Punctuation cosine",
        short="PunctCos",
        group="style",
        meaning=(
            "Cosine between the relative frequencies of 10 punctuation marks in a text and in the"
            " author's profile."
        ),
        low=0,
        high=1,
        higher_is_better=True,
        reference_lines=("ceiling", "floor"),
    ),
    Metric(
        key="sentence_length_diff",
        title="Sentence length difference",
        short="sentence length",
        group="style",
        meaning="Mean sentence length of a text less that of the author's profile.",
        unit="words",
        target=0,
        reference_lines=("ceiling", "floor"),
    ),
    Metric(
        key="word_length_diff",
        title="Word length difference",
        short="word length",
        group="style",
        meaning="Mean word length of a text less that of the author's profile.",
        unit="characters",
        target=0,
        reference_lines=("ceiling", "floor"),
    ),
    Metric(
        key="mattr_diff",
        title="Vocabulary richness difference",
        short="MATTR",
        group="style",
        meaning=(
            "Moving-average type-token ratio over 50 words of a text less that of the author's"
            " profile, comparable across lengths."
        ),
        low=-1,
        high=1,
        target=0,
        reference_lines=("ceiling", "floor"),
    ),
    Metric(
        key="ttr_diff",
        title="Type-token ratio difference",
        short="TTR",
        group="style",
        meaning=(
            "Type-token ratio of a text less that of the author's profile, which falls with"
            " length: read it with the length ratio."
        ),
        low=-1,
        high=1,
        reference_lines=("ceiling", "floor"),
    ),
    Metric(
        key="length_ratio",
        title="Length ratio",
        short="length",
        group="style",
        meaning="Words of a text for each word of the author's profile.",
        low=0,
    ),
)

_CONTENT = (
    Metric(
        key="rouge_l",
        title="ROUGE-L",
        group="content",
        meaning=(
            "Overlap of a text with the case's own reference document by longest common"
            " subsequence of words: content, never style."
        ),
        low=0,
        high=1,
        reference_lines=("ceiling", "floor"),
    ),
    Metric(
        key="copied_run",
        title="Longest copied run",
        short="copied run",
        group="content",
        meaning="Longest run of words that a text has verbatim from a profile document.",
        unit="words",
        low=0,
        higher_is_better=False,
        reference_lines=("ceiling", "floor"),
    ),
    Metric(
        key="copied_share",
        title="Copied share",
        group="content",
        meaning="Share of a text's runs of five words that occur in the profile documents.",
        low=0,
        high=1,
        higher_is_better=False,
        reference_lines=("ceiling", "floor"),
    ),
    Metric(
        key="contamination_run",
        title="Longest run shared with the source",
        group="content",
        meaning="Longest run of words that a topic prompt has verbatim from its source document.",
        unit="words",
        low=0,
        higher_is_better=False,
    ),
    Metric(
        key="contamination_share",
        title="Contaminated share",
        group="content",
        meaning="Share of a topic prompt's runs of five words that occur in its source document.",
        low=0,
        high=1,
        higher_is_better=False,
    ),
)

_OTHER = (
    Metric(
        key="failure_rate",
        title="Failed generations",
        group="generation",
        meaning="Share of cases without a usable answer; they are left out of all means.",
        low=0,
        high=1,
        higher_is_better=False,
    ),
    Metric(
        key="auc",
        title="AUC",
        group="validation",
        meaning=(
            "Chance that a same-author comparison scores above a different-author one, ties"
            " counting half."
        ),
        low=0,
        high=1,
        higher_is_better=True,
        reference_lines=("chance",),
    ),
    Metric(
        key="eer",
        title="Equal error rate",
        group="validation",
        meaning="Error rate at the threshold where false alarms are as frequent as misses.",
        low=0,
        high=1,
        higher_is_better=False,
        reference_lines=("chance",),
    ),
    Metric(
        key="c_at_1",
        title="c@1",
        group="validation",
        meaning="Accuracy that credits unanswered cases at the rate of right answers.",
        low=0,
        high=1,
        higher_is_better=True,
        reference_lines=("chance",),
    ),
    Metric(
        key="f05u",
        title="F0.5u",
        group="validation",
        meaning=(
            "F-measure that weighs precision above recall and counts an unanswered case as a miss."
        ),
        low=0,
        high=1,
        higher_is_better=True,
    ),
    Metric(
        key="brier",
        title="Brier score (PAN)",
        group="validation",
        meaning="1 less the mean squared error of the probabilities given.",
        low=0,
        high=1,
        higher_is_better=True,
    ),
    Metric(
        key="cohens_d",
        title="Cohen's d",
        group="comparison",
        meaning="Difference of two twins' means over the pooled standard deviation of their cases.",
        unit="standard deviations",
    ),
)
