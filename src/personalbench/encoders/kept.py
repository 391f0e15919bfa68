"""Document vectors, computed once per document and encoder and kept between stages."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from personalbench.encoders.base import Encoder, Vectors
from personalbench.paths import cache_folder
from personalbench.storage import sha256_bytes

_SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, value BLOB)"


class KeptVectors:
    """An encoder that looks up what it has encoded before.

    Vectors lie in one file an encoder, revision and maximum length, by the hash of the
    text: no text is stored. Several processes may use the file at once.

    Args:
        encoder: Computes what is not kept yet.
        folder: Where the files lie; by default in the project's cache.
    """

    def __init__(self, encoder: Encoder, folder: Path | None = None) -> None:
        self.encoder = encoder
        self.family = encoder.family
        self.name = encoder.name
        self.revision = encoder.revision
        self.max_length = encoder.max_length
        folder = folder or cache_folder("vectors")
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{self.name}-{self.revision[:16]}-{self.max_length}.sqlite"

    def token_counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Length of every text in tokens before truncation, shape (N,)."""
        return self.encoder.token_counts(texts)

    def aggregate(self, vectors: Vectors) -> Vectors:
        """Aggregate episodes of E documents: (B, E, H) to (B, D), not normalised."""
        return self.encoder.aggregate(vectors)

    def document_vectors(self, texts: Sequence[str]) -> Vectors:
        """Vectors of all texts, shape (N, H); only new texts are encoded, each once."""
        keys = [sha256_bytes(text.encode()) for text in texts]
        with closing(sqlite3.connect(self._path, timeout=60)) as database:
            database.execute(_SCHEMA)
            vectors = self._find(database, keys)
            new = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
            if not new and vectors:
                return np.stack([vectors[key] for key in keys])
            computed = self.encoder.document_vectors(list(new.values()))
            vectors.update(zip(new, computed, strict=True))
            with database:
                database.executemany(
                    "INSERT OR IGNORE INTO vectors VALUES (?, ?)",
                    [
                        (key, np.asarray(vector, "<f4").tobytes())
                        for key, vector in zip(new, computed, strict=True)
                    ],
                )
        return np.stack([vectors[key] for key in keys]) if keys else computed

    @staticmethod
    def _find(database: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        for key in keys:
            query = "SELECT value FROM vectors WHERE key = ?"
            for (value,) in database.execute(query, (key,)):
                found[key] = np.frombuffer(value, "<f4").astype(np.float32)
        return found
