"""What every metric means, from the catalogue: in the report and as a page of the docs."""

from collections.abc import Iterable

from personalbench.metrics.catalogue import Group, Metric, catalogue
from personalbench.report.run import Run
from personalbench.report.section import Column, Section, Table, columns, markdown

_GROUPS: dict[Group, str] = {
    "likeness": "Likeness: authorship vectors",
    "judge": "The judge",
    "style": "Style",
    "content": "Content and copying",
    "generation": "Generation",
    "validation": "The encoder on real text",
    "comparison": "Comparisons",
}
_LINES = """\
**ceiling**: the authors' own held-out documents, put through the same measurement as a twin.
**floor**: documents by other authors, put through it. **calibration**: the distribution over
unrelated authors. **chance**: what guessing would get."""


def glossary_section(run: Run) -> Section:
    """All metrics of this run."""
    measured = {metric for scores in run.results.lines.values() for metric in scores.summary}
    known = run.results.catalogue
    return Section(
        id="glossary",
        title="What every metric means",
        basis="",
        tables=(_table("Metrics", (known[key] for key in known if key in measured)),),
    )


def metrics_page() -> str:
    """All metrics that there are, as Markdown: the page ``docs/metrics.md``."""
    metrics = catalogue().values()
    groups = [
        Section(
            id=group,
            title=title,
            basis="",
            tables=(_table("", (metric for metric in metrics if metric.group == group)),),
        )
        for group, title in _GROUPS.items()
    ]
    head = (
        "# Metrics\n\nWritten by `personalbench metrics` from the catalogue that the report, "
        "MLflow and the\nplots take their names from.\n\n"
    )
    return f"{head}{_LINES}\n\n{markdown(groups)}"


def _table(caption: str, metrics: Iterable[Metric]) -> Table:
    return Table(
        caption=caption,
        columns=columns(
            "metric",
            Column("in tables", help="Its name in the headings of narrow columns."),
            Column("key", help="Its name in files, in MLflow and in DVC."),
            "meaning",
            "unit",
            "range",
            "direction",
            "lines",
        ),
        rows=tuple(
            (
                metric.title,
                metric.column,
                metric.key,
                metric.meaning,
                metric.unit or "–",
                metric.range,
                metric.direction,
                ", ".join(metric.reference_lines) or "–",
            )
            for metric in metrics
        ),
    )
