"""The sections of a report as HTML: templates, and what they need to write a cell."""

import re
from functools import cache
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from personalbench.metrics.estimate import Estimate
from personalbench.report.section import Cell, Column, Figure, Section, Table, written


@cache
def environment() -> Environment:
    """Templates of the page; whatever they are given is escaped."""
    made = Environment(
        loader=PackageLoader("personalbench.report", "."),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    made.tests["estimate"] = lambda cell: isinstance(cell, Estimate)
    made.filters |= {
        "written": _written,
        "number": _number,
        "csv_link": _csv_link,
        "svg": _svg,
        "least_width": _least_width,
    }
    return made


def html(sections: list[Section]) -> Markup:
    """All sections, as a part of a page."""
    return Markup(environment().get_template("sections.html.jinja").render(sections=sections))


def _written(cell: Cell, column: Column) -> str:
    return written(cell, column.form)


def _number(value: float, column: Column) -> str:
    return written(value, column.form)


def _csv_link(table: Table) -> str:
    return "data:text/csv;charset=utf-8," + quote(table.csv())


def _svg(figure: Figure) -> Markup:
    """Our own drawing; every text in it was escaped when it was drawn."""
    return Markup(figure.svg)


def _least_width(figure: Figure) -> int:
    """Pixels under which a narrow screen scrolls a drawing sideways, so that it stays legible."""
    width = re.search(r'width="([\d.]+)pt"', figure.svg)
    return round(float(width[1]) * 4 / 3 * 0.64) if width else 0
