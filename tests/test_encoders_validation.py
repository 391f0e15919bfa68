"""Pairs of real text and what is computed from them."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personalbench.metrics.validation import (
    Pairs,
    draw_pairs,
    equal_error_rate,
    even_shares,
    pair_scores,
    same_author_pairs,
    verify,
)

# For every author, how many documents each of the sources has.
corpora = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), min_size=1, max_size=5)


def flat(counts: list[list[int]]) -> tuple[list[str], list[str]]:
    """The author and the source of every document."""
    pairs = [
        (f"a{author}", f"a{author}/{source}")
        for author, own in enumerate(counts)
        for source, count in enumerate(own)
        for _ in range(count)
    ]
    return [author for author, _ in pairs], [source for _, source in pairs]


def groups(pairs: Pairs) -> list[frozenset[frozenset[int]]]:
    rows = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    return [frozenset((frozenset(left), frozenset(right))) for left, right in rows]


def every_pair(
    authors: list[str], sources: list[str], size: int
) -> tuple[set[frozenset[frozenset[int]]], set[frozenset[frozenset[int]]]]:
    """All allowed same-author and cross-author pairs, by trying every two groups."""
    whole = [
        frozenset(chosen)
        for author in set(authors)
        for chosen in combinations([i for i, a in enumerate(authors) if a == author], size)
    ]
    same, cross = set(), set()
    for left, right in combinations(whole, 2):
        if authors[min(left)] != authors[min(right)]:
            cross.add(frozenset((left, right)))
        elif not {sources[i] for i in left} & {sources[i] for i in right}:
            same.add(frozenset((left, right)))
    return same, cross


@settings(max_examples=60, deadline=None)
@given(corpora, st.integers(1, 3), st.integers(1, 40))
def test_pairs_are_different_disjoint_of_other_sources_and_all_where_there_are_few(
    counts: list[list[int]], size: int, wanted: int
) -> None:
    authors, sources = flat(counts)
    pairs = draw_pairs(authors, sources, size, wanted, seed=7)
    names = sorted(set(authors))
    for left, right, a, b in zip(
        pairs.left, pairs.right, pairs.left_author, pairs.right_author, strict=True
    ):
        assert len({*left, *right}) == 2 * size
        assert {authors[i] for i in left} == {names[a]}
        assert {authors[i] for i in right} == {names[b]}
        assert not {sources[i] for i in left} & {sources[i] for i in right}
    found = groups(pairs)
    assert len(set(found)) == len(found)
    same, cross = every_pair(authors, sources, size)
    assert pairs.same.sum() == min(wanted, len(same))
    assert (~pairs.same).sum() == min(wanted, len(cross))
    assert set(found) <= same | cross


def test_pairs_depend_on_seed_alone_and_spread_over_authors() -> None:
    authors = [f"a{i % 10}" for i in range(200)]
    sources = [str(i) for i in range(200)]
    first, again, other = (draw_pairs(authors, sources, 5, 100, seed) for seed in (1, 1, 2))
    assert groups(first) == groups(again) != groups(other)
    assert Counter(first.left_author[first.same].tolist()) == dict.fromkeys(range(10), 10)
    assert Counter(first.left_author[~first.same].tolist()) == dict.fromkeys(range(10), 10)


def test_number_of_pairs_without_a_common_source_by_hand() -> None:
    # Documents a, b of one source and c of another: a-c and b-c.
    assert same_author_pairs([2, 1], 1) == 2
    # Two of {a, b} against two of {c, d}; with one source each, three ways to pair up.
    assert same_author_pairs([2, 2], 2) == 1
    assert same_author_pairs([1, 1, 1, 1], 2) == 3
    assert same_author_pairs([9], 1) == 0


def test_too_few_pairs_are_said() -> None:
    authors, sources = flat([[1, 1], [1, 1], [1, 1]])
    pairs = draw_pairs(authors, sources, 1, 10, seed=1)
    result = verify(pairs, np.arange(len(pairs.left), dtype=float), seed=1)
    assert result.shortage == "3 same-author pairs of 10 at 1 against 1"
    authors, sources = flat([[3], [3], [3]])
    one_source = draw_pairs(authors, sources, 1, 10, seed=1)
    result = verify(one_source, np.zeros(10), seed=1)
    assert result.reason == "no same-author pairs of different sources with 1 documents a group"
    assert result.auc is None


def test_shares_are_even_up_to_the_limits() -> None:
    assert even_shares([100, 1, 100], 11) == [5, 1, 5]
    assert even_shares([0, 2], 50) == [0, 2]


def made_pairs(left: list[int], right: list[int]) -> Pairs:
    column = np.arange(len(left))[:, None]
    return Pairs(column, column, np.array(left), np.array(right), wanted=len(left))


def test_auc_and_means_by_hand() -> None:
    # Same: 0.9, 0.5; cross: 0.6, 0.1, 0.5. Of six comparisons, four are won, one tied.
    pairs = made_pairs([0, 1, 0, 1, 2], [0, 1, 1, 2, 0])
    result = verify(pairs, np.array([0.9, 0.5, 0.6, 0.1, 0.5]), seed=1)
    assert result.auc == pytest.approx(4.5 / 6)
    assert result.ceiling == pytest.approx(0.7)
    assert result.floor == pytest.approx(0.4)
    assert (result.same_pairs, result.cross_pairs, result.authors) == (2, 3, 3)


def test_equal_error_rate_by_hand() -> None:
    # At a threshold of 0.5, one of four same-author pairs is rejected, and one of four
    # cross-author pairs accepted.
    same = np.array([1, 1, 1, 1, 0, 0, 0, 0], dtype=bool)
    scores = np.array([0.9, 0.8, 0.7, 0.2, 0.6, 0.4, 0.3, 0.1])
    assert equal_error_rate(same, scores) == pytest.approx(0.25)
    assert equal_error_rate(same, np.where(same, 1.0, 0.0)) == 0


def test_interval_is_wide_over_few_authors_and_holds_the_estimate() -> None:
    rng = np.random.default_rng(3)
    left = np.repeat(np.arange(30), 10)
    right = np.where(np.arange(300) % 2, left, (left + 1 + np.arange(300) % 7) % 30)
    scores = rng.normal(size=300) + (left == right)
    pairs = made_pairs(left.tolist(), right.tolist())
    result = verify(pairs, scores, seed=1, replicates=400)
    assert result.auc_low is not None and result.auc is not None and result.auc_high is not None
    assert result.auc_low < result.auc < result.auc_high
    assert result == verify(pairs, scores, seed=1, replicates=400)


def test_perfect_separation_has_no_interval_of_zero_width() -> None:
    pairs = made_pairs([0, 1, 2, 3, 0, 0, 0, 1, 1, 2], [0, 1, 2, 3, 1, 2, 3, 2, 3, 3])
    result = verify(pairs, np.array([0.9] * 4 + [0.1] * 6), seed=1)
    assert (result.auc, result.auc_low, result.auc_high) == (1, None, None)
    assert result.reason == "resampling authors shows no spread"


def test_an_interval_needs_nearly_all_replicates() -> None:
    # Of four authors only two are ever compared: many replicates lack one of them.
    pairs = made_pairs([0, 1, 2, 3, 0], [0, 1, 2, 3, 1])
    result = verify(pairs, np.array([0.9, 0.2, 0.8, 0.8, 0.5]), seed=1)
    assert (result.auc, result.auc_low) == (0.75, None)
    assert result.reason == "too few authors for an interval"


def test_what_cannot_be_estimated_is_none_with_a_reason() -> None:
    one = verify(made_pairs([0, 0], [0, 0]), np.array([0.1, 0.2]), seed=1)
    assert one.auc is None and one.eer is None and one.floor is None
    assert one.reason == "no cross-author pairs with 1 documents a group"
    two = verify(made_pairs([0, 0], [0, 1]), np.array([0.3, 0.2]), seed=1)
    assert two.auc == 1 and two.auc_low is None
    assert two.reason == "an interval needs at least 3 authors, not 2"


class FirstDocument:
    """Aggregates to the first document of a group."""

    family = name = revision = "first"
    max_length = 1

    def aggregate(self, vectors: np.ndarray) -> np.ndarray:
        return vectors[:, 0]


def test_scores_are_cosines_and_never_nan() -> None:
    vectors = np.array([[3, 4], [6, 8], [4, -3], [0, 0]], dtype=np.float32)
    pairs = Pairs(
        np.array([[0], [0], [0]]),
        np.array([[1], [2], [3]]),
        np.zeros(3, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
        wanted=3,
    )
    scores = pair_scores(FirstDocument(), vectors, pairs)  # type: ignore[arg-type]
    assert scores == pytest.approx([1, 0, 0])
