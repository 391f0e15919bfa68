"""Normalisation and removal of markup."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personalbench.corpus.posts import clean_post
from personalbench.text.markup import strip_markup
from personalbench.text.normalise import normalise
from personalbench.text.tokenise import words


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("one\r\ntwo\rthree\n", "one\ntwo\nthree"),
        ("one\u2028two\u0085three\u2029four", "one\ntwo\nthree\nfour"),
        ("He\x00llo there", "Hello there"),
        ("\ufeffThe cat sat.", "The cat sat."),
        ("the\u200f cat \u202bsat\u202c \u2067on\u2069 it\u061c", "the cat sat on it"),
        ("zero\u200bwidth\u200c and soft\u00adhyphen", "zerowidth and softhyphen"),
        ("it\u0092s late", "it\u2019s late"),  # a cp1252 byte that was read as Latin-1
        ("a\u00a0b\u2009c\td", "a b c d"),
        ("Two spaces.  They stay.", "Two spaces.  They stay."),
        ("cafe\u0301", "caf\u00e9"),  # NFC ...
        ("\ufb01ne 2\u00b2 \u2026", "\ufb01ne 2\u00b2 \u2026"),  # ... and not NFKC
        ("  a  \n\n\n\n   b\n ", "a\n\nb"),
        ("run \U0001f3c3\u200d\u2640\ufe0f fast\u200d", "run \U0001f3c3\u200d\u2640\ufe0f fast"),
        ("\u2764\ufe0f\u200d\U0001f525", "\u2764\ufe0f\u200d\U0001f525"),
        ("broken \ud83d pair", "broken  pair"),
        ("", ""),
    ],
)
def test_normalise(raw, clean):
    assert normalise(raw) == clean


CHARACTERS = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\r\n\x00\x85\x92 \t\u00a0\u200b\u200d\ufeff\u202e\u2028\U0001f3c3e\u0301a"
        ),
    )
)


@given(CHARACTERS)
def test_normalised_text_is_stable_composed_and_writable(text):
    clean = normalise(text)
    assert normalise(clean) == clean
    assert unicodedata.is_normalized("NFC", clean)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") and c != "\n" for c in clean)
    assert clean == clean.strip(" \n") and "\n\n\n" not in clean
    clean.encode()


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_plain_lines_lose_nothing_but_their_edges(text):
    assert normalise(text) == text.strip(" ")


def test_byte_order_mark_is_no_text():
    with_mark = normalise(b"\xef\xbb\xbfThe cat sat.".decode())
    assert with_mark == normalise("The cat sat.")
    tokens = words(with_mark)
    assert tokens[0] == "the"
    assert sum(map(len, tokens)) / len(tokens) == 3.0


def test_bidi_marks_do_not_change_tokens():
    assert words(normalise("the\u200f cat \u202bsat\u202c")) == ["the", "cat", "sat"]


def test_markup_goes_and_nothing_is_glued():
    html = "one<br />two&nbsp;three &amp;amp; four &#8217;s <p>five</p><p>six</p>"
    text = normalise(strip_markup(html))
    assert text.split() == ["one", "two", "three", "&", "four", "\u2019s", "five", "six"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("AT&T > me & you <3 <br>", "AT&T > me & you <3 "),
        ("I <think> therefore I am", "I <think> therefore I am"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("a&copy b &copy;", "a&copy b \u00a9"),
        ("<b>bo</b>ld <A HREF='x'>link</A>", "bold link"),
        ("x<!-- a > b -->y<script>var a = '<b>';</script>z", "xyz"),
        ("&amp;amp;lt;", "<"),
        ("&#146;", "\u2019"),
        ("<backpack> and <blink>", "<backpack> and "),
    ],
)
def test_only_markup_is_markup(html, text):
    assert strip_markup(html).replace("\n", "") == text


@pytest.mark.parametrize(
    ("post", "text"),
    [
        (
            "see urlLink this page, urlLinkhere and urlLink . My curlLink stays",
            "see this page, here and . My curlLink stays",
        ),
        ("urlLink", ""),
        ("a\n\n   urlLink  \n\nb", "a\n\nb"),
        ("(urlLink) urlLinkurlLink end", "() end"),
        ("url\u200bLink there", "there"),
    ],
)
def test_link_placeholders_go(post, text):
    assert clean_post(post) == text


PIECES = [
    "urlLink",
    "curlLink",
    " ",
    "\n",
    "a",
    ",",
    "\u200b",
    "\u200d",
    "\u2640",
    "\u0301",
    "&nbsp;",
]


@given(st.lists(st.sampled_from(PIECES)))
def test_no_placeholder_survives_and_posts_are_normalised(pieces):
    post = clean_post("".join(pieces))
    assert not re.search(r"\burlLink", post)
    assert normalise(post) == post
