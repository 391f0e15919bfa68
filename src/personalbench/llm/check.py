"""Finds out what a model's server really does with a request."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

from personalbench.llm.client import Model, check_reachable, open_model
from personalbench.llm.structured import InvalidAnswer, parse, schema_of
from personalbench.llm.types import Message, Reply, Request
from personalbench.params import ModelParams
from personalbench.paths import cache_folder
from personalbench.storage import read_json, write_json

_PROMPT = "Write two sentences about the sea."
_QUESTION = "Is snow white?"
_ABILITIES = ("chat", "seed", "json_schema", "thinking_off")


class ModelCheck(BaseModel):
    """What works.

    Attributes:
        model: The model's name in the registry.
        id: The model's id.
        revision: Its revision.
        endpoints: Where it was asked.
        answered_as: The name that the server gave.
        chat: A completion came back with text.
        seed: The same seed gives the same text and another one another; None where
            the entry sends no seed.
        json_schema: An answer follows a schema that the prompt does not mention; None
            where the entry sends no schema.
        thinking_off: No thoughts came with the answer.
        tokens_per_second: Of one completion alone, prompt included; None if the server
            does not count tokens.
        problems: What does not work, each with what to do.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    id: str
    revision: str
    endpoints: tuple[str, ...]
    answered_as: str | None
    chat: bool
    seed: bool | None
    json_schema: bool | None
    thinking_off: bool
    tokens_per_second: float | None
    problems: tuple[str, ...]

    def text(self) -> str:
        """One line a finding; a dash where something is not sent or not counted."""
        words = {True: "yes", False: "no", None: "-"}
        works = {name: words[getattr(self, name)] for name in _ABILITIES}
        speed = self.tokens_per_second
        found = {
            "model": f"{self.model} ({self.id}, {self.revision[:12]})",
            "answered as": self.answered_as or "-",
            **{name.replace("_", " "): word for name, word in works.items()},
            "tokens per second": "-" if speed is None else f"{speed:g}",
        }
        lines = [f"{name}: {value}" for name, value in found.items()]
        return "\n".join([*lines, *(f"problem: {problem}" for problem in self.problems)])

    def keep(self) -> None:
        """Keep what was found, so that runs can name it."""
        write_json(_kept(self.model), self.model_dump(mode="json"))

    @classmethod
    def last(cls, spec: ModelParams) -> Self | None:
        """What was found last; None where this model was not checked where it is now."""
        path = _kept(spec.name)
        if not path.exists():
            return None
        found = cls.model_validate(read_json(path))
        same = (found.id, found.revision, found.endpoints) == (
            spec.id,
            spec.revision,
            tuple(spec.endpoints),
        )
        return found if same else None


def _kept(name: str) -> Path:
    return cache_folder("llm") / "checks" / f"{name.replace('/', '_')}.json"


def ignores_seed(spec: ModelParams) -> bool:
    """Whether the last check found that the model ignores the seed."""
    found = ModelCheck.last(spec)
    return found is not None and found.seed is False


class _Yes(BaseModel):
    answer: bool


def check_model(spec: ModelParams) -> ModelCheck:
    """Send real completions, none of them from or to the cache.

    Raises:
        UserError: The model can't be reached.
    """
    check_reachable(spec)
    with open_model(spec, cache=None) as model:
        first = _say(model, seed=1)
        seed = _follows_seed(model, first) if spec.send_seed else None
        json_schema = _follows_schema(model) if spec.structured else None
    chat = first.status in ("ok", "truncated")
    thinking_off = "thoughts" not in first.flags and first.status != "truncated_reasoning"
    problems = []
    if not chat:
        problems.append(f"no text came back: {first.status}, {first.reason}")
    if seed is False:
        problems.append("the seed is ignored: runs can't be repeated; set send_seed: false")
    if json_schema is False:
        problems.append("the JSON schema is ignored; set structured: false")
    if not thinking_off:
        problems.append(
            "the model thinks; set chat_template: {enable_thinking: false}, "
            "or extra_body: {reasoning_effort: none} on Ollama"
        )
    return ModelCheck(
        model=spec.name,
        id=spec.id,
        revision=spec.revision,
        endpoints=tuple(spec.endpoints),
        answered_as=first.model,
        chat=chat,
        seed=seed,
        json_schema=json_schema,
        thinking_off=thinking_off,
        tokens_per_second=_speed(first),
        problems=tuple(problems),
    )


def _say(model: Model, *, seed: int) -> Reply:
    request = Request(
        messages=(Message(role="user", content=_PROMPT),), temperature=1.0, max_tokens=64, seed=seed
    )
    return model.complete([request], "chat")[0]


def _follows_seed(model: Model, first: Reply) -> bool:
    # A server that has read a prompt before may round otherwise than when it reads it anew,
    # and then go on to another text: two of three that agree show that the seed is used.
    texts = [first.raw, *(_say(model, seed=1).raw for _ in range(2))]
    return len(set(texts)) < len(texts) and _say(model, seed=2).raw not in texts


def _follows_schema(model: Model) -> bool:
    request = Request(
        messages=(Message(role="user", content=_QUESTION),),
        temperature=0.0,
        max_tokens=64,
        seed=1,
        json_schema=schema_of(_Yes),
    )
    try:
        parse(model.complete([request], "JSON schema")[0].text, _Yes)
    except InvalidAnswer:
        return False
    return True


def _speed(reply: Reply) -> float | None:
    if reply.completion_tokens is None or not reply.seconds:
        return None
    return round(reply.completion_tokens / reply.seconds, 1)
