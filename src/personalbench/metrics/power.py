"""How many authors and cases a difference would need to be seen."""

from collections.abc import Mapping, Sequence
from math import ceil, sqrt
from statistics import NormalDist

import numpy as np
from pydantic import BaseModel, ConfigDict

from personalbench.metrics.statistics import NO_SPREAD, are_equal, present

LEVEL = 0.05
POWER = 0.8
_Z = NormalDist().inv_cdf(1 - LEVEL / 2) + NormalDist().inv_cdf(POWER)


class Detectable(BaseModel):
    """What a paired comparison of this size can see, at level 5 % and power 80 %.

    Normal approximation; with fewer than ten authors it is optimistic.

    Attributes:
        found: The mean difference found.
        detectable: The smallest true difference that would be seen with as many authors
            and cases as there were.
        authors_needed: Authors, with as many cases each, to see the difference found.
        cases_needed: Cases an author, with as many authors, to see the difference found.
        reason: Why one of them is missing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    found: float | None
    detectable: float | None = None
    authors_needed: int | None = None
    cases_needed: int | None = None
    reason: str | None = None


def detectable(differences_by_author: Mapping[str, Sequence[float | None]]) -> Detectable:
    """Judge the size of a comparison from its paired differences.

    The variance of a mean over A authors with n cases each is ``(between + within / n) / A``;
    both components come from a one-way analysis of variance. One author's cases are
    taken as independent.

    Raises:
        ValueError: A value is not finite or an author has no name.
    """
    differences = present(differences_by_author)
    every = [value for author in differences.values() for value in author]
    if len(every) > 1 and are_equal(min(every), max(every)):
        return Detectable(found=every[0], reason=NO_SPREAD)
    if len(differences) == 1:
        return _of_one_author(next(iter(differences.values())))
    if len(differences) < 2:
        return Detectable(found=None, reason="no differences")
    values = [np.asarray(author) for author in differences.values()]
    authors, total = len(values), sum(author.size for author in values)
    mean = float(np.concatenate(values).mean())
    cases = (total - sum(author.size**2 for author in values) / total) / (authors - 1)
    mean_square_between = sum(a.size * (a.mean() - mean) ** 2 for a in values) / (authors - 1)
    if total == authors:
        within = None
        variance = float(mean_square_between)
    else:
        within = float(sum(((a - a.mean()) ** 2).sum() for a in values) / (total - authors))
        between = max(0.0, (float(mean_square_between) - within) / cases)
        variance = between + within / cases
    smallest = _Z * sqrt(variance / authors)
    if mean == 0:
        return Detectable(found=mean, detectable=smallest, reason="the difference found is zero")
    authors_needed = max(2, ceil(variance * (_Z / mean) ** 2))
    if within is None:
        return Detectable(
            found=mean,
            detectable=smallest,
            authors_needed=authors_needed,
            reason="one case an author does not tell how much more cases would help",
        )
    room = authors * (mean / _Z) ** 2 - between
    if room <= 0:
        return Detectable(
            found=mean,
            detectable=smallest,
            authors_needed=authors_needed,
            reason="authors differ too much: no number of cases would do with so few of them",
        )
    return Detectable(
        found=mean,
        detectable=smallest,
        authors_needed=authors_needed,
        cases_needed=max(1, ceil(within / room)),
    )


def _of_one_author(cases: Sequence[float]) -> Detectable:
    mean = float(np.mean(cases))
    if len(cases) < 2:
        return Detectable(found=mean, reason="one difference does not tell how much they vary")
    sd = float(np.std(cases, ddof=1))
    reason = "one author: other authors may differ"
    return Detectable(
        found=mean,
        detectable=_Z * sd / sqrt(len(cases)),
        cases_needed=max(2, ceil((_Z * sd / mean) ** 2)) if mean else None,
        reason=reason if mean else "the difference found is zero",
    )
