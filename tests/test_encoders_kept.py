"""Vectors are computed once per text, encoder and length."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from personalbench.encoders.base import Vectors
from personalbench.encoders.kept import KeptVectors


class Counting:
    """Encodes a text by its length, and counts what it is asked for."""

    family, name, max_length = "counting", "counting", 9

    def __init__(self, revision: str = "rev1") -> None:
        self.revision = revision
        self.encoded: list[str] = []

    def token_counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([len(text) for text in texts])

    def document_vectors(self, texts: Sequence[str]) -> Vectors:
        self.encoded += texts
        return np.array([[len(text), 1 / 3] for text in texts], np.float32).reshape(-1, 2)

    def aggregate(self, vectors: Vectors) -> Vectors:
        return vectors.mean(axis=1)


def test_a_text_is_encoded_once_also_by_another_process(tmp_path: Path) -> None:
    first = Counting()
    vectors = KeptVectors(first, tmp_path).document_vectors(["bb", "a", "bb", "ccc"])
    assert first.encoded == ["bb", "a", "ccc"]
    assert vectors[:, 0].tolist() == [2, 1, 2, 3]
    second = Counting()
    again = KeptVectors(second, tmp_path).document_vectors(["ccc", "dddd", "a"])
    assert second.encoded == ["dddd"]
    assert again[:, 0].tolist() == [3, 4, 1]
    assert again.dtype == np.float32
    assert again[0, 1] == vectors[3, 1]


def test_another_revision_or_length_shares_nothing(tmp_path: Path) -> None:
    KeptVectors(Counting("rev1"), tmp_path).document_vectors(["a"])
    other = Counting("rev2")
    KeptVectors(other, tmp_path).document_vectors(["a"])
    assert other.encoded == ["a"]
    longer = Counting("rev1")
    longer.max_length = 10
    KeptVectors(longer, tmp_path).document_vectors(["a"])
    assert longer.encoded == ["a"]


def test_no_texts_give_no_rows_of_the_right_width(tmp_path: Path) -> None:
    assert KeptVectors(Counting(), tmp_path).document_vectors([]).shape == (0, 2)


def test_no_text_is_stored(tmp_path: Path) -> None:
    KeptVectors(Counting(), tmp_path).document_vectors(["a private sentence"])
    assert not [path for path in tmp_path.iterdir() if b"private" in path.read_bytes()]
