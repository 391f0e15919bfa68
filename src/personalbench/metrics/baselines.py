"""Function words as an encoder: the oldest baseline of authorship."""

from collections import Counter
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from personalbench.encoders.base import Vectors
from personalbench.metrics.stylometry import FUNCTION_WORDS
from personalbench.storage import sha256_bytes
from personalbench.text.tokenise import words


class FunctionWordEncoder:
    """Relative frequencies of the function words; groups by their mean.

    An :class:`~personalbench.encoders.base.Encoder`.

    Args:
        max_length: Longest document in words; the rest is cut off.
    """

    family = "function_words"
    name = "function-words"
    revision = sha256_bytes(" ".join(FUNCTION_WORDS).encode())

    def __init__(self, max_length: int = 100_000) -> None:
        self.max_length = max_length

    def token_counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Words of every text before truncation, shape (N,)."""
        return np.array([len(words(text)) for text in texts], dtype=np.int64)

    def document_vectors(self, texts: Sequence[str]) -> Vectors:
        """Share of each function word in all words of a text: (N, H)."""
        vectors = np.zeros((len(texts), len(FUNCTION_WORDS)), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            found = words(text)[: self.max_length]
            counts = Counter(found)
            row[:] = [counts[word] / max(1, len(found)) for word in FUNCTION_WORDS]
        return vectors

    def aggregate(self, vectors: Vectors) -> Vectors:
        """Mean over the documents: (B, E, H) to (B, H)."""
        return cast(Vectors, vectors.mean(axis=1))
