"""What every encoder offers."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Encoder(Protocol):
    """Turns documents into vectors once, and any group of vectors into one.

    Attributes:
        family: Prefix of the metrics it makes, ``luar`` or another; only LUAR's
            own architecture may be called ``luar``.
        name: For example ``luar-mini``.
        revision: Immutable: a commit or a content hash.
        max_length: Longest document in tokens; the rest is cut off.
    """

    family: str
    name: str
    revision: str
    max_length: int

    def token_counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Length of every text in tokens before truncation, shape (N,)."""

    def document_vectors(self, texts: Sequence[str]) -> Vectors:
        """Encode every text once: shape (N, H)."""

    def aggregate(self, vectors: Vectors) -> Vectors:
        """Aggregate episodes of E documents: (B, E, H) to (B, D), not normalised."""
