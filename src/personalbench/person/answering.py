"""What goes out to a twin, and what a model of the registry answers as one."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from personalbench.bundle import Bundle
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import check_reachable, open_model
from personalbench.llm.registry import find_model
from personalbench.params import (
    ContrastiveParams,
    FewShotParams,
    NonPersonalizedParams,
    Params,
    ProfileParams,
    PromptedParams,
)
from personalbench.twins.answers import Answer, answer
from personalbench.twins.prompts import Generator

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
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    case_id: str
    output: str
    reason: str | None = None


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
        UserError: There is no such model, or it can't be reached.
    """
    section, own = params.personalize, _method_params(method, params)
    spec = find_model(params.models, model or own.generator or section.generator)
    check_reachable(spec)
    with ResponseCache.of_project() as cache, open_model(spec, cache=cache) as opened:
        return answer(
            [bundle],
            method,
            own,
            Generator(
                ask=opened.complete,
                context=spec.max_context,
                max_tokens=own.max_tokens or section.max_tokens,
                temperature=section.temperature if own.temperature is None else own.temperature,
                seed=params.seed,
            ),
        )


def answer_lines(answers: Sequence[Answer]) -> list[AnswerLine]:
    """Answers as the lines of a file."""
    return [
        AnswerLine(
            case_id=one.case_id,
            output=one.text if one.status == "ok" else "",
            reason=None if one.status == "ok" else f"{one.status}: {one.reason}",
        )
        for one in answers
    ]


def _method_params(method: str, params: Params) -> PromptedParams:
    """The section of a twin of that name, where there is one; else the method's defaults."""
    section = params.personalize.__pydantic_extra__.get(method)
    if isinstance(section, _METHODS[method]):
        return section
    return _METHODS[method].model_validate({"method": method})
