"""Reading a whole source once: what selection needs stays in memory, the texts on disk."""

import tempfile
from array import array
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

from personalbench.corpus.document import Document, Split
from personalbench.corpus.reading import Note, Reader
from personalbench.errors import UserError
from personalbench.text.duplicates import (
    NearDuplicateIndex,
    Shingles,
    exact_key,
    near_duplicate_clusters,
    shingles,
)
from personalbench.text.tokenise import words


@dataclass(frozen=True, slots=True)
class Entry:
    """A document without its text.

    Attributes:
        number: Position in the order of reading, by which the text is found again.
        key: Equal for exact duplicates; see :func:`personalbench.text.duplicates.exact_key`.
    """

    number: int
    id: str
    author: str
    source: str
    split: Split | None
    words: int
    date: str | None
    key: bytes


class _Batch(NamedTuple):
    documents: list[Document]
    notes: list[Note]
    keys: list[bytes]
    shingles: Shingles


class Intake:
    """All documents of a source; use as a context manager, for the texts lie in a file.

    Attributes:
        entries: The documents in the order of their ids.
        notes: What the reader left out, repaired or noticed.
    """

    entries: list[Entry]
    notes: list[Note]

    def __init__(self, reader: Reader) -> None:
        """Read the source.

        Raises:
            UserError: There is no such source, it is no corpus of this kind, or two
                documents have one id.
        """
        self._texts = _TextFile()
        self._index = NearDuplicateIndex()
        self.entries = []
        self.notes = []
        for part in reader.parts():
            self._add(_prepare(reader, part))
        self.entries.sort(key=lambda entry: entry.id)
        for first, second in zip(self.entries, self.entries[1:], strict=False):
            if first.id == second.id:
                raise UserError(f"{first.id}: two documents have this id; ids must be unique")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._texts.close()

    def document(self, entry: Entry, split: Split) -> Document:
        """Return a document with its text, on one side of the split."""
        return Document(
            id=entry.id,
            author=entry.author,
            source=entry.source,
            split=split,
            text=self._texts[entry.number],
            words=entry.words,
            date=entry.date,
        )

    def near_duplicates(self, threshold: float) -> list[list[Entry]]:
        """Cluster the near duplicates; of exact duplicates only the first takes part."""
        by_number = {entry.number: entry for entry in self.entries}
        first_of_key: dict[bytes, Entry] = {}
        for number in self._index.suspects():
            entry = by_number[number]
            first_of_key.setdefault(entry.key, entry)
        suspects = list(first_of_key.values())
        texts = shingles([words(self._texts[entry.number]) for entry in suspects])
        clusters = near_duplicate_clusters(texts, threshold)
        return [[suspects[position] for position in cluster] for cluster in clusters]

    def _add(self, batch: _Batch) -> None:
        self.notes += batch.notes
        self._index.add(batch.shingles)
        for document, key in zip(batch.documents, batch.keys, strict=True):
            number = self._texts.append(document.text)
            self.entries.append(
                Entry(
                    number,
                    document.id,
                    document.author,
                    document.source,
                    document.split,
                    document.words,
                    document.date,
                    key,
                )
            )


def _prepare(reader: Reader, part: Any) -> _Batch:
    documents, notes = reader.parse(part)
    return _Batch(
        documents,
        notes,
        [exact_key(document.text) for document in documents],
        shingles([words(document.text) for document in documents]),
    )


class _TextFile:
    """Texts by number, in an unnamed temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the intake)
        self._offsets = array("Q", [0])

    def append(self, text: str) -> int:
        self._offsets.append(self._offsets[-1] + self._file.write(text.encode()))
        return len(self._offsets) - 2

    def __getitem__(self, number: int) -> str:
        start, end = self._offsets[number : number + 2]
        self._file.seek(start)
        return self._file.read(end - start).decode()

    def close(self) -> None:
        self._file.close()
