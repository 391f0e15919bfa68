"""A run and a comparison for the terminal, and a comparison as files."""

from pathlib import Path

from personalbench.person.chart import Chart, lines, svg
from personalbench.person.comparing import Comparisons
from personalbench.person.records import Run
from personalbench.person.words import headline, meaning, ruler
from personalbench.report.section import Column, Section, Table, escaped, markdown, plain
from personalbench.storage import atomic_write, write_json

PICTURE = "comparison.svg"


def summary(run: Run) -> str:
    """A run in lines: the answer, the ruler, what it means, what to beware of."""
    return "\n".join(
        [
            headline(run),
            "",
            *lines(ruler(run)),
            "",
            *(f"- {point}" for point in meaning(run)),
            *(f"! {warning}" for warning in run.warnings),
        ]
    )


def comparison_text(compared: Comparisons, picture: Chart) -> str:
    """A comparison in lines: verdicts, table, picture."""
    return "\n".join(
        [
            *_said(compared),
            "",
            plain(_table(compared)),
            "",
            *lines(picture),
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
        basis="The difference is of the groups that both answered. Single answers are a "
        "diagnostic: the verdict is the groups'.",
        points=tuple(_said(compared)),
        tables=(_table(compared),),
        notes=tuple(notes),
    )
    title = escaped(f"Likeness to {compared.author}")
    return f"# {title}\n\n![{title}]({PICTURE})\n\n{markdown([section])}"


def write_comparison(folder: Path, compared: Comparisons, picture: Chart, page: str) -> None:
    """Write ``comparison.json``, ``comparison.md`` and ``comparison.svg``."""
    write_json(folder / "comparison.json", compared.model_dump(mode="json"))
    for name, text in ((PICTURE, svg(picture)), ("comparison.md", page)):
        with atomic_write(folder / name) as file:
            file.write(text)


def _said(compared: Comparisons) -> list[str]:
    return [said for run in compared.runs for said in (run.sentence, *run.notes)]


def _table(compared: Comparisons) -> Table:
    return Table(
        caption=f"Every run against {compared.first}",
        columns=(
            Column("run"),
            Column("likeness"),
            Column("difference", form="+.3f"),
            Column("single answers", form="+.3f"),
            Column("gap closed"),
            Column("groups"),
            Column("verdict"),
        ),
        rows=(
            (compared.first, compared.first_likeness, "", "", "", "", ""),
            *(
                (
                    run.name,
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
