"""What a stage's calls took: questions, failures, tokens, time and money."""

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from personalbench.errors import UserError
from personalbench.llm.check import ignores_seed
from personalbench.llm.types import Reply
from personalbench.params import ModelParams
from personalbench.storage import read_records

Seeds = Literal["sent", "not sent", "ignored"]


class Usage(BaseModel):
    """What one stage asked of one model, and what that took.

    All of it follows from the replies. Those that were kept from an earlier run count as
    they did when they were made, so that a run that was stopped, or repeated from the
    cache, reports what its answers took and not what was left to do.

    Attributes:
        stage: For example ``personalize``.
        item: The twin or the reference line; None where the stage has no items.
        model: The model's name in the registry.
        id: The model's id.
        revision: Its revision.
        seeds: ``ignored`` where ``models check`` found that the server does.
        questions: How many answers were wanted.
        failed: Questions that have no usable answer, asking again included.
        failure_rate: Their share; None without questions.
        replies: Calls behind it: a question may take several, or share one.
        statuses: Number of replies by status.
        flags: Number of replies by flag.
        duplicates: ``ok`` replies whose text another one has too.
        prompt_tokens: As the servers counted, over the replies that were counted.
        completion_tokens: Likewise.
        uncounted: Answered replies whose tokens the server did not count.
        seconds: Sum of the latencies.
        busy_seconds: Time during which at least one of the calls was in flight.
        tokens_per_second: Completion tokens per busy second; None if either is missing.
        cost: US dollars, whenever they were paid.
        cost_reason: Why there is no cost.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str
    item: str | None
    model: str
    id: str
    revision: str
    seeds: Seeds
    questions: int
    failed: int
    failure_rate: float | None
    replies: int
    statuses: dict[str, int]
    flags: dict[str, int]
    duplicates: int
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    seconds: float
    busy_seconds: float
    tokens_per_second: float | None
    cost: float | None
    cost_reason: str | None

    def text(self) -> str:
        """One line for a reader."""
        who = self.stage if self.item is None else f"{self.stage} {self.item}"
        speed = "" if self.tokens_per_second is None else f", {self.tokens_per_second:g} tokens/s"
        cost = "" if self.cost is None else f", {self.cost:.2f} USD"
        seeds = "" if self.seeds == "sent" else f", seeds {self.seeds}"
        return (
            f"{who}: {self.model}: {self.questions} questions, {self.failed} failed; "
            f"{self.replies} calls, {self.prompt_tokens} tokens read and "
            f"{self.completion_tokens} written in {self.busy_seconds:.0f} s{speed}{cost}{seeds}"
        )


def summarise(
    stage: str,
    item: str | None,
    spec: ModelParams,
    replies: Sequence[Reply],
    results: Sequence[str | None],
) -> Usage:
    """Summarise what a stage asked of a model.

    Args:
        stage: The stage.
        item: Its item, None if it has none.
        spec: The registry's entry; its price gives the cost.
        replies: All the model's replies in the stage.
        results: For every question None, or why it has no usable answer.
    """
    statuses = Counter(reply.status for reply in replies)
    texts = Counter(reply.text for reply in replies if reply.status == "ok")
    prompt_tokens = sum(reply.prompt_tokens or 0 for reply in replies)
    completion_tokens = sum(reply.completion_tokens or 0 for reply in replies)
    uncounted = sum(
        reply.status != "failed" and None in (reply.prompt_tokens, reply.completion_tokens)
        for reply in replies
    )
    cost: float | None = None
    reason: str | None = None
    if spec.price is None:
        reason = "the model has no price in params.yaml"
    elif uncounted:
        reason = f"the server did not count the tokens of {uncounted} answers"
    else:
        cost = (
            prompt_tokens * spec.price.input + completion_tokens * spec.price.output
        ) / 1_000_000
    failed = sum(result is not None for result in results)
    busy = _busy_seconds(replies)
    return Usage(
        stage=stage,
        item=item,
        model=spec.name,
        id=spec.id,
        revision=spec.revision,
        seeds=_seeds(spec),
        questions=len(results),
        failed=failed,
        failure_rate=failed / len(results) if results else None,
        replies=len(replies),
        statuses=dict(sorted(statuses.items())),
        flags=dict(sorted(Counter(flag for reply in replies for flag in reply.flags).items())),
        duplicates=sum(number for number in texts.values() if number > 1),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        uncounted=uncounted,
        seconds=round(sum(reply.seconds for reply in replies), 3),
        busy_seconds=round(busy, 3),
        tokens_per_second=round(completion_tokens / busy, 1) if busy and not uncounted else None,
        cost=cost,
        cost_reason=reason,
    )


def read_usage(folder: Path, items: Collection[str]) -> list[Usage]:
    """What the stages of the last run took, sorted by stage and item.

    Args:
        folder: Where the stages wrote it.
        items: The twins and reference lines of this run; files of others are old.
    """
    files = sorted(folder.rglob("*.jsonl"))
    found = [used for path in files for used in read_records(path, Usage)]
    return [used for used in found if used.item is None or used.item in items]


def require_answers(what: str, results: Sequence[str | None], limit: float, mend: str) -> None:
    """Stop a stage in which too many questions have no usable answer.

    Args:
        what: The stage and what it asked for.
        results: For every question None, or why it has no usable answer.
        limit: Largest share of failures that is let pass.
        mend: What to do.

    Raises:
        UserError: The share is larger; says how many of how many, the commonest reason,
            and what to do.
    """
    reasons = Counter(result for result in results if result is not None)
    failed = reasons.total()
    if failed <= limit * len(results):
        return
    reason, times = reasons.most_common(1)[0]
    raise UserError(
        f"{what}: {failed} of {len(results)} have no usable answer, more than "
        f"{limit:.0%}; the commonest reason ({times} times): {reason}; {mend}; "
        "what was answered is kept"
    )


def _seeds(spec: ModelParams) -> Seeds:
    if not spec.send_seed:
        return "not sent"
    return "ignored" if ignores_seed(spec) else "sent"


def _busy_seconds(replies: Sequence[Reply]) -> float:
    """Length of the union of the calls' times."""
    calls = sorted((reply.answered - reply.seconds, reply.answered) for reply in replies)
    busy, until = 0.0, 0.0
    for start, end in calls:
        busy += max(0.0, end - max(start, until))
        until = max(until, end)
    return busy
