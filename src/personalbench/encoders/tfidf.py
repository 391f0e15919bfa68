"""TF-IDF encoders: a second opinion and a baseline beside LUAR."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from sklearn.feature_extraction.text import TfidfVectorizer

from personalbench.encoders.base import Vectors
from personalbench.errors import UserError
from personalbench.storage import read_json, sha256_bytes, write_json
from personalbench.text.tokenise import words

_FEATURES = 8192


class _Fitted(BaseModel):
    """What fitting learns: terms in the order of their columns, and their weights."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    unit: Literal["character", "word"]
    max_length: int
    terms: tuple[str, ...]
    idf: tuple[float, ...]


class TfidfEncoder:
    """Cosine over TF-IDF weights, sublinear in the counts.

    The 8,192 most frequent terms are kept. Groups are aggregated by their mean. Made by
    :meth:`fit` or :meth:`load`.
    """

    unit: Literal["character", "word"]
    family: str
    name: str

    def __init__(self, fitted: _Fitted) -> None:
        self._fitted = fitted
        self.max_length = fitted.max_length
        self.revision = sha256_bytes(fitted.model_dump_json().encode())
        self._vectorizer = self._unfitted(vocabulary=fitted.terms)
        self._vectorizer.idf_ = np.array(fitted.idf)

    @classmethod
    def fit(cls, texts: Sequence[str], max_length: int = 100_000) -> Self:
        """Learn terms and weights; a text is cut after ``max_length`` units."""
        vectorizer = cls._unfitted(max_features=_FEATURES)
        vectorizer.fit([_cut(text, cls.unit, max_length) for text in texts])
        return cls(
            _Fitted(
                unit=cls.unit,
                max_length=max_length,
                terms=tuple(str(term) for term in vectorizer.get_feature_names_out()),
                idf=tuple(float(weight) for weight in vectorizer.idf_),
            )
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what :meth:`save` wrote."""
        fitted = _Fitted.model_validate(read_json(path))
        if fitted.unit != cls.unit:
            raise UserError(f"{path}: of {fitted.unit}s, not of {cls.unit}s; fit it anew")
        return cls(fitted)

    def save(self, path: Path) -> None:
        """Write terms and weights as JSON."""
        write_json(path, self._fitted.model_dump(mode="json"))

    def token_counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Characters or words of every text before truncation, shape (N,)."""
        return np.array([len(_units(text, self.unit)) for text in texts], dtype=np.int64)

    def document_vectors(self, texts: Sequence[str]) -> Vectors:
        """TF-IDF weights of every text: (N, H)."""
        if not texts:
            return np.empty((0, len(self._fitted.terms)), dtype=np.float32)
        cut = [_cut(text, self.unit, self.max_length) for text in texts]
        return np.asarray(self._vectorizer.transform(cut).toarray(), dtype=np.float32)

    def aggregate(self, vectors: Vectors) -> Vectors:
        """Mean over the documents: (B, E, H) to (B, H)."""
        return np.asarray(vectors.mean(axis=1), dtype=np.float32)

    @classmethod
    def _unfitted(cls, **settings: object) -> TfidfVectorizer:
        if cls.unit == "character":
            kind = {"analyzer": "char", "ngram_range": (4, 4), "lowercase": False}
        else:
            kind = {"analyzer": words}
        return TfidfVectorizer(**kind, sublinear_tf=True, dtype=np.float32, **settings)


class CharNgramEncoder(TfidfEncoder):
    """Character 4-grams, case and punctuation kept."""

    unit = "character"
    family = "char_ngram"
    name = "char-ngram-tfidf"


class WordTfidfEncoder(TfidfEncoder):
    """Words: what a text is about, more than who wrote it."""

    unit = "word"
    family = "word_tfidf"
    name = "word-tfidf"


def _units(text: str, unit: Literal["character", "word"]) -> Sequence[str]:
    return text if unit == "character" else words(text)


def _cut(text: str, unit: Literal["character", "word"], max_length: int) -> str:
    if unit == "character":
        return text[:max_length]
    return " ".join(words(text)[:max_length])
