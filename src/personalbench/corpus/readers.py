"""The readers by name."""

from pathlib import Path

from personalbench.corpus.blogs import BlogsReader
from personalbench.corpus.folder import FolderReader
from personalbench.corpus.reading import Reader
from personalbench.corpus.sotu import SotuReader
from personalbench.corpus.table import TableReader
from personalbench.errors import UserError
from personalbench.params import CorpusParams


def make_reader(params: CorpusParams) -> Reader:
    """Return the reader that params.yaml asks for.

    Raises:
        UserError: The reader needs a path and has none.
    """
    if params.reader == "sotu":
        return SotuReader(params.passage_words)
    if params.path is None:
        raise UserError(f"corpus.path: the reader {params.reader} needs the path of its source")
    path = Path(params.path)
    if params.reader == "blogs":
        return BlogsReader(path)
    if params.reader == "table":
        return TableReader(path, params.columns)
    return FolderReader(path)
