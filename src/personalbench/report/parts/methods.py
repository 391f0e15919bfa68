"""The method table: every twin between ceiling and floor."""

from collections.abc import Sequence

from personalbench.metrics.statistics import FEW_AUTHORS
from personalbench.report.figures import methods_figure
from personalbench.report.findings import findings
from personalbench.report.published import published_tables
from personalbench.report.run import Run
from personalbench.report.section import Section, written
from personalbench.report.table import method_table

STYLE_METRICS = (
    "sentence_length_diff",
    "word_length_diff",
    "mattr_diff",
    "ttr_diff",
    "length_ratio",
    "copied_run",
)


def methods_section(run: Run) -> Section:
    """The main metrics, where each twin stands, and how to read it."""
    results = run.results
    title = results.catalogue[results.encoder.family].column
    few = len(run.bundles) < FEW_AUTHORS
    return Section(
        id="methods",
        title="Every twin between ceiling and floor",
        basis=run.basis(over(run), judged=True),
        text=(
            "The ceiling is the authors' own held-out writing, the floor is writing by unrelated "
            "people, both put through the same measurement as the twins. A number means something "
            "between these two only, and the metrics are never averaged into one.",
            f"{title} is the primary measure. TMR and SA are the judge's opinion: the report says "
            "below how far it can be trusted. ROUGE-L is overlap with what the person wrote on "
            "the same subject: content, never style.",
        ),
        points=(*findings(results), *_copied(run)),
        tables=(method_table(results), *published_tables(run)),
        notes=(
            "Intervals are 95 % intervals of a bootstrap over authors and then their texts "
            f"(B = {run.params.score.bootstrap:,}); for {title} the documents of a group are "
            "aggregated again in every replicate. Where all verdicts agree, Wilson's interval "
            "stands in.",
            *(
                [f"With {len(run.bundles)} authors they say little about other authors."]
                if few
                else []
            ),
            *_notes(run),
        ),
    )


def bars_section(run: Run) -> Section:
    """All main metrics as a picture."""
    return Section(
        id="metrics",
        title="By every metric",
        basis=run.basis(over(run), judged=True),
        figures=(methods_figure(run.results),),
    )


def style_section(run: Run) -> Section:
    """Style in numbers that have no better end."""
    results = run.results
    table = method_table(results, _measured(run, STYLE_METRICS))
    return Section(
        id="style",
        title="Style in numbers",
        basis=run.basis(over(run)),
        text=(
            "Differences are text less profile: zero is the person's own habit. MATTR, the "
            "moving-average type-token ratio, can be compared across lengths; the plain ratio "
            "(TTR) falls as a text grows and is to be read with the length ratio only.",
        ),
        tables=(table,),
        notes=("A copied run counts only what a twin has seen: real texts have none.",),
    )


def over(run: Run) -> str:
    """How many generations of how many authors, in words."""
    scores = run.results.twins.values()
    generations = sum(line.answers - line.failed for line in scores)
    return (
        f"{generations} generations by {len(run.results.twins)} twins of {len(run.bundles)} "
        f"authors, {len(run.bundles[0].cases)} cases each"
    )


def _copied(run: Run) -> list[str]:
    """What is left of a twin whose answers repeat what it saw."""
    family = run.results.encoder.family
    return [
        f"{twin}: {scores.copied} of {scores.answers} answers repeat documents that it saw; "
        f"without them {written(run.results.estimate(twin, f'{family}_uncopied'))}."
        for twin, scores in run.results.twins.items()
        if scores.copied
    ]


def _measured(run: Run, metrics: Sequence[str]) -> list[str]:
    return [
        metric
        for metric in metrics
        if any(metric in scores.summary for scores in run.results.lines.values())
    ]


def _notes(run: Run) -> list[str]:
    """What the estimates of the table note about themselves, each note once."""
    notes: dict[str, list[str]] = {}
    for line in run.results.lines:
        for metric in run.results.metrics:
            note = run.results.estimate(line, metric).note
            if note and "authors only" not in note:
                place = f"{line} {run.results.catalogue[metric].column}"
                notes.setdefault(note, []).append(place)
    return [f"{', '.join(places)}: {note}." for note, places in notes.items()]
