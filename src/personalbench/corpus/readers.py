"""The readers by name, and by what a source looks like."""

from pathlib import Path

from personalbench.corpus.blogs import BlogsReader
from personalbench.corpus.folder import SPLITS, FolderReader
from personalbench.corpus.reading import Reader
from personalbench.corpus.sotu import SotuReader
from personalbench.corpus.table import TABLES, TableReader
from personalbench.errors import UserError
from personalbench.params import CorpusParams


def describe_source(source: str, params: CorpusParams) -> CorpusParams:
    """Return parameters that read ``source``: ``sotu``, a file or a folder.

    Raises:
        UserError: There is no such file or folder, or it looks like no corpus.
    """
    path = Path(source)
    if source == "sotu":
        return params.model_copy(update={"reader": "sotu", "path": None})
    if not path.exists():
        raise UserError(f"{source}: no such file or folder, and not `sotu`")
    return params.model_copy(update={"reader": _reader_of(path), "path": source})


def _reader_of(path: Path) -> str:
    suffix = path.suffix.lower()
    if path.is_dir():
        if any((path / name).is_dir() for name in ("authors", *SPLITS)):
            return "folder"
        if next(path.rglob("*.xml"), None):
            return "blogs"
    elif suffix == ".zip":
        return "blogs"
    elif suffix in TABLES:
        return "table"
    raise UserError(
        f"{path}: looks like no corpus: a folder has profile/ and reference/, or authors/ with one "
        f"folder a person, or the blog corpus; a file is blogs.zip or ends in {', '.join(TABLES)}"
    )


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
