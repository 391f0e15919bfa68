"""A run, a comparison and a history for the terminal, and a comparison as files."""

from pathlib import Path
from textwrap import fill

from personalbench.errors import UserError
from personalbench.metrics.estimate import Estimate, missing
from personalbench.person.chart import Chart, lines, marked, svg
from personalbench.person.comparing import Comparisons
from personalbench.person.history import History
from personalbench.person.records import Run
from personalbench.person.words import BEWARE, alarms, meaning, ruler, values, verdict
from personalbench.report.section import Cell, Column, Section, Table, escaped, markdown, plain
from personalbench.storage import atomic_write, write_json

PICTURE = "comparison.svg"

SVG_MARK = 'aria-label="Likeness to '
JUNIT_MARK = 'name="personalbench: '
_MARKS = {
    "comparison.json": '"first_likeness": ',
    "comparison.md": "# Likeness to ",
    PICTURE: SVG_MARK,
}
"""What stands near the beginning of every page that these commands make of runs."""

_WIDTH = 79
_NAME = 22  # characters of a run's name in a table that fits the terminal


def summary(run: Run) -> str:
    """A run in lines: the answer, the ruler, what it means, what to beware of."""
    return "\n".join(
        [
            *(_filled(alarm, "! ") for alarm in alarms(run)),
            _filled(" ".join([*verdict(run), values(run)])),
            "",
            *lines(ruler(run)),
            "",
            *(_filled(point, "- ") for point in meaning(run)),
            *(_filled(warning, "! ") for warning in run.warnings),
        ]
    )


def comparison_text(compared: Comparisons, picture: Chart) -> str:
    """A comparison in lines: warnings, verdicts, picture, table."""
    table = _narrow_table(compared)
    return "\n".join(
        [
            *(_filled(warning, "! ") for warning in compared.warnings),
            *(_filled(said, "- ") for said in _said(compared)),
            "",
            *lines(picture),
            "",
            plain(table),
            *(_filled(gap, "- ") for gap in table.gaps()),
        ]
    )


def history_text(found: History, picture: Chart) -> str:
    """A history in lines: picture, and what its marks mean."""
    return "\n".join(
        [
            *lines(picture),
            *(
                _filled(f"{version.name}: {warning}", "! ")
                for version in found.versions
                for warning in version.warnings
            ),
        ]
    )


def comparison_page(compared: Comparisons) -> str:
    """A comparison in Markdown."""
    notes = [
        f"{run.name}: {note}"
        for run in compared.runs
        for note in (run.difference.note, run.difference.difference.reason)
        if note is not None
    ]
    section = Section(
        id="comparison",
        title=f"Compared with {compared.first}",
        basis="The difference is of the groups that both answered. The two numbers behind a value "
        "are its 95 % interval: with other cases it would probably lie between them. Better or "
        "worse is said only of a difference whose interval leaves out zero and that is hardly "
        "chance (p at most 0.05). Single answers are a diagnostic: the verdict is the groups'.",
        points=tuple(_said(compared)),
        tables=(_table(compared),),
        notes=tuple(notes),
    )
    sections = [section]
    if compared.warnings:
        sections.insert(0, Section(id="warnings", title=BEWARE, basis="", points=compared.warnings))
    title = escaped(f"Likeness to {compared.author}")
    return f"# {title}\n\n![{title}]({PICTURE})\n\n{markdown(sections)}"


def write_comparison(folder: Path, compared: Comparisons, picture: Chart, page: str) -> None:
    """Write ``comparison.json``, ``comparison.md`` and ``comparison.svg``.

    Raises:
        UserError: As :func:`require_ours`, before anything is written.
    """
    for name, mark in _MARKS.items():
        require_ours(folder / name, mark)
    write_json(folder / "comparison.json", compared.model_dump(mode="json"))
    for name, text in ((PICTURE, svg(picture)), ("comparison.md", page)):
        with atomic_write(folder / name) as file:
            file.write(text)


def require_ours(page: Path, mark: str) -> None:
    """Make sure that writing a page loses nothing that its runs could not give again.

    Raises:
        UserError: There is a file of that name without the mark.
    """
    if page.exists() and mark.encode() not in page.read_bytes()[:1000]:
        raise UserError(
            f"{page}: is there and was written by something else; choose another name or remove it"
        )


def _said(compared: Comparisons) -> list[str]:
    return [said for run in compared.runs for said in (run.sentence, *run.notes)]


def _table(compared: Comparisons) -> Table:
    return Table(
        caption=f"Every run against {compared.first}",
        columns=(
            Column("run"),
            Column("likeness"),
            Column("difference", form="+z.3f"),
            Column("single answers", form="+z.3f"),
            Column("gap closed", form="z.0%"),
            Column("groups"),
            Column("verdict"),
        ),
        rows=(
            (marked(compared.first, compared.first_marks), compared.first_likeness, *[""] * 5),
            *(
                (
                    marked(run.name, run.marks),
                    run.likeness,
                    run.difference.difference,
                    run.one_v_five.difference,
                    run.gap_closed,
                    run.groups,
                    run.verdict,
                )
                for run in compared.runs
            ),
        ),
    )


def _narrow_table(compared: Comparisons) -> Table:
    """The table for eighty columns: no intervals, which stand in the verdicts and the picture."""
    return Table(
        caption="",
        columns=(
            Column("run"),
            Column("likeness"),
            Column("difference", form="+z.3f"),
            Column("gap closed", form="z.0%"),
            Column("verdict"),
        ),
        rows=(
            (
                marked(_shortened(compared.first), compared.first_marks),
                _bare(compared.first_likeness),
                *[""] * 3,
            ),
            *(
                (
                    marked(_shortened(run.name), run.marks),
                    _bare(run.likeness),
                    _bare(run.difference.difference),
                    _bare(run.gap_closed),
                    run.verdict,
                )
                for run in compared.runs
            ),
        ),
    )


def _bare(estimate: Estimate) -> Cell:
    return missing(estimate.reason or "") if estimate.value is None else estimate.value


def _shortened(name: str) -> str:
    """Both ends of a long name: versions often begin or end alike."""
    if len(name) <= _NAME:
        return name
    half = (_NAME - 1) // 2
    return f"{name[:half]}…{name[half + 1 - _NAME :]}"


def _filled(text: str, bullet: str = "") -> str:
    """A paragraph in lines for the terminal; names are never broken."""
    return fill(
        text,
        _WIDTH,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
