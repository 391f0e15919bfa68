"""Reading a whole source once: what selection needs stays in memory, the texts on disk."""

import multiprocessing
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from itertools import accumulate, chain, islice, pairwise
from types import TracebackType
from typing import Any, NamedTuple, Self

from tqdm import tqdm

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

_MOST_WORKERS = 8  # more would wait for the one process that collects


class Entry(NamedTuple):
    """A document without its text.

    Attributes:
        key: Equal for exact duplicates; see :func:`personalbench.text.duplicates.exact_key`.
    """

    id: str
    author: str
    source: str
    split: Split | None
    words: int
    date: str | None
    key: bytes


class _Batch(NamedTuple):
    """The documents of a part that have words, and what selection needs to know of them."""

    entries: list[Entry]
    texts: list[bytes]
    shingles: Shingles
    notes: list[Note]
    attributes: dict[str, dict[str, str]]


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
        index = NearDuplicateIndex()
        distinct: dict[bytes, Entry] = {}
        self.entries = []
        self.notes = []
        self.attributes = {}
        batches = _in_order(partial(_prepare, reader), reader.parts())
        for batch in tqdm(batches, desc="reading", unit="batch", disable=None):
            self.notes += batch.notes
            self.attributes.update(batch.attributes)
            self.entries += batch.entries
            self._texts.add([entry.id for entry in batch.entries], batch.texts)
            is_first = [distinct.setdefault(entry.key, entry) is entry for entry in batch.entries]
            index.add(batch.shingles.only(is_first))
        suspects = index.suspects()
        entries = list(distinct.values())
        self._suspects = [entries[position] for position in suspects]
        self.entries.sort(key=lambda entry: entry.id)
        for first, second in pairwise(self.entries):
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
            text=self._texts[entry.id],
            words=entry.words,
            date=entry.date,
        )

    def near_duplicates(self, threshold: float) -> list[list[Entry]]:
        """Cluster the near duplicates; of exact duplicates only one takes part."""
        texts = shingles(self._texts[entry.id] for entry in self._suspects)
        clusters = near_duplicate_clusters(texts, threshold)
        return [[self._suspects[position] for position in cluster] for cluster in clusters]


def worker_count() -> int:
    """Return how many processes read a source of several parts."""
    return min(os.cpu_count() or 1, _MOST_WORKERS)


def _prepare(reader: Reader, part: Any) -> _Batch:
    """Parse a part and compute what is needed of its texts; this is most of the work."""
    parsed = reader.parse(part)
    entries, texts, notes = [], [], list(parsed.notes)
    for document in parsed.documents:
        count = len(words(document.text))
        if count == 0:
            notes.append(Note("no_words", document.id))
            continue
        texts.append(document.text)
        entries.append(
            Entry(
                document.id,
                document.author,
                document.source,
                document.split,
                count,
                document.date,
                exact_key(document.text),
            )
        )
    encoded = [text.encode() for text in texts]
    return _Batch(entries, encoded, shingles(texts), notes, parsed.attributes)


def _in_order(work: Callable[[Any], _Batch], parts: Iterable[Any]) -> Iterator[_Batch]:
    """Work on the parts on all cores, with few of them in memory, and keep their order."""
    parts = iter(parts)
    ahead = list(islice(parts, 2))
    if len(ahead) < 2:
        yield from map(work, ahead)
        return
    workers = worker_count()
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
    """Texts by id, in an unnamed temporary file; all are added before any is read."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the intake)
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0

    def add(self, ids: Iterable[str], texts: list[bytes]) -> None:
        ends = accumulate(map(len, texts), initial=self._end)
        self._places.update(zip(ids, pairwise(ends), strict=True))
        self._end += self._file.write(b"".join(texts))

    def __getitem__(self, id: str) -> str:
        start, end = self._places[id]
        self._file.seek(start)
        return self._file.read(end - start).decode()

    def close(self) -> None:
        self._file.close()
