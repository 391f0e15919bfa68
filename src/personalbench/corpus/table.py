"""Reader of tables: JSON Lines, CSV and Parquet, one document a row."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from personalbench.corpus.dates import iso_date
from personalbench.corpus.posts import clean_post
from personalbench.corpus.reading import Note, Parsed, RawDocument
from personalbench.errors import UserError
from personalbench.params import ColumnParams

TABLES = (".jsonl", ".csv", ".parquet")
_PART_ROWS = 2000
_LONGEST_FIELD = 2**31 - 1  # the csv module's default of 131,072 is a long post's length
_HUB_COLUMNS = {"text", "date", "gender", "age", "horoscope", "job"}


class Row(NamedTuple):
    """One row, its text not yet cleaned."""

    id: str
    author: str
    text: str
    date: str | None


@dataclass(frozen=True)
class TableReader:
    """Gives every row as a document; markup and link placeholders are removed.

    The format is told by the suffix: ``.jsonl``, ``.csv`` or ``.parquet``. Text files are
    UTF-8.
    """

    path: Path
    columns: ColumnParams
    alternating: bool = False

    def parts(self) -> Iterator[list[Row]]:
        """Give the rows in order, some thousands at a time.

        Raises:
            UserError: There is no such file, it is no such table, a column is missing, or
                a row has no author; names the row.
        """
        numbers: dict[str, int] = defaultdict(int)
        rows = (self._row(position, values, numbers) for position, values in self._rows())
        while part := list(islice(rows, _PART_ROWS)):
            yield part

    def parse(self, part: Iterable[Row]) -> Parsed:
        """Clean some rows."""
        parsed = Parsed()
        for row in part:
            written = iso_date(row.date) if row.date else None
            if self.columns.date and written is None:
                parsed.notes.append(Note("no_date", row.id))
            if "\x00" in row.text:
                parsed.notes.append(
                    Note("nul_bytes_removed", f"{row.id}: {row.text.count(chr(0))}")
                )
            text = clean_post(row.text)
            parsed.documents.append(RawDocument(row.id, row.author, row.id, text, written))
        return parsed

    def _row(self, position: str, values: dict[str, Any], numbers: dict[str, int]) -> Row:
        columns = self.columns
        self._require_columns(position, values)
        author, text = values[columns.author], values[columns.text]
        if author is None or str(author).strip() == "":
            raise UserError(f"{self.path}, {position}: no author in column {columns.author!r}")
        if not isinstance(text, str | None):
            raise UserError(f"{self.path}, {position}: column {columns.text!r} holds no text")
        author = str(author).strip()
        numbers[author] += 1
        return Row(
            id=str(values[columns.document]) if columns.document else f"{author}-{numbers[author]}",
            author=author,
            text=text or "",
            date=str(values[columns.date]) if columns.date else None,
        )

    def _require_columns(self, position: str, values: dict[str, Any]) -> None:
        columns = self.columns
        wanted = [columns.author, columns.text, columns.date, columns.document]
        missing = [column for column in wanted if column is not None and column not in values]
        if columns.author in missing and values.keys() >= _HUB_COLUMNS:
            raise UserError(
                f"{self.path}: this is the hub's copy of the blog corpus, with one row a line "
                "instead of a post and without the bloggers' ids; use blogs.zip (reader blogs) "
                "or Kaggle's blogtext.csv"
            )
        if missing:
            raise UserError(
                f"{self.path}, {position}: no column {missing[0]!r} among "
                f"{', '.join(map(repr, values))}; set corpus.columns in params.yaml"
            )

    def _rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Give every row's position, in words, and its values."""
        formats = dict(zip(TABLES, (self._json, self._csv, self._parquet), strict=True))
        suffix = self.path.suffix.lower()
        if suffix not in formats:
            raise UserError(f"{self.path}: a table's name ends in .jsonl, .csv or .parquet")
        if not self.path.is_file():
            raise UserError(f"{self.path}: no such file (corpus.path)")
        position = "its start"
        try:
            for position, values in formats[suffix]():
                yield position, values
        except UnicodeDecodeError as error:
            raise UserError(f"{self.path}, after {position}: not UTF-8: {error}") from None

    def _json(self) -> Iterator[tuple[str, dict[str, Any]]]:
        with open(self.path, encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                try:
                    values = json.loads(line)
                except json.JSONDecodeError as error:
                    raise UserError(f"{self.path}, line {number}: not JSON: {error}") from None
                if not isinstance(values, dict):
                    raise UserError(f"{self.path}, line {number}: not a JSON object")
                yield f"line {number}", values

    def _csv(self) -> Iterator[tuple[str, dict[str, Any]]]:
        csv.field_size_limit(_LONGEST_FIELD)
        with open(self.path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey="", strict=True)
            try:
                for values in reader:
                    if "" in values or None in values.values():
                        raise UserError(
                            f"{self.path}, line {reader.line_num}: not as many fields as columns"
                        )
                    yield f"line {reader.line_num}", values
            except csv.Error as error:
                raise UserError(f"{self.path}, after line {reader.line_num}: {error}") from None

    def _parquet(self) -> Iterator[tuple[str, dict[str, Any]]]:
        from pyarrow import ArrowException, parquet

        try:
            file = parquet.ParquetFile(self.path)
        except ArrowException as error:
            raise UserError(f"{self.path}: not Parquet: {error}") from None
        with file:
            rows = (row for batch in file.iter_batches(_PART_ROWS) for row in batch.to_pylist())
            for number, row in enumerate(rows, start=1):
                yield f"row {number}", row
