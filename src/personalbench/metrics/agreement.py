"""Agreement of a judge with itself: verdicts asked for twice, and lists of labels made anew."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import cohen_kappa_score

from personalbench.metrics.dyads import dyad_mean
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.statistics import bootstrap_mean, bootstrap_share, with_width
from personalbench.text.tokenise import words

Answers = Mapping[str, Sequence[bool | None]]
"""Author to yes-or-no answers; None where a call failed."""

Labels = Sequence[str]


class Agreement(BaseModel):
    """How far two rounds of yes-or-no answers agree.

    Attributes:
        share: Share of equal answers.
        kappa: Cohen's kappa (Cohen 1960): the same beyond what chance would give.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    share: Estimate
    kappa: Estimate


def agreement(first: Answers, second: Answers, replicates: int, seed: int) -> Agreement:
    """Compare two rounds answer by answer; pairs with a failed call are left out.

    Args:
        first: The answers of one round.
        second: Those of the other, to the same questions in the same order.
        replicates: Number of bootstrap replicates, for the share's interval.
        seed: Seed of the resampling.
    """
    pairs = {
        author: [
            (one, other)
            for one, other in zip(answers, second[author], strict=True)
            if one is not None and other is not None
        ]
        for author, answers in first.items()
    }
    flat = [pair for both in pairs.values() for pair in both]
    authors = sum(bool(both) for both in pairs.values())
    if not flat:
        nothing = missing("no question was answered twice")
        return Agreement(share=nothing, kappa=nothing)
    equal = {author: [one == other for one, other in both] for author, both in pairs.items()}
    return Agreement(share=bootstrap_share(equal, replicates, seed), kappa=_kappa(flat, authors))


def _kappa(pairs: Sequence[tuple[bool, bool]], authors: int) -> Estimate:
    if len({answer for pair in pairs for answer in pair}) == 1:
        only = "yes" if pairs[0][0] else "no"
        return missing(
            f"every answer was {only}: agreement beyond chance is undefined", len(pairs), authors
        )
    value = float(cohen_kappa_score(*zip(*pairs, strict=True)))
    return Estimate(value=value, n=len(pairs), authors=authors)


def jaccard(first: Labels, second: Labels) -> float:
    """Jaccard index of two lists of labels; case, punctuation and spacing do not count."""
    one, other = ({" ".join(words(label)) for label in labels} for labels in (first, second))
    return len(one & other) / len(one | other)


class SoftOverlap:
    """Overlap of lists of labels that need not be worded alike.

    Labels are compared as TF-IDF vectors of their words, so that what all of them have in
    common ("does the writer") counts little.

    Args:
        labels: All labels that will be compared; they set the weights.
    """

    def __init__(self, labels: Labels) -> None:
        self._vectors = TfidfVectorizer(analyzer=words).fit(labels)

    def __call__(self, first: Labels, second: Labels) -> float:
        """Mean cosine of each label with its best match on the other side, both ways."""
        one, other = (self._vectors.transform(labels) for labels in (first, second))
        cosines: NDArray[np.float64] = (one @ other.T).toarray()
        return float((cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2)


def overlap_within(
    groups: Mapping[str, Sequence[Labels]],
    overlap: Callable[[Labels, Labels], float],
    replicates: int,
    seed: int,
) -> Estimate:
    """Mean overlap of two lists for the same author, with an interval that resamples authors."""
    values = {
        author: [overlap(*pair) for pair in combinations(lists, 2)]
        for author, lists in groups.items()
    }
    if not any(values.values()):
        return missing("no author has two lists")
    return with_width(bootstrap_mean(values, replicates, seed))


def overlap_between(
    groups: Mapping[str, Sequence[Labels]],
    overlap: Callable[[Labels, Labels], float],
    replicates: int,
    seed: int,
) -> Estimate:
    """The same for lists of two different authors."""
    pairs = [
        (overlap(mine, theirs), author, other)
        for author, other in combinations(sorted(groups), 2)
        for mine in groups[author]
        for theirs in groups[other]
    ]
    if not pairs:
        return missing("fewer than two authors have a list")
    values, first, second = zip(*pairs, strict=True)
    return dyad_mean(values, first, second, replicates, seed)
