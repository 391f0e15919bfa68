"""What a scored run of one person holds: the content of ``scores.json``, without any text."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from personalbench.bundle import ModelIdentity
from personalbench.metrics.copying import LIMITS
from personalbench.metrics.estimate import Estimate, Finite, missing
from personalbench.scores import EncoderIdentity


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BundleIdentity(_Record):
    """Which frozen evaluation was answered.

    Attributes:
        sha256: Of its manifest, and so of everything in it.
        author: Whose writing is imitated.
        genre: What the prompts ask for.
        seed: Selected the profile documents.
        group_size: Documents in one authorship vector.
        selected_profile: Ids of the profile documents in the person's vector.
        profile: Number of profile documents.
        cases: Number of cases.
        prompt_model: Wrote the topics, or the drafts of them.
        topics_file: SHA-256 of the file of a person's own topics; None where there is none.
    """

    sha256: str
    author: str
    genre: str
    seed: int
    group_size: int
    selected_profile: tuple[str, ...]
    profile: int
    cases: int
    prompt_model: ModelIdentity
    topics_file: str | None = None


class Settings(_Record):
    """What two runs must share to be compared.

    Attributes:
        encoder: Made the authorship vectors.
        replicates: Of the bootstrap.
        seed: Of the bootstrap.
    """

    encoder: EncoderIdentity
    replicates: int
    seed: int


class AnswersFile(_Record):
    """A file of answers.

    Attributes:
        name: Its name without folders.
        sha256: Of its bytes.
        answers: How many cases it was to answer.
        failed: How many of them have no text.
    """

    name: str
    sha256: str
    answers: int
    failed: int


class Unrelated(_Record):
    """Likeness of unrelated writers to the person: one group of documents each.

    Attributes:
        calibration: SHA-256 of the calibration file.
        n: Number of writers.
        mean: Mean.
        median: Median.
        sd: Sample standard deviation; None for one writer.
        p5: 5th percentile.
        p95: 95th percentile.
        scores: All values, ascending.
        twin_percentile: Percentile of the twin among them, 0 to 100.
        ceiling_percentile: Percentile of the person's own held-out writing.
    """

    calibration: str
    n: int
    mean: Finite
    median: Finite
    sd: Finite | None
    p5: Finite
    p95: Finite
    scores: tuple[Finite, ...]
    twin_percentile: Finite | None
    ceiling_percentile: Finite | None


class LineScores(_Record):
    """Everything measured about one line of texts.

    Attributes:
        likeness: The primary measure, over complete groups.
        metrics: Means over the answers: one against the profile, stylometry, overlap.
        truncated: How many texts are longer than the encoder reads.
        unreliable: How many texts have fewer than 50 tokens.
    """

    likeness: Estimate
    metrics: dict[str, Estimate]
    truncated: int
    unreliable: int


class GroupLikeness(_Record):
    """One group of cases; a line with a failed answer in it has no likeness."""

    case_ids: tuple[str, ...]
    twin: Finite | None
    baseline: Finite | None
    ceiling: Finite


class CaseScores(_Record):
    """One case.

    Attributes:
        case_id: Which.
        document: Id of the reference document behind it.
        twin: All metrics of the twin's answer; empty where there is none.
        baseline: The same for the baseline's answer.
        person: The same for what the person wrote, but for overlap with itself.
        copied_words: Longest run of words that the twin's answer shares with one profile
            document.
        copying: Whether it is called copied, by that or by its share of copied 5-grams.
        reference_words: The same against the held-out documents, which a twin has no way
            to know.
    """

    case_id: str
    document: str
    twin: dict[str, Estimate]
    baseline: dict[str, Estimate]
    person: dict[str, Estimate]
    copied_words: int | None
    copying: bool
    reference_words: int | None


class Run(_Record):
    """A scored run: one twin on one bundle.

    Attributes:
        schema_version: Layout of this record.
        name: Name of the run's folder.
        created: When it was scored, ISO 8601 in UTC.
        software: Releases of what the numbers depend on.
        bundle: What was answered.
        settings: What two runs must share to be compared.
        answers: The twin's file.
        baseline_answers: The unpersonalized model's file.
        copied_run: So many words in a row make an answer a copy of what it shares them with.
        twin: The twin's line.
        baseline: The baseline's line.
        ceiling: The person's own held-out writing, put through the same measurement.
        unrelated: Unrelated writers; None where there is no calibration for this.
        unrelated_reason: Why there is none.
        short_of_person: The person's own held-out writing less the twin, over the groups that
            the twin answered.
        improvement: Twin less baseline.
        gap_closed: Improvement as a share of ceiling less baseline; not clamped.
        groups: Every complete group of cases.
        leftover: Cases that make no complete group.
        cases: Every case.
        contaminated_cases: Cases whose prompt gives away a run of words of its source.
        repeated_answers: Cases whose answer is that of another case, or nearly.
        prompt_copies: Cases whose answer repeats its prompt.
        cut_off: Cases whose answer was stopped before its end, or reads so. These four are
            empty in a run that an older release scored.
        warnings: What a reader must know before believing the numbers.
    """

    schema_version: Literal[1] = 1
    name: str
    created: str
    software: dict[str, str]
    bundle: BundleIdentity
    settings: Settings
    answers: AnswersFile
    baseline_answers: AnswersFile | None
    copied_run: int = LIMITS.run_words
    twin: LineScores
    baseline: LineScores | None
    ceiling: LineScores
    unrelated: Unrelated | None
    unrelated_reason: str | None
    short_of_person: Estimate = missing("scored by an older release")
    improvement: Estimate
    gap_closed: Estimate
    groups: tuple[GroupLikeness, ...]
    leftover: tuple[str, ...]
    cases: tuple[CaseScores, ...]
    contaminated_cases: tuple[str, ...] = ()
    repeated_answers: tuple[str, ...] = ()
    prompt_copies: tuple[str, ...] = ()
    cut_off: tuple[str, ...] = ()
    warnings: tuple[str, ...]

    @property
    def family(self) -> str:
        """Prefix of the encoder's metrics."""
        return self.settings.encoder.family

    @property
    def leaked(self) -> tuple[str, ...]:
        """Cases whose answer has a long run of words from a held-out document."""
        return tuple(
            case.case_id
            for case in self.cases
            if case.reference_words is not None and case.reference_words >= self.copied_run
        )

    @property
    def copied(self) -> tuple[str, ...]:
        """Cases whose answer is copied from the profile."""
        return tuple(case.case_id for case in self.cases if case.copying)
