"""What a report is made of: sections with words, tables and figures.

Every part of the report is a function that takes results and gives a :class:`Section`; the
report in Markdown and the page in HTML are both made from the same list of them.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from personalbench.metrics.estimate import Estimate

Cell = str | int | float | Estimate
"""An :class:`Estimate` stands for its value and interval, or for what is missing and why."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title: Its heading.
        help: What it means, in a sentence; the page shows it on demand.
        form: How its numbers are written, as a format specification.
    """

    title: str
    help: str = ""
    form: str = "z.3f"


@dataclass(frozen=True)
class Table:
    """A table whose cells keep their full precision.

    Attributes:
        caption: What it shows, over how many values.
        columns: One heading a column.
        rows: One cell a column; the first cell names the row.
        folded: Whether it is long: the page shows it on demand, Markdown leaves it out.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folded: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.caption}: {len(row)} cells, {len(self.columns)} columns")

    def csv(self) -> str:
        """The table with full precision; an interval has two columns of its own."""
        wide = [
            any(isinstance(row[place], Estimate) for row in self.rows)
            for place in range(len(self.columns))
        ]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        titles = [column.title for column in self.columns]
        writer.writerow(
            [
                name
                for title, is_wide in zip(titles, wide, strict=True)
                for name in ([title, f"{title} low", f"{title} high"] if is_wide else [title])
            ]
        )
        for row in self.rows:
            writer.writerow(
                [
                    "" if value is None else value
                    for cell, is_wide in zip(row, wide, strict=True)
                    for value in _values(cell, is_wide)
                ]
            )
        return text.getvalue()

    def gaps(self) -> list[str]:
        """Why values or intervals are missing: each reason once, with where it holds."""
        places: dict[str, list[str]] = {}
        for row in self.rows:
            for column, cell in zip(self.columns, row, strict=True):
                if isinstance(cell, Estimate) and cell.reason is not None:
                    where = " ".join(filter(None, [str(row[0]), column.title]))
                    places.setdefault(cell.reason, []).append(where)
        return [f"{', '.join(where)}: {reason}." for reason, where in places.items()]


@dataclass(frozen=True)
class Figure:
    """A picture.

    Attributes:
        name: Name of its file, without the ending.
        caption: What it shows, over how many values.
        alt: The same for those who can't see it: what there is to see.
        svg: For the page; its colours follow the page's.
        png: For everything else.
    """

    name: str
    caption: str
    alt: str
    svg: str
    png: bytes


@dataclass(frozen=True)
class Section:
    """One part of the report.

    Attributes:
        id: Its anchor: lower-case letters, digits and ``-``.
        title: Its heading.
        basis: What the numbers are over and what made them: n, encoder, judge, generator.
        text: Paragraphs before tables and figures, without markup.
        points: A list after the paragraphs.
        figures: Pictures.
        tables: Tables.
        notes: What a reader must know, after the tables.
    """

    id: str
    title: str
    basis: str
    text: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


def columns(*titles: str | Column) -> tuple[Column, ...]:
    """Columns from titles; those with a meaning or form of their own are given whole."""
    return tuple(title if isinstance(title, Column) else Column(title) for title in titles)


def written(cell: Cell, form: str = "z.3f") -> str:
    """A cell as text: a value with its interval, or that it is missing."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:{form}}"
    if cell.value is None:
        return "not estimable"
    if cell.ci_low is None or cell.ci_high is None:
        return f"{cell.value:{form}}"
    return f"{cell.value:{form}} [{cell.ci_low:{form}}, {cell.ci_high:{form}}]"


def plain(table: Table) -> str:
    """A table for the terminal: Markdown's, with nothing escaped."""
    return "\n".join(_grid(table, str))


def markdown(sections: Sequence[Section]) -> str:
    """Sections as Markdown, without a heading above them."""
    return "\n\n".join(block for section in sections for block in _blocks(section)) + "\n"


def _blocks(section: Section) -> Iterator[str]:
    if section.title:
        yield f"## {escaped(section.title)}"
    yield from map(escaped, section.text)
    if section.points:
        yield _listed(section.points)
    for figure in section.figures:
        yield f"![{escaped(figure.alt)}](figures/{figure.name}.png)"
        yield escaped(figure.caption)
    for table in section.tables:
        if table.folded:
            continue
        if table.caption:
            yield f"**{escaped(table.caption)}**"
        yield "\n".join(_grid(table, escaped))
        if gaps := table.gaps():
            yield _listed(gaps)
    if section.notes:
        yield _listed(section.notes)
    if section.basis:
        yield escaped(section.basis)


def _grid(table: Table, escape: Callable[[str], str]) -> list[str]:
    """A padded grid, so that it reads as plain text too."""
    rows = [
        [escape(column.title) for column in table.columns],
        *(
            [
                escape(written(cell, column.form))
                for cell, column in zip(row, table.columns, strict=True)
            ]
            for row in table.rows
        ),
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(table.columns))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return [lines[0], rule, *lines[1:]]


def _listed(points: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(point)}" for point in points)


_SPECIAL = re.compile(r"([\\`*<|]|\](?=[(\[:])|(?<!\w)_|_(?!\w)|^[#>+=-](?=\s|$))")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _values(cell: Cell, wide: bool) -> list[str | int | float | None]:
    if isinstance(cell, Estimate):
        return [cell.value, cell.ci_low, cell.ci_high]
    return [cell, None, None] if wide else [cell]
