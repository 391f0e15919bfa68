"""Exact and near duplicates among texts.

Two texts are exact duplicates when they differ in case and white space at most; they are
near duplicates when the Jaccard index of their sets of three-word shingles reaches a
threshold. MinHash and locality-sensitive hashing (Broder 1997; Leskovec, Rajaraman and
Ullman, Mining of Massive Datasets, ch. 3) find the candidates, the exact index decides.
"""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import chain, combinations, islice
from typing import NamedTuple

import numpy as np
import rensa
from numpy.typing import NDArray

# 32 bands of 4 rows: a pair of Jaccard index 0.8 becomes a candidate with a probability
# of 1 - (1 - 0.8**4)**32 > 0.9999999, one of 0.6 with 0.99, one of 0.1 with 0.003.
_BANDS, _ROWS = 32, 4
_PERMUTATIONS = _BANDS * _ROWS
_SEED = 0

_SHINGLE = 3
_BATCH = 1000  # texts tokenised at a time, which bounds the memory
_KEPT_WORDS = 300_000
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)


def exact_key(text: str) -> bytes:
    """Return the same 16 bytes for texts that differ in case and white space at most."""
    folded = " ".join(text.casefold().split())
    return hashlib.blake2b(folded.encode(), digest_size=16).digest()


class Shingles(NamedTuple):
    """Hashed three-word shingles of N texts, one text after the other.

    Attributes:
        hashes: All shingles, in order and with repetitions, shape (S,).
        offsets: Text i has ``hashes[offsets[i]:offsets[i + 1]]``, shape (N + 1,).
    """

    hashes: NDArray[np.uint64]
    offsets: NDArray[np.int64]

    def only(self, chosen: Sequence[bool]) -> "Shingles":
        """Return the shingles of the chosen texts, in order."""
        counts = np.diff(self.offsets)
        mask = np.asarray(chosen, bool)
        return Shingles(
            self.hashes[np.repeat(mask, counts)], np.concatenate([[0], np.cumsum(counts[mask])])
        )


class _WordHashes(dict[str, int]):
    """64-bit hashes of words, the same in every process; keeps those of recent texts."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _KEPT_WORDS:
            self.clear()
        value = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
        self[word] = value
        return value


_WORD_HASHES = _WordHashes()


def shingles(texts: Iterable[Sequence[str]]) -> Shingles:
    """Hash the shingles of tokenised texts; a shorter text is one shingle, an empty one none."""
    hashes: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]
    lengths: list[int] = []
    unread = iter(texts)
    while batch := list(islice(unread, _BATCH)):
        padded = [
            [*text, *[""] * (_SHINGLE - len(text))] if 0 < len(text) < _SHINGLE else text
            for text in batch
        ]
        tokens = np.fromiter(map(_WORD_HASHES.__getitem__, chain.from_iterable(padded)), np.uint64)
        sizes = np.array([len(text) for text in padded])
        hashes.append(_hash_windows(tokens, sizes))
        lengths += np.maximum(sizes - _SHINGLE + 1, 0).tolist()
    return Shingles(np.concatenate(hashes), np.concatenate([[0], np.cumsum(lengths, dtype=int)]))


def _hash_windows(tokens: NDArray[np.uint64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hash every window of three tokens that lies within one text.

    Args:
        tokens: Hashed tokens of all texts, one after the other.
        lengths: Numbers of tokens of the texts, none of them 1 or 2.
    """
    windows = np.zeros(max(len(tokens) - _SHINGLE + 1, 0), np.uint64)
    for position, multiplier in enumerate(_MULTIPLIERS):
        windows += tokens[position : position + len(windows)] * multiplier
    windows ^= windows >> np.uint64(31)
    inside = np.ones(len(tokens), bool)
    ends = np.cumsum(lengths)[lengths > 0]
    for distance in range(1, _SHINGLE):
        inside[ends - distance] = False
    return windows[inside[: len(windows)]]


class NearDuplicateIndex:
    """Finds the few texts of a large corpus that may have a near duplicate.

    Memory is a signature of 512 bytes a text, whatever the texts' length.
    """

    def __init__(self) -> None:
        self._lsh = rensa.RMinHashLSH(0.0, _PERMUTATIONS, _BANDS)
        self._signatures: list[rensa.RMinHashDigestMatrix] = []
        self._size = 0

    def add(self, batch: Shingles) -> None:
        """Add texts; they are numbered from 0 in the order of their addition."""
        signatures = _signatures(batch)
        self._lsh.insert_matrix(signatures, self._size)
        self._signatures.append(signatures)
        self._size += len(batch.offsets) - 1

    def suspects(self) -> list[int]:
        """Return the numbers of the texts that share a band of the signature with another."""
        flags = chain.from_iterable(map(self._lsh.query_duplicate_flags_matrix, self._signatures))
        return [number for number, flag in enumerate(flags) if flag]


def near_duplicate_clusters(texts: Shingles, threshold: float) -> list[list[int]]:
    """Group texts into clusters linked by a Jaccard index of at least ``threshold``.

    Returns:
        Clusters of two texts or more as ascending positions, in order of their first.
    """
    sets = [
        np.unique(texts.hashes[start:end])
        for start, end in zip(texts.offsets, texts.offsets[1:], strict=False)
    ]
    clusters = Clusters(len(sets))
    for first, second in _candidates(texts):
        if clusters.root(first) != clusters.root(second):
            common = len(np.intersect1d(sets[first], sets[second], assume_unique=True))
            union = len(sets[first]) + len(sets[second]) - common
            if common >= threshold * union:
                clusters.join(first, second)
    return clusters.groups()


def _signatures(texts: Shingles) -> "rensa.RMinHashDigestMatrix":
    return rensa.RMinHash.digest_matrix_from_flat_token_hashes(
        texts.hashes, texts.offsets.astype(np.uint64), _PERMUTATIONS, _SEED
    )


def _candidates(texts: Shingles) -> Iterable[tuple[int, int]]:
    """Give pairs of texts that share a band, once for each band that they share."""
    occupied = np.flatnonzero(np.diff(texts.offsets))
    if len(occupied) < 2:
        return
    rows = np.array(_signatures(texts).to_rows(), np.uint32)[occupied]
    for band in range(_BANDS):
        values = np.ascontiguousarray(rows[:, band * _ROWS : (band + 1) * _ROWS])
        buckets: dict[bytes, list[int]] = {}
        for position, value in zip(occupied.tolist(), values, strict=True):
            buckets.setdefault(value.tobytes(), []).append(position)
        for bucket in buckets.values():
            yield from combinations(bucket, 2)


class Clusters:
    """Disjoint sets of the numbers 0 to N - 1 (union by smallest member)."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def root(self, member: int) -> int:
        """Return the smallest member of the set that ``member`` is in."""
        while self._parent[member] != member:
            self._parent[member] = self._parent[self._parent[member]]
            member = self._parent[member]
        return member

    def join(self, first: int, second: int) -> None:
        """Unite the sets of two members."""
        low, high = sorted((self.root(first), self.root(second)))
        self._parent[high] = low

    def groups(self) -> list[list[int]]:
        """Return the sets of two members or more, each ascending, by smallest member."""
        members: dict[int, list[int]] = {}
        for member in range(len(self._parent)):
            members.setdefault(self.root(member), []).append(member)
        return [group for group in members.values() if len(group) > 1]
