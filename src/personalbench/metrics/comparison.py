"""Paired comparison of two twins: the same authors and cases, or none."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from personalbench.errors import UserError
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.statistics import (
    Floats,
    bootstrap_likeness,
    bootstrap_mean,
    cluster_standard_error,
)

Scores = Mapping[str, Mapping[str, float | None]]
"""Author to case to score; None where the generation or its measurement failed."""

Episodes = Mapping[str, Mapping[str, Floats | None]]
"""Author to group to its likeness in every sample, (M,); None where the group is incomplete."""

Value = TypeVar("Value", float, Floats)

LEVEL = 0.05
_EXACT_UP_TO = 14  # units; 2**14 sign patterns
_SAMPLES = 9_999


class Comparison(BaseModel):
    """First twin against second.

    Attributes:
        difference: Mean of first less second, with its hierarchical bootstrap interval.
        standard_error: Of the difference, clustered by author.
        cohens_d: Difference of the means over the pooled standard deviation.
        p: Two-sided sign-flip p; never 0.
        p_adjusted: The same after Holm's correction; None before it.
        exact: Whether all sign patterns were tried, or 9,999 random ones.
        smallest_p: The smallest p that so few units can give.
        units: How many were flipped: authors, or the cases or groups of one author.
        dropped: Pairs left out because one of the two has no score.
        note: What a reader must know.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    difference: Estimate
    standard_error: Estimate
    cohens_d: Estimate
    p: float | None
    p_adjusted: float | None = None
    exact: bool
    smallest_p: float | None
    units: int
    dropped: int = 0
    note: str | None = None


def compare(first: Scores, second: Scores, replicates: int, seed: int) -> Comparison:
    """Compare two twins case by case; pairs with a missing score are dropped and counted.

    Raises:
        UserError: The two do not have the same authors and cases.
    """
    pairs, dropped = _paired(first, second)
    differences = {author: [a - b for a, b in both] for author, both in pairs.items()}
    return _comparison(
        difference=bootstrap_mean(differences, replicates, seed),
        differences=differences,
        pairs=[pair for both in pairs.values() for pair in both],
        dropped=dropped,
        seed=seed,
    )


def with_failures_as(scores: Scores, worst: float) -> Scores:
    """Scores with every missing one replaced by the worst possible.

    Comparing these as well shows whether a twin gains by failing on hard cases.
    """
    return {
        author: {case: worst if score is None else score for case, score in cases.items()}
        for author, cases in scores.items()
    }


def compare_likeness(
    first: Episodes, second: Episodes, group_size: int, replicates: int, seed: int
) -> Comparison:
    """Compare the likeness of two twins group by group.

    The documents of both are resampled together, case by case. Groups that one of the two
    has not complete are dropped and counted.

    Args:
        first: Of each author and planned group, what :func:`~.statistics.episode_likeness`
            gave.
        second: The same for the other twin; groups hold the same cases.
        group_size: Documents in a group.
        replicates: Number of bootstrap replicates.
        seed: Seed of resampling and sign flips.

    Raises:
        UserError: The two do not have the same authors and groups.
    """
    pairs, dropped = _paired(first, second)
    tables = {author: np.array([a - b for a, b in both]) for author, both in pairs.items() if both}
    return _comparison(
        difference=bootstrap_likeness(tables, group_size, replicates, seed),
        differences={author: table[:, 0].tolist() for author, table in tables.items()},
        pairs=[(float(a[0]), float(b[0])) for both in pairs.values() for a, b in both],
        dropped=dropped,
        seed=seed,
    )


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values by Holm's step-down method over all planned tests.

    A missing p (a test that could not be made) stays missing and still counts as planned.

    Raises:
        ValueError: A p value is not in [0, 1].
    """
    made = sorted((p, position) for position, p in enumerate(p_values) if p is not None)
    if not all(0 <= p <= 1 for p, _ in made):
        raise ValueError(f"p values lie between 0 and 1, not {p_values}")
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, position) in enumerate(made):
        highest = max(highest, min(1.0, p * (len(p_values) - rank)))
        adjusted[position] = highest
    return adjusted


def adjust(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Fill in the adjusted p of all planned comparisons of one metric."""
    planned = len(comparisons)
    return [
        comparison.model_copy(
            update={
                "p_adjusted": p,
                "note": _reach_note(comparison.smallest_p, comparison.units, planned),
            }
        )
        for comparison, p in zip(
            comparisons, holm([comparison.p for comparison in comparisons]), strict=True
        )
    ]


def sign_flip(sums: Sequence[float], seed: int) -> tuple[float, bool]:
    """Two-sided sign-flip permutation p of the sum of independent units.

    Under the null hypothesis the sign of each unit's total difference is arbitrary. Exact
    for up to 14 units, with the observed signs among the patterns; otherwise from 9,999
    random patterns and the observed one (Phipson and Smyth 2010). Never 0.

    Args:
        sums: Total difference of each author (or of each case of one author), not empty.
        seed: Seed of the random patterns.

    Returns:
        The p value, and whether it is exact.
    """
    values = np.asarray(sums, np.float64)
    exact = values.size <= _EXACT_UP_TO
    if exact:
        patterns = np.arange(2**values.size)[:, None] >> np.arange(values.size) & 1
    else:
        patterns = np.random.default_rng([seed, 3]).integers(0, 2, (_SAMPLES, values.size))
    totals = np.abs(values.sum() - 2 * (patterns @ values))
    # Equal totals differ by rounding.
    as_extreme = int(np.sum(totals >= abs(values.sum()) - 1e-9 * np.abs(values).sum()))
    return (as_extreme / len(patterns) if exact else (as_extreme + 1) / (_SAMPLES + 1)), exact


def cohens_d(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Difference of two means over their pooled standard deviation (Cohen 1988)."""
    if min(len(first), len(second)) < 2:
        return missing("an effect size needs at least two values of each twin")
    pooled = np.sqrt((np.var(first, ddof=1) + np.var(second, ddof=1)) / 2)
    if pooled < 1e-12:
        return missing("all values of each twin are equal")
    return Estimate(value=float((np.mean(first) - np.mean(second)) / pooled), n=len(first))


def _comparison(
    difference: Estimate,
    differences: Mapping[str, Sequence[float]],
    pairs: Sequence[tuple[float, float]],
    dropped: int,
    seed: int,
) -> Comparison:
    by_author = [values for values in differences.values() if values]
    units = [sum(values) for values in by_author]
    if len(by_author) == 1:  # its cases, or groups, are all there is to flip
        units = list(by_author[0])
    p, exact = sign_flip(units, seed) if units else (None, True)
    smallest = None
    if units:
        smallest = 2 / 2 ** len(units) if exact else 1 / (_SAMPLES + 1)
    return Comparison(
        difference=difference,
        standard_error=cluster_standard_error(differences),
        cohens_d=cohens_d([a for a, _ in pairs], [b for _, b in pairs]),
        p=p,
        exact=exact,
        smallest_p=smallest,
        units=len(units),
        dropped=dropped,
        note=_reach_note(smallest, len(units), planned=1),
    )


def _reach_note(smallest_p: float | None, units: int, planned: int) -> str | None:
    if smallest_p is None or smallest_p * planned <= LEVEL:
        return None
    smallest = min(1.0, smallest_p * planned)
    return (
        f"significance at {LEVEL:.0%} is out of reach: with {units} to flip"
        f"{f' and {planned} planned comparisons' if planned > 1 else ''}"
        f" p can't fall below {smallest:.2g}"
    )


def _paired(
    first: Mapping[str, Mapping[str, Value | None]],
    second: Mapping[str, Mapping[str, Value | None]],
) -> tuple[dict[str, list[tuple[Value, Value]]], int]:
    """What both have, by author, and how many pairs were dropped because one has it not."""
    _require_same(first, second)
    pairs = {
        author: [
            (mine, other)
            for name, mine in sorted(values.items())
            if mine is not None and (other := second[author][name]) is not None
        ]
        for author, values in first.items()
    }
    return pairs, sum(map(len, first.values())) - sum(map(len, pairs.values()))


def _require_same(
    first: Mapping[str, Mapping[str, object]], second: Mapping[str, Mapping[str, object]]
) -> None:
    for author in sorted(first.keys() | second.keys()):
        if (author in first) != (author in second):
            raise UserError(f"twins can't be compared: author {author} is scored for one only")
        for name in sorted(first[author].keys() ^ second[author].keys()):
            raise UserError(
                f"twins can't be compared: author {author}, {name} is scored for one only"
            )
