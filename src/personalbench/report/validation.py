"""What the encoder can tell on real text: as a record, as tables and in words."""

from pydantic import BaseModel, ConfigDict

from personalbench.metrics.estimate import Estimate
from personalbench.metrics.validation import Verification
from personalbench.report.section import Cell, Column, Table, columns

_PAIRS = Column("pairs", help="Of each kind, at least.")


class EncoderResult(BaseModel):
    """One encoder at one group size."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoder: str
    revision: str
    verification: Verification


class Validation(BaseModel):
    """All encoders that were tried on the corpus.

    Attributes:
        documents: How many were encoded.
        authors: By how many.
        truncated: How many are longer than the run's encoder reads.
        unreliable: How many have fewer than 50 of its tokens.
        results: The run's encoder first, then the plain ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: int
    authors: int
    truncated: int
    unreliable: int
    results: tuple[EncoderResult, ...]

    def of(self, encoder: str, size: int) -> Verification:
        """The result of an encoder at a group size."""
        return next(
            result.verification
            for result in self.results
            if (result.encoder, result.verification.size) == (encoder, size)
        )

    @property
    def encoders(self) -> list[str]:
        """Names of the encoders, the run's first."""
        return list(dict.fromkeys(result.encoder for result in self.results))

    @property
    def sizes(self) -> list[int]:
        """Documents a group, ascending."""
        return sorted({result.verification.size for result in self.results})

    @property
    def summary(self) -> str:
        """The main result in half a sentence, with what the corpus has too little of."""
        name, size = self.encoders[0], self.sizes[-1]
        found = self.of(name, size)
        told = "not estimable" if found.auc is None else f"{found.auc:.3f}"
        short = f" (only {found.shortage})" if found.shortage else ""
        return (
            f"{name} tells {self.authors} authors apart with AUC {told} at {size} documents{short}"
        )


def auc(found: Verification) -> Estimate:
    """The area under the ROC curve with its interval over authors."""
    return Estimate(
        value=found.auc,
        ci_low=found.auc_low,
        ci_high=found.auc_high,
        n=found.same_pairs + found.cross_pairs,
        authors=found.authors,
        reason=found.reason,
    )


def auc_table(validation: Validation) -> Table:
    """AUC by encoder and documents a group."""
    return Table(
        caption="Same author or not: area under the ROC curve on pairs of real texts",
        columns=columns("encoder", *(f"{size} v {size}" for size in validation.sizes), _PAIRS),
        rows=tuple(_auc_row(validation, encoder) for encoder in validation.encoders),
    )


def _auc_row(validation: Validation, encoder: str) -> tuple[Cell, ...]:
    found = [validation.of(encoder, size) for size in validation.sizes]
    pairs = min(min(one.same_pairs, one.cross_pairs) for one in found)
    return encoder, *(auc(one) for one in found), pairs


def details(validation: Validation) -> Table:
    """Every encoder at every size: error rate, ceiling, floor and pairs."""
    return Table(
        caption="Every encoder by documents a group",
        columns=columns("encoder", "documents", "AUC", "EER", "ceiling", "floor", "same", "cross"),
        rows=tuple(
            (
                result.encoder,
                result.verification.size,
                auc(result.verification),
                *(
                    "not estimable" if value is None else value
                    for value in (
                        result.verification.eer,
                        result.verification.ceiling,
                        result.verification.floor,
                    )
                ),
                result.verification.same_pairs,
                result.verification.cross_pairs,
            )
            for result in validation.results
        ),
        folded=True,
    )


def notes(validation: Validation) -> list[str]:
    """What a reader must know: too few pairs, texts cut off, texts too short."""
    encoder = validation.encoders[0]
    said = [
        f"The corpus has only {found.shortage}."
        for size in validation.sizes
        if (found := validation.of(encoder, size)).shortage
    ]
    if validation.truncated:
        said.append(
            f"{validation.truncated} of {validation.documents} texts are longer than {encoder} "
            "reads; their ends are not compared."
        )
    if validation.unreliable:
        said.append(
            f"{validation.unreliable} of {validation.documents} texts have fewer than 50 tokens: "
            "authorship vectors of so short texts are unreliable."
        )
    return said
