"""What every metric means, from the catalogue."""

from personalbench.metrics.catalogue import Metric
from personalbench.report.run import Run
from personalbench.report.section import Section, Table, columns


def glossary_section(run: Run) -> Section:
    """All metrics of this run."""
    measured = {metric for scores in run.results.lines.values() for metric in scores.summary}
    return Section(
        id="glossary",
        title="What every metric means",
        basis="",
        tables=(
            glossary([metric for key, metric in run.results.catalogue.items() if key in measured]),
        ),
    )


def glossary(metrics: list[Metric]) -> Table:
    """One row a metric."""
    return Table(
        caption="Metrics",
        columns=columns("metric", "in tables", "meaning", "unit", "range", "direction"),
        rows=tuple(
            (
                metric.title,
                metric.column,
                metric.meaning,
                metric.unit or "–",
                metric.range,
                metric.direction,
            )
            for metric in metrics
        ),
    )
