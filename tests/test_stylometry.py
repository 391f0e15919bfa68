"""Stylometry against counts made by hand."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personalbench.metrics.stylometry import (
    FUNCTION_WORDS,
    MATTR_WINDOW,
    compare,
    function_word_cosine,
    length_ratio,
    mattr_difference,
    punctuation_cosine,
    sentence_length_difference,
    style_of,
    ttr_difference,
    word_length_difference,
)
from personalbench.text.tokenise import PUNCTUATION, words

WORDS = st.lists(
    st.sampled_from(["the", "of", "cat", "dog", "tree", "and", "ran"]), min_size=1, max_size=120
)


def test_there_are_sixty_function_words_that_the_tokenizer_keeps() -> None:
    assert len(FUNCTION_WORDS) == len(set(FUNCTION_WORDS)) == 60
    assert all(re.fullmatch("[a-z']+", word) for word in FUNCTION_WORDS)
    assert all(words(word) == [word] for word in FUNCTION_WORDS)


def test_one_text_by_hand() -> None:
    style = style_of(["The cat sat on the mat. It slept - and the dog, too!"])
    assert (style.words, style.sentences) == (12, 2)
    assert style.mean_sentence_length == 6
    assert style.mean_word_length == pytest.approx(36 / 12)
    assert style.ttr == pytest.approx(10 / 12)
    assert style.mattr is None
    shares = dict(zip(FUNCTION_WORDS, style.function_words, strict=True))
    used = {word: share for word, share in shares.items() if share}
    assert used == pytest.approx({"the": 3 / 12, "on": 1 / 12, "it": 1 / 12, "and": 1 / 12})
    marks = dict(zip(PUNCTUATION, style.punctuation, strict=True))
    assert {mark: share for mark, share in marks.items() if share} == pytest.approx(
        {"full stop": 1 / 12, "dash": 1 / 12, "comma": 1 / 12, "exclamation mark": 1 / 12}
    )
    assert style.top_function_words[0] == "the"
    assert set(style.top_function_words) == {"the", "on", "it", "and"}


def test_texts_are_pooled_before_ratios_are_taken() -> None:
    pooled = style_of(["The cat.", "A dog ran to the tree and the sea."])
    assert pooled.mean_sentence_length == 11 / 2
    assert pooled.ttr == 9 / 11
    assert pooled.function_words[FUNCTION_WORDS.index("the")] == 3 / 11


def test_chunks_have_their_own_vocabulary() -> None:
    assert style_of(["a a a"]).ttr == pytest.approx(1 / 3)
    assert style_of(["a b c"]).ttr == 1


def test_mattr_of_a_cycle_and_of_short_texts() -> None:
    cycle = " ".join(f"w{i % 10}" for i in range(80))
    assert style_of([cycle]).mattr == pytest.approx(10 / MATTR_WINDOW)
    assert style_of(["word " * (MATTR_WINDOW - 1)]).mattr is None
    # Windows lie within one text: the short one adds none.
    assert style_of([cycle, "other words"]).mattr == pytest.approx(10 / MATTR_WINDOW)


@given(st.lists(WORDS, max_size=3))
def test_mattr_is_the_mean_over_windows(texts: list[list[str]]) -> None:
    ratios = [
        len(set(text[start : start + MATTR_WINDOW])) / MATTR_WINDOW
        for text in texts
        for start in range(len(text) - MATTR_WINDOW + 1)
    ]
    mattr = style_of([" ".join(text) for text in texts]).mattr
    if ratios:
        assert mattr == pytest.approx(sum(ratios) / len(ratios))
    else:
        assert mattr is None


def test_cosines_by_hand() -> None:
    text, profile = style_of(["the the of, cat!"]), style_of(["the of of, dog, run?"])
    assert function_word_cosine(text, profile).value == pytest.approx(4 / 5)
    assert punctuation_cosine(text, profile).value == pytest.approx(2 / math.sqrt(2 * 5))


@given(WORDS)
def test_a_text_is_like_itself(tokens: list[str]) -> None:
    style = style_of([" ".join(["the", *tokens]) + "."])
    assert function_word_cosine(style, style).value == pytest.approx(1)
    assert punctuation_cosine(style, style).value == pytest.approx(1)
    assert sentence_length_difference(style, style).value == 0


def test_differences_are_text_less_profile() -> None:
    text = style_of(["aa bb cc. dd ee ff."])
    profile = style_of(["a b a b c d."])
    assert sentence_length_difference(text, profile).value == -3
    assert word_length_difference(text, profile).value == 1
    assert ttr_difference(text, profile).value == pytest.approx(1 - 4 / 6)
    assert length_ratio(text, profile).value == 1
    long = style_of([" ".join(f"w{i}" for i in range(60))])
    cycle = style_of(["the of " * 40])
    assert mattr_difference(long, cycle).value == pytest.approx(1 - 2 / 50)


def test_what_is_undefined_says_why() -> None:
    empty, wordless = style_of([]), style_of(["... 🏃"])
    full = style_of(["The cat sat. " * 30])
    assert compare(empty, full)["func_cos"].reason == "the text has none of the 60 function words"
    assert compare(full, wordless)["sentence_length_diff"].reason == "the profile has no words"
    assert compare(style_of(["Short."]), full)["mattr_diff"].reason == (
        "the text has no passages of 50 words"
    )
    assert punctuation_cosine(style_of(["no mark"]), full).value is None
    assert length_ratio(full, empty).reason == "the profile has no words"
    assert compare(empty, full)["length_ratio"].value == 0
    for scores in (compare(empty, full), compare(full, wordless)):
        assert all((score.value is None) == (score.reason is not None) for score in scores.values())
