"""The report of one run: ``report.md`` and ``report.html``, made of the same sections."""

import re
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from personalbench.bundle import Bundle
from personalbench.metrics.estimate import Estimate, missing
from personalbench.person.chart import svg
from personalbench.person.habits import HABITS
from personalbench.person.records import CaseScores, Run
from personalbench.person.words import (
    BEWARE,
    NOT_MEANT,
    alarms,
    headline,
    least_like,
    meaning,
    noticed,
    partly,
    ruler,
    shortfall,
    single,
    values,
    verdict,
)
from personalbench.report.html import html
from personalbench.report.section import Cell, Section, Table, columns, escaped, markdown
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
        shortfall: How much less the twin's is.
    """

    case_id: str
    topic: str
    prompt: str
    twin: str
    person: str
    twin_likeness: Estimate
    person_likeness: Estimate
    shortfall: float

    @property
    def title(self) -> str:
        """What there is to see."""
        return f"The answer that is least like the person: {self.case_id}"

    @property
    def told(self) -> str:
        """How far the two texts are apart."""
        if self.shortfall > 0:
            return (
                "Of all answers this one falls furthest short of what the person wrote in the same "
                f"case, by {self.shortfall:z.3f}."
            )
        return (
            "No answer is less like the profile than what the person wrote in the same case; this "
            "one comes nearest to that."
        )


def side_by_side(run: Run, bundle: Bundle, answers: tuple[Answer, ...]) -> SideBySide | None:
    """The case whose answer falls furthest short of the person's own text, with both."""
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
        shortfall=shortfall(run, case).value or 0.0,
    )


def report_markdown(run: Run, shown: SideBySide | None) -> str:
    """The report for a Markdown viewer."""
    parts = [
        f"# {escaped(f'Does {run.name} write like {run.bundle.author}?')}",
        *(f"**{escaped(said)}**" for said in (*alarms(run), *verdict(run))),
        escaped(values(run)),
        f"![{escaped(headline(run))}]({RULER})",
        markdown(_first_sections(run)),
    ]
    if shown is not None:
        parts += [
            f"## {shown.title}",
            shown.told,
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
        alarms=alarms(run),
        verdict=verdict(run),
        values=values(run),
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
        made.insert(0, Section(id="warnings", title=BEWARE, basis="", points=run.warnings))
    return made


def _last_sections(run: Run) -> list[Section]:
    return [
        Section(
            id="numbers",
            title="The numbers",
            basis=_basis(run),
            text=(
                "Likeness is 1 where two sets of texts look to the encoder as if one hand had "
                "written them, and about 0 where they have nothing in common. Two smaller numbers "
                "after a value are its 95 % interval: with other cases the value would probably "
                "lie between them.",
            ),
            tables=_numbers(run),
        ),
        Section(
            id="cases",
            title="Case by case",
            basis="",
            text=(
                "Likeness of each single text to the profile. A single text says less than a group "
                "of them, so that its value is lower.",
            ),
            tables=_cases(run),
        ),
        Section(
            id="habits",
            title="Habits that can be counted",
            basis="",
            text=(
                "They help to see why a twin is like or unlike the person. They are averages over "
                "the texts and no part of the likeness. The nearer the twin is to the person's own "
                "column, the better.",
            ),
            tables=(_habits(run),),
        ),
        Section(
            id="repeat",
            title="To repeat it",
            basis="",
            points=(
                f"Bundle {run.bundle.sha256[:16]}: {run.bundle.profile} profile documents, "
                f"{len(run.bundle.selected_profile)} of them selected with seed "
                f"{run.bundle.seed}, {run.bundle.cases} cases; {_topics(run)}.",
                f"Answers {run.answers.name}, sha256 {run.answers.sha256[:16]}.",
                f"Encoder {run.settings.encoder.name} at {run.settings.encoder.revision[:16]}; it "
                f"reads the first {run.settings.encoder.max_length} tokens of a text, about "
                f"{run.settings.encoder.max_length * 3 // 4} words.",
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
    rows: list[tuple[Cell, ...]] = [(partly("the twin", run, run.twin.likeness), run.twin.likeness)]
    if run.baseline is not None:
        base = run.baseline.likeness
        rows.append((partly("the model without the person", run, base), base))
    short = run.short_of_person
    rows += [
        ("the person's own held-out writing (ceiling)", run.ceiling.likeness),
        (partly("short of it: person less twin", run, short), short),
    ]
    if run.baseline is not None:
        rows += [
            (partly("improvement: twin less model", run, run.improvement), run.improvement),
            (partly("share of the gap closed", run, run.gap_closed), run.gap_closed),
        ]
    tables = [Table(caption="Likeness to the person", columns=columns("", ""), rows=tuple(rows))]
    if run.unrelated is not None:
        of = run.unrelated
        below = "more like the person than so many of 100 of them:"
        spread: tuple[tuple[Cell, ...], ...] = (
            () if of.sd is None else (("how much they vary (standard deviation)", of.sd),)
        )
        tables.append(
            Table(
                caption=f"Likeness of {of.n} unrelated writers to the person",
                columns=columns("", ""),
                rows=(
                    ("their average", of.mean),
                    ("the one in the middle (median)", of.median),
                    ("one in 20 is below (5th percentile)", of.p5),
                    ("one in 20 is above (95th percentile)", of.p95),
                    *spread,
                    (f"{below} the twin", _percentile(of.twin_percentile)),
                    (f"{below} the person", _percentile(of.ceiling_percentile)),
                ),
            )
        )
    if len(run.groups) > 1:
        tables.append(
            Table(
                caption="Group by group",
                columns=columns("cases", *_lines(run)),
                rows=tuple(
                    (
                        f"{each.case_ids[0]} to {each.case_ids[-1]}",
                        _answered(each.twin),
                        *([_answered(each.baseline)] if run.baseline else []),
                        each.ceiling,
                    )
                    for each in run.groups
                ),
            )
        )
    return tuple(tables)


def _cases(run: Run) -> tuple[Table, ...]:
    likeness = Table(
        caption="Likeness of single texts",
        columns=columns("case", *_lines(run), "twin less person", "noticed"),
        rows=tuple(
            (
                case.case_id,
                _answered(single(run, case.twin).value),
                *([_answered(single(run, case.baseline).value)] if run.baseline else []),
                _answered(single(run, case.person).value),
                _less(shortfall(run, case).value),
                noticed(run, case),
            )
            for case in run.cases
        ),
    )
    shared = Table(
        caption="Most words in a row that the twin's answer shares with the person's texts",
        columns=columns("case", "with a profile text", "with a held-out text"),
        rows=tuple(_shared(case) for case in run.cases),
    )
    return likeness, shared


def _shared(case: CaseScores) -> tuple[Cell, ...]:
    words = (case.copied_words, case.reference_words)
    return (case.case_id, *("no answer" if each is None else each for each in words))


def _habits(run: Run) -> Table:
    lines = [run.twin, *([run.baseline] if run.baseline else []), run.ceiling]
    return Table(
        caption="Averages over the texts",
        columns=columns("habit", *_lines(run), "what it says"),
        rows=tuple(
            (habit.name, *(habit.cell(line, run.ceiling) for line in lines), habit.says)
            for habit in HABITS
        ),
    )


def _lines(run: Run) -> tuple[str, ...]:
    return ("the twin", *(["the model"] if run.baseline else []), "the person")


def _answered(value: float | None) -> Cell:
    return "no answer" if value is None else value


def _less(shortfall: float | None) -> Cell:
    return "" if shortfall is None else f"{-shortfall:+z.3f}"


def _percentile(value: float | None) -> Cell:
    return missing("no complete group of answers") if value is None else f"{value:.0f}"


def _told(estimate: Estimate) -> str:
    return "no answer" if estimate.value is None else f"likeness {estimate.value:z.3f}"


def _fenced(text: str) -> str:
    """A text as it is, whatever it holds."""
    longest = max((len(run) for run in re.findall(r"~+", text)), default=0)
    fence = "~" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _topics(run: Run) -> str:
    if run.bundle.topics_file is not None:
        return f"topics from a file, sha256 {run.bundle.topics_file[:16]}"
    model = run.bundle.prompt_model
    return f"topics by {model.id} at {model.revision[:16]}"
