"""Stage `references`: real texts in the place of a twin's answers."""

from personalbench import paths
from personalbench.bundle import load_bundles
from personalbench.corpus.document import Document
from personalbench.params import Params
from personalbench.references import ceiling, floor
from personalbench.storage import read_records, write_records


def run(params: Params) -> str:
    """Write ceiling and floor as answers."""
    bundles = load_bundles(paths.BUNDLES)
    corpus = read_records(paths.DOCUMENTS, Document)
    own = [answer for bundle in bundles for answer in ceiling(bundle)]
    others = [answer for bundle in bundles for answer in floor(bundle, corpus, params.seed)]
    write_records(paths.ANSWERS / "ceiling.jsonl", own)
    write_records(paths.ANSWERS / "floor.jsonl", others)
    sources = len({answer.source for answer in others})
    alone = "" if sources else "; no floor: the corpus has nobody else's writing"
    return (
        f"references: {len(own)} texts by the authors themselves, "
        f"{len(others)} by {sources} unrelated authors in {paths.ANSWERS}{alone}"
    )
