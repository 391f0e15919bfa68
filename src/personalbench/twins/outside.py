"""Answers that somebody else's program wrote: one JSON object a line."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from personalbench.bundle import Bundle
from personalbench.errors import UserError, some
from personalbench.storage import iterate_records
from personalbench.text.normalise import normalise
from personalbench.text.tokenise import words
from personalbench.twins.answers import CUT_AT_MAX_TOKENS, ENDS_MID_SENTENCE, Answer

_SHOWN = 5
_LONG_LINE = 10  # words; a greeting or a name at the end of a letter has fewer
_NO_END = re.compile(r"[\w,;(\u2013\u2014-]\s*\Z")
_LIKE = 'a line is {"case_id": "case_0001", "output": "..."}'
_ALLOW = "--allow-missing, or allow_missing in params.yaml"


class OutsideAnswer(BaseModel):
    """One line of an answers file; keys beyond these are the writer's own business.

    Attributes:
        case_id: Which case.
        output: The answer.
        author: Whose case; needed where the file answers several bundles.
        finish_reason: ``length`` where the answer was cut at its most tokens, as language
            models say it; optional.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    case_id: str
    output: str
    author: str | None = None
    finish_reason: Any = None

    @model_validator(mode="before")
    @classmethod
    def _is_an_answer(cls, line: Any) -> Any:
        if not isinstance(line, dict):
            raise PydanticCustomError("answer", "not a JSON object; {like}", {"like": _LIKE})
        if "prompt" in line and "output" not in line:
            raise PydanticCustomError(
                "answer", "a prompt and no output; give the twin's answers, not the prompts"
            )
        for key in ("case_id", "output"):
            if key not in line:
                keys = ", ".join(map(str, line)) or "none"
                raise PydanticCustomError(
                    "answer",
                    "no key {key} (there are: {keys}); {like}",
                    {"key": key, "keys": keys[:200], "like": _LIKE},
                )
            if not isinstance(line[key], str):
                found = "null" if line[key] is None else "not a text"
                mend = f"; write the answer, or take the line out and use {_ALLOW}"
                raise PydanticCustomError(
                    "answer",
                    "{key} is {found}{mend}",
                    {"key": key, "found": found, "mend": mend if key == "output" else ""},
                )
        return line


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
    found: dict[tuple[str, str], tuple[int, OutsideAnswer]] = {}
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
                f"{where}: {_named(key, alone)} has an empty output (no words); answer it, or "
                f"count it as failed: {_ALLOW}"
            )
        found[key] = (number, record)
    if not found and not allow_missing:
        raise UserError(f"{path}: empty; {_LIKE}")
    absent = [_named(key, alone) for key in cases if key not in found]
    if absent and not allow_missing:
        raise UserError(
            f"{path}: no answer to {some(absent, _SHOWN)}; answer them, or count them as failed: "
            f"{_ALLOW}"
        )
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


def _flags(record: OutsideAnswer) -> tuple[str, ...]:
    """Whether an answer has an end: as the writer says, else by its last line.

    A line of ten words or more that stops at a letter, a comma or a dash was cut there;
    shorter ones are signatures, titles and verses.
    """
    if record.finish_reason is not None:
        return (CUT_AT_MAX_TOKENS,) if record.finish_reason == "length" else ()
    last = record.output.rstrip().rpartition("\n")[2]
    return (ENDS_MID_SENTENCE,) if _NO_END.search(last) and len(words(last)) >= _LONG_LINE else ()


def _answer(
    author: str, case_id: str, name: str, record: OutsideAnswer | None, profile: tuple[str, ...]
) -> Answer:
    if record is None:
        return Answer(
            author=author,
            case_id=case_id,
            source=name,
            status="failed",
            text="",
            reason="the file has no answer to this case",
        )
    if not _has_words(record.output):
        return Answer(
            author=author,
            case_id=case_id,
            source=name,
            status="empty",
            text="",
            reason="the output has no words",
        )
    return Answer(
        author=author,
        case_id=case_id,
        source=name,
        text=record.output,
        flags=_flags(record),
        seen=profile,
    )
