"""How far the judge can be trusted, measured on its own calls."""

from pydantic import BaseModel, ConfigDict

from personalbench.metrics.estimate import Estimate


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Separation(_Record):
    """One lens of the judge on real text: the authors' own against that of others.

    Attributes:
        metric: ``tmr`` or ``same_author``.
        ceiling: Mean over the authors' own documents.
        floor: Mean over other authors' documents.
        difference: Ceiling less floor, author by author, with an interval that resamples
            authors.
    """

    metric: str
    ceiling: Estimate
    floor: Estimate
    difference: Estimate

    @property
    def separates(self) -> bool | None:
        """Whether the interval lies above zero; None where there is none."""
        return None if self.difference.ci_low is None else self.difference.ci_low > 0


class Circularity(_Record):
    """A twin that shows more of the author's traits than the author does."""

    twin: str
    tmr: float
    ceiling: float


class SelfPreference(_Record):
    """A twin whose texts are by the judge's own model, or by one of its family."""

    twin: str
    generator: str
    same_model: bool


class Trust(_Record):
    """What trying the judge showed; what could not be tried is missing with a reason.

    Attributes:
        judge: The judge's name in the registry.
        separations: TMR, then SA.
        trait_stability: Mean pairwise Jaccard index of the questions of repeated
            extractions, as normalised texts, over authors.
        trait_stability_soft: The same with each question's best match in words (Jaccard
            index of content words) in place of equality.
        repeat_traits: Cohen's kappa between two askings of call 2a with different seeds,
            question by question.
        repeat_verdicts: Cohen's kappa between two askings of call 2b.
        order_agreement: Share of pairs with the same verdict in either order.
        order_kappa: Cohen's kappa between the two orders.
        yes_rate: Share of yes among all verdicts of call 2b.
        yes_rate_floor: The same among pairs of different authors, where each yes is wrong.
        trait_yes_rate: Share of traits found present, over all texts.
        failures: Share of calls without a usable answer, by call: ``questions``,
            ``findings``, ``verdicts``.
        verdict_auc: AUC of the verdict's probability, the authors' own documents against
            those of others.
        circular: Twins whose TMR exceeds the ceiling's.
        self_preference: Twins that the judge may prefer as its own writing.
    """

    judge: str
    separations: tuple[Separation, ...]
    trait_stability: Estimate
    trait_stability_soft: Estimate
    repeat_traits: Estimate
    repeat_verdicts: Estimate
    order_agreement: Estimate
    order_kappa: Estimate
    yes_rate: Estimate
    yes_rate_floor: Estimate
    trait_yes_rate: Estimate
    failures: dict[str, Estimate]
    verdict_auc: Estimate
    circular: tuple[Circularity, ...]
    self_preference: tuple[SelfPreference, ...]
