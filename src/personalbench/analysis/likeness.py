"""What the authorship vectors of a run's groups of answers show beyond the headline."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from personalbench.analysis.records import GeneratedSets, SizedLikeness, TargetTest
from personalbench.bundle import Bundle
from personalbench.corpus.document import Document
from personalbench.encoders.base import Encoder, Vectors
from personalbench.groups import complete_groups
from personalbench.metrics.aggregation import likeness_by_size
from personalbench.metrics.dyads import dyad_auc, dyad_mean
from personalbench.metrics.estimate import Estimate
from personalbench.metrics.similarity import Floats, cosine
from personalbench.metrics.statistics import bootstrap_mean
from personalbench.metrics.verification import auc
from personalbench.references import REAL_TEXT
from personalbench.seeds import draw
from personalbench.twins.answers import Answer


@dataclass(frozen=True)
class Resampling:
    """How every interval is made."""

    replicates: int
    seed: int


@dataclass(frozen=True)
class AnswerGroup:
    """A complete group of answers.

    Attributes:
        author: Whose cases.
        case_ids: Which.
        vectors: Of its documents, (E, H).
    """

    author: str
    case_ids: tuple[str, ...]
    vectors: Vectors


def answer_groups(
    answers: Sequence[Answer], bundles: Sequence[Bundle], encoder: Encoder
) -> list[AnswerGroup]:
    """The complete groups of one line, each with its documents' vectors."""
    usable = [answer for answer in answers if answer.status == "ok"]
    vectors = encoder.document_vectors([answer.text for answer in usable])
    complete, _ = complete_groups(usable, bundles)
    return [
        AnswerGroup(author, tuple(usable[member].case_id for member in members), vectors[members])
        for author, rows in complete.items()
        for members in rows
    ]


def own_profiles(bundles: Iterable[Bundle], encoder: Encoder) -> dict[str, Vectors]:
    """Vectors of the selected profile documents of every author, (E, H)."""
    return {
        bundle.author: encoder.document_vectors([document.text for document in bundle.selected])
        for bundle in bundles
    }


def other_profiles(
    known: Mapping[str, Vectors],
    corpus: Iterable[Document],
    size: int,
    encoder: Encoder,
    seed: int,
) -> dict[str, Vectors]:
    """Vectors of as many profile documents of every other author of the corpus, (E, H).

    Drawn as the validation draws, which has encoded them.
    """
    texts: dict[str, dict[str, str]] = {}
    for document in corpus:
        if document.split == "profile" and document.author not in known:
            texts.setdefault(document.author, {})[document.id] = document.text
    drawn = {
        author: [own[name] for name in draw(own, size, seed, author, REAL_TEXT)]
        for author, own in texts.items()
        if len(own) >= size
    }
    vectors = encoder.document_vectors([text for own in drawn.values() for text in own])
    return dict(zip(drawn, np.split(vectors, len(drawn)) if drawn else [], strict=True))


def aggregation(
    line: str,
    groups: Sequence[AnswerGroup],
    profiles: Mapping[str, Vectors],
    encoder: Encoder,
    resampling: Resampling,
) -> list[SizedLikeness]:
    """Likeness of one line at 1, 2, … documents on either side."""
    stacks: dict[str, list[Vectors]] = {}
    for group in groups:
        stacks.setdefault(group.author, []).append(group.vectors)
    curves = {
        author: likeness_by_size(encoder, profiles[author], np.stack(stack))
        for author, stack in stacks.items()
    }
    sizes = range(groups[0].vectors.shape[0]) if groups else range(0)
    return [
        SizedLikeness(
            line=line,
            documents=place + 1,
            likeness=bootstrap_mean(
                {author: curve[:, place].tolist() for author, curve in curves.items()},
                resampling.replicates,
                resampling.seed,
            ),
        )
        for place in sizes
    ]


def target_test(
    line: str,
    groups: Sequence[AnswerGroup],
    profiles: Mapping[str, Vectors],
    encoder: Encoder,
    resampling: Resampling,
) -> TargetTest:
    """Hold every group against the profiles of its target and of all others.

    Intervals resample the targets.

    Args:
        line: A twin or the ceiling.
        groups: Its complete groups.
        profiles: Of all authors, the targets among them.
        encoder: Aggregates.
        resampling: Of the intervals.
    """
    values = _likeness([group.vectors for group in groups], list(profiles.values()), encoder)
    targets = [group.author for group in groups]
    is_own = np.array([[name == target for name in profiles] for target in targets], bool)
    own: dict[str, list[float]] = {}
    others: dict[str, list[float]] = {}
    for target, row, mine in zip(targets, values, is_own, strict=True):
        own.setdefault(target, []).extend(row[mine].tolist())
        others.setdefault(target, []).extend(row[~mine].tolist())
    return TargetTest(
        line=line,
        own=bootstrap_mean(own, resampling.replicates, resampling.seed),
        others=bootstrap_mean(others, resampling.replicates, resampling.seed),
        auc=auc(
            values.ravel().tolist(),
            is_own.ravel().tolist(),
            [target for target in targets for _ in profiles],
            resampling.replicates,
            resampling.seed,
        ),
        profiles=len(profiles) - 1,
    )


def generated_sets(
    groups: Mapping[str, Sequence[AnswerGroup]],
    profiles: Mapping[str, Vectors],
    encoder: Encoder,
    resampling: Resampling,
) -> GeneratedSets:
    """Hold the groups of every two twins against each other.

    Args:
        groups: Complete groups by twin.
        profiles: Of the targets.
        encoder: Aggregates.
        resampling: Of the intervals.
    """
    sets = [(twin, group) for twin, own in groups.items() for group in own]
    vectors = [group.vectors for _, group in sets]
    authors = np.array([group.author for _, group in sets], dtype=str)
    pairs = [
        (i, j)
        for (i, (mine, _)), (j, (other, _)) in combinations(enumerate(sets), 2)
        if mine != other  # texts of one twin share more than their target
    ]
    rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
    values = _likeness(vectors, vectors, encoder)[rows, columns]
    first, second = authors[rows], authors[columns]
    replicates, seed = resampling.replicates, resampling.seed

    def mean(kept: NDArray[np.bool_]) -> Estimate:
        named = first[kept].tolist(), second[kept].tolist()
        return dyad_mean(values[kept].tolist(), *named, replicates, seed)

    real: dict[str, list[float]] = {}
    for _, group in sets:
        likeness = _likeness([group.vectors], [profiles[group.author]], encoder)
        real.setdefault(group.author, []).append(float(likeness[0, 0]))
    return GeneratedSets(
        same_target=mean(first == second),
        other_target=mean(first != second),
        auc=dyad_auc(values.tolist(), first.tolist(), second.tolist(), seed),
        to_real=bootstrap_mean(real, replicates, seed),
    )


def _likeness(first: Sequence[Vectors], second: Sequence[Vectors], encoder: Encoder) -> Floats:
    """Cosine of every set of documents with every other, (F, S)."""
    if not first or not second:
        return np.empty((len(first), len(second)))
    sets = encoder.aggregate(np.stack(first))
    return cosine(sets[:, None], encoder.aggregate(np.stack(second)))
