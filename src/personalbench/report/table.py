"""The method table, and how its columns are headed."""

from collections.abc import Iterable

from personalbench.report.results import Results
from personalbench.report.section import Column, Table


def metric_column(metric: str, results: Results) -> Column:
    """A column for a metric, with its meaning from the catalogue."""
    known = results.catalogue[metric]
    return Column(known.column, help=f"{known.title}: {known.meaning}")


def method_table(results: Results, metrics: Iterable[str] | None = None) -> Table:
    """Every line by every metric, from the ceiling to the floor.

    Args:
        results: All lines.
        metrics: The columns; by default the main ones.
    """
    chosen = tuple(results.metrics if metrics is None else metrics)
    return Table(
        caption="Ceiling, twins and floor, with 95 % intervals",
        columns=(Column(""), *(metric_column(metric, results) for metric in chosen)),
        rows=tuple(
            (line, *(results.estimate(line, metric) for metric in chosen)) for line in results.lines
        ),
    )
