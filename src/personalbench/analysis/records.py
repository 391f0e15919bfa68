"""What comparing the lines of a run gave."""

from pydantic import BaseModel, ConfigDict

from personalbench.metrics.comparison import Comparison
from personalbench.metrics.estimate import Estimate
from personalbench.metrics.power import Detectable
from personalbench.scores import EncoderIdentity


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SizedLikeness(_Record):
    """Likeness of one line at one number of documents on either side."""

    line: str
    documents: int
    likeness: Estimate


class TargetTest(_Record):
    """Is a line more like its target than like somebody else?

    Attributes:
        line: A twin, or the ceiling.
        own: Likeness to the target's profile.
        others: Likeness to the profiles of other authors.
        auc: How well the likeness tells the target from the others.
        profiles: How many other authors there were.
    """

    line: str
    own: Estimate
    others: Estimate
    auc: Estimate
    profiles: int


class GeneratedSets(_Record):
    """Sets of generated texts held against each other, each pair by two different twins.

    Attributes:
        same_target: Likeness of two sets for one author.
        other_target: Likeness of two sets for two authors.
        auc: How well the likeness tells the two apart.
        to_real: Likeness of a set to its target's profile.
    """

    same_target: Estimate
    other_target: Estimate
    auc: Estimate
    to_real: Estimate


class Fingerprint(_Record):
    """Likeness of sets of texts by two writers, or by one, each pair for two targets.

    Attributes:
        first: A generator, a twin from outside, or ``real text``.
        second: The same or another one.
        likeness: Mean cosine over the pairs of sets.
    """

    first: str
    second: str
    likeness: Estimate


class MetricCorrelation(_Record):
    """Pearson's r of two metrics over all generations."""

    first: str
    second: str
    r: Estimate


class TwinComparison(_Record):
    """One planned comparison.

    Attributes:
        metric: What is compared.
        first: One twin.
        second: The other; the difference is first less second.
        comparison: Over the cases, or groups, that both have.
        failures_as_worst: The same with the metric's worst value for what is missing; None
            where nothing is missing.
        detectable: What a comparison of this size can see.
    """

    metric: str
    first: str
    second: str
    comparison: Comparison
    failures_as_worst: Comparison | None
    detectable: Detectable


class Analysis(_Record):
    """All of it, with the encoder that made the vectors."""

    encoder: EncoderIdentity
    aggregation: tuple[SizedLikeness, ...]
    targets: tuple[TargetTest, ...]
    generated: GeneratedSets
    fingerprints: tuple[Fingerprint, ...]
    correlations: tuple[MetricCorrelation, ...]
    comparisons: tuple[TwinComparison, ...]
