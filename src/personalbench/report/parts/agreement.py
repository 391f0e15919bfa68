"""Do the metrics measure the same thing?"""

from personalbench.report.figures import scatter_figure
from personalbench.report.parts.methods import over
from personalbench.report.run import Run
from personalbench.report.section import Cell, Section, Table, columns
from personalbench.report.table import metric_column


def agreement_section(run: Run) -> Section:
    """The correlation matrix over generations, and likeness against trait match."""
    found = {(pair.first, pair.second): pair.r for pair in run.analysis.correlations}
    metrics = list(dict.fromkeys(name for pair in found for name in pair))

    def cell(row: int, place: int) -> Cell:
        return found[metrics[place], metrics[row]] if place < row else ""

    return Section(
        id="agreement",
        title="Do the metrics agree?",
        basis=run.basis(over(run), judged=True),
        text=(
            "Pearson's correlation over single generations of all twins. Metrics that do not "
            "agree measure different things, and none of them can stand for another.",
        ),
        figures=(scatter_figure(run),),
        tables=(
            Table(
                caption="Correlation of every two metrics, with 95 % intervals over authors",
                columns=columns("", *(metric_column(name, run.results) for name in metrics[:-1])),
                rows=tuple(
                    (
                        run.results.catalogue[metrics[row]].column,
                        *(cell(row, place) for place in range(len(metrics) - 1)),
                    )
                    for row in range(1, len(metrics))
                ),
            ),
        ),
    )
