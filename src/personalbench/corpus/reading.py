"""What every reader promises, and how a corpus is read through it.

A reader lists the parts of its source (files, speeches, batches of rows), which is cheap,
and parses one part into documents, which is not and may happen in another process.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from personalbench.corpus.document import Split


class RawDocument(NamedTuple):
    """A document as a reader gives it: its text is normalised, its words are not counted.

    The fields are those of :class:`personalbench.corpus.document.Document`; ``split`` is
    None unless the source itself says on which side a document is.
    """

    id: str
    author: str
    source: str
    text: str
    date: str | None = None
    split: Split | None = None


class Note(NamedTuple):
    """Something that a reader left out, repaired or noticed.

    Attributes:
        reason: A short name, for example ``empty`` or ``cp1252``.
        where: The id or the path that it is about.
    """

    reason: str
    where: str


@dataclass(frozen=True)
class Parsed:
    """What one part of a source holds.

    Attributes:
        documents: In the order of the source.
        notes: What was left out, repaired or noticed.
        attributes: What the source says about an author, by author.
    """

    documents: list[RawDocument] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)


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
