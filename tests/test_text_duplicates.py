"""Exact and near duplicates."""

import re
from itertools import pairwise
from random import Random

import numpy as np
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


def text(seed: int, length: int = 120) -> str:
    return " ".join(Random(seed).choices(VOCABULARY, k=length))


def windows(text: str) -> set[tuple[str, ...]]:
    """Three-word shingles by their definition."""
    words = re.findall(r"[a-z0-9\x80-\U0010ffff]+", text.casefold())
    return {tuple(words[i : i + 3]) for i in range(max(len(words) - 2, 1))} if words else set()


def jaccard(first: str, second: str) -> float:
    a, b = windows(first), windows(second)
    return len(a & b) / len(a | b) if a | b else 0.0


@pytest.mark.parametrize("same", ["One two.", " one  TWO.\n", "ONE\ntwo.", "onetwo."])
def test_case_and_white_space_do_not_make_a_text_another(same):
    assert exact_key(same) == exact_key("one two.")


@pytest.mark.parametrize("other", ["one two", "one tw0.", "one two. three", ""])
def test_anything_else_does(other):
    assert exact_key(other) != exact_key("one two.")


def test_three_changed_words_are_near_and_other_texts_are_not():
    changed = text(1).split()
    for position in (10, 60, 110):
        changed[position] = "changed"
    copy = " ".join(changed)
    texts = [text(1), text(2), copy, text(3)]
    # Each changed word breaks three of the 118 shingles: 109 common of 127.
    assert jaccard(texts[0], copy) == pytest.approx(109 / 127)
    assert near_duplicate_clusters(shingles(texts), 0.5) == [[0, 2]]
    assert near_duplicate_clusters(shingles(texts), 109 / 127) == [[0, 2]]
    assert near_duplicate_clusters(shingles(texts), 0.86) == []


def test_case_and_punctuation_make_no_difference():
    loud = text(1).upper().replace(" ", ", ")
    assert near_duplicate_clusters(shingles([text(1), loud]), 1.0) == [[0, 1]]


def test_clusters_link_texts_that_are_near_through_a_third():
    slid = [text(1)]
    for step in range(4):
        slid.append(" ".join([*slid[-1].split()[20:], text(50 + step, 20)]))
    assert all(jaccard(a, b) > 0.6 for a, b in pairwise(slid))
    assert jaccard(slid[0], slid[-1]) < 0.2
    assert near_duplicate_clusters(shingles([*slid, text(9)]), 0.6) == [[0, 1, 2, 3, 4]]


def test_short_texts_are_one_shingle_and_texts_without_words_match_nothing():
    texts = ["hi", "", "hi there", "Hi!", "... !", "Hi, there."]
    assert near_duplicate_clusters(shingles(texts), 0.5) == [[0, 3], [2, 5]]
    assert near_duplicate_clusters(shingles([]), 0.5) == []


PIECES = st.lists(st.sampled_from(["a", "B", "b", "é", "9", " ", ", ", "\n", "'"]), max_size=20)


@given(st.lists(PIECES.map("".join), max_size=12), st.sampled_from([0.5, 0.8, 1.0]))
def test_shingles_are_those_of_the_definition(texts, threshold):
    found = shingles(texts)
    for position, own in enumerate(texts):
        start, end = found.offsets[position : position + 2]
        assert len(set(found.hashes[start:end].tolist())) == len(windows(own))
        assert found.hashes[start:end].tolist() == shingles([own]).hashes.tolist()
    chosen = [len(own) % 2 == 0 for own in texts]
    kept = shingles(own for own, keep in zip(texts, chosen, strict=True) if keep)
    assert found.only(chosen).hashes.tolist() == kept.hashes.tolist()
    for cluster in near_duplicate_clusters(found, threshold):
        for member in cluster:
            others = [texts[other] for other in cluster if other != member]
            assert any(jaccard(texts[member], other) >= threshold for other in others)


def test_long_texts_and_many_texts_are_hashed_alike():
    long = text(1, 30_000)
    many = [text(seed, 5) for seed in range(450)]
    found = shingles([long, *many, long])
    assert np.diff(found.offsets).tolist() == [29_998] + [3] * 450 + [29_998]
    assert found.hashes[:29_998].tolist() == found.hashes[-29_998:].tolist()
    assert len(set(found.hashes.tolist())) == len(set().union(windows(long), *map(windows, many)))


def test_the_index_suspects_texts_of_different_batches():
    index = NearDuplicateIndex()
    index.add(shingles([text(1), text(2)]))
    index.add(shingles([text(3), text(2), text(4)]))
    assert index.suspects() == [1, 3]


def test_hashes_are_the_same_on_every_machine():
    """One shingle by the definition, in whole numbers: polynomial, fold, sum, fold."""
    base, modulus = 0x9E3779B97F4A7C15, 2**64
    factors = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
    total = 0
    for factor, word in zip(factors, (b"the", b"cat", "sät".encode()), strict=True):
        value = sum(byte * base**position for position, byte in enumerate(word)) % modulus
        total += factor * (value ^ value >> 32)
    total %= modulus
    assert shingles(["The cat, sät!"]).hashes.tolist() == [total ^ total >> 31]


def test_disjoint_sets():
    clusters = Clusters(6)
    clusters.join(4, 2)
    clusters.join(5, 4)
    clusters.join(0, 1)
    assert clusters.groups() == [[0, 1], [2, 4, 5]]
    assert clusters.root(5) == 2
