"""Stage ``corpus``: from a raw source to cleaned, selected and split documents."""

from personalbench import paths
from personalbench.corpus.readers import make_reader
from personalbench.corpus.select import require_authors, select
from personalbench.params import Params
from personalbench.storage import write_json, write_records


def run(params: Params) -> str:
    """Write data/documents.jsonl and data/corpus.json.

    Raises:
        UserError: The source cannot be read, or no author meets the thresholds.
    """
    documents, report = select(make_reader(params.corpus), params.corpus, params.seed)
    require_authors(report)
    write_records(paths.DOCUMENTS, documents)
    write_json(paths.CORPUS, report.model_dump(mode="json"))
    kept = report.kept
    return (
        f"corpus: {kept.authors} authors, {kept.profile} profile and {kept.reference} reference "
        f"documents, {kept.words} words in {paths.DOCUMENTS}"
    )
