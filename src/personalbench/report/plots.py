"""Data of the main figures for `dvc plots`: one CSV file each."""

from collections.abc import Iterable

from personalbench.report.run import Run
from personalbench.report.section import Cell, Table, columns
from personalbench.report.validation import auc


def plot_tables(run: Run) -> dict[str, Table]:
    """Tables by the name of their file, without the ending."""
    results = run.results
    single = f"{results.encoder.family}_1v5"
    return {
        "likeness": _table(
            ("line", "likeness"),
            (
                (line, estimate)
                for line in results.lines
                if (estimate := results.estimate(line, results.encoder.family)).value is not None
            ),
        ),
        "single": _table(
            ("line", "likeness"),
            ((line, value) for line in results.lines for value in results.values(line, single)),
        ),
        "scatter": _table(
            ("line", "likeness", "tmr"),
            (
                (line, *point)
                for line in ("ceiling", *results.twins)
                for point in results.group_points(line, "tmr")
            ),
        ),
        "aggregation": _aggregation(run, [*results.twins]),
        "aggregation-lines": _aggregation(run, ["ceiling", "floor"]),
        "encoder": _encoder(run),
    }


def _table(titles: tuple[str, ...], rows: Iterable[tuple[Cell, ...]]) -> Table:
    return Table("", columns(*titles), tuple(rows))


def _aggregation(run: Run, lines: list[str]) -> Table:
    """A column a line, because DVC draws a curve a column."""
    found = {
        (point.documents, point.line): point.likeness.value for point in run.analysis.aggregation
    }
    sizes = sorted({documents for documents, _ in found})
    return _table(
        ("documents", *lines),
        ((size, *(_number(found.get((size, line))) for line in lines)) for size in sizes),
    )


def _encoder(run: Run) -> Table:
    validation = run.validation
    found = [validation.of(validation.encoders[0], size) for size in validation.sizes]
    return _table(
        ("documents", "AUC", "ceiling", "floor"),
        (
            (one.size, _number(auc(one).value), _number(one.ceiling), _number(one.floor))
            for one in found
        ),
    )


def _number(value: float | None) -> Cell:
    return "" if value is None else value
