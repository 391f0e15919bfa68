"""Generators' fingerprints: how alike the sets of texts are that one model wrote, or two."""

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np

from personalbench.analysis.likeness import AnswerGroup, Resampling
from personalbench.analysis.records import Fingerprint
from personalbench.encoders.base import Encoder, Vectors
from personalbench.metrics.dyads import dyad_mean
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.similarity import cosine

REAL = "real text"


def fingerprints(
    groups: Mapping[str, Sequence[AnswerGroup]],
    writers: Mapping[str, str],
    encoder: Encoder,
    resampling: Resampling,
) -> list[Fingerprint]:
    """Likeness of sets by the same writer and by any two, the authors themselves among them.

    Only sets for two different targets are compared, by whatever method: what they share
    is then neither the person nor the topics.

    Args:
        groups: Complete groups by line: ``ceiling`` and every twin.
        writers: The generator of each twin, or the twin itself where it is a file.
        encoder: Aggregates.
        resampling: Of the intervals.
    """
    by_writer: dict[str, list[AnswerGroup]] = {name: [] for name in (*writers.values(), REAL)}
    for line, own in groups.items():
        by_writer[REAL if line == "ceiling" else writers[line]] += own
    sets = {
        writer: encoder.aggregate(np.stack([each.vectors for each in own])) if own else None
        for writer, own in by_writer.items()
    }
    targets = {writer: [each.author for each in own] for writer, own in by_writer.items()}
    return [
        Fingerprint(
            first=first,
            second=second,
            likeness=_likeness(
                sets[first],
                sets[second],
                targets[first],
                targets[second],
                first == second,
                resampling,
            ),
        )
        for first, second in combinations_with_replacement(by_writer, 2)
    ]


def _likeness(
    first: Vectors | None,
    second: Vectors | None,
    first_targets: Sequence[str],
    second_targets: Sequence[str],
    within: bool,
    resampling: Resampling,
) -> Estimate:
    """Mean cosine of the sets of two writers, or of one, over pairs with different targets."""
    if first is None or second is None:
        return missing("no complete group of answers")
    one, other = np.asarray(first_targets), np.asarray(second_targets)
    wanted = one[:, None] != other
    if within:  # each pair once
        wanted &= np.tri(len(one), k=-1, dtype=bool).T
    rows, columns = np.nonzero(wanted)
    if not rows.size:
        return missing("sets for two different targets are needed")
    return dyad_mean(
        cosine(first[:, None], second)[rows, columns].tolist(),
        one[rows].tolist(),
        other[columns].tolist(),
        resampling.replicates,
        resampling.seed,
    )
