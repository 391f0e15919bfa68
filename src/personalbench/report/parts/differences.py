"""Twins against each other: paired differences, effect sizes, and what could be seen."""

from personalbench.analysis.records import TwinComparison
from personalbench.metrics.comparison import LEVEL
from personalbench.metrics.estimate import Estimate
from personalbench.report.parts.methods import over
from personalbench.report.run import Run
from personalbench.report.section import Cell, Column, Section, Table, columns
from personalbench.report.table import metric_column

_P = Column(
    "p", help="Two-sided sign-flip permutation p over authors: exact where they are few; never 0."
)
_HOLM = Column("p (Holm)", help="The same, corrected for all planned comparisons of the metric.")
_SEEN = Column(
    "would be seen",
    help="Smallest true difference that a comparison of this size sees with 80 % power at 5 %.",
)
_NEEDED = Column(
    "authors needed",
    help="Authors, with as many cases each, to see a difference of the size found.",
)
_WORST = Column(
    "failures as worst",
    help="The difference with the metric's worst value in the place of what is missing.",
)


def differences_section(run: Run) -> Section:
    """All planned pairs of twins."""
    found = run.analysis.comparisons
    if not found:
        return Section(
            id="differences",
            title="Twins against each other",
            basis=run.basis(over(run), judged=True),
            text=("There is one twin: nothing to compare it with.",),
        )
    primary = [pair for pair in found if pair.metric == run.results.encoder.family]
    return Section(
        id="differences",
        title="Twins against each other",
        basis=run.basis(over(run), judged=True),
        text=(
            "Every two twins are compared on the same authors and cases, so that what authors and "
            "topics have in common drops out. Intervals resample authors; p comes from flipping "
            "the signs of the authors' differences, corrected by Holm over the planned pairs of "
            "each metric.",
        ),
        points=tuple(_said(run, primary)),
        tables=(
            _comparison_table(run, primary, run.results.encoder.family),
            *_effect_tables(run),
            _all_table(run),
        ),
        notes=tuple(_notes(found)),
    )


def significant(pair: TwinComparison) -> bool:
    """Whether the corrected p is at most 5 %."""
    p = pair.comparison.p_adjusted
    return p is not None and p <= LEVEL


def _said(run: Run, primary: list[TwinComparison]) -> list[str]:
    title = run.results.catalogue[run.results.encoder.family].column
    seen = [pair for pair in primary if significant(pair)]
    if not seen:
        return [f"By {title} no two twins can be told apart in this run."]
    return [
        f"By {title}, {better} is more like the authors than {worse} (difference {abs(size):.3f})."
        for pair in seen
        if (size := pair.comparison.difference.value) is not None
        for better, worse in [(pair.first, pair.second) if size > 0 else (pair.second, pair.first)]
    ]


def _comparison_table(run: Run, pairs: list[TwinComparison], metric: str) -> Table:
    return Table(
        caption=f"Paired differences by {run.results.catalogue[metric].column}",
        columns=columns("pair", "difference", "Cohen's d", _P, _HOLM, _SEEN, _NEEDED),
        rows=tuple((f"{pair.first} less {pair.second}", *_cells(pair)) for pair in pairs),
    )


def _cells(pair: TwinComparison) -> tuple[Cell, ...]:
    comparison, plan = pair.comparison, pair.detectable
    return (
        comparison.difference,
        comparison.cohens_d,
        _or_dash(comparison.p),
        _or_dash(comparison.p_adjusted),
        _or_dash(plan.detectable),
        _or_dash(plan.authors_needed),
    )


def _or_dash(value: float | None) -> Cell:
    return "–" if value is None else value


def _effect_tables(run: Run) -> list[Table]:
    """Cohen's d of every twin against the one that knows nothing of the author."""
    if run.baseline is None:
        return []
    effects: dict[tuple[str, str], Estimate] = {}
    for pair in run.analysis.comparisons:
        d = pair.comparison.cohens_d
        if pair.second == run.baseline:
            effects[pair.first, pair.metric] = d
        elif pair.first == run.baseline:
            turned = None if d.value is None else -d.value
            effects[pair.second, pair.metric] = d.model_copy(update={"value": turned})
    metrics = run.results.metrics
    return [
        Table(
            caption=f"Effect size (Cohen's d) against {run.baseline}",
            columns=columns("", *(metric_column(metric, run.results) for metric in metrics)),
            rows=tuple(
                (twin, *(effects[twin, metric] for metric in metrics))
                for twin in run.results.twins
                if twin != run.baseline
            ),
        )
    ]


def _all_table(run: Run) -> Table:
    return Table(
        caption="All planned comparisons",
        columns=columns(
            "pair",
            "metric",
            "difference",
            "Cohen's d",
            _P,
            _HOLM,
            _SEEN,
            _NEEDED,
            "left out",
            _WORST,
        ),
        rows=tuple(
            (
                f"{pair.first} less {pair.second}",
                run.results.catalogue[pair.metric].column,
                *_cells(pair),
                pair.comparison.dropped,
                "–" if pair.failures_as_worst is None else pair.failures_as_worst.difference,
            )
            for pair in run.analysis.comparisons
        ),
        folded=True,
    )


def _notes(pairs: tuple[TwinComparison, ...]) -> list[str]:
    said = dict.fromkeys(pair.comparison.note for pair in pairs if pair.comparison.note)
    notes = [f"{note[0].upper()}{note[1:]}." for note in said]
    dropped = max(pair.comparison.dropped for pair in pairs)
    if dropped:
        notes.append(
            f"Pairs with a missing score are left out: up to {dropped} of a comparison. The table "
            "of all comparisons has each difference with the worst value in their place."
        )
    return notes
