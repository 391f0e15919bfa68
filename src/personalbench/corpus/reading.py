"""What every reader promises, and how a corpus is read through it.

A reader lists the parts of its source (files, speeches, batches of rows), which is cheap,
and parses one part into documents, which is not and may happen in another process.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from personalbench.corpus.document import Document, Split
from personalbench.text.normalise import normalise
from personalbench.text.tokenise import words


class Note(NamedTuple):
    """Something that a reader left out, repaired or noticed.

    Attributes:
        reason: A short name, for example ``empty`` or ``cp1252``.
        where: The id or the path that it is about.
    """

    reason: str
    where: str


class Parsed(NamedTuple):
    """What one part of a source holds."""

    documents: list[Document]
    notes: list[Note]


class Reader(Protocol):
    """A source of documents that can be read more than once with the same result.

    Attributes:
        alternating: Whether an author's sources go to the profile and the reference by
            turns, in order of time; otherwise four fifths, drawn at random, are profile.
            Documents that come with a split keep it.
    """

    @property
    def alternating(self) -> bool: ...

    def parts(self) -> Iterable[Any]:
        """List the source's parts in a fixed order; a part can be pickled.

        Raises:
            UserError: There is no such source, or it is no corpus of this kind.
        """

    def parse(self, part: Any) -> Parsed:
        """Parse one part.

        Raises:
            UserError: The part is malformed in a way that a user has to mend.
        """


def make_document(
    *, id: str, author: str, source: str, text: str, date: str | None, split: Split | None = None
) -> Document:
    """Make a document of a text as it was found: normalised, its words counted."""
    text = normalise(text)
    return Document(
        id=id,
        author=author,
        source=source,
        split=split,
        text=text,
        words=len(words(text)),
        date=date,
    )
