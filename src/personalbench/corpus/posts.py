"""Cleaning of blog posts, wherever they are read from."""

import re

from personalbench.text.markup import strip_markup
from personalbench.text.normalise import normalise, tidy

# The Blog Authorship Corpus has this word in place of every link, sometimes glued to the next.
_LINK_PLACEHOLDER = re.compile(r"\b(?:urlLink *)+")


def clean_post(text: str) -> str:
    """Return a post without markup and link placeholders, normalised."""
    text = normalise(strip_markup(text))
    if "urlLink" in text:
        text = tidy(_LINK_PLACEHOLDER.sub("", text))
    return text
