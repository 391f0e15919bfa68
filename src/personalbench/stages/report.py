"""Stage `report`: tables, figures, the page and the metrics of all twins."""

from personalbench import paths
from personalbench.analysis.records import Analysis
from personalbench.bundle import load_bundles
from personalbench.judge.records import AuthorTraits, Judgement
from personalbench.judge.trust import Trust
from personalbench.params import Params
from personalbench.report.page import report_markdown, report_page
from personalbench.report.plots import plot_tables
from personalbench.report.results import likeness_tree, load_results, metrics_tree
from personalbench.report.run import Run
from personalbench.report.sections import report_sections
from personalbench.report.validation import Validation
from personalbench.storage import atomic_write, empty_folder, read_json, read_records, write_json
from personalbench.training.outcomes import read_outcomes
from personalbench.twins.answers import Answer


def run(params: Params) -> str:
    """Write the page, report.md with its figures, the data of plots, and the metrics."""
    read = load_run(params)
    sections = report_sections(read)
    empty_folder(paths.FIGURES)
    for figure in (figure for section in sections for figure in section.figures):
        (paths.FIGURES / f"{figure.name}.png").write_bytes(figure.png)
    empty_folder(paths.PLOTS)
    for name, table in plot_tables(read).items():
        with atomic_write(paths.PLOTS / f"{name}.csv") as file:
            file.write(table.csv())
    with atomic_write(paths.REPORTS / "report.md") as file:
        file.write(report_markdown(read, sections))
    with atomic_write(paths.PAGE) as file:
        file.write(report_page(read, sections))
    write_json(paths.METRICS, likeness_tree(read.results))
    write_json(paths.METRICS_DETAILS, metrics_tree(read.results))
    return f"report: {len(read.results.twins)} twins in {paths.PAGE}"


def load_run(params: Params) -> Run:
    """Read everything that the report is made from."""
    results = load_results(paths.SCORES, params.twins)
    lines = ("ceiling", *results.twins)
    return Run(
        results=results,
        analysis=Analysis.model_validate(read_json(paths.ANALYSIS)),
        validation=Validation.model_validate(read_json(paths.VALIDATION)),
        bundles=load_bundles(paths.BUNDLES),
        answers={line: read_records(paths.ANSWERS / f"{line}.jsonl", Answer) for line in lines},
        judgements={
            line: read_records(paths.JUDGEMENTS / f"{line}.jsonl", Judgement) for line in lines
        },
        traits=read_records(paths.TRAITS, AuthorTraits),
        trust=Trust.model_validate(read_json(paths.TRUST)),
        params=params,
        trainings=read_outcomes(params),
    )
