"""Intervals by the hierarchical bootstrap: authors first, then what each of them wrote.

A replicate draws authors with replacement, and for each drawn author draws as many of
that author's values with replacement. Intervals are the 2.5th and 97.5th percentile.
Resampling both levels counts the spread within authors nearly twice, so the interval
is a little wide rather than too narrow.

The random numbers of authors and of values come from two streams of one seed. With
equal seeds, authors and numbers of values, any two calls draw the same: replicates of
two twins can be subtracted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial, prod, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from personalbench.encoders.base import Encoder, Vectors
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.similarity import cosine

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEW_AUTHORS = 10
"""Below this number percentile intervals cover clearly less than 95 %."""

_LEVELS = (2.5, 97.5)
_DRAWS_AT_ONCE = 1 << 20


def bootstrap_mean(
    values_by_author: Mapping[str, Sequence[float | None]], replicates: int, seed: int
) -> Estimate:
    """Mean of all values with its hierarchical bootstrap interval.

    Args:
        values_by_author: The values of each author; missing ones are left out, and ``n``
            says how many there were.
        replicates: Number of bootstrap replicates.
        seed: The same seed gives the same draws.

    Raises:
        ValueError: A value is not finite or an author has no name.
    """
    values = present(values_by_author)
    return _estimate(
        [float(value) for author in values.values() for value in author],
        "values",
        len(values),
        lambda: mean_replicates(values, replicates, seed),
    )


def bootstrap_share(
    values_by_author: Mapping[str, Sequence[bool | None]], replicates: int, seed: int
) -> Estimate:
    """Share of true values, as :func:`bootstrap_mean`.

    Where all values agree no resampling can differ: Wilson's interval stands in.
    """
    values = present(values_by_author)
    answers = [bool(value) for author in values.values() for value in author]
    if len(set(answers)) == 1:
        low, high = wilson(sum(answers), len(answers))
        return Estimate(
            value=float(answers[0]),
            ci_low=low,
            ci_high=high,
            n=len(answers),
            authors=len(values),
            note="all answers agree: Wilson interval, which takes answers as independent",
        )
    return bootstrap_mean(values, replicates, seed)


def mean_replicates(
    values_by_author: Mapping[str, Sequence[float]], replicates: int, seed: int
) -> Floats:
    """Bootstrap replicates of the mean of all values, (replicates,)."""
    rows = [np.asarray(values_by_author[author], float) for author in sorted(values_by_author)]
    values = np.concatenate(rows)
    chunks = [
        _mean_of_drawn(values[draw.rows], draw.valid)
        for draw in _draws([row.size for row in rows], replicates, seed)
    ]
    return np.concatenate(chunks)


def episodes(size: int) -> tuple[Integers, Floats]:
    """All samples of ``size`` out of ``size`` documents with replacement, order ignored.

    Returns:
        The document positions, (M, size), the first row being each document once; and
        the multinomial probability of each sample, (M,). Five documents give M = 126.
    """
    samples = list(combinations_with_replacement(range(size), size))
    weights = [
        factorial(size) / prod(factorial(sample.count(k)) for k in range(size)) / size**size
        for sample in samples
    ]
    full = samples.index(tuple(range(size)))
    order = [full, *(k for k in range(len(samples)) if k != full)]
    return np.array(samples)[order], np.array(weights)[order]


def episode_likeness(encoder: Encoder, profile_vectors: Vectors, group_vectors: Vectors) -> Floats:
    """Likeness to the profile of every resample of each group's documents.

    Args:
        encoder: Aggregates the document vectors.
        profile_vectors: The selected profile documents, (E, H).
        group_vectors: G groups of E documents of one author, (G, E, H).

    Returns:
        One row a group, (G, M): the samples of :func:`episodes`; column 0 is the group as
        it is.
    """
    profile = encoder.aggregate(profile_vectors[None])
    samples, _ = episodes(group_vectors.shape[1])
    return np.stack([cosine(encoder.aggregate(one[samples]), profile) for one in group_vectors])


def bootstrap_likeness(
    likeness_by_author: Mapping[str, Floats], group_size: int, replicates: int, seed: int
) -> Estimate:
    """Mean likeness over groups; resamples authors, their groups, and each group's documents.

    Args:
        likeness_by_author: Of each author, what :func:`episode_likeness` gave, (G, M);
            for a paired difference of two twins, one table less the other.
        group_size: Documents in a group.
        replicates: Number of bootstrap replicates.
        seed: The same seed gives the same draws.
    """
    return _estimate(
        [float(value) for _, table in sorted(likeness_by_author.items()) for value in table[:, 0]],
        "groups",
        len(likeness_by_author),
        lambda: likeness_replicates(likeness_by_author, group_size, replicates, seed),
    )


def likeness_replicates(
    likeness_by_author: Mapping[str, Floats], group_size: int, replicates: int, seed: int
) -> Floats:
    """Bootstrap replicates of the mean likeness over groups, (replicates,).

    Five documents drawn with replacement hold 3.4 different ones on average, and fewer
    documents are less like any profile. Each group is therefore shifted by its exact
    mean over all samples, so that its replicates spread about its own likeness: without
    that the interval can lie below the value that it is for.
    """
    tables = [likeness_by_author[author] for author in sorted(likeness_by_author)]
    table = np.concatenate(tables)
    _, weights = episodes(group_size)
    table = table + table[:, :1] - (table @ weights)[:, None]
    edges = np.cumsum(weights)[:-1]
    generator = np.random.default_rng([seed, 2])
    chunks = []
    for draw in _draws([len(rows) for rows in tables], replicates, seed):
        sample = np.searchsorted(edges, generator.random(draw.rows.shape), side="right")
        chunks.append(_mean_of_drawn(table[draw.rows, sample], draw.valid))
    return np.concatenate(chunks)


def percentile_interval(replicates: Floats) -> tuple[float, float]:
    """95 % interval between percentiles of bootstrap replicates."""
    low, high = np.percentile(replicates, _LEVELS)
    return float(low), float(high)


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a share; never of zero width.

    Raises:
        ValueError: There are no trials.
    """
    if n < 1:
        raise ValueError("a share needs at least one trial")
    z = NormalDist().inv_cdf(0.975)
    share = successes / n
    centre = share + z * z / (2 * n)
    spread = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # Rounding must not move the ends of a share of 0 or 1.
    low = (centre - spread) / scale if successes else 0.0
    high = (centre + spread) / scale if successes < n else 1.0
    return low, high


def cluster_standard_error(values_by_author: Mapping[str, Sequence[float | None]]) -> Estimate:
    """Standard error of the mean of all values with authors as clusters.

    ``sqrt(A / (A - 1) * sum over authors of (sum of deviations from the mean)^2) / n``
    (Liang and Zeger 1986, with the small-sample factor).

    Raises:
        ValueError: A value is not finite or an author has no name.
    """
    values = present(values_by_author)
    authors, n = len(values), sum(map(len, values.values()))
    if authors < 2:
        return missing("a clustered standard error needs at least two authors", n, authors)
    mean = sum(map(sum, values.values())) / n
    squares = sum(sum(value - mean for value in author) ** 2 for author in values.values())
    return Estimate(value=sqrt(authors / (authors - 1) * squares) / n, n=n, authors=authors)


def clusters_of(authors: Sequence[str]) -> tuple[Integers, int]:
    """Number the clusters that measures of many scores resample.

    Returns:
        The cluster of each score, and the number of authors. Clusters are the authors, or
        the single scores where there is one author only.

    Raises:
        ValueError: A score is without its author.
    """
    if not all(authors):
        raise ValueError("a value without its author")
    names, cluster = np.unique(np.asarray(authors, dtype=str), return_inverse=True)
    if names.size == 1:
        return np.arange(len(authors)), 1
    return cluster.astype(np.int64), names.size


def cluster_weights(clusters: int, replicates: int, seed: int) -> Floats:
    """How often each replicate draws each cluster, (replicates, clusters)."""
    generator = np.random.default_rng([seed, 4])
    chances = np.full(clusters, 1 / clusters)
    return generator.multinomial(clusters, chances, replicates).astype(np.float64)


def scope_note(authors: int) -> str | None:
    """What an interval over so few authors does not cover, if anything."""
    if authors == 1:
        return "one author: covers other texts of the same author, not other authors"
    if authors < FEW_AUTHORS:
        return f"{authors} authors only: the interval is likely too narrow"
    return None


def present(values_by_author: Mapping[str, Sequence[float | None]]) -> dict[str, list[float]]:
    """Leave out missing values, and authors who then have none; sort the authors.

    Raises:
        ValueError: A value is not finite or an author has no name.
    """
    kept = {
        author: [float(value) for value in values if value is not None]
        for author, values in sorted(values_by_author.items())
    }
    for author, values in kept.items():
        if not author:
            raise ValueError("a value without its author")
        if not np.all(np.isfinite(values)):
            raise ValueError(f"author {author}: a value is not finite")
    return {author: values for author, values in kept.items() if values}


def _estimate(
    values: Sequence[float], unit: str, authors: int, replicates: Callable[[], Floats]
) -> Estimate:
    if not values:
        return missing(f"no {unit}")
    mean = float(np.mean(values))
    if len(values) == 1:
        return Estimate(
            value=mean, authors=authors, reason=f"an interval needs at least two {unit}"
        )
    low, high = percentile_interval(replicates())
    return Estimate(
        value=mean,
        ci_low=low,
        ci_high=high,
        n=len(values),
        authors=authors,
        note=scope_note(authors),
    )


@dataclass(frozen=True)
class _Draw:
    """Some replicates: positions in the joined values of all authors, (B, A, most values).

    ``valid`` marks which of the last axis exist, where authors have unequal numbers.
    """

    rows: Integers
    valid: NDArray[np.bool_] | None


def _draws(sizes: Sequence[int], replicates: int, seed: int) -> Iterator[_Draw]:
    """Draw authors, then as many of each drawn author's values as there are."""
    authors, values = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    size = np.array(sizes)
    offset = np.cumsum(size) - size
    most = int(size.max())
    step = max(1, _DRAWS_AT_ONCE // (size.size * most))
    for start in range(0, replicates, step):
        shape = (min(step, replicates - start), size.size)
        drawn = authors.integers(0, size.size, shape)
        sizes_drawn = size[drawn][..., None]
        within = (values.random((*shape, most)) * sizes_drawn).astype(np.int64)
        is_ragged = int(size.min()) < most
        yield _Draw(
            rows=offset[drawn][..., None] + within,
            valid=np.arange(most) < sizes_drawn if is_ragged else None,
        )


def _mean_of_drawn(values: Floats, valid: NDArray[np.bool_] | None) -> Floats:
    mean: Floats = values.mean(axis=(1, 2), where=True if valid is None else valid)
    return mean
