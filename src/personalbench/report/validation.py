"""What the encoder can tell on real text, as a record and as a table."""

from pydantic import BaseModel, ConfigDict

from personalbench.metrics.estimate import Estimate
from personalbench.metrics.validation import Verification
from personalbench.report.table import cell


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
        results: The run's encoder first, then the plain ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: int
    authors: int
    results: tuple[EncoderResult, ...]

    def of(self, encoder: str, size: int) -> Verification:
        """The result of an encoder at a group size."""
        return next(
            result.verification
            for result in self.results
            if (result.encoder, result.verification.size) == (encoder, size)
        )

    def table(self) -> list[list[str]]:
        """AUC by encoder and group size, the first row with the titles."""
        sizes = sorted({result.verification.size for result in self.results})
        encoders = list(dict.fromkeys(result.encoder for result in self.results))
        titles = ["AUC", *(f"{size} v {size}" for size in sizes), "pairs"]
        return [titles, *(self._row(encoder, sizes) for encoder in encoders)]

    def _row(self, encoder: str, sizes: list[int]) -> list[str]:
        found = [self.of(encoder, size) for size in sizes]
        pairs = min(min(one.same_pairs, one.cross_pairs) for one in found)
        return [encoder, *map(_cell, found), f"{pairs} of each kind at least"]


def _cell(found: Verification) -> str:
    return cell(
        Estimate(value=found.auc, ci_low=found.auc_low, ci_high=found.auc_high, reason=found.reason)
    )
