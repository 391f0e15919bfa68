"""Dates as sources write them."""

import re
from collections import defaultdict
from datetime import date
from functools import cache

# Languages of the Blog Authorship Corpus; a name that is two months in two of them is none.
# fmt: off
_LANGUAGES = [
    "en", "fr", "es", "pt", "de", "nl", "it", "nb", "nn", "da", "sv", "fi", "is", "et",
    "lv", "lt", "pl", "cs", "sk", "hr", "sl", "sr_Latn", "hu", "ro", "ca", "eu", "gl", "tr",
    "id", "ms", "sq", "el", "ru", "uk", "bg", "sr", "he", "ar", "fa", "ja", "zh", "ko",
    "th", "vi", "tl",
]
# fmt: on


@cache
def iso_date(text: str) -> str | None:
    """Read ``2004-05-31`` (a time may follow) or ``31,May,2004`` in many languages.

    Returns:
        The ISO date, or None where the text is no such date.
    """
    text = text.strip()
    try:
        if re.match(r"\d{4}-\d\d-\d\d(?!\d)", text):
            return date.fromisoformat(text[:10]).isoformat()
        day, month, year = text.split(",")
        return date(int(year), _months()[month.strip().casefold()], int(day)).isoformat()
    except (ValueError, KeyError):
        return None


@cache
def _months() -> dict[str, int]:
    from babel import Locale  # loading its data takes a third of a second

    numbers: dict[str, set[int]] = defaultdict(set)
    for language in _LANGUAGES:
        for names in Locale.parse(language).months.values():
            for number, name in names["wide"].items():
                numbers[name.casefold()].add(number)
    return {name: found.pop() for name, found in numbers.items() if len(found) == 1}
