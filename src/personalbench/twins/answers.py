"""A twin's answers to the cases."""

from collections.abc import Sequence
from types import ModuleType

from pydantic import BaseModel, ConfigDict

from personalbench.bundle import Bundle
from personalbench.llm.types import Reply, Request, Status
from personalbench.params import PromptedParams
from personalbench.seeds import derive
from personalbench.topics import with_first_sentences
from personalbench.twins import contrastive, few_shot, finetuned, non_personalized, profile
from personalbench.twins.prompts import Generator, Prompt

METHODS: dict[str, ModuleType] = {
    "non_personalized": non_personalized,
    "few_shot": few_shot,
    "profile": profile,
    "contrastive": contrastive,
    "finetuned": finetuned,
}


CUT_AT_MAX_TOKENS, ENDS_MID_SENTENCE = "cut_at_max_tokens", "ends_mid_sentence"
CUT_OFF = frozenset({CUT_AT_MAX_TOKENS, ENDS_MID_SENTENCE})
"""Flags of an answer without its end: the first is known, the second is what it looks like."""


class Answer(BaseModel):
    """One answer to one case, by a twin or by a person.

    Attributes:
        author: Whose case it is.
        case_id: Which case.
        source: The twin's name, or the author of a real document; the answers of one
            source make up the groups that are compared with the author.
        status: Only ``ok`` answers are scored.
        text: The answer.
        raw: The answer before cleaning, where that changed it.
        reason: Why the status is not ``ok``.
        flags: What a reader should know.
        document: Id of the document, for a real text.
        seen: Ids of the profile documents that the twin saw, or may have seen.
        seed: The sampling seed that was sent, if any.
        prompt_tokens: As the server counted.
        completion_tokens: As the server counted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    author: str
    case_id: str
    source: str
    status: Status = "ok"
    text: str
    raw: str | None = None
    reason: str | None = None
    flags: tuple[str, ...] = ()
    document: str | None = None
    seen: tuple[str, ...] = ()
    seed: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def answer(
    bundles: Sequence[Bundle], name: str, params: PromptedParams, generator: Generator
) -> list[Answer]:
    """Have a twin answer every case of every bundle.

    Args:
        bundles: Sorted by author; requests with the same long prefix follow each other.
        name: The twin's name, part of every seed.
        params: The twin's section of params.yaml.
        generator: The model that writes.

    Returns:
        One answer a case, in the order of bundles and cases; failures included.
    """
    if params.topics == "first_sentence":
        bundles = [with_first_sentences(bundle, generator.templates) for bundle in bundles]
    prompts: list[Prompt] = METHODS[params.method].prompts(bundles, params, generator)
    sent = [prompt for prompt in prompts if prompt.failure is None]
    requests = [
        Request(
            messages=prompt.messages,
            temperature=generator.temperature,
            max_tokens=generator.max_tokens,
            seed=derive(generator.seed, prompt.author, prompt.case_id, name, 0),
        )
        for prompt in sent
    ]
    replies = iter(generator.ask(requests, f"{name} answers"))
    return [
        _failed(prompt, name)
        if prompt.failure is not None
        else _answered(prompt, name, next(replies))
        for prompt in prompts
    ]


def _failed(prompt: Prompt, name: str) -> Answer:
    return Answer(
        author=prompt.author,
        case_id=prompt.case_id,
        source=name,
        status="failed",
        text="",
        reason=prompt.failure,
        flags=prompt.flags,
        seen=prompt.seen,
    )


def _answered(prompt: Prompt, name: str, reply: Reply) -> Answer:
    # The paper's texts are short; one that was cut at the token limit is still the
    # twin's writing, so it is scored and flagged.
    cut = reply.status == "truncated" and reply.text != ""
    return Answer(
        author=prompt.author,
        case_id=prompt.case_id,
        source=name,
        status="ok" if cut else reply.status,
        text=reply.text,
        raw=reply.raw if reply.raw != reply.text else None,
        reason=reply.reason,
        flags=(*prompt.flags, *reply.flags, *([CUT_AT_MAX_TOKENS] if cut else [])),
        seen=prompt.seen,
        seed=reply.seed,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
    )
