"""The readers by name, and by what a source looks like."""

from pathlib import Path

from personalbench.corpus.blogs import BlogsReader
from personalbench.corpus.folder import FolderReader
from personalbench.corpus.reading import Reader
from personalbench.corpus.sotu import SotuReader
from personalbench.corpus.table import TableReader
from personalbench.errors import UserError
from personalbench.params import CorpusParams


def describe_source(source: str, params: CorpusParams) -> CorpusParams:
    """Return parameters that read ``source``: ``sotu``, a file or a folder.

    Raises:
        UserError: There is no such file or folder.
    """
    path = Path(source)
    if source == "sotu":
        return params.model_copy(update={"reader": "sotu", "path": None})
    if not path.exists():
        raise UserError(f"{source}: no such file or folder, and not `sotu`")
    if path.is_dir():
        persons = (path / "authors").is_dir() or (path / "profile").is_dir()
        reader = "folder" if persons else "blogs"
    else:
        reader = "blogs" if path.suffix.lower() == ".zip" else "table"
    return params.model_copy(update={"reader": reader, "path": source})


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
