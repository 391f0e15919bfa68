"""Stage `report`: tables, figures and metrics of all twins."""

from personalbench import paths
from personalbench.bundle import load_bundles
from personalbench.judge.records import AuthorTraits
from personalbench.params import Params
from personalbench.report.figures import draw_methods
from personalbench.report.page import report_page
from personalbench.report.results import load_results, metrics_tree
from personalbench.report.validation import Validation
from personalbench.storage import atomic_write, read_json, read_records, write_json


def run(params: Params) -> str:
    """Write report.md, its picture, and metrics.json."""
    results = load_results(paths.SCORES, params.twins)
    bundles = load_bundles(paths.BUNDLES)
    traits = read_records(paths.TRAITS, AuthorTraits)
    validation = Validation.model_validate(read_json(paths.VALIDATION))
    draw_methods(results, paths.REPORTS / "methods.png")
    with atomic_write(paths.REPORTS / "report.md") as file:
        file.write(report_page(results, bundles, traits, params, validation))
    write_json(paths.METRICS, metrics_tree(results))
    return f"report: {len(results.twins)} twins in {paths.REPORTS / 'report.md'}"
