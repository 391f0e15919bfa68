"""Measures of authorship verification: how well scores tell same-author from different.

``truth`` is True for the same author. The last three take answers in [0, 1], where
above 0.5 is yes, below is no and exactly 0.5 is no answer, as the PAN shared tasks do.
"""

from collections.abc import Sequence

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
    with_width,
)

Booleans = NDArray[np.bool_]


def auc(
    scores: Sequence[float],
    truth: Sequence[bool],
    authors: Sequence[str],
    replicates: int,
    seed: int,
) -> Estimate:
    """Area under the ROC curve with an interval that resamples authors.

    The chance that a same-author score is above a different-author score; ties count half.

    Args:
        scores: Higher means more alike.
        truth: Whether each is of the same author.
        authors: Whose score each is: its cluster. For a pair of two authors, the one
            whose profile it was compared with.
        replicates: Number of bootstrap replicates.
        seed: Seed of the resampling.
    """
    values, same = _checked(scores, truth)
    cluster, names = clusters_of(authors)
    if same.all() or not same.any():
        return missing("an AUC needs scores of both kinds", values.size, names)
    wins = _wins_by_cluster(values, same, cluster)
    positives = np.bincount(cluster[same], minlength=len(wins))
    negatives = np.bincount(cluster[~same], minlength=len(wins))
    value = float(wins.sum() / (positives.sum() * negatives.sum()))
    if len(wins) < FEWEST_AUTHORS:
        reason = "too few authors for an interval"
        return Estimate(value=value, n=values.size, authors=names, reason=reason)
    weights = cluster_weights(len(wins), replicates, seed)
    pairs = (weights @ positives) * (weights @ negatives)
    defined = pairs > 0
    if defined.mean() < FEWEST_DEFINED:
        reason = "too few authors have scores of both kinds for an interval"
        return Estimate(value=value, n=values.size, authors=names, reason=reason)
    drawn = np.einsum("bi,bi->b", weights @ wins, weights)[defined] / pairs[defined]
    low, high = percentile_interval(drawn)
    return with_width(
        Estimate(
            value=value,
            ci_low=low,
            ci_high=high,
            n=values.size,
            authors=names,
            note=scope_note(names),
        ),
        "resampling authors shows no spread",
    )


def _wins_by_cluster(scores: Floats, same: Booleans, cluster: NDArray[np.int64]) -> Floats:
    """Wins of cluster i's same-author scores over cluster j's different-author ones, (A, A)."""
    n_clusters = int(cluster.max()) + 1
    wins = np.zeros((n_clusters, n_clusters))
    for j in np.unique(cluster[~same]):
        rivals = np.sort(scores[~same & (cluster == j)])
        below = np.searchsorted(rivals, scores[same], side="left")
        not_above = np.searchsorted(rivals, scores[same], side="right")
        wins[:, j] = np.bincount(cluster[same], (below + not_above) / 2, n_clusters)
    return wins


def eer(scores: Sequence[float], truth: Sequence[bool]) -> Estimate:
    """Equal error rate: where the rates of false alarms and of misses meet on the ROC curve."""
    values, same = _checked(scores, truth)
    if same.all() or not same.any():
        return missing("an equal error rate needs scores of both kinds", values.size)
    thresholds = np.concatenate([np.unique(values), [np.inf]])
    misses = np.searchsorted(np.sort(values[same]), thresholds) / same.sum()
    alarms = 1 - np.searchsorted(np.sort(values[~same]), thresholds) / (~same).sum()
    # misses rise from 0 and alarms fall to 0: interpolate where they cross.
    gap = alarms - misses
    after = int(np.argmax(gap <= 0))
    share = gap[after - 1] / (gap[after - 1] - gap[after])
    value = misses[after - 1] + share * (misses[after] - misses[after - 1])
    return Estimate(value=float(value), n=values.size)


def c_at_1(answers: Sequence[float], truth: Sequence[bool]) -> Estimate:
    """Accuracy that credits unanswered cases at the rate of right ones (Peñas and Rodrigo 2011)."""
    values, same = _checked(answers, truth, probabilities=True)
    n = values.size
    if not n:
        return missing("no answers")
    unanswered = values == 0.5
    right = np.sum(((values > 0.5) == same) & ~unanswered)
    return Estimate(value=float((right + np.sum(unanswered) * right / n) / n), n=n)


def f05u(answers: Sequence[float], truth: Sequence[bool]) -> Estimate:
    """F0.5 that counts an unanswered case as a false negative (Bevendorff et al. 2019)."""
    values, same = _checked(answers, truth, probabilities=True)
    hits = np.sum((values > 0.5) & same)
    false_alarms = np.sum((values > 0.5) & ~same)
    misses = np.sum((values < 0.5) & same)
    unanswered = np.sum(values == 0.5)
    denominator = 1.25 * hits + 0.25 * (misses + unanswered) + false_alarms
    if not denominator:
        return missing("no same-author case and no answer of yes", values.size)
    return Estimate(value=float(1.25 * hits / denominator), n=values.size)


def brier(answers: Sequence[float], truth: Sequence[bool]) -> Estimate:
    """PAN's Brier score: 1 less the mean squared error of the answers; higher is better."""
    values, same = _checked(answers, truth, probabilities=True)
    if not values.size:
        return missing("no answers")
    return Estimate(value=float(1 - np.mean((values - same) ** 2)), n=values.size)


def _checked(
    scores: Sequence[float], truth: Sequence[bool], probabilities: bool = False
) -> tuple[Floats, Booleans]:
    values, same = np.asarray(scores, np.float64), np.asarray(truth, bool)
    if values.shape != same.shape:
        raise ValueError(f"{values.size} scores for {same.size} truths")
    if not np.isfinite(values).all():
        raise ValueError("a score is not finite")
    if probabilities and values.size and (values.min() < 0 or values.max() > 1):
        raise ValueError("answers lie between 0 and 1")
    return values, same
