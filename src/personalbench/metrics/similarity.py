"""The twin test of one author: cosines of aggregated document vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from personalbench.encoders.base import Encoder, Vectors
from personalbench.metrics.estimate import Estimate, missing

Item = TypeVar("Item")
Floats = NDArray[np.float64]


def cosine(a: ArrayLike, b: ArrayLike) -> Floats:
    """Cosine over the last axis, broadcast over the others and clipped to [-1, 1].

    Raises:
        ValueError: A vector is zero or not finite.
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    norms = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    if not np.all(np.isfinite(norms) & (norms > 0)):
        raise ValueError("a zero or non-finite vector has no cosine")
    cosines: Floats = np.einsum("...d,...d->...", first, second) / norms
    return np.clip(cosines, -1.0, 1.0)


def group(items: Sequence[Item], size: int) -> tuple[list[list[Item]], list[Item]]:
    """Cut items, in order, into complete groups and the leftover ones."""
    complete = len(items) // size * size
    groups = [list(items[start : start + size]) for start in range(0, complete, size)]
    return groups, list(items[complete:])


def likeness(encoder: Encoder, profile_vectors: Vectors, group_vectors: Vectors) -> Floats:
    """Likeness of groups of documents to a profile: ``cos(P, T)``.

    Args:
        encoder: Aggregates the document vectors.
        profile_vectors: The selected profile documents, (E, H).
        group_vectors: G groups of E documents, (G, E, H): a twin's answers, the author's
            held-out documents, or those of calibration authors.

    Returns:
        One cosine a group, (G,).
    """
    profile = encoder.aggregate(profile_vectors[None])
    return cosine(encoder.aggregate(group_vectors), profile)


def one_v_five(encoder: Encoder, profile_vectors: Vectors, document_vectors: Vectors) -> Floats:
    """Likeness of single documents to a profile: ``cos(LUAR(t_i), P)``.

    Args:
        encoder: Aggregates the document vectors.
        profile_vectors: The selected profile documents, (E, H).
        document_vectors: N documents, (N, H).

    Returns:
        One cosine a document, (N,).
    """
    return likeness(encoder, profile_vectors, document_vectors[:, None])


@dataclass(frozen=True)
class Calibration:
    """Distribution of the likeness of unrelated authors.

    Attributes:
        n: Number of authors.
        mean: Mean.
        median: Median.
        sd: Sample standard deviation; None for one author.
        p5: 5th percentile.
        p95: 95th percentile.
        scores: All values, ascending.
    """

    n: int
    mean: float
    median: float
    sd: float | None
    p5: float
    p95: float
    scores: tuple[float, ...]

    def percentile(self, value: float) -> float:
        """Percentile of a value in the distribution, 0 to 100; ties count as half."""
        scores = np.asarray(self.scores)
        return float(100 * (np.mean(scores < value) + np.mean(scores == value) / 2))


def calibrate(scores: Sequence[float] | NDArray[Any]) -> Calibration:
    """Summarise the cross-author scores.

    Raises:
        ValueError: There are none.
    """
    values = np.sort(np.asarray(scores, np.float64))
    if not values.size:
        raise ValueError("no calibration scores")
    p5, median, p95 = (float(value) for value in np.percentile(values, [5, 50, 95]))
    return Calibration(
        n=values.size,
        mean=float(values.mean()),
        median=median,
        sd=float(values.std(ddof=1)) if values.size > 1 else None,
        p5=p5,
        p95=p95,
        scores=tuple(values.tolist()),
    )


def improvement(twin: float | None, baseline: float | None) -> Estimate:
    """``twin - baseline``."""
    if twin is None:
        return missing("the twin has no likeness")
    if baseline is None:
        return missing("no baseline answers")
    return Estimate(value=twin - baseline)


def gap_closed(twin: float | None, baseline: float | None, ceiling: float | None) -> Estimate:
    """``(twin - baseline) / (ceiling - baseline)``, not clamped to [0, 1]."""
    gain = improvement(twin, baseline)
    if gain.value is None or baseline is None:
        return gain
    if ceiling is None:
        return missing("the author's own documents have no likeness")
    gap = ceiling - baseline
    if gap <= 0:
        return missing(f"no gap to close: ceiling {ceiling:.3f}, baseline {baseline:.3f}")
    return Estimate(value=gain.value / gap)
