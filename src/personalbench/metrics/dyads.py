"""Means over pairs of authors, where every author is in many pairs.

A replicate draws authors with replacement; a pair of two authors counts as often as both
are drawn together, a pair within one author as often as that author is drawn. Treating
the pairs as independent would make intervals far too narrow.
"""

from collections.abc import Sequence

import numpy as np

from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.statistics import (
    FEWEST_AUTHORS,
    FEWEST_DEFINED,
    Floats,
    cluster_weights,
    percentile_interval,
    scope_note,
    with_width,
)
from personalbench.metrics.validation import Pairs, auc_estimate


def dyad_mean(
    values: Sequence[float],
    first_author: Sequence[str],
    second_author: Sequence[str],
    replicates: int,
    seed: int,
) -> Estimate:
    """Mean of all pairs with an interval that resamples authors.

    Args:
        values: One value a pair.
        first_author: The author of each pair's first member.
        second_author: The author of its second.
        replicates: Number of bootstrap replicates.
        seed: Seed of the resampling.
    """
    if not len(values):
        return missing("no pairs")
    numbers = np.asarray(values, np.float64)
    names, codes = np.unique([*first_author, *second_author], return_inverse=True)
    first, second = codes.reshape(2, -1)
    authors = len(names)
    mean = float(numbers.mean())
    if authors < FEWEST_AUTHORS:
        reason = "too few authors for an interval"
        return Estimate(value=mean, n=numbers.size, authors=authors, reason=reason)
    sums, counts = np.zeros((authors, authors)), np.zeros((authors, authors))
    np.add.at(sums, (first, second), numbers)
    np.add.at(counts, (first, second), 1.0)
    weights = cluster_weights(authors, replicates, seed)
    totals, pairs = (_weighted(weights, table) for table in (sums, counts))
    defined = pairs > 0
    if defined.mean() < FEWEST_DEFINED:
        reason = "too few authors for an interval"
        return Estimate(value=mean, n=numbers.size, authors=authors, reason=reason)
    low, high = percentile_interval(totals[defined] / pairs[defined])
    return with_width(
        Estimate(
            value=mean,
            ci_low=low,
            ci_high=high,
            n=numbers.size,
            authors=authors,
            note=scope_note(authors),
        )
    )


def _weighted(weights: Floats, table: Floats) -> Floats:
    """Total of a table of pairs in every replicate, (B,)."""
    within = np.diag(table)
    between: Floats = np.einsum("bi,bi->b", weights @ (table - np.diag(within)), weights)
    return between + weights @ within


def dyad_auc(
    values: Sequence[float],
    first_author: Sequence[str],
    second_author: Sequence[str],
    seed: int,
    replicates: int = 2_000,
) -> Estimate:
    """How well the values tell pairs within an author from pairs of two authors.

    Args:
        values: One value a pair.
        first_author: The author of each pair's first member.
        second_author: The author of its second.
        seed: Seed of the resampling.
        replicates: Number of bootstrap replicates; each ranks all pairs anew.
    """
    numbers = np.asarray(values, np.float64)
    names, codes = np.unique([*first_author, *second_author], return_inverse=True)
    first, second = codes.reshape(2, -1)
    places = np.arange(numbers.size)[:, None]
    pairs = Pairs(places, places, first, second, wanted=numbers.size)
    authors = len(names)
    if pairs.same.all() or not pairs.same.any():
        return missing(
            "an AUC needs pairs within an author and pairs of two", numbers.size, authors
        )
    return auc_estimate(pairs, numbers, seed, replicates)
