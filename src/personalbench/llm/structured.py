"""Answers that follow a schema, strictly or not at all."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from personalbench.llm.client import Model
from personalbench.llm.types import Reply, Request, Status
from personalbench.seeds import derive

Record = TypeVar("Record", bound=BaseModel)

ATTEMPTS = 3
"""How often a model is asked at most, for one usable answer."""
AGAIN_TEMPERATURE = 0.7
"""Lowest temperature after the first attempt: at 0, the same question has the same answer."""

_OBJECT = re.compile(r'\{\s*["}]')


class InvalidAnswer(ValueError):
    """An answer that does not follow the schema; the message is the reason."""


@dataclass(frozen=True)
class Answer(Generic[Record]):
    """One structured answer, or the reason why there is none.

    Attributes:
        status: ``ok``, ``invalid`` for an answer that breaks the schema, or the status
            of a reply that holds no whole answer.
        record: The answer, None unless ``ok``.
        reason: Why the status is not ``ok``.
        reply: The last reply it was read from.
        asked: How often the model was asked.
    """

    status: Status | Literal["invalid"]
    record: Record | None
    reason: str | None
    reply: Reply
    asked: int


def schema_of(record: type[BaseModel]) -> dict[str, Any]:
    """JSON schema of a record, closed to further fields as :func:`parse` is."""
    schema = record.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        if part.get("type") == "object":
            part.setdefault("additionalProperties", False)
    return schema


def parse(text: str, record: type[Record]) -> Record:
    """Read the one JSON object of an answer.

    A fence or prose around it is tolerated; nothing in it is repaired. Several
    objects count as one if they say the same.

    Raises:
        InvalidAnswer: There is no object, it is cut off, it is no JSON, it breaks the
            schema (a missing, unknown, repeated or wrongly typed field), or two
            objects contradict each other.
    """
    found = [_validate(part, record) for part in _objects(text)]
    if not found:
        raise InvalidAnswer("no JSON object in the answer")
    if any(other != found[0] for other in found[1:]):
        raise InvalidAnswer("the answer contradicts itself: it holds objects that differ")
    return found[0]


def ask(
    model: Model,
    requests: Sequence[Request],
    record: type[Record],
    description: str,
) -> list[Answer[Record]]:
    """Ask for records; an invalid answer is asked for again, within :data:`ATTEMPTS`.

    Args:
        model: An open model.
        requests: The calls; their ``json_schema`` is set here.
        record: What each answer must hold.
        description: What is asked, for the progress bar.

    Returns:
        One answer per request, in the order of the requests.
    """
    asked = [request.model_copy(update={"json_schema": schema_of(record)}) for request in requests]
    answers = [_read(reply, record, 1) for reply in model.complete(asked, description)]
    for attempt in range(2, ATTEMPTS + 1):
        again = [i for i, answer in enumerate(answers) if answer.status not in ("ok", "failed")]
        if not again:
            break
        retries = [
            asked[index].model_copy(
                update={
                    "seed": derive(asked[index].seed, "ask again", attempt),
                    "temperature": max(asked[index].temperature, AGAIN_TEMPERATURE),
                }
            )
            for index in again
        ]
        replies = model.complete(retries, f"{description}, again")
        for index, reply in zip(again, replies, strict=True):
            answers[index] = _read(reply, record, attempt)
    return answers


def _read(reply: Reply, record: type[Record], asked: int) -> Answer[Record]:
    if reply.status != "ok":
        return Answer(reply.status, None, reply.reason, reply, asked)
    try:
        return Answer("ok", parse(reply.text, record), None, reply, asked)
    except InvalidAnswer as error:
        return Answer("invalid", None, str(error), reply, asked)


def _objects(text: str) -> list[str]:
    """The top-level objects of a text; braces inside JSON strings are not counted.

    A part in braces that does not begin as a JSON object does is prose, with all
    that is nested in it.
    """
    parts: list[str] = []
    start, depth, quoted, escaped = 0, 0, False, False
    for position, character in enumerate(text):
        if depth == 0:
            if character == "{":
                start, depth = position, 1
        elif quoted:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                quoted = False
        elif character == '"':
            quoted = True
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                parts.append(text[start : position + 1])
    if depth:
        raise InvalidAnswer("the JSON object is cut off")
    return [part for part in parts if _OBJECT.match(part)]


def _validate(text: str, record: type[Record]) -> Record:
    try:
        json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
        return record.model_validate_json(text, strict=True, extra="forbid")
    except InvalidAnswer:
        raise
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the object"
        raise InvalidAnswer(f"{where}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:  # a looping model nests without end, too
        raise InvalidAnswer(f"not JSON: {error}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise InvalidAnswer(f"{name}: given twice")
    return dict(pairs)


def _no_constant(name: str) -> None:
    raise InvalidAnswer(f"{name} is no JSON number")
