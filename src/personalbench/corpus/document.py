"""The one record that every reader gives and every stage reads."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Split = Literal["profile", "reference"]


class Document(BaseModel):
    """One text by one author.

    Attributes:
        id: Unique in the corpus and stable: a relative path, or author and number.
        author: Whose writing it is.
        source: What the document was cut from (a speech, a thread, a file). All
            documents of one source stay in one split.
        split: ``profile`` may be seen by a twin, ``reference`` never; None before
            the split is made.
        text: Normalised text.
        words: Number of words by :func:`personalbench.text.tokenise.words`.
        date: ISO date where the source has one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    author: str
    source: str
    split: Split | None = None
    text: str
    words: int
    date: str | None = None
