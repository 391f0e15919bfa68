"""Exact and near duplicates."""

from itertools import chain, pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personalbench.text.duplicates import (
    Clusters,
    NearDuplicateIndex,
    exact_key,
    near_duplicate_clusters,
    shingles,
)

VOCABULARY = [f"word{number}" for number in range(2000)]


def text(seed: int, length: int = 120) -> list[str]:
    return Random(seed).choices(VOCABULARY, k=length)


def jaccard(first: list[str], second: list[str]) -> float:
    def windows(tokens):
        return (
            {tuple(tokens[i : i + 3]) for i in range(max(len(tokens) - 2, 1))} if tokens else set()
        )

    a, b = windows(first), windows(second)
    return len(a & b) / len(a | b) if a | b else 0.0


@pytest.mark.parametrize("same", ["One two.", " one  TWO.\n", "ONE\u00a0two."])
def test_case_and_white_space_do_not_make_a_text_another(same):
    assert exact_key(same) == exact_key("one two.")


@pytest.mark.parametrize("other", ["one two", "onetwo.", "one two. three", ""])
def test_anything_else_does(other):
    assert exact_key(other) != exact_key("one two.")


def test_three_changed_words_are_near_and_other_texts_are_not():
    copy = text(1)
    for position in (10, 60, 110):
        copy[position] = "changed"
    texts = [text(1), text(2), copy, text(3)]
    # Each changed word breaks three of the 118 shingles: 109 common of 127.
    assert jaccard(texts[0], copy) == pytest.approx(109 / 127)
    assert near_duplicate_clusters(shingles(texts), 0.5) == [[0, 2]]
    assert near_duplicate_clusters(shingles(texts), 109 / 127) == [[0, 2]]
    assert near_duplicate_clusters(shingles(texts), 0.86) == []


def test_clusters_link_texts_that_are_near_through_a_third():
    slid = [text(1)]
    for step in range(4):
        slid.append([*slid[-1][20:], *text(50 + step, 20)])
    assert all(jaccard(a, b) > 0.6 for a, b in pairwise(slid))
    assert jaccard(slid[0], slid[-1]) < 0.2
    assert near_duplicate_clusters(shingles([*slid, text(9)]), 0.6) == [[0, 1, 2, 3, 4]]


def test_short_texts_are_one_shingle_and_empty_texts_match_nothing():
    texts = [["hi"], [], ["hi", "there"], ["hi"], [], ["hi", "there"]]
    assert near_duplicate_clusters(shingles(texts), 0.5) == [[0, 3], [2, 5]]
    assert near_duplicate_clusters(shingles([]), 0.5) == []


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=7), max_size=12),
    st.sampled_from([0.5, 0.8, 1.0]),
)
def test_shingles_lie_inside_their_text(texts, threshold):
    found = shingles(texts)
    counts = [max(len(t) - 2, 1) if t else 0 for t in texts]
    assert [b - a for a, b in pairwise(found.offsets.tolist())] == counts
    alone = [shingles([t]).hashes.tolist() for t in texts]
    assert found.hashes.tolist() == list(chain.from_iterable(alone))
    chosen = [len(t) % 2 == 0 for t in texts]
    kept = found.only(chosen)
    assert (
        kept.hashes.tolist()
        == shingles([t for t, keep in zip(texts, chosen, strict=True) if keep]).hashes.tolist()
    )
    for cluster in near_duplicate_clusters(found, threshold):
        for member in cluster:
            assert any(
                jaccard(texts[member], texts[o]) >= threshold for o in cluster if o != member
            )


def test_the_index_suspects_texts_of_different_batches():
    index = NearDuplicateIndex()
    index.add(shingles([text(1), text(2)]))
    index.add(shingles([text(3), text(2), text(4)]))
    assert index.suspects() == [1, 3]


def test_hashes_are_the_same_in_every_process():
    assert shingles([["the", "cat", "sat"]]).hashes.tolist() == [SHINGLE]


# Computed by hand from the definition: sum of the words' BLAKE2b hashes times the odd
# multipliers, modulo 2**64, folded once.
def _by_definition() -> int:
    from hashlib import blake2b

    factors = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
    total = (
        sum(
            factor * int.from_bytes(blake2b(word, digest_size=8).digest(), "little")
            for factor, word in zip(factors, (b"the", b"cat", b"sat"), strict=True)
        )
        % 2**64
    )
    return total ^ (total >> 31)


SHINGLE = _by_definition()


def test_disjoint_sets():
    clusters = Clusters(6)
    clusters.join(4, 2)
    clusters.join(5, 4)
    clusters.join(0, 1)
    assert clusters.groups() == [[0, 1], [2, 4, 5]]
    assert clusters.root(5) == 2
