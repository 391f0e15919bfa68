"""What a set of answers took: calls, tokens, time and money."""

from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from personalbench.llm.types import Reply
from personalbench.params import ModelParams


class Usage(BaseModel):
    """Summary of the replies of one model.

    Attributes:
        model: The model's id.
        revision: Its revision.
        replies: Number of replies.
        cached: Replies that were kept from an earlier run.
        statuses: Number of replies by status.
        flags: Number of replies by flag.
        duplicates: ``ok`` replies whose text another one has too.
        failure_rate: Share of replies that are not ``ok``; None without replies.
        seeds_sent: Whether the server was given seeds.
        prompt_tokens: As the servers counted, over the replies that were counted.
        completion_tokens: Likewise.
        uncounted: Answered replies whose tokens the server did not count.
        seconds: Sum of the latencies, also of kept answers.
        cost: US dollars for all replies, whenever they were paid.
        cost_reason: Why there is no cost.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    revision: str
    replies: int
    cached: int
    statuses: dict[str, int]
    flags: dict[str, int]
    duplicates: int
    failure_rate: float | None
    seeds_sent: bool
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    seconds: float
    cost: float | None
    cost_reason: str | None


def summarise(spec: ModelParams, replies: Sequence[Reply]) -> Usage:
    """Summarise replies of one model.

    Args:
        spec: The registry's entry; its price gives the cost.
        replies: All its replies in a stage, or of a twin.
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
    return Usage(
        model=spec.id,
        revision=spec.revision,
        replies=len(replies),
        cached=sum(reply.cached for reply in replies),
        statuses=dict(sorted(statuses.items())),
        flags=dict(sorted(Counter(flag for reply in replies for flag in reply.flags).items())),
        duplicates=sum(number for number in texts.values() if number > 1),
        failure_rate=1 - statuses["ok"] / len(replies) if replies else None,
        seeds_sent=spec.send_seed,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        uncounted=uncounted,
        seconds=round(sum(reply.seconds for reply in replies), 3),
        cost=cost,
        cost_reason=reason,
    )
