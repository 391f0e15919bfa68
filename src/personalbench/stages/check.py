"""Stage ``check``: stops the pipeline where the documents break a promise."""

from pathlib import Path

from personalbench import paths
from personalbench.corpus.document import Document
from personalbench.params import Params
from personalbench.quality import QualityReport, check_documents
from personalbench.storage import atomic_write, read_records, write_json


def run(params: Params) -> str:
    """Check the documents.

    Raises:
        UserError: A check of severity ``error`` fails; names the ids at fault. The
            reports are written before.
    """
    paths.QUALITY.unlink(missing_ok=True)  # whatever happens, no older verdict stays
    report = check_documents(read_records(paths.DOCUMENTS, Document), params.corpus, params.check)
    write_report(report, paths.QUALITY, paths.QUALITY_PAGE)
    report.require_passed(paths.QUALITY_PAGE)
    warnings = report.warnings()
    passed = f"check: {len(report.checks) - len(warnings)} checks passed in {paths.QUALITY_PAGE}"
    return "\n".join([passed, *(f"warning: {warning}" for warning in warnings)])


def write_report(report: QualityReport, record: Path, page: Path) -> None:
    """Write a report for programs and for people."""
    write_json(record, report.model_dump(mode="json"))
    with atomic_write(page) as file:
        file.write(report.html())
