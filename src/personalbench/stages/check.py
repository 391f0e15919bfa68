"""Stage ``check``: stops the pipeline where the documents break a promise."""

from personalbench import paths
from personalbench.corpus.document import Document
from personalbench.params import Params
from personalbench.quality import check_documents
from personalbench.storage import atomic_write, read_records, write_json


def run(params: Params) -> str:
    """Write reports/quality.json and reports/quality.html.

    Raises:
        UserError: A check of severity ``error`` fails; names the ids at fault. Both
            reports are written before.
    """
    report = check_documents(read_records(paths.DOCUMENTS, Document), params.corpus, params.check)
    write_json(paths.QUALITY, report.model_dump(mode="json"))
    with atomic_write(paths.QUALITY_PAGE) as file:
        file.write(report.html())
    report.require_passed()
    failed = [check.name for check in report.checks if not check.passed]
    warned = f", warnings: {', '.join(failed)}" if failed else ""
    return (
        f"check: {len(report.checks) - len(failed)} checks passed{warned} in {paths.QUALITY_PAGE}"
    )
