"""Style in numbers: function words, punctuation, sentence length, vocabulary.

Every text is compared with the author's pooled profile posts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.similarity import cosine
from personalbench.text.tokenise import PUNCTUATION, punctuation_counts, sentences, words

MATTR_WINDOW = 50
"""Words in a window of the moving-average type-token ratio."""


def _read_function_words() -> tuple[str, ...]:
    text = files("personalbench.metrics").joinpath("function_words.txt").read_text("utf-8")
    return tuple(line for line in text.split("\n") if line and not line.startswith("#"))


FUNCTION_WORDS: tuple[str, ...] = _read_function_words()


@dataclass(frozen=True)
class Style:
    """The style of one text, or of several counted as one.

    Attributes:
        words: Number of words.
        sentences: Number of sentences.
        function_words: Share of each of :data:`FUNCTION_WORDS` in all words.
        punctuation: Marks of each kind of :data:`PUNCTUATION` a word.
        mean_sentence_length: Words a sentence; None without a word.
        mean_word_length: Characters a word; None without a word.
        ttr: Type-token ratio; falls as a text grows, so compare equal lengths only. None
            without a word.
        mattr: Moving-average type-token ratio (Covington and McFall 2010): the mean ratio
            over all windows of 50 words that lie within one text. None where every text
            is shorter.
        top_function_words: The most frequent ones that occur, at most ten, most frequent
            first.
    """

    words: int
    sentences: int
    function_words: tuple[float, ...]
    punctuation: tuple[float, ...]
    mean_sentence_length: float | None
    mean_word_length: float | None
    ttr: float | None
    mattr: float | None
    top_function_words: tuple[str, ...]


def style_of(texts: Sequence[str]) -> Style:
    """Measure the style of texts, pooled: counts are added before ratios are taken."""
    tokens = [words(text) for text in texts]
    counts = Counter(word for text in tokens for word in text)
    marks = sum((punctuation_counts(text) for text in texts), Counter[str]())
    n_words = counts.total()
    n_sentences = sum(len(sentences(text)) for text in texts)
    characters = sum(len(word) * count for word, count in counts.items())
    by_frequency = sorted(FUNCTION_WORDS, key=lambda word: -counts[word])
    return Style(
        words=n_words,
        sentences=n_sentences,
        function_words=tuple(counts[word] / max(n_words, 1) for word in FUNCTION_WORDS),
        punctuation=tuple(marks[mark] / max(n_words, 1) for mark in PUNCTUATION),
        mean_sentence_length=n_words / n_sentences if n_words else None,
        mean_word_length=characters / n_words if n_words else None,
        ttr=len(counts) / n_words if n_words else None,
        mattr=_mattr(tokens),
        top_function_words=tuple(word for word in by_frequency[:10] if counts[word]),
    )


def _mattr(texts: Sequence[Sequence[str]], window: int = MATTR_WINDOW) -> float | None:
    """Mean type-token ratio over all windows of all texts.

    A word adds one type to every window that holds it but not its occurrence before.
    """
    types = windows = 0
    for tokens in texts:
        last_start = len(tokens) - window
        if last_start < 0:
            continue
        windows += last_start + 1
        previous: dict[str, int] = {}
        for position, word in enumerate(tokens):
            first = max(previous.get(word, -1) + 1, position - window + 1)
            types += max(0, min(position, last_start) - first + 1)
            previous[word] = position
    return types / (windows * window) if windows else None


def function_word_cosine(text: Style, profile: Style) -> Estimate:
    """Cosine over the relative frequencies of the 60 function words, in [0, 1]."""
    return _cosine(text.function_words, profile.function_words, "function words")


def punctuation_cosine(text: Style, profile: Style) -> Estimate:
    """Cosine over the relative frequencies of the 10 punctuation marks, in [0, 1]."""
    return _cosine(text.punctuation, profile.punctuation, "punctuation marks")


def sentence_length_difference(text: Style, profile: Style) -> Estimate:
    """Mean sentence length of the text less that of the profile, in words."""
    return _difference(text.mean_sentence_length, profile.mean_sentence_length, "words")


def word_length_difference(text: Style, profile: Style) -> Estimate:
    """Mean word length of the text less that of the profile, in characters."""
    return _difference(text.mean_word_length, profile.mean_word_length, "words")


def mattr_difference(text: Style, profile: Style) -> Estimate:
    """Moving-average type-token ratio of the text less that of the profile."""
    return _difference(text.mattr, profile.mattr, f"passages of {MATTR_WINDOW} words")


def ttr_difference(text: Style, profile: Style) -> Estimate:
    """Type-token ratio of the text less that of the profile; read the length ratio with it."""
    return _difference(text.ttr, profile.ttr, "words")


def length_ratio(text: Style, profile: Style) -> Estimate:
    """Words of the text for each word of the profile."""
    if not profile.words:
        return missing("the profile has no words")
    return Estimate(value=text.words / profile.words)


def compare(text: Style, profile: Style) -> dict[str, Estimate]:
    """All stylometric metrics of one text, under their keys in the catalogue."""
    return {
        "func_cos": function_word_cosine(text, profile),
        "punct_cos": punctuation_cosine(text, profile),
        "sentence_length_diff": sentence_length_difference(text, profile),
        "word_length_diff": word_length_difference(text, profile),
        "mattr_diff": mattr_difference(text, profile),
        "ttr_diff": ttr_difference(text, profile),
        "length_ratio": length_ratio(text, profile),
    }


def _cosine(text: Sequence[float], profile: Sequence[float], what: str) -> Estimate:
    for name, values in (("text", text), ("profile", profile)):
        if not any(values):
            return missing(f"the {name} has none of the {len(values)} {what}")
    return Estimate(value=float(cosine(np.asarray(text), np.asarray(profile))))


def _difference(text: float | None, profile: float | None, what: str) -> Estimate:
    if text is None:
        return missing(f"the text has no {what}")
    if profile is None:
        return missing(f"the profile has no {what}")
    return Estimate(value=text - profile)
