"""Exact and near duplicates among texts.

Two texts are exact duplicates when they differ in case and white space at most; they are
near duplicates when the Jaccard index of their sets of three-word shingles reaches a
threshold. MinHash and locality-sensitive hashing (Broder 1997; Leskovec, Rajaraman and
Ullman, Mining of Massive Datasets, ch. 3) find the candidates, the exact index decides.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
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
_BATCH = 200  # texts hashed at a time: what is computed of them fits into the cache

# Words are hashed by their bytes as a polynomial modulo 2**64; the multipliers are odd.
_BASE = 0x9E3779B97F4A7C15
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
_IN_WORD = np.array([byte >= 0x80 or chr(byte).isalnum() for byte in range(256)])


def exact_key(text: str) -> bytes:
    """Return the same 16 bytes for normalised texts that differ in case and white space alone."""
    folded = text.casefold().encode().translate(None, b" \n")
    return hashlib.blake2b(folded, digest_size=16).digest()


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


def shingles(texts: Iterable[str]) -> Shingles:
    """Hash the shingles of texts; a shorter text is one shingle, one without words has none.

    Words are runs of letters and digits in any case; every character outside ASCII counts
    as a letter. This is not the tokenizer behind the counts, which takes ten times as long.
    """
    parts: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]
    counts: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
    unread = iter(texts)
    while batch := list(islice(unread, _BATCH)):
        hashes, lengths = _hash_words(batch)
        windows, lengths = _hash_windows(hashes, lengths)
        parts.append(windows)
        counts.append(lengths)
    return Shingles(np.concatenate(parts), np.cumsum(np.concatenate(counts)))


def _hash_words(texts: list[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hash all words of texts; return the hashes, in order, and the texts' numbers of words."""
    encoded = [text.casefold().encode() for text in texts]
    data = np.frombuffer(b"\n".join(encoded) + b"\n", np.uint8)
    edges = np.flatnonzero(np.diff(_IN_WORD[data], prepend=False))
    starts, ends = edges[::2], edges[1::2]
    powers, inverses = _powers(len(data).bit_length())
    prefix = np.concatenate([np.zeros(1, np.uint64), np.cumsum(data * powers[: len(data)])])
    # The sum of byte * base**position over a word, moved to position 0.
    hashes = (prefix[ends] - prefix[starts]) * inverses[starts]
    hashes ^= hashes >> np.uint64(32)
    text_ends = np.cumsum([len(text) + 1 for text in encoded])
    return hashes, np.diff(np.searchsorted(starts, text_ends), prepend=0)


@lru_cache(maxsize=4)
def _powers(bits: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the powers 0 to 2**bits - 1 of the base and of its inverse, modulo 2**64."""
    factors = np.ones((2, 1 << bits), np.uint64)
    factors[:, 1:] = [[_BASE], [pow(_BASE, -1, 1 << 64)]]
    powers, inverses = np.cumprod(factors, axis=1, dtype=np.uint64)
    return powers, inverses


def _hash_windows(
    tokens: NDArray[np.uint64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hash every window of three words that lies within one text.

    Args:
        tokens: Hashed words of all texts, one after the other.
        lengths: Numbers of words of the texts.

    Returns:
        The windows' hashes, in order, and the texts' numbers of windows.
    """
    padding = np.where((lengths > 0) & (lengths < _SHINGLE), _SHINGLE - lengths, 0)
    shifts = np.cumsum(padding) - padding
    padded = np.zeros(len(tokens) + padding.sum(), np.uint64)
    padded[np.arange(len(tokens)) + np.repeat(shifts, lengths)] = tokens
    lengths = lengths + padding

    windows = np.zeros(max(len(padded) - _SHINGLE + 1, 0), np.uint64)
    for position, multiplier in enumerate(_MULTIPLIERS):
        windows += padded[position : position + len(windows)] * multiplier
    windows ^= windows >> np.uint64(31)
    inside = np.ones(len(padded), bool)
    ends = np.cumsum(lengths)[lengths > 0]
    for distance in range(1, _SHINGLE):
        inside[ends - distance] = False
    return windows[inside[: len(windows)]], np.maximum(lengths - _SHINGLE + 1, 0)


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
