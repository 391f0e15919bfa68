"""The one tokenizer behind every count."""

import re

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def words(text: str) -> list[str]:
    """Lower-case words of a text, in order; typographic apostrophes become plain ones."""
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]


def sentences(text: str) -> list[str]:
    """Sentences of a text, in order."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+", text) if part.strip()]
