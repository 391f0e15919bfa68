"""What goes to a language model and what comes back."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Status = Literal["ok", "empty", "refused", "truncated", "truncated_reasoning", "failed"]


class Message(BaseModel):
    """One turn of a conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: str


class Weighed(BaseModel):
    """How likely the watched words were where the answer has one of them.

    Attributes:
        before: The end of the answer's text before the word.
        log_probabilities: Natural logarithms, of the watched words among the likeliest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    before: str
    log_probabilities: dict[str, float]


class Request(BaseModel):
    """One call; everything in it is part of the cache key.

    Attributes:
        messages: The conversation so far.
        temperature: Sampling temperature.
        max_tokens: Upper bound of the answer's length in tokens.
        seed: Sampling seed; see :func:`personalbench.seeds.derive`.
        json_schema: JSON schema the answer must follow, or None for free text.
        stop: Strings that end the answer.
        repeat: Number of this repetition of an otherwise equal call.
        watch: Words whose probabilities are wanted wherever the answer has one of them;
            each should be one token, as ``true`` and ``false`` are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    messages: tuple[Message, ...]
    temperature: float
    max_tokens: int
    seed: int
    json_schema: dict[str, Any] | None = None
    stop: tuple[str, ...] = ()
    repeat: int = 0
    watch: tuple[str, ...] = ()


class Reply(BaseModel):
    """One answer, or the reason why there is none.

    Attributes:
        status: ``ok``, or what went wrong; only ``ok`` texts are scored.
        text: The cleaned answer; empty unless ``ok`` or ``truncated``.
        raw: The answer as the server sent it.
        reason: Why the status is not ``ok``.
        flags: Names of what cleaning removed or noticed.
        finish_reason: As the server gave it.
        answered: When the answer came, in seconds since 1970; 0 without one.
        prompt_tokens: As the server counted.
        reused_tokens: Part of the prompt's tokens that the server had read before.
        completion_tokens: As the server counted.
        seconds: Latency of the call.
        model: The model's name as the server gave it.
        seed: The seed that was sent; None where the server is given none.
        weighed: One entry a watched word of the answer; empty where the endpoint gives no
            log-probabilities.
        cached: True when no call was made.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Status
    text: str = ""
    raw: str = ""
    reason: str | None = None
    flags: tuple[str, ...] = ()
    finish_reason: str | None = None
    answered: float = 0.0
    prompt_tokens: int | None = None
    reused_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    model: str | None = None
    seed: int | None = None
    weighed: tuple[Weighed, ...] = ()
    cached: bool = False


Ask = Callable[[Sequence[Request], str], list[Reply]]
"""Sends requests, with a description for the progress bar; replies come in their order."""


def user(text: str) -> tuple[Message, ...]:
    """A conversation of one question."""
    return (Message(role="user", content=text),)
