"""Reading a whole source once: what selection needs stays in memory, the texts on disk."""

import multiprocessing
import os
import tempfile
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from types import TracebackType
from typing import Any, NamedTuple, Self

from personalbench.corpus.document import Document, Split
from personalbench.corpus.reading import Note, RawDocument, Reader
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
    """The documents of a part that have words, and what selection needs to know of them."""

    documents: list[RawDocument]
    notes: list[Note]
    attributes: dict[str, dict[str, str]]
    words: list[int]
    keys: list[bytes]
    shingles: Shingles


class Intake:
    """All documents of a source; use as a context manager, for the texts lie in a file.

    Attributes:
        entries: The documents in the order of their ids.
        notes: What was left out on reading, repaired or noticed.
        attributes: What the source says about an author, by author.
    """

    entries: list[Entry]
    notes: list[Note]
    attributes: dict[str, dict[str, str]]

    def __init__(self, reader: Reader) -> None:
        """Read the source.

        Raises:
            UserError: There is no such source, it is no corpus of this kind, or two
                documents have one id.
        """
        self._texts = _TextFile()
        self._keys: set[bytes] = set()
        self._distinct: list[Entry] = []
        self._index = NearDuplicateIndex()
        self.entries = []
        self.notes = []
        self.attributes = {}
        for batch in _in_order(partial(_prepare, reader), reader.parts()):
            self._add(batch)
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
        """Cluster the near duplicates; of exact duplicates only one takes part."""
        suspects = [self._distinct[position] for position in self._index.suspects()]
        texts = shingles(words(self._texts[entry.number]) for entry in suspects)
        clusters = near_duplicate_clusters(texts, threshold)
        return [[suspects[position] for position in cluster] for cluster in clusters]

    def _add(self, batch: _Batch) -> None:
        self.notes += batch.notes
        self.attributes.update(batch.attributes)
        is_new = []
        for document, count, key in zip(batch.documents, batch.words, batch.keys, strict=True):
            entry = Entry(
                self._texts.append(document.text),
                document.id,
                document.author,
                document.source,
                document.split,
                count,
                document.date,
                key,
            )
            self.entries.append(entry)
            is_new.append(key not in self._keys)
            if is_new[-1]:
                self._keys.add(key)
                self._distinct.append(entry)
        self._index.add(batch.shingles.only(is_new))


def _prepare(reader: Reader, part: Any) -> _Batch:
    parsed = reader.parse(part)
    tokenised = [(document, words(document.text)) for document in parsed.documents]
    documents = [document for document, tokens in tokenised if tokens]
    tokens = [tokens for _, tokens in tokenised if tokens]
    return _Batch(
        documents,
        parsed.notes + [Note("no_words", doc.id) for doc, tokens in tokenised if not tokens],
        parsed.attributes,
        [len(text) for text in tokens],
        [exact_key(document.text) for document in documents],
        shingles(tokens),
    )


def _in_order(work: Callable[[Any], _Batch], parts: Iterable[Any]) -> Iterator[_Batch]:
    """Work on the parts on all cores, with few of them in memory, and keep their order."""
    parts = iter(parts)
    ahead = list(islice(parts, 2))
    if len(ahead) < 2:
        yield from map(work, ahead)
        return
    workers = os.cpu_count() or 1
    # Started afresh, not forked: the caller may have threads.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        running: deque[Future[_Batch]] = deque()
        for part in chain(ahead, parts):
            running.append(pool.submit(work, part))
            if len(running) > 2 * workers:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()


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
