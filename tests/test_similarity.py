"""The twin test of one author, with an encoder that can be worked out by hand."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from personalbench.encoders.base import Vectors
from personalbench.metrics.similarity import (
    calibrate,
    cosine,
    gap_closed,
    group,
    improvement,
    likeness,
    one_v_five,
)


class MaxEncoder:
    """Aggregates by the maximum over documents."""

    family = "test"
    name = "max"
    revision = "0"
    max_length = 8

    def token_counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([len(text) for text in texts])

    def document_vectors(self, texts: Sequence[str]) -> Vectors:
        return np.array([[len(text), 1] for text in texts], np.float32)

    def aggregate(self, vectors: Vectors) -> Vectors:
        highest: Vectors = vectors.max(axis=1)
        return highest


def test_cosine_by_hand() -> None:
    assert cosine([3, 4], [4, 3]) == pytest.approx(24 / 25)
    assert cosine([[1, 0], [0, 2], [-1, -1]], [1, 1]) == pytest.approx([0.5**0.5, 0.5**0.5, -1])


def test_cosine_never_leaves_its_range() -> None:
    generator = np.random.default_rng(0)
    for width in range(1, 60):
        vector = generator.normal(size=width) * 10.0 ** generator.integers(-6, 6)
        assert cosine(vector, vector) <= 1
        assert cosine(vector, -vector) >= -1
    assert np.arccos(cosine([0.1] * 7, [0.1] * 7)) == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("vector", [[0, 0], [np.nan, 1], [np.inf, 1]])
def test_a_vector_without_direction_has_no_cosine(vector: list[float]) -> None:
    with pytest.raises(ValueError, match="zero or non-finite"):
        cosine(vector, [1, 1])


def test_groups_are_complete_and_leftovers_named() -> None:
    assert group(list("abcdefg"), 3) == ([["a", "b", "c"], ["d", "e", "f"]], ["g"])
    assert group(list("abc"), 3) == ([["a", "b", "c"]], [])
    assert group(list("ab"), 3) == ([], ["a", "b"])


def test_likeness_compares_groups_not_single_documents() -> None:
    profile = np.array([[1, 0, 0], [0, 1, 0]], np.float32)  # maximum (1, 1, 0)
    groups = np.array([[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 0, 0]]], np.float32)
    assert likeness(MaxEncoder(), profile, groups) == pytest.approx([1, 0.5])
    singles = one_v_five(MaxEncoder(), profile, groups[0])
    assert singles == pytest.approx([0.5**0.5, 0.5**0.5])


def test_calibration() -> None:
    calibration = calibrate([0.4, 0.1, 0.3, 0.2, 0.5])
    assert calibration.n == 5
    assert calibration.mean == pytest.approx(0.3)
    assert calibration.median == pytest.approx(0.3)
    assert calibration.sd == pytest.approx(0.025**0.5)
    assert (calibration.p5, calibration.p95) == pytest.approx((0.12, 0.48))
    assert calibration.percentile(0.35) == 60
    assert calibration.percentile(0.3) == 50
    assert calibration.percentile(-1) == 0
    assert calibration.percentile(1) == 100
    assert calibrate([0.4]).sd is None
    with pytest.raises(ValueError, match="no calibration"):
        calibrate([])


def test_improvement_and_gap_closed() -> None:
    assert improvement(0.6, 0.5).value == pytest.approx(0.1)
    assert gap_closed(0.6, 0.5, 0.9).value == pytest.approx(0.25)
    assert gap_closed(0.4, 0.5, 0.9).value == pytest.approx(-0.25)
    assert gap_closed(1.0, 0.5, 0.9).value == pytest.approx(1.25)


def test_what_is_unavailable_says_why() -> None:
    assert improvement(0.6, None).reason == "no baseline answers"
    assert improvement(None, 0.5).reason == "the twin has no likeness"
    assert gap_closed(0.6, None, 0.9).reason == "no baseline answers"
    assert gap_closed(0.6, 0.5, None).reason is not None
    for ceiling in (0.5, 0.4):
        gap = gap_closed(0.6, 0.5, ceiling)
        assert gap.value is None
        assert gap.reason == f"no gap to close: ceiling {ceiling:.3f}, baseline 0.500"
