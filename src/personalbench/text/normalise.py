"""Normalisation of human text, done once, where it enters.

Only what nobody typed is taken away: byte order marks, controls, invisible marks,
platform line endings. Spelling, case, punctuation and spacing inside a line are style
and stay; compatibility characters stay too (NFC, never NFKC).
"""

import re
import unicodedata

# The joiner stays inside an emoji sequence: pictograph (with its modifier), joiner, pictograph.
_PICTOGRAPH = "\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_STRAY_JOINER = re.compile(f"(?<![{_PICTOGRAPH}\ufe0f])\u200d|\u200d(?![{_PICTOGRAPH}])")


def _code_points(*ranges: tuple[int, int]) -> list[str]:
    return [chr(point) for first, last in ranges for point in range(first, last + 1)]


def _replacements() -> dict[str, str]:
    nothing = _code_points(
        (0x00, 0x08),  # C0 controls but tab and line feed
        (0x0E, 0x1F),
        (0x7F, 0x9F),  # DEL, C1 controls (those that cp1252 explains follow below)
        (0xAD, 0xAD),  # soft hyphen
        (0x061C, 0x061C),  # bidi marks
        (0x200E, 0x200F),
        (0x202A, 0x202E),
        (0x2066, 0x2069),
        (0x180E, 0x180E),  # zero width
        (0x200B, 0x200C),
        (0x2060, 0x2064),
        (0xFEFF, 0xFEFF),
        (0xD800, 0xDFFF),  # lone surrogates cannot be written as UTF-8
    )
    spaces = _code_points((0x2000, 0x200A)) + list("\t\xa0\u1680\u202f\u205f\u3000")
    # A C1 control in text is a cp1252 character that some program took for Latin-1.
    latin = {chr(byte): bytes([byte]).decode("cp1252", "ignore") for byte in range(0x80, 0xA0)}
    line_ends = list("\v\f\r\x1c\x1d\x1e\x85\u2028\u2029")
    return (
        dict.fromkeys(nothing, "")
        | latin
        | dict.fromkeys(spaces, " ")
        | dict.fromkeys(line_ends, "\n")
    )


_REPLACEMENTS = _replacements()
_REPLACED = re.compile(f"[{re.escape(''.join(_REPLACEMENTS))}]")


def normalise(text: str) -> str:
    """Return the text as every later stage sees it; normalising twice changes nothing.

    Line endings of every kind become LF, spaces of every kind become U+0020; NUL, controls,
    byte order marks, zero-width and bidi marks go (not the joiner inside an emoji); blank
    lines shrink to one, and the edges of lines and of the text are stripped. The result
    is in Unicode's normal form C.
    """
    text = text.replace("\r\n", "\n")
    text = _REPLACED.sub(lambda character: _REPLACEMENTS[character[0]], text)
    if "\u200d" in text:
        text = _STRAY_JOINER.sub("", text)
    return tidy(text)


def tidy(text: str) -> str:
    """Compose normalised text and trim its lines anew, where something was cut out of it."""
    text = unicodedata.normalize("NFC", text)
    text = "\n".join([line.strip(" ") for line in text.split("\n")])
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.strip("\n")
