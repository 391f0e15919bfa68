"""The one record for a number that may be missing or uncertain."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

Finite = Annotated[float, Field(allow_inf_nan=False)]


class Estimate(BaseModel):
    """A value with its 95 % interval, or the reason why one of them is missing.

    Attributes:
        value: The number, or None where it can't be estimated.
        ci_low: Lower end of the 95 % interval, or None.
        ci_high: Upper end of the 95 % interval, or None.
        n: How many values it is over.
        authors: How many authors those are by; 0 where that does not apply.
        reason: Why the value or its interval is missing.
        note: What a reader must know about a value or interval that is there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: Finite | None
    ci_low: Finite | None = None
    ci_high: Finite | None = None
    n: Annotated[int, Field(ge=0)] = 1
    authors: Annotated[int, Field(ge=0)] = 0
    reason: str | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> "Estimate":
        if (self.ci_low is None) != (self.ci_high is None):
            raise ValueError("an interval has two ends")
        if self.value is None and (self.reason is None or self.ci_low is not None):
            raise ValueError("a missing value needs a reason and has no interval")
        return self


def missing(reason: str, n: int = 0, authors: int = 0) -> Estimate:
    """Make an estimate that says why there is none."""
    return Estimate(value=None, n=n, authors=authors, reason=reason)
