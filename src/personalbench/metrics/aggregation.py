"""How likeness grows with the number of documents on either side."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from personalbench.encoders.base import Encoder, Vectors
from personalbench.metrics.similarity import Floats, cosine


def likeness_by_size(encoder: Encoder, profile_vectors: Vectors, group_vectors: Vectors) -> Floats:
    """Likeness of k documents to k profile documents, for k from 1 to all.

    The mean over every choice of k documents of a group and k of the profile, so that no
    draw adds noise; with all of them it is the likeness itself.

    Args:
        encoder: Aggregates the document vectors.
        profile_vectors: The selected profile documents, (E, H).
        group_vectors: G groups of E documents, (G, E, H).

    Returns:
        (G, E); column k - 1 is of k documents.
    """
    groups, documents = group_vectors.shape[:2]
    columns = []
    for size in range(1, documents + 1):
        choices = _choices(documents, size)
        profiles = encoder.aggregate(profile_vectors[choices])
        chosen = group_vectors[:, choices].reshape(-1, size, group_vectors.shape[-1])
        answers = encoder.aggregate(chosen).reshape(groups, len(choices), 1, -1)
        columns.append(cosine(answers, profiles).mean(axis=(1, 2)))
    return np.stack(columns, axis=1)


def _choices(documents: int, size: int) -> NDArray[np.int64]:
    return np.array(list(combinations(range(documents), size)))
