"""What goes out to a twin, and what a model of the registry answers as one."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from personalbench.bundle import Bundle
from personalbench.errors import UserError
from personalbench.llm.client import check_reachable
from personalbench.llm.registry import find_model
from personalbench.params import (
    ContrastiveParams,
    FewShotParams,
    NonPersonalizedParams,
    Params,
    ProfileParams,
    PromptedParams,
)
from personalbench.stages.personalize import written
from personalbench.twins.answers import CUT_AT_MAX_TOKENS, Answer

_METHODS: dict[str, type[PromptedParams]] = {
    "non_personalized": NonPersonalizedParams,
    "few_shot": FewShotParams,
    "profile": ProfileParams,
    "contrastive": ContrastiveParams,
}


class PromptLine(BaseModel):
    """One line of ``prompts.jsonl``: all that a twin from outside is told.

    Attributes:
        case_id: Which case.
        prompt: What is asked for; nothing of the profile or the reference stands in it
            but the neutral topic.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    case_id: str
    prompt: str


class AnswerLine(BaseModel):
    """One line of an answers file.

    Attributes:
        case_id: Which case.
        output: The answer; empty where the model gave none.
        reason: Why it gave none.
        finish_reason: ``length`` where it was cut at its most tokens, else ``stop``; None
            without an answer.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    case_id: str
    output: str
    reason: str | None = None
    finish_reason: Literal["stop", "length"] | None = None


def prompt_lines(bundle: Bundle) -> list[PromptLine]:
    """The prompts of a bundle, in the order of its cases."""
    return [PromptLine(case_id=case.id, prompt=case.prompt) for case in bundle.cases]


def answer_bundle(bundle: Bundle, method: str, model: str | None, params: Params) -> list[Answer]:
    """Let a model of the registry answer every case by one of the methods.

    Args:
        bundle: Whose cases.
        method: ``non_personalized``, ``few_shot``, ``profile`` or ``contrastive``.
        model: Name in the registry; None takes ``personalize.generator``.
        params: ``personalize``, ``models`` and ``seed``.

    Raises:
        UserError: There is no such model, it can't be reached, or the bundle has not what
            the method needs.
    """
    own = _method_params(method, params)
    if isinstance(own, ContrastiveParams) and not bundle.contrast:
        raise UserError(
            f"contrastive needs other people's writing, and the bundle of {bundle.author} has "
            "none: prepare it from a folder with authors/ and --author, or choose another method"
        )
    name = model or own.generator or params.personalize.generator
    check_reachable(find_model(params.models, name))
    answers, _ = written(params, method, own.model_copy(update={"generator": name}), [bundle])
    return answers


def answer_lines(answers: Sequence[Answer]) -> list[AnswerLine]:
    """Answers as the lines of a file."""
    return [
        AnswerLine(
            case_id=one.case_id,
            output=one.text,
            finish_reason="length" if CUT_AT_MAX_TOKENS in one.flags else "stop",
        )
        if one.status == "ok"
        else AnswerLine(case_id=one.case_id, output="", reason=f"{one.status}: {one.reason}")
        for one in answers
    ]


def _method_params(method: str, params: Params) -> PromptedParams:
    """The section of a twin of that name, where there is one; else the method's defaults."""
    section = params.personalize.__pydantic_extra__.get(method)
    if isinstance(section, _METHODS[method]):
        return section
    return _METHODS[method].model_validate({"method": method})
