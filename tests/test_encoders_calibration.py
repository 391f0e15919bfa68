"""Calibration sets know what they are for, and hold no text and no names."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from personalbench.corpus.document import Document
from personalbench.encoders import mini
from personalbench.encoders.calibration import Calibration, calibrate
from personalbench.errors import UserError


class Lengths:
    """Encodes a text as its length and its number of blanks; groups are sums."""

    family = name = "lengths"
    revision = "r1"
    max_length = 100

    def token_counts(self, texts: list[str]) -> np.ndarray:
        return np.array([len(text) for text in texts])

    def document_vectors(self, texts: list[str]) -> np.ndarray:
        return np.array([[len(t), t.count(" ")] for t in texts], dtype=np.float32)

    def aggregate(self, vectors: np.ndarray) -> np.ndarray:
        return vectors.sum(axis=1)


def documents(authors: dict[str, int]) -> list[Document]:
    return [
        Document(
            id=f"{author}-{i}", author=author, source=author, text=f"{author} wrote {i}", words=3
        )
        for author, count in authors.items()
        for i in range(count)
    ]


def made(authors: dict[str, int], wanted: int = 2) -> Calibration:
    return calibrate(Lengths(), documents(authors), wanted, 3, seed=1)


def test_each_author_is_one_group() -> None:
    result = made({"ann": 3, "bo": 2, "cleo": 9})
    assert sorted(result.vectors.tolist()) == [[3 * 11, 6], [3 * 12, 6]]
    assert len(set(result.authors)) == 2


def test_survives_saving(tmp_path: Path) -> None:
    result = made({"ann": 3, "cleo": 9})
    result.save(tmp_path / "c.safetensors")
    loaded = Calibration.load(tmp_path / "c.safetensors")
    np.testing.assert_array_equal(loaded.vectors, result.vectors)
    assert replace(loaded, vectors=result.vectors) == result
    content = (tmp_path / "c.safetensors").read_bytes()
    assert b"ann" not in content and b"wrote" not in content


def test_does_not_depend_on_the_order_of_authors_or_on_others() -> None:
    one = made({"ann": 5, "cleo": 9}, 2)
    other = made({"cleo": 9, "bo": 1, "ann": 5}, 2)
    assert sorted(one.authors) == sorted(other.authors)


def test_is_refused_with_anything_else() -> None:
    result = made({"ann": 3, "cleo": 9})
    result.require(Lengths(), 3)
    for attribute, value in (("name", "luar"), ("revision", "r2"), ("max_length", 99)):
        encoder = Lengths()
        setattr(encoder, attribute, value)
        with pytest.raises(UserError, match=f"not {value}"):
            result.require(encoder, 3)
    with pytest.raises(UserError, match="group_size 3, not 5"):
        result.require(Lengths(), 5)


def test_too_few_authors_is_said() -> None:
    with pytest.raises(UserError, match=r"needs 3 authors of at least 3 documents; .* have 2"):
        made({"ann": 3, "bo": 2, "cleo": 9}, wanted=3)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        Calibration.load(tmp_path / "c.safetensors")
    (tmp_path / "c.safetensors").write_bytes(b"x" * 30)
    with pytest.raises(UserError, match="not a safetensors file"):
        Calibration.load(tmp_path / "c.safetensors")


def test_the_shipped_set_is_for_the_shipped_encoder() -> None:
    shipped = Calibration.load(mini.shipped("calibration.safetensors"))
    assert (shipped.encoder, shipped.max_length, shipped.group_size) == ("luar-mini", 512, 5)
    assert shipped.revision == mini.revision(mini.shipped("adapter.safetensors"))
    assert shipped.vectors.shape == (50, 512)
    assert len(set(shipped.authors)) == 50
    assert all(re.fullmatch("[0-9a-f]{16}", name) for name in shipped.authors)
