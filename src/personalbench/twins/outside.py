"""Answers that somebody else's program wrote: one JSON object a line."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from personalbench.bundle import Bundle
from personalbench.errors import UserError
from personalbench.storage import iterate_records
from personalbench.text.normalise import normalise
from personalbench.text.tokenise import words
from personalbench.twins.answers import Answer

_SHOWN = 5


class OutsideAnswer(BaseModel):
    """One line of an answers file; keys beyond these are the writer's own business.

    Attributes:
        case_id: Which case.
        output: The answer.
        author: Whose case; needed where the file answers several bundles.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    case_id: str
    output: str
    author: str | None = None


def read_answers(
    path: Path, bundles: Sequence[Bundle], name: str, allow_missing: bool = False
) -> list[Answer]:
    """Read a file of answers to the cases of one or several bundles.

    Args:
        path: One ``{"case_id": …, "output": …}`` a line, and ``author`` where there are
            several bundles.
        bundles: Whose cases are answered.
        name: The twin's name.
        allow_missing: Count a case without an answer, or with one without words, as failed.

    Returns:
        One answer a case, in the order of bundles and cases.

    Raises:
        UserError: A line is no such object, its author or case is unknown or it stands
            twice, or a case has no answer; names the file, and the line or the cases.
    """
    alone = bundles[0].author if len(bundles) == 1 else None
    cases = [(bundle.author, case.id) for bundle in bundles for case in bundle.cases]
    known = set(cases)
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for number, record in enumerate(iterate_records(path, OutsideAnswer), start=1):
        where = f"{path}, line {number}"
        author = record.author or alone
        if author is None:
            raise UserError(f"{where}: no author, and there are several; add the key author")
        if alone and author != alone:
            raise UserError(f"{where}: unknown author {author}; this bundle is of {alone}")
        key = (author, record.case_id)
        if key not in known:
            ids = f"{cases[0][1]} to {cases[-1][1]}" if alone else "those of prompts.jsonl"
            raise UserError(f"{where}: unknown case {_named(key, alone)}; there are {ids}")
        if key in found:
            raise UserError(
                f"{where}: {_named(key, alone)} was answered in line {found[key][0]}; keep one"
            )
        if not _has_words(record.output) and not allow_missing:
            raise UserError(
                f"{where}: {_named(key, alone)} has an empty output (no words); answer it"
            )
        found[key] = (number, record.output)
    absent = [_named(key, alone) for key in cases if key not in found]
    if absent and not allow_missing:
        more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
        raise UserError(f"{path}: no answer to {', '.join(absent[:_SHOWN])}{more}; answer them")
    # Nobody knows what the program saw: copying is looked for in the whole profile.
    profiles = {
        bundle.author: tuple(document.id for document in bundle.profile) for bundle in bundles
    }
    return [
        _answer(*key, name, found[key][1] if key in found else None, profiles[key[0]])
        for key in cases
    ]


def _named(key: tuple[str, str], alone: str | None) -> str:
    author, case_id = key
    return case_id if alone else f"{case_id} of {author}"


def _has_words(output: str) -> bool:
    """Whether there is anything to score: marks and controls alone are no text."""
    return bool(words(normalise(output)))


def _answer(
    author: str, case_id: str, name: str, output: str | None, profile: tuple[str, ...]
) -> Answer:
    if output is None:
        return Answer(
            author=author,
            case_id=case_id,
            source=name,
            status="failed",
            text="",
            reason="the file has no answer to this case",
        )
    if not _has_words(output):
        return Answer(
            author=author,
            case_id=case_id,
            source=name,
            status="empty",
            text="",
            reason="the output has no words",
        )
    return Answer(author=author, case_id=case_id, source=name, text=output, seen=profile)
