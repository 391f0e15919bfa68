"""All that a report is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from personalbench.analysis.records import Analysis
from personalbench.bundle import Bundle
from personalbench.judge.records import AuthorTraits, Judgement
from personalbench.judge.trust import Trust
from personalbench.params import Params
from personalbench.report.results import Results
from personalbench.report.validation import Validation
from personalbench.training.outcomes import Outcome
from personalbench.twins.answers import Answer


@dataclass(frozen=True)
class Run:
    """One run of the pipeline.

    Attributes:
        results: The scores of all lines.
        analysis: The lines compared.
        validation: What the encoder can tell on real text.
        bundles: All authors.
        answers: Of the ceiling and every twin, by line.
        judgements: Of the same lines.
        traits: What the judge asked about each author.
        trust: What trying the judge showed.
        params: What was run.
        trainings: What training gave, by trained twin and author.
    """

    results: Results
    analysis: Analysis
    validation: Validation
    bundles: Sequence[Bundle]
    answers: Mapping[str, Sequence[Answer]]
    judgements: Mapping[str, Sequence[Judgement]]
    traits: Sequence[AuthorTraits]
    trust: Trust
    params: Params
    trainings: Mapping[str, Mapping[str, Outcome]] = field(default_factory=dict)

    @property
    def generators(self) -> dict[str, str | None]:
        """The model that wrote each twin's answers; None for answers from a file."""
        return {twin: self.params.generator_of(twin) for twin in self.results.twins}

    @property
    def baseline(self) -> str | None:
        """The twin that knows nothing of the author, if the run has one.

        One that saw first sentences knows some of the author's own words.
        """
        plain = (
            twin
            for twin in self.results.twins
            if self.params.method_of(twin) == "non_personalized"
            and self.params.topics_of(twin) == "summary"
        )
        return next(plain, None)

    def basis(self, over: str, judged: bool = False) -> str:
        """What numbers are over, and what made them.

        Args:
            over: For example ``40 generations by 2 authors``.
            judged: Whether the judge has a part in them.
        """
        encoder = self.results.encoder
        writers = dict.fromkeys(name or "from a file" for name in self.generators.values())
        makers = [
            f"encoder {encoder.name} ({encoder.revision[:12]}, {encoder.max_length} tokens a "
            "document)",
            *([f"judge {self.params.judge.model}"] if judged else []),
            f"generator {', '.join(writers)}",
        ]
        return f"n = {over}; {'; '.join(makers)}."
