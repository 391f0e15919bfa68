"""Verbatim overlap in words: copying from samples, and prompts that give the text away."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from personalbench.text.tokenise import words


@dataclass(frozen=True)
class Copying:
    """What a text shares word for word with some sources.

    Attributes:
        longest_run: The longest run of words that stands in one source too, lower-case.
        longest_run_words: Its length.
        source: Position of the first source that holds it; None where nothing is shared.
        ngram_share: Share of the text's n-grams that occur in any source; None where the
            text is shorter than n words.
        runs: All maximal shared runs of at least n words, in the order of the text.
        places: Where they stand: number of the first word and of the one after the last.
    """

    longest_run: str
    longest_run_words: int
    source: int | None
    ngram_share: float | None
    runs: tuple[str, ...]
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class CopyingLimits:
    """From where on a text counts as copied.

    Attributes:
        run_words: Length of the longest run.
        share: Share of 5-grams.
    """

    run_words: int = 10
    share: float = 0.2

    def reached(self, found: Copying) -> bool:
        """Whether a text reaches either limit."""
        return found.longest_run_words >= self.run_words or (
            found.ngram_share is not None and found.ngram_share >= self.share
        )


LIMITS = CopyingLimits()
"""The limits of params.yaml as shipped."""


def copying(text: str, sources: Sequence[str], n: int = 5) -> Copying:
    """Find what a text has in common with its sources, in words.

    Case, punctuation and line breaks do not count; a run never joins two sources.
    """
    tokens = words(text)
    by_source = [_longest_runs(tokens, words(source)) for source in sources]
    # best[i]: length of the longest run from word i on that stands in any source.
    best = [max((lengths[i] for lengths in by_source), default=0) for i in range(len(tokens))]
    longest = max(best, default=0)
    start = best.index(longest) if longest else 0
    holders = (k for k, lengths in enumerate(by_source) if longest and lengths[start] == longest)
    places = tuple((start, start + length) for start, length in _maximal(best, n))
    n_grams = len(tokens) - n + 1
    return Copying(
        longest_run=" ".join(tokens[start : start + longest]),
        longest_run_words=longest,
        source=next(holders, None),
        ngram_share=sum(length >= n for length in best) / n_grams if n_grams > 0 else None,
        runs=tuple(" ".join(tokens[first:end]) for first, end in places),
        places=places,
    )


def _longest_runs(tokens: Sequence[str], source: Sequence[str]) -> list[int]:
    """For each position of ``tokens``: how many words from there on stand in ``source``."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(source):
        places.setdefault(word, []).append(place)
    lengths = [0] * len(tokens)
    following: dict[int, int] = {}
    for position in range(len(tokens) - 1, -1, -1):
        # Matches of this word, each one longer than the match that follows it.
        here = {
            place: following.get(place + 1, 0) + 1 for place in places.get(tokens[position], ())
        }
        lengths[position] = max(here.values(), default=0)
        following = here
    return lengths


def _maximal(best: Sequence[int], n: int) -> Iterator[tuple[int, int]]:
    """Start and length of the shared runs that lie in no longer one."""
    covered = 0
    for start, length in enumerate(best):
        if length >= n and start + length > covered:
            yield start, length
            covered = start + length
