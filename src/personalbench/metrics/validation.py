"""Does an encoder tell authors apart? Verification on pairs of real text.

Two groups of k documents each, by one author or by two; the score is the cosine of
their authorship vectors. AUC is the chance that a same-author pair scores above a
cross-author pair; the equal error rate is where false accepts and false rejects meet.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, roc_curve

from personalbench.encoders.base import Encoder, Vectors
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.statistics import (
    FEWEST_AUTHORS,
    FEWEST_DEFINED,
    percentile_interval,
    scope_note,
    with_width,
)
from personalbench.seeds import derive

_CHUNK = 256


@dataclass(frozen=True)
class Pairs:
    """Pairs of groups of documents.

    Attributes:
        left: Numbers of the documents of each pair's first group, shape (P, k).
        right: Of its second group, shape (P, k).
        left_author: Number of the first group's author, shape (P,).
        right_author: Of the second group's, shape (P,).
        wanted: How many pairs of either kind were asked for.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    left_author: NDArray[np.int64]
    right_author: NDArray[np.int64]
    wanted: int

    @property
    def same(self) -> NDArray[np.bool_]:
        """Whether both groups are by one author, shape (P,)."""
        return np.equal(self.left_author, self.right_author)


def draw_pairs(
    authors: Sequence[str], sources: Sequence[str], size: int, wanted: int, seed: int
) -> Pairs:
    """Draw same-author and cross-author pairs, spread evenly over the authors.

    No pair is drawn twice, whichever of its groups comes first. The two groups of a
    same-author pair share no document and no source, so that one speech or thread is
    not recognised by its subject. Where the corpus has fewer different pairs than are
    wanted, all of them are drawn. Every author's draws come from a seed of their own.

    Args:
        authors: The author of every document, shape (N,).
        sources: What every document was cut from, shape (N,).
        size: Documents a group.
        wanted: Pairs of either kind.
        seed: The run's seed.
    """
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, author in enumerate(authors):
        numbers[author].append(number)
    names = sorted(numbers)
    documents = [np.array(numbers[name]) for name in names]
    origins = [np.unique([sources[i] for i in own], return_inverse=True)[1] for own in documents]
    streams = [np.random.default_rng(derive(seed, "pairs", size, name)) for name in names]
    rows = [
        *_same_author(documents, origins, streams, size, wanted),
        *_cross_author(documents, streams, size, wanted),
    ]
    shape = (len(rows), size)
    return Pairs(
        left=np.array([row[0] for row in rows], dtype=np.int64).reshape(shape),
        right=np.array([row[1] for row in rows], dtype=np.int64).reshape(shape),
        left_author=np.array([row[2] for row in rows], dtype=np.int64),
        right_author=np.array([row[3] for row in rows], dtype=np.int64),
        wanted=wanted,
    )


_Row = tuple[NDArray[np.int64], NDArray[np.int64], int, int]


def _key(left: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    return tuple(sorted((tuple(sorted(left.tolist())), tuple(sorted(right.tolist())))))


def _same_author(
    documents: list[NDArray[np.int64]],
    origins: list[NDArray[np.int64]],
    streams: list[np.random.Generator],
    size: int,
    wanted: int,
) -> list[_Row]:
    possible = [same_author_pairs(np.bincount(own), size) for own in origins]
    rows: list[_Row] = []
    for author, quota in enumerate(even_shares(possible, wanted)):
        own, origin, stream = documents[author], origins[author], streams[author]
        seen: set[tuple[tuple[int, ...], ...]] = set()
        while len(seen) < quota:
            # A coin for every source says to which of the two groups it may give.
            side = stream.integers(2, size=origin.max() + 1)[origin]
            if not size <= side.sum() <= len(own) - size:
                continue
            left, right = (stream.choice(own[side == i], size, replace=False) for i in (0, 1))
            if _key(left, right) not in seen:
                seen.add(_key(left, right))
                rows.append((left, right, author, author))
    return rows


def same_author_pairs(documents: Sequence[int] | NDArray[np.int64], size: int) -> int:
    """How many pairs of groups without a common source an author's documents allow.

    A source of n documents gives to the one group, to the other or to neither, so it is
    half the coefficient of ``x^size y^size`` in the product of ``(1+x)^n + (1+y)^n - 1``.

    Args:
        documents: Number of documents of each source.
        size: Documents a group.
    """
    ways = np.zeros((size + 1, size + 1), dtype=object)
    ways[0, 0] = 1
    for count in map(int, documents):
        more = ways.copy()
        for taken in range(1, min(count, size) + 1):
            more[taken:] += comb(count, taken) * ways[:-taken]
            more[:, taken:] += comb(count, taken) * ways[:, :-taken]
        ways = more
    return int(ways[size, size]) // 2


def _cross_author(
    documents: list[NDArray[np.int64]],
    streams: list[np.random.Generator],
    size: int,
    wanted: int,
) -> list[_Row]:
    able = [author for author, own in enumerate(documents) if len(own) >= size]
    groups = [comb(len(documents[author]), size) for author in able]
    possible = (sum(groups) ** 2 - sum(count * count for count in groups)) // 2
    rows: list[_Row] = []
    seen: set[tuple[tuple[int, ...], ...]] = set()
    while len(rows) < min(wanted, possible):
        for position, author in enumerate(able):
            if len(rows) == min(wanted, possible):
                break
            stream = streams[author]
            # Any of the others: count from behind the author's own place.
            other = able[(position + 1 + stream.integers(len(able) - 1)) % len(able)]
            left = stream.choice(documents[author], size, replace=False)
            right = stream.choice(documents[other], size, replace=False)
            if _key(left, right) not in seen:
                seen.add(_key(left, right))
                rows.append((left, right, author, other))
    return rows


def even_shares(possible: Sequence[int], wanted: int) -> list[int]:
    """Share out ``wanted`` as evenly as the limits allow; the sum is at most their sum."""
    shares = [0] * len(possible)
    left = wanted
    order = sorted(range(len(possible)), key=lambda i: (possible[i], i))
    for place, number in enumerate(order):
        shares[number] = min(possible[number], left // (len(order) - place))
        left -= shares[number]
    return shares


def pair_scores(encoder: Encoder, vectors: Vectors, pairs: Pairs) -> NDArray[np.float64]:
    """Cosine of the two authorship vectors of every pair, shape (P,).

    Args:
        encoder: Aggregates the groups.
        vectors: Document vectors, (N, H).
        pairs: Which documents to aggregate.
    """
    scores = np.empty(len(pairs.left))
    for start in range(0, len(scores), _CHUNK):
        part = slice(start, start + _CHUNK)
        left = encoder.aggregate(vectors[pairs.left[part]]).astype(np.float64)
        right = encoder.aggregate(vectors[pairs.right[part]]).astype(np.float64)
        norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        products = (left * right).sum(1)
        # A group of which the encoder knows no feature is like nothing.
        scores[part] = np.divide(products, norms, out=np.zeros_like(norms), where=norms > 0)
    return scores


@dataclass(frozen=True)
class Verification:
    """How well same-author pairs stand out; what can't be estimated is None.

    Attributes:
        size: Documents a group.
        same_pairs: Same-author pairs that there were.
        cross_pairs: Cross-author pairs that there were.
        wanted: How many of either kind were asked for.
        authors: Authors in any pair.
        ceiling: Mean cosine of the same-author pairs.
        floor: Mean cosine of the cross-author pairs.
        auc: Area under the ROC curve.
        auc_low: Lower end of its 95 % interval.
        auc_high: Upper end.
        eer: Equal error rate.
        same_percentiles: Percentiles 0 to 100 of the same-author pairs' cosines.
        cross_percentiles: Of the cross-author pairs'.
        reason: Why something is None.
    """

    size: int
    same_pairs: int
    cross_pairs: int
    wanted: int
    authors: int
    ceiling: float | None
    floor: float | None
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    eer: float | None
    reason: str | None
    same_percentiles: tuple[float, ...] = ()
    cross_percentiles: tuple[float, ...] = ()

    @property
    def shortage(self) -> str | None:
        """What the corpus has too little of, or None."""
        found = {"same-author": self.same_pairs, "cross-author": self.cross_pairs}
        short = [f"{count} {kind}" for kind, count in found.items() if count < self.wanted]
        if not short:
            return None
        return f"{' and '.join(short)} pairs of {self.wanted} at {self.size} against {self.size}"


def verify(
    pairs: Pairs, scores: NDArray[np.float64], seed: int, replicates: int = 2000
) -> Verification:
    """Evaluate the scores of pairs.

    The interval is a percentile bootstrap over authors: a resampled author brings all
    of the pairs along; a cross-author pair counts as often as both of its authors do.
    """
    same = pairs.same
    authors = np.union1d(pairs.left_author, pairs.right_author)
    both = bool(same.any() and (~same).any())
    kind = "cross-author pairs" if same.any() else "same-author pairs of different sources"
    auc = (
        auc_estimate(pairs, scores, seed, replicates)
        if both
        else missing(f"no {kind} with {pairs.left.shape[1]} documents a group")
    )
    return Verification(
        size=pairs.left.shape[1],
        same_pairs=int(same.sum()),
        cross_pairs=int((~same).sum()),
        wanted=pairs.wanted,
        authors=len(authors),
        ceiling=float(scores[same].mean()) if same.any() else None,
        floor=float(scores[~same].mean()) if (~same).any() else None,
        auc=auc.value,
        auc_low=auc.ci_low,
        auc_high=auc.ci_high,
        eer=equal_error_rate(same, scores) if both else None,
        reason=auc.reason,
        same_percentiles=_percentiles(scores[same]),
        cross_percentiles=_percentiles(scores[~same]),
    )


def _percentiles(scores: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(np.percentile(scores, range(101)).tolist()) if scores.size else ()


def equal_error_rate(same: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """Where the false-accept rate equals the false-reject rate on the ROC curve."""
    accepts, hits, _ = roc_curve(same, scores, drop_intermediate=False)
    gap = accepts - (1 - hits)  # rises from -1 to 1
    after = int(np.argmax(gap >= 0))
    step = gap[after] / (gap[after] - gap[after - 1])
    return float(accepts[after] - step * (accepts[after] - accepts[after - 1]))


def auc_estimate(pairs: Pairs, scores: NDArray[np.float64], seed: int, replicates: int) -> Estimate:
    """AUC of pairs of both kinds, with a 95 % interval by resampling authors."""
    authors, numbers = np.unique(
        np.stack([pairs.left_author, pairs.right_author]), return_inverse=True
    )
    left, right = numbers.reshape(2, -1)
    same = pairs.same
    value = float(roc_auc_score(same, scores))
    if len(authors) < FEWEST_AUTHORS:
        reason = f"an interval needs at least {FEWEST_AUTHORS} authors, not {len(authors)}"
        return Estimate(value=value, n=scores.size, authors=len(authors), reason=reason)
    rng = np.random.default_rng(derive(seed, "pairs", "interval", pairs.left.shape[1]))
    values, tied = np.unique(scores, return_inverse=True)
    found = []
    for _ in range(replicates):
        drawn = rng.integers(len(authors), size=len(authors))
        times = np.bincount(drawn, minlength=len(authors)).astype(float)
        weights = np.where(same, times[left], times[left] * times[right])
        positive = np.bincount(tied[same], weights[same], len(values))
        negative = np.bincount(tied[~same], weights[~same], len(values))
        total = positive.sum() * negative.sum()
        if total > 0:  # otherwise one author was drawn alone: nothing to compare
            below = np.cumsum(negative) - negative / 2
            found.append((positive * below).sum() / total)
    if len(found) < FEWEST_DEFINED * replicates:
        reason = "too few authors for an interval"
        return Estimate(value=value, n=scores.size, authors=len(authors), reason=reason)
    low, high = percentile_interval(np.array(found))
    return with_width(
        Estimate(
            value=value,
            ci_low=low,
            ci_high=high,
            n=scores.size,
            authors=len(authors),
            note=scope_note(len(authors)),
        ),
        "resampling authors shows no spread",
    )
