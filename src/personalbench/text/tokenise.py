"""The one tokenizer behind every count, the same for human and generated text.

Before anything is counted, marks without width (bidi controls, soft hyphens, joiners) are
removed and every apostrophe and single quotation mark becomes ``'``.

**Words** are runs of letters, marks and digits in lower case. An apostrophe between two
of them is part of the word (``don't``), and so is a full stop or comma between two digits
(``1,000.5``). A hyphen is not: ``well-known`` is two words.

**Sentences** end at ``.``, ``!``, ``?`` or an ellipsis, with the closing quotation marks
and brackets that follow it, before white space; and at every blank line. They do not end

* after ``.`` where the word before it is a title, a reference (``no. 5``), an initial
  (``J. Smith``), a dotted abbreviation (``e.g.``, ``U.S.``) or a list number (``1. Bread``);
* after ``etc.``, ``a.m.``, ``Inc.`` and their like, after an ellipsis, and after closing
  quotation marks, where the text goes on in lower case.

Otherwise the next letter may be small: many authors never use capitals. What holds no word
is no sentence.

**Punctuation** is counted in ten marks; see :func:`punctuation_counts`.
"""

import re
from collections import Counter

import regex

_INVISIBLE = "\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_STRIP = regex.compile(f"[{_INVISIBLE}]")
_APOSTROPHES = regex.compile("[‘’‛ʼ＇`´′]")

_WORD = regex.compile(
    r"""
    [\p{L}\p{N}] [\p{L}\p{M}\p{N}]*
    (?: (?: ' | (?<=\p{N})[.,](?=\p{N}) ) [\p{L}\p{N}] [\p{L}\p{M}\p{N}]* )*
    """,
    regex.VERBOSE,
)

# The same words in a third of the time, where letters and digits are Latin-1, as mostly.
_LATIN_TEXT = re.compile("[\x00-\xff\u2010-\u203a]*")
_LATIN_WORD = re.compile(
    "[{0}]++(?:(?:'|(?<=[{1}])[.,](?=[{1}]))[{0}]++)*+".format("a-z0-9ªµºß-öø-ÿ²³¹¼-¾", "0-9²³¹¼-¾")
)

_CLOSERS = r"""["'”»›)\]]"""
_BOUNDARY = regex.compile(
    rf"""
    (?<![.!?…]) (?<![.!?…]\s)
    (?P<mark> \.(?:\s\.)++ | [.!?…]++ ) (?P<closers>{_CLOSERS}*+) \s++ (?=(?P<next>\S))
    | [。！？]++ {_CLOSERS}*+
    """,
    regex.VERBOSE,
)
_BLANK_LINE = regex.compile(r"\n\s*\n")
_CONTEXT = 40  # characters before a mark that tell an abbreviation; bounds the time
_LAST_WORD = regex.compile(r"[\p{L}\p{M}\p{N}.'’]+$")
_DOTTED = regex.compile(r"(?:\p{L}\.)+\p{L}|ph\.d")

_ALWAYS_GOES_ON = frozenset(
    """
    adm attn brig capt cf col dr esq gen gov hon lt maj messrs mme mr mrs ms mt pres prof rep
    rev sen sgt st viz vs
    """.split()  # noqa: SIM905
)
_GOES_ON_BEFORE_DIGITS = frozenset("art ch fig fol nos no pp sec vol".split())  # noqa: SIM905
_GOES_ON_IN_LOWER_CASE = frozenset(
    """
    a.m apr approx aug ave blvd bros co corp dec dept est etc feb inc jan jr jul jun ltd mar
    nov oct p.m rd sat sep sept sr
    """.split()  # noqa: SIM905
)

_MARKS = {
    "full stop": r"[.。．]",
    "comma": r"[,，、،]",
    "semicolon": r"[;；؛]",
    "colon": r"[:：]",
    "exclamation mark": r"[!！¡]",
    "question mark": r"[?？¿؟]",
    "ellipsis": r"(?:…|\.\.|\.(?:\s\.){2})(?:\s?[.…])*",
    "dash": r"[—–―‒]+|--+|(?<!\S)-(?!\S)",
    "quotation mark": r"""["“”„‟«»‹›＂]|'(?:(?<![\p{L}\p{N}].)|(?![\p{L}\p{N}]))""",
    "parenthesis": r"[()（）]",
}
PUNCTUATION: tuple[str, ...] = tuple(_MARKS)
"""Names of the ten counted marks."""

_PUNCTUATION = regex.compile(
    r"(?<=\p{N})[.,:–-](?=\p{N})|"
    + "|".join(
        f"(?P<{name.replace(' ', '_')}>{_MARKS[name]})"
        for name in ("ellipsis", *(name for name in PUNCTUATION if name != "ellipsis"))
    )
)


def _fold(text: str) -> str:
    if text.isascii():
        return text.replace("`", "'")
    folded: str = _APOSTROPHES.sub("'", _STRIP.sub("", text))
    return folded


def words(text: str) -> list[str]:
    """Lower-case words of a text, in order; every apostrophe in them is the plain one."""
    folded = _fold(text).lower()
    word = _LATIN_WORD if _LATIN_TEXT.fullmatch(folded) else _WORD
    found: list[str] = word.findall(folded)
    return found


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where each of :func:`words` stands in the text as written: start and end."""
    # Folding drops marks, and a capital may have two small letters: keep each one's place.
    places = [
        (place, letter)
        for place, character in enumerate(text)
        if not _STRIP.match(character)
        for letter in _APOSTROPHES.sub("'", character).lower()
    ]
    folded = "".join(letter for _, letter in places)
    return [
        (places[match.start()][0], places[match.end() - 1][0] + 1)
        for match in _WORD.finditer(folded)
    ]


def sentences(text: str) -> list[str]:
    """Sentences of a text, in order and as written; each holds at least one word."""
    text = _STRIP.sub("", text)
    parts: list[str] = []
    for paragraph in _BLANK_LINE.split(text):
        start = 0
        for boundary in _BOUNDARY.finditer(paragraph):
            context = max(start, boundary.start() - _CONTEXT)
            if _ends_sentence(paragraph[context : boundary.start()], boundary):
                parts.append(paragraph[start : boundary.end()])
                start = boundary.end()
        parts.append(paragraph[start:])
    return [part.strip() for part in parts if _WORD.search(part)]


def _ends_sentence(before: str, boundary: "regex.Match[str]") -> bool:
    """Whether a sentence whose last characters are ``before`` ends at the mark after them."""
    mark, following = boundary["mark"], boundary["next"]
    if mark is None:
        return True
    goes_on_small = following.islower()
    is_ellipsis = "…" in mark or mark.count(".") > 1
    if goes_on_small and (boundary["closers"] or is_ellipsis):
        return False  # “Stop!” she said. Wait... what?
    if mark != "." or boundary["closers"].strip(")"):
        return True
    match = _LAST_WORD.search(before)
    word = match[0].lower() if match else ""
    if word in _ALWAYS_GOES_ON:
        return False
    if word in _GOES_ON_BEFORE_DIGITS:
        return not following.isdigit()
    if word in _GOES_ON_IN_LOWER_CASE:
        return not (goes_on_small or following.isdigit())
    is_initial = len(word) == 1 and word.isalpha() and word != "i"
    is_list_number = word.isdigit() and before.rpartition("\n")[2].strip() == word
    return not (is_initial or is_list_number or _DOTTED.fullmatch(word))


def punctuation_counts(text: str) -> Counter[str]:
    """Count the marks of :data:`PUNCTUATION`.

    What is folded into one mark:

    * full stop, comma, semicolon, colon, parenthesis: each character, with its full-width
      and Arabic forms; exclamation and question marks with the inverted ones;
    * ellipsis: ``…``, two or more full stops in a row, or three spaced ones, once a run;
    * dash: em, en and figure dashes and the horizontal bar, ``--``, once a run, and a hyphen
      between spaces; a hyphen in a word is spelling;
    * quotation mark: double, angle and low ones, and single ones that do not stand between
      two letters or digits, where they are apostrophes.

    A mark between two digits belongs to the number (``10:30``, ``1914–18``).
    """
    counts: Counter[str] = Counter()
    for match in _PUNCTUATION.finditer(_fold(text)):
        if match.lastgroup:
            counts[match.lastgroup.replace("_", " ")] += 1
    return counts
