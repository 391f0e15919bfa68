"""The readers by name."""

from personalbench.corpus.reading import Reader
from personalbench.corpus.sotu import SotuReader
from personalbench.params import CorpusParams


def make_reader(params: CorpusParams) -> Reader:
    """Return the reader that params.yaml asks for."""
    return SotuReader(params.passage_words)
