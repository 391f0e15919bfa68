"""The one tokenizer: every count of every text depends on these."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personalbench.text.tokenise import (
    PUNCTUATION,
    punctuation_counts,
    sentences,
    word_spans,
    words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat sat.", ["the", "cat", "sat"]),
        ("Well ... yes - no !", ["well", "yes", "no"]),
        ("I don't. We'll see, hell no.", ["i", "don't", "we'll", "see", "hell", "no"]),
        ("don’t don‘t donʼt don`t", ["don't"] * 4),
        ("'quoted' ‘words’ dogs'", ["quoted", "words", "dogs"]),
        ("rock 'n' roll", ["rock", "n", "roll"]),
        (
            "one two three & four ’s five six",
            ["one", "two", "three", "four", "s", "five", "six"],
        ),
        ("the\u200f cat \u202bsat\u202c", ["the", "cat", "sat"]),
        ("th\u00ade c\u200bat", ["the", "cat"]),
        ("well-known snake_case", ["well", "known", "snake", "case"]),
        ("1,000.5 and 3.14, or 10:30", ["1,000.5", "and", "3.14", "or", "10", "30"]),
        ("end.Next", ["end", "next"]),
        ("Café CAFE\u0301 q\u0303", ["café", "cafe\u0301", "q\u0303"]),
        ("नमस्ते Grüße Москва", ["नमस्ते", "grüße", "москва"]),
        ("🏃‍♀️ *** ... —", []),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "She said “Stop.” Then she left. «Ja.» Er ging.",
            ["She said “Stop.”", "Then she left.", "«Ja.»", "Er ging."],
        ),
        (
            "We use tools, e.g. Git, etc. and Dr. Lee has a Ph.D. in maths. See no. 5.",
            [
                "We use tools, e.g. Git, etc. and Dr. Lee has a Ph.D. in maths.",
                "See no. 5.",
            ],
        ),
        ("the dog didn't. then it did.", ["the dog didn't.", "then it did."]),
        ("i was tired. then i slept!! ok?", ["i was tired.", "then i slept!!", "ok?"]),
        ("I was... tired. Well... Yes.", ["I was... tired.", "Well...", "Yes."]),
        ("Well . . . then it went. So.", ["Well . . . then it went.", "So."]),
        ("“Stop!” she said. Really?! no", ["“Stop!” she said.", "Really?!", "no"]),
        ("He said no. Then he ate.", ["He said no.", "Then he ate."]),
        ("So do I. J. Smith does.", ["So do I.", "J. Smith does."]),
        ("At 5 p.m. we met. At 6 p.m. We left.", ["At 5 p.m. we met.", "At 6 p.m.", "We left."]),
        ("The U.S. Senate met.", ["The U.S. Senate met."]),
        ("It grew by 3.5 percent.", ["It grew by 3.5 percent."]),
        ("1. Bread is good.", ["1. Bread is good."]),
        (
            "A heading\n\nA line\nbroken in two. \n \nEnd",
            ["A heading", "A line\nbroken in two.", "End"],
        ),
        ("Yes. ;-) :) !!! No.", ["Yes.", "No."]),
        ("你好。我很好！", ["你好。", "我很好！"]),
        ("... !!! —", []),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "‘a’ “b” c—d e–f g… h...",
            {"quotation mark": 4, "dash": 2, "ellipsis": 2},
        ),
        ("a, b; c: d. e! f? (g)", dict.fromkeys(PUNCTUATION[:6], 1) | {"parenthesis": 2}),
        ("wait.... what . . . now …… yes", {"ellipsis": 3}),
        ("well - yes -- no --- well-known", {"dash": 3}),
        ("don't 'tis the dogs' '90s", {"quotation mark": 3}),
        ("10:30, 1,000.5 and 1914–18", {"comma": 1}),
        ("no!!! really?!", {"exclamation mark": 4, "question mark": 1}),
        ("好，好。", {"comma": 1, "full stop": 1}),
        ("#hash @at a_b /path", {}),
        ("", {}),
    ],
)
def test_punctuation(text: str, expected: dict[str, int]) -> None:
    assert dict(punctuation_counts(text)) == expected


def test_there_are_ten_marks() -> None:
    assert len(set(PUNCTUATION)) == 10


@given(st.text())
def test_sentences_hold_every_word_once(text: str) -> None:
    assert [word for part in sentences(text) for word in words(part)] == words(text)


def test_what_is_a_word_does_not_depend_on_what_else_is_in_the_text() -> None:
    for character in map(chr, range(0x250)):
        for text in (character, f"a{character}7.5", f"7{character}7.{character}"):
            assert [*words(text), "ж"] == words(f"{text} ж")


LATIN = st.one_of(st.sampled_from("aB7'`.,-_ \n\xadß²½´’—"), st.characters(max_codepoint=0x203A))


@given(st.text(LATIN))
def test_words_of_latin_text_are_those_of_any_text(text: str) -> None:
    assert [*words(text), "ж"] == words(f"{text} ж")


@given(st.text())
def test_words_are_their_own_words(text: str) -> None:
    assert all(words(word) == [word] for word in words(text))


@pytest.mark.parametrize("piece", [".", "e.g. ", "J. ", "? ! ", "\n \n", "'", ". ", "a.b'", "-"])
def test_hostile_texts_do_not_hang(piece: str) -> None:
    text = piece * 50_000  # a quadratic step takes minutes on these
    assert set(words(text)) <= {"a", "b", "b'a", "e", "g", "j"}
    assert sum(map(len, sentences(text))) <= len(text)
    assert set(punctuation_counts(text)) <= set(PUNCTUATION)


@given(st.text())
def test_every_word_stands_at_its_place(text: str) -> None:
    found = words(text)
    spans = word_spans(text)
    assert len(spans) == len(found)
    if "Σ" not in text:  # in small letters it depends on what follows
        assert [words(text[start:end]) for start, end in spans] == [[word] for word in found]
    assert all(end <= later for (_, end), (later, _) in pairwise(spans))
