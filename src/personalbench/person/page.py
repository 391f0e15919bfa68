"""The report of one run: ``report.md`` and ``report.html``, made of the same sections."""

import re
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from personalbench.bundle import Bundle
from personalbench.metrics.catalogue import catalogue
from personalbench.metrics.estimate import Estimate, missing
from personalbench.person.chart import svg
from personalbench.person.records import LineScores, Run
from personalbench.person.words import (
    NOT_MEANT,
    headline,
    least_like,
    meaning,
    partly,
    ruler,
    single,
)
from personalbench.report.html import html
from personalbench.report.section import Cell, Column, Section, Table, escaped, markdown
from personalbench.twins.answers import Answer

RULER = "ruler.svg"
"""Name of the picture beside ``report.md``."""


@dataclass(frozen=True)
class SideBySide:
    """One case with both texts.

    Attributes:
        case_id: Which.
        topic: What it is about.
        prompt: What the twin was asked.
        twin: What the twin wrote.
        person: What the person wrote.
        twin_likeness: Of the twin's text to the profile.
        person_likeness: Of the person's text to the profile.
    """

    case_id: str
    topic: str
    prompt: str
    twin: str
    person: str
    twin_likeness: Estimate
    person_likeness: Estimate


def side_by_side(run: Run, bundle: Bundle, answers: tuple[Answer, ...]) -> SideBySide | None:
    """The case that is least like the person, with its texts."""
    case = least_like(run)
    if case is None:
        return None
    number = [one.id for one in bundle.cases].index(case.case_id)
    return SideBySide(
        case_id=case.case_id,
        topic=bundle.cases[number].topic,
        prompt=bundle.cases[number].prompt,
        twin=answers[number].text,
        person=bundle.references[number].text,
        twin_likeness=single(run, case.twin),
        person_likeness=single(run, case.person),
    )


def report_markdown(run: Run, shown: SideBySide | None) -> str:
    """The report for a Markdown viewer."""
    answer = escaped(headline(run))
    parts = [
        f"# {escaped(f'Does {run.name} write like {run.bundle.author}?')}",
        f"**{answer}**",
        f"![{answer}]({RULER})",
        markdown(_first_sections(run)),
    ]
    if shown is not None:
        parts += [
            f"## The case least like the person: {shown.case_id}",
            f"Asked for: {escaped(shown.topic)}",
            f"The twin wrote ({_told(shown.twin_likeness)}):",
            _fenced(shown.twin),
            f"The person wrote ({_told(shown.person_likeness)}):",
            _fenced(shown.person),
        ]
    return "\n\n".join(part.strip() for part in [*parts, markdown(_last_sections(run))]) + "\n"


def report_html(run: Run, shown: SideBySide | None) -> str:
    """The report as one file that needs nothing beside itself."""
    environment = Environment(
        loader=PackageLoader("personalbench.person", "."),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.jinja").render(
        run=run,
        headline=headline(run),
        ruler=Markup(svg(ruler(run))),  # our own drawing; every label in it is escaped
        first=html(_first_sections(run)),
        last=html(_last_sections(run)),
        shown=shown,
        told=_told,
    )


def _first_sections(run: Run) -> list[Section]:
    made = [
        Section(id="meaning", title="What it means", basis="", points=tuple(meaning(run))),
        Section(id="not-meant", title="What it does not mean", basis="", points=NOT_MEANT),
    ]
    if run.warnings:
        made.insert(
            0, Section(id="warnings", title="Before you trust it", basis="", points=run.warnings)
        )
    return made


def _last_sections(run: Run) -> list[Section]:
    return [
        Section(id="numbers", title="The numbers", basis=_basis(run), tables=_numbers(run)),
        Section(id="cases", title="Case by case", basis="", tables=(_cases(run),)),
        Section(
            id="diagnostics",
            title="Diagnostics",
            basis="",
            text=(
                "Countable habits, each text against the whole profile, averaged over the "
                "answers. They explain; they are not added to the likeness. Overlap with what "
                "the person wrote is content and never style.",
            ),
            tables=(_diagnostics(run),),
        ),
        Section(
            id="repeat",
            title="To repeat it",
            basis="",
            points=(
                f"Bundle {run.bundle.sha256[:16]}: {run.bundle.profile} profile documents, "
                f"{len(run.bundle.selected_profile)} of them selected with seed "
                f"{run.bundle.seed}, {run.bundle.cases} cases; topics by "
                f"{run.bundle.prompt_model.id} at {run.bundle.prompt_model.revision[:16]}.",
                f"Answers {run.answers.name}, sha256 {run.answers.sha256[:16]}.",
                f"Encoder {run.settings.encoder.name} at {run.settings.encoder.revision[:16]}, "
                f"{run.settings.encoder.max_length} tokens a document.",
                f"Scored {run.created} with personalbench {run.software['personalbench']}.",
            ),
        ),
    ]


def _basis(run: Run) -> str:
    return (
        f"Groups of {run.bundle.group_size} texts against {run.bundle.group_size} profile "
        f"documents, {_counted(len(run.groups), 'group')}; encoder {run.settings.encoder.name}; "
        f"intervals from {run.settings.replicates:,} resamples of groups and texts. The unrelated "
        "writers that come with luar-mini kept web diaries in 2004: someone who writes another "
        "kind of text is far from all of them."
    )


def _numbers(run: Run) -> tuple[Table, ...]:
    rows: list[tuple[Cell, ...]] = [(partly("twin", run, run.twin.likeness), run.twin.likeness)]
    if run.baseline is not None:
        base = run.baseline.likeness
        rows.append((partly("model without the person", run, base), base))
    rows += [
        ("person's own held-out writing (ceiling)", run.ceiling.likeness),
        (partly("improvement over the model", run, run.improvement), run.improvement),
        (partly("share of the gap closed", run, run.gap_closed), run.gap_closed),
    ]
    tables = [Table(caption="Likeness to the person", columns=_columns("", ""), rows=tuple(rows))]
    if run.unrelated is not None:
        of = run.unrelated
        spread: Cell = missing("one writer only") if of.sd is None else of.sd
        percentile: Cell = (
            missing("no likeness") if of.twin_percentile is None else f"{of.twin_percentile:.0f}"
        )
        tables.append(
            Table(
                caption=f"Likeness of {of.n} unrelated writers to the person",
                columns=_columns(
                    "", "mean", "median", "sd", "5th", "95th", "twin's percentile among them"
                ),
                rows=(("unrelated", of.mean, of.median, spread, of.p5, of.p95, percentile),),
            )
        )
    if len(run.groups) > 1:
        tables.append(
            Table(
                caption="Group by group",
                columns=_columns("cases", "twin", "model", "person"),
                rows=tuple(
                    (
                        f"{each.case_ids[0]} to {each.case_ids[-1]}",
                        _cell(each.twin, "an answer is missing"),
                        _cell(each.baseline, "no baseline answers"),
                        each.ceiling,
                    )
                    for each in run.groups
                ),
            )
        )
    return tuple(tables)


def _cases(run: Run) -> Table:
    return Table(
        caption="One text against the five of the profile; lower than a group by construction",
        columns=(
            Column("case"),
            Column("twin"),
            Column("model"),
            Column("person"),
            Column(
                "words in a row from the profile",
                help="Longest run of words that the twin's answer shares with a profile document.",
            ),
            Column("overlap with the person's text", help="ROUGE-L: content, never style."),
        ),
        rows=tuple(
            (
                f"{case.case_id}{' (copying)' if case.copying else ''}",
                single(run, case.twin),
                single(run, case.baseline),
                single(run, case.person),
                missing("no answer") if case.copied_words is None else case.copied_words,
                case.twin.get("rouge_l", missing("no answer")),
            )
            for case in run.cases
        ),
    )


def _diagnostics(run: Run) -> Table:
    known = catalogue(run.family)
    names = [
        name
        for name in run.twin.metrics
        if name in known and known[name].group in ("style", "content")
    ]

    def of(line: LineScores | None, name: str) -> Estimate:
        return (line.metrics if line else {}).get(name, missing("not measured"))

    return Table(
        caption="Averages over the answers",
        columns=_columns("", "twin", "model", "person"),
        rows=tuple(
            (
                known[name].title,
                of(run.twin, name),
                of(run.baseline, name),
                missing("its own text") if name == "rouge_l" else of(run.ceiling, name),
            )
            for name in names
        ),
    )


def _columns(*titles: str) -> tuple[Column, ...]:
    return tuple(Column(title) for title in titles)


def _cell(value: float | None, reason: str) -> Cell:
    return missing(reason) if value is None else value


def _told(estimate: Estimate) -> str:
    return "not estimable" if estimate.value is None else f"likeness {estimate.value:.3f}"


def _fenced(text: str) -> str:
    """A text as it is, whatever it holds."""
    longest = max((len(run) for run in re.findall(r"~+", text)), default=0)
    fence = "~" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
