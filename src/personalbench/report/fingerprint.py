"""Several generators in one run: the same methods side by side, and whose hand shows."""

from collections.abc import Mapping, Sequence

from personalbench.analysis.fingerprint import REAL
from personalbench.analysis.records import Fingerprint
from personalbench.report.results import Results
from personalbench.report.section import Cell, Section, Table, columns, written
from personalbench.report.table import metric_column


def fingerprint_section(
    results: Results,
    fingerprints: Sequence[Fingerprint],
    methods: Mapping[str, str],
    writers: Mapping[str, str],
) -> Section:
    """The second-generator table and the fingerprint matrix.

    Args:
        results: The scores of all lines.
        fingerprints: What the analysis measured.
        methods: Each twin's method.
        writers: The generator of each twin, or the twin itself where it is a file.
    """
    names = list(dict.fromkeys([*(item.first for item in fingerprints), REAL]))
    generators = [name for name in names if name != REAL]
    return Section(
        id="fingerprint",
        title="Generators and their fingerprints",
        basis=f"Encoder: {results.encoder.name}. Sets of answers to two different targets, "
        "by whatever method.",
        text=(_reading(fingerprints, generators),),
        tables=(
            _matrix(fingerprints, names),
            *([_by_generator(results, methods, writers)] if len(generators) > 1 else []),
        ),
    )


def _reading(fingerprints: Sequence[Fingerprint], generators: Sequence[str]) -> str:
    within = [item for item in fingerprints if item.first == item.second and item.first != REAL]
    real = {
        name: item.likeness
        for item in fingerprints
        for name, other in ((item.first, item.second), (item.second, item.first))
        if other == REAL and name != REAL
    }
    said = [
        f"texts by {item.first} for different people are alike by {written(item.likeness)}, "
        f"and like real people by {written(real[item.first])}"
        for item in within
        if item.likeness.value is not None and real[item.first].value is not None
    ]
    if not said:
        return "A fingerprint needs complete groups of answers for two authors at least."
    one = " One generator alone has nothing to be compared with." if len(generators) == 1 else ""
    return (
        "Where texts that one model wrote for different people are more like each other than "
        f"like people, its own hand shows: {'; '.join(said)}.{one}"
    )


def _matrix(fingerprints: Sequence[Fingerprint], names: Sequence[str]) -> Table:
    cells = {(item.first, item.second): item.likeness for item in fingerprints}
    rows: list[tuple[Cell, ...]] = [
        (
            first,
            *(cells.get((first, second), cells.get((second, first), "")) for second in names),
        )
        for first in names
    ]
    return Table(
        caption="Likeness of sets of texts, each pair for two different targets",
        columns=columns("", *names),
        rows=tuple(rows),
    )


def _by_generator(
    results: Results, methods: Mapping[str, str], writers: Mapping[str, str]
) -> Table:
    """Every twin by method and generator: the paper's second-generator table."""
    order = sorted(results.twins, key=lambda twin: (methods[twin], writers[twin]))
    metrics = results.metrics
    rows: list[tuple[Cell, ...]] = [
        (methods[twin], writers[twin], twin, *(results.estimate(twin, key) for key in metrics))
        for twin in order
    ]
    return Table(
        caption="The methods by generator",
        columns=columns(
            "method", "generator", "twin", *(metric_column(key, results) for key in metrics)
        ),
        rows=tuple(rows),
    )
