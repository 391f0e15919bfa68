"""Agreement between metrics over generations."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.statistics import (
    FEWEST_AUTHORS,
    FEWEST_DEFINED,
    Floats,
    cluster_weights,
    clusters_of,
    percentile_interval,
    scope_note,
)


def correlations(
    columns: Mapping[str, Sequence[float | None]],
    authors: Sequence[str],
    replicates: int,
    seed: int,
) -> dict[tuple[str, str], Estimate]:
    """Pearson correlation of every two metrics, with intervals that resample authors.

    Args:
        columns: Metric to its value of each generation; each pair of metrics is taken
            over the generations that have both.
        authors: The author of each generation.
        replicates: Number of bootstrap replicates.
        seed: Seed of the resampling.

    Returns:
        Each unordered pair once, in the order of the columns.

    Raises:
        ValueError: A value is not finite, or a column has another length than ``authors``.
    """
    for name, column in columns.items():
        if len(column) != len(authors):
            raise ValueError(f"{name}: {len(column)} values for {len(authors)} generations")
        if not all(value is None or isfinite(value) for value in column):
            raise ValueError(f"{name}: a value is not finite")
    cluster, n_authors = clusters_of(authors)
    n_clusters = int(cluster.max(initial=-1)) + 1
    weights = cluster_weights(n_clusters, replicates, seed) if n_clusters else np.empty((0, 0))
    values = {
        name: np.array([np.nan if value is None else value for value in column], np.float64)
        for name, column in columns.items()
    }
    return {
        (a, b): _correlation(values[a], values[b], cluster, n_authors, weights)
        for a, b in combinations(columns, 2)
    }


def _correlation(
    x: Floats, y: Floats, cluster: NDArray[np.int64], n_authors: int, weights: Floats
) -> Estimate:
    both = np.isfinite(x) & np.isfinite(y)
    x, y, cluster = x[both], y[both], cluster[both]
    n = x.size
    if n < 3:
        return missing("a correlation needs at least three generations with both", n)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return missing("one of the two does not vary", n)
    # Standardised first, so that sums of squares lose no digits.
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    terms = (np.ones(n), x, y, x * x, y * y, x * y)
    sums = np.stack([np.bincount(cluster, term, weights.shape[1]) for term in terms], axis=1)
    count, sx, sy, sxx, syy, sxy = (weights @ sums).T
    spread = (count * sxx - sx**2) * (count * syy - sy**2)
    defined = spread > 1e-9
    value = float(np.clip(np.mean(x * y), -1, 1))
    names = min(n_authors, len(np.unique(cluster)))
    if weights.shape[1] < FEWEST_AUTHORS or defined.mean() < FEWEST_DEFINED:
        reason = "too few authors with both for an interval"
        return Estimate(value=value, n=n, authors=names, reason=reason)
    drawn = (count * sxy - sx * sy)[defined] / np.sqrt(spread[defined])
    low, high = percentile_interval(drawn)
    return Estimate(
        value=value, ci_low=low, ci_high=high, n=n, authors=names, note=scope_note(names)
    )
