"""JSON schemas of the files that a person or another program reads and writes."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from personalbench.bundle import Case, Manifest
from personalbench.corpus.document import Document
from personalbench.errors import UserError
from personalbench.person.answering import PromptLine
from personalbench.person.comparing import Comparisons
from personalbench.person.history import History
from personalbench.person.prepare import TopicLine
from personalbench.person.records import Run
from personalbench.twins.outside import OutsideAnswer

_FILES: dict[str, tuple[type[BaseModel], str]] = {
    "manifest": (Manifest, "manifest.json of a bundle"),
    "document": (Document, "a line of a bundle's profile, reference and contrast.jsonl"),
    "case": (Case, "a line of a bundle's cases.jsonl"),
    "topic": (TopicLine, "a line of a file of topics"),
    "prompt": (PromptLine, "a line of prompts.jsonl"),
    "answer": (OutsideAnswer, "a line of an answers file"),
    "scores": (Run, "scores.json of a run; also `score --json` and `show --json`"),
    "comparison": (Comparisons, "comparison.json; also `compare --json`"),
    "history": (History, "`history --json`"),
}


def schema_names() -> Iterator[tuple[str, str]]:
    """Every name with what it describes."""
    for name, (_, what) in _FILES.items():
        yield name, what


def find_schema(name: str) -> dict[str, Any]:
    """The JSON schema of one kind of file.

    Raises:
        UserError: There is no such kind; lists them.
    """
    if name not in _FILES:
        raise UserError(f"no schema is named {name!r}; there are: {', '.join(_FILES)}")
    return _FILES[name][0].model_json_schema()
