"""One client for every language model behind an OpenAI-compatible endpoint."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
from pydantic import BaseModel, ConfigDict
from tqdm import tqdm

from personalbench.errors import UserError
from personalbench.llm.cache import Response, ResponseCache, answer_key
from personalbench.llm.clean import clean
from personalbench.llm.embedded import (
    Address,
    Layout,
    ServedAdapter,
    embedded_servers,
    locate,
    model_file,
)
from personalbench.llm.prefixes import SharedPrefixes, Work
from personalbench.llm.types import Reply, Request, Weighed
from personalbench.params import ModelParams
from personalbench.seeds import derive

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
# No token of any vocabulary in use is longer on average over an answer.
_CHARACTERS_PER_TOKEN = 32
_LIKELIEST = 20  # the most that hosted services give
_BEFORE = 40  # characters; enough to tell which field of an object a word belongs to


@dataclass(frozen=True)
class Patience:
    """How long the client waits, and how often it tries.

    Attributes:
        connect: Seconds until an endpoint counts as unreachable.
        first_answer: Seconds for the probe's completion; a server may have to load.
        base: Seconds that every call may take.
        slowest: Tokens per second that a call is expected to reach at least; a token
            of the prompt counts as a tenth.
        attempts: Calls per request on faults of the server.
        empty_attempts: Calls per request that answers nothing.
        backoff: Seconds before the second attempt; doubled for each further one.
        longest_wait: Upper bound of a wait, also of one that the server asks for.
        faults_in_a_row: After so many an endpoint is given up.
    """

    connect: float = 5.0
    first_answer: float = 60.0
    base: float = 30.0
    slowest: float = 2.0
    attempts: int = 4
    empty_attempts: int = 3
    backoff: float = 0.5
    longest_wait: float = 60.0
    faults_in_a_row: int = 16

    def seconds_for(self, request: Request) -> float:
        """Time-out that fits one completion."""
        prompt = sum(len(message.content) for message in request.messages) / 4
        return self.base + (prompt / 10 + request.max_tokens) / self.slowest


class _Message(BaseModel):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None


class _Likely(BaseModel):
    token: str
    logprob: float


class _Token(BaseModel):
    token: str
    top_logprobs: list[_Likely] = []


class _Logprobs(BaseModel):
    content: list[_Token] | None = None


class _Choice(BaseModel):
    message: _Message
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None


class _Reused(BaseModel):
    cached_tokens: int | None = None


class _Tokens(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Reused | None = None


class _Completion(BaseModel):
    """The fields of a completion that are used; a server may send more."""

    model_config = ConfigDict(extra="ignore")

    choices: list[_Choice]
    usage: _Tokens | None = None
    model: str | None = None


class _Fault(Exception):
    """A call failed in a way that may pass.

    Attributes:
        wait: Seconds the server asks to wait, None if it does not say.
        hung: True where no answer came in time.
    """

    def __init__(self, reason: str, *, wait: float | None = None, hung: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.hung = hung


class _Rejected(Exception):
    """The server will not answer this request, however often it is asked."""


class _Dead(Exception):
    """The endpoint will not answer any request.

    Attributes:
        status: HTTP status of its refusal, None where it gave none.
    """

    def __init__(self, reason: str, *, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


class Model:
    """A language model that answers lists of requests; made by :func:`open_model`.

    Attributes:
        spec: The registry's entry.
        cache: Where answers are kept, if anywhere.
        patience: Bounds of waiting and trying.
        replies: Every reply it gave; equal requests of one list share theirs.
    """

    def __init__(
        self,
        spec: ModelParams,
        cache: ResponseCache | None,
        patience: Patience,
        stack: ExitStack,
    ) -> None:
        self.spec = spec
        self.adapter: ServedAdapter | None = None
        self.cache = cache
        self.patience = patience
        self.replies: list[Reply] = []
        self._stack = stack
        self.addresses: list[Address] | None = None

    def complete(self, requests: Sequence[Request], description: str) -> list[Reply]:
        """Answer every request, from the cache where it can be.

        The server is contacted, or started, only if some answer is not kept yet.
        Every answer is kept the moment it comes, also one that was cut at the token
        limit. Refused, empty and failed ones are not, and are asked for again in the next
        run.

        Args:
            requests: The calls. Equal ones are made once.
            description: What is asked, for the progress bar.

        Returns:
            One reply per request, in the order of the requests.

        Raises:
            UserError: No endpoint can be reached, or all have been given up; says
                which, why, and how much is kept.
        """
        keys = [self.key(request) for request in requests]
        replies: dict[str, Reply] = {}
        if self.cache is not None:
            kept = self.cache.find(keys)
            replies = {key: clean(response, cached=True) for key, response in kept.items()}
        missing = {
            key: request for key, request in zip(keys, requests, strict=True) if key not in replies
        }
        with tqdm(
            total=len(set(keys)), initial=len(replies), desc=description, disable=None
        ) as progress:
            if missing:
                addresses = self._open()
                run = _Run(self, missing, replies, progress.update)
                asyncio.run(run.work(addresses))
        self.replies += [replies[key] for key in dict.fromkeys(keys)]
        return [replies[key] for key in keys]

    def put_on(self, adapter: ServedAdapter) -> None:
        """Answer with these LoRA weights from now on; a server with others is closed."""
        self._stack.close()
        self.addresses = None
        self.adapter = adapter

    def _open(self) -> list[Address]:
        if self.addresses is None:
            if self.spec.kind == "embedded":
                self.addresses = self._stack.enter_context(
                    embedded_servers(self.spec, self.adapter)
                )
            else:
                check_reachable(self.spec, patience=self.patience)
                self.addresses = _addresses(self.spec)
                if self.adapter is not None:
                    asyncio.run(
                        _load_adapter(self.spec, self.addresses, self.patience, self.adapter)
                    )
        return self.addresses

    def key(self, request: Request) -> str:
        """Key of the request's answer in the cache."""
        spec = self.spec
        # A model without an adapter has the key that it had before there were adapters.
        trained = {} if self.adapter is None else {"adapter": self.adapter.sha256}
        return answer_key(
            {
                **trained,
                "id": spec.id,
                "revision": spec.revision,
                "quantization": spec.quantization,
                "template": model_file(spec).chat_template if spec.kind == "embedded" else None,
                "body": self.body(request, request.seed),
                "seed": request.seed,
                "repeat": request.repeat,
            }
        )

    def body(self, request: Request, seed: int) -> dict[str, Any]:
        """The body of a call, but for what only concerns the connection."""
        spec = self.spec
        body: dict[str, Any] = {
            "model": spec.id,
            "messages": [message.model_dump() for message in request.messages],
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            **spec.extra_body,
        }
        stop = [*request.stop, *(model_file(spec).stop if spec.kind == "embedded" else ())]
        if stop:
            body["stop"] = stop
        if spec.send_seed:
            body["seed"] = seed
        if spec.chat_template:
            body["chat_template_kwargs"] = spec.chat_template
        if request.watch and spec.logprobs:
            body |= {"logprobs": True, "top_logprobs": _LIKELIEST}
        if request.json_schema is not None and spec.structured:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": request.json_schema},
            }
        return body


@contextmanager
def open_model(
    spec: ModelParams, *, cache: ResponseCache | None, patience: Patience | None = None
) -> Iterator[Model]:
    """Open a model; an embedded server that it starts is closed with it.

    Args:
        spec: The registry's entry.
        cache: Where answers are kept; None keeps none.
        patience: Bounds of waiting and trying.
    """
    patience = patience or Patience()
    if spec.kind == "embedded":
        # A server on this machine's own cores is slow at worst; if it dies, that is seen.
        patience = replace(patience, slowest=patience.slowest / 10)
    with ExitStack() as stack:
        yield Model(spec, cache, patience, stack)


def check_reachable(spec: ModelParams, *, patience: Patience | None = None) -> None:
    """Find out before any work whether a model can answer.

    An embedded model's file is verified. A server must list its models within seconds,
    and then complete one token: a server whose generation has died still lists them.

    Raises:
        UserError: It can't; names the model and the endpoint, and says how to mend it.
    """
    if spec.kind == "embedded":
        locate(model_file(spec))
        return
    asyncio.run(_probe_all(spec, _addresses(spec), patience or Patience()))


def _addresses(spec: ModelParams) -> list[Address]:
    key = "none"
    if spec.api_key_env is not None:
        key = os.environ.get(spec.api_key_env, "")
        if not key:
            raise UserError(f"models: {spec.name}: set the API key in ${spec.api_key_env}")
    return [Address(base_url=endpoint.rstrip("/"), api_key=key) for endpoint in spec.endpoints]


def _connect(address: Address) -> openai.AsyncOpenAI:
    loopback = urlsplit(address.base_url).hostname in _LOOPBACK
    return openai.AsyncOpenAI(
        base_url=address.base_url,
        api_key=address.api_key,
        max_retries=0,
        # A proxy can't reach this machine's own loopback address.
        http_client=openai.DefaultAsyncHttpxClient(trust_env=not loopback),
    )


async def _probe_all(spec: ModelParams, addresses: list[Address], patience: Patience) -> None:
    async def probe(address: Address) -> None:
        async with _connect(address) as client:
            try:
                await _probe(client, spec, patience)
            except _Dead as fault:
                raise UserError(
                    f"models: {spec.name} at {address.base_url}: {fault}; "
                    f"{_mend(spec, fault.status)}"
                ) from None

    await _together([probe(address) for address in addresses])


def _mend(spec: ModelParams, status: int | None) -> str:
    """What to do about an endpoint that refuses every request."""
    if status in (401, 403):
        if spec.api_key_env is None:
            return "name the variable with its key as api_key_env in params.yaml"
        return f"check the key in ${spec.api_key_env}"
    if status == 404:
        return "correct id or endpoints in params.yaml: the server does not know them"
    return "start the server, or start it again, or correct the endpoints in params.yaml"


async def _load_adapter(
    spec: ModelParams, addresses: list[Address], patience: Patience, adapter: ServedAdapter
) -> None:
    """Have every endpoint load an adapter, and make sure that it does.

    Only mlx-lm's server takes an adapter with a request. Others ignore the field and would
    answer as the base model: they are told by an adapter that does not exist.

    Raises:
        UserError: An endpoint can't load it.
    """

    async def load(address: Address) -> None:
        where = f"models: {spec.name} at {address.base_url}"
        async with _connect(address) as client:
            try:
                if await _answers_with(client, spec, patience, adapter.path / "missing"):
                    raise UserError(
                        f"{where}: ignores the adapter that it is given; serve the model with "
                        "python -m mlx_lm server"
                    )
                await _probe(client, spec, patience, str(adapter.path))
            except _Dead as fault:
                raise UserError(
                    f"{where}: {fault}; the server must run on this machine, with the model that "
                    "the adapter was trained on"
                ) from None

    await _together([load(address) for address in addresses])


async def _answers_with(
    client: openai.AsyncOpenAI, spec: ModelParams, patience: Patience, adapter: Path
) -> bool:
    """Whether an endpoint answers with that adapter; raise ``_Dead`` where it says nothing."""
    try:
        await _probe(client, spec, patience, str(adapter))
    except _Dead as fault:
        if fault.status is None:  # silence is no refusal
            raise
        return False
    return True


async def _probe(
    client: openai.AsyncOpenAI, spec: ModelParams, patience: Patience, adapter: str | None = None
) -> None:
    """Raise ``_Dead`` unless the endpoint lists its models and completes one token."""
    try:
        async with asyncio.timeout(patience.connect):
            await client.get("/models", cast_to=httpx2.Response)
        body = {
            "model": spec.id,
            "messages": [{"role": "user", "content": "Say yes."}],
            "max_tokens": 1,
        }
        if adapter is not None:
            body["adapters"] = adapter
        async with asyncio.timeout(patience.first_answer):
            await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
    except (TimeoutError, openai.APITimeoutError):
        raise _Dead("does not answer") from None
    except openai.APIStatusError as error:
        raise _Dead(_status_line(error), status=error.status_code) from None
    except openai.APIConnectionError as error:
        raise _Dead(_cause(error)) from None


class _Endpoint:
    """One endpoint in use, and how often in a row it failed."""

    def __init__(self, client: openai.AsyncOpenAI, address: Address) -> None:
        self.client = client
        self.address = address
        self.faults = 0


class _Run:
    """Answers a set of requests over all endpoints."""

    def __init__(
        self,
        model: Model,
        missing: dict[str, Request],
        replies: dict[str, Reply],
        advance: Callable[[], object],
    ) -> None:
        self._model = model
        self._patience = model.patience
        self._waiting = Work(missing)
        self._replies = replies
        self._advance = advance
        self._prefixes = (
            SharedPrefixes(model.spec.id, self._waiting.groups)
            if model.spec.kind == "embedded"
            else None
        )
        self._dead: dict[str, str] = {}
        self._kept = 0

    async def work(self, addresses: list[Address]) -> None:
        """Answer all requests.

        Raises:
            UserError: No endpoint is left.
        """
        while self._waiting:
            alive = [each for each in addresses if each.base_url not in self._dead]
            if not alive:
                why = "; ".join(f"{where}: {reason}" for where, reason in self._dead.items())
                embedded = self._model.spec.kind == "embedded"
                mend = "run again" if embedded else "mend the server and run again"
                raise UserError(
                    f"models: {self._model.spec.name} at {why}; {self._kept} new answers are kept "
                    f"and {len(self._waiting)} are missing: {mend}"
                )
            await _together([self._serve(address) for address in alive])

    async def _serve(self, address: Address) -> None:
        spec = self._model.spec
        embedded = spec.kind == "embedded"
        async with _connect(address) as client:
            endpoint = _Endpoint(client, address)
            workers = Layout.of(spec).slots if embedded else spec.concurrency
            try:
                await _together([self._worker(endpoint, slot) for slot in range(workers)])
            except _Dead as fault:
                self._dead[address.base_url] = str(fault)

    async def _worker(self, endpoint: _Endpoint, slot: int) -> None:
        where = endpoint.address.base_url
        while (taken := self._waiting.take(where)) is not None:
            key, request = taken
            try:
                reply = await self._answer(endpoint, slot, key, request)
            except (asyncio.CancelledError, _Dead):
                self._waiting.put_back(where, key, request)
                raise
            self._replies[key] = reply
            self._advance()

    async def _answer(self, endpoint: _Endpoint, slot: int, key: str, request: Request) -> Reply:
        seed = request.seed
        placement: dict[str, Any] = {}
        if self._prefixes is not None:
            await self._prefixes.prepare(endpoint.client, endpoint.address, slot, key)
            placement = {"id_slot": slot}
        elif self._model.adapter is not None:
            placement = {"adapters": str(self._model.adapter.path)}
        for attempt in range(1, self._patience.empty_attempts + 1):
            body = self._model.body(request, seed)
            try:
                response = await self._call(endpoint, request, body | placement)
            except _Rejected as fault:
                return Reply(status="failed", reason=str(fault))
            reply = clean(response)
            if reply.status != "empty":
                break
            seed = derive(request.seed, "empty", attempt)
        if reply.status in ("ok", "truncated") and self._model.cache is not None:
            spec = self._model.spec
            self._model.cache.keep(
                key, model=spec.id, revision=spec.revision, request=body, response=response
            )
            self._kept += 1
        return reply

    async def _call(self, endpoint: _Endpoint, request: Request, body: dict[str, Any]) -> Response:
        """One answer, with bounded attempts on faults that may pass."""
        patience = self._patience
        for attempt in range(1, patience.attempts + 1):
            try:
                response = await _once(endpoint.client, request, body, patience)
            except _Fault as fault:
                endpoint.faults += 1
                if endpoint.faults >= patience.faults_in_a_row:
                    raise _Dead(f"failed {endpoint.faults} times in a row, last: {fault}") from None
                last = attempt == patience.attempts
                if fault.hung or last:
                    await _probe(endpoint.client, self._model.spec, patience)
                if last:
                    raise _Rejected(f"failed {attempt} times, last: {fault}") from None
                wait = (
                    fault.wait if fault.wait is not None else patience.backoff * 2 ** (attempt - 1)
                )
                await asyncio.sleep(min(wait, patience.longest_wait))
            else:
                endpoint.faults = 0
                return response
        raise AssertionError("patience.attempts is at least 1")


async def _once(
    client: openai.AsyncOpenAI, request: Request, body: dict[str, Any], patience: Patience
) -> Response:
    seconds = patience.seconds_for(request)
    started = time.perf_counter()
    try:
        async with asyncio.timeout(seconds):
            answer = await client.post(
                "/chat/completions",
                cast_to=httpx2.Response,
                body=body,
                options={"timeout": httpx2.Timeout(seconds, connect=patience.connect)},
            )
    except (TimeoutError, openai.APITimeoutError):
        raise _Fault(f"no answer within {seconds:.0f} s", hung=True) from None
    except openai.APIStatusError as error:
        raise _by_status(error) from None
    except openai.APIConnectionError as error:
        raise _Fault(_cause(error)) from None
    latency = time.perf_counter() - started
    try:
        completion = _Completion.model_validate(json.loads(answer.content))
        choice = completion.choices[0]
    except (ValueError, IndexError):
        start = answer.content[:80].decode(errors="replace")
        raise _Fault(f"the answer is no completion: {start!r}") from None
    content = choice.message.content
    if content is not None and len(content) > _CHARACTERS_PER_TOKEN * (request.max_tokens + 64):
        raise _Rejected(
            f"an answer of {len(content)} characters to max_tokens {request.max_tokens}"
        )
    usage = completion.usage or _Tokens()
    return Response(
        content=_encodable(content),
        reasoning=_encodable(choice.message.reasoning_content or choice.message.reasoning),
        refusal=_encodable(choice.message.refusal),
        finish_reason=choice.finish_reason,
        answered=round(time.time(), 3),
        prompt_tokens=usage.prompt_tokens,
        reused_tokens=(usage.prompt_tokens_details or _Reused()).cached_tokens,
        completion_tokens=usage.completion_tokens,
        model=completion.model,
        seed=body.get("seed"),
        seconds=round(latency, 4),
        weighed=_weighed(choice.logprobs, request.watch),
    )


def _weighed(logprobs: _Logprobs | None, watch: Sequence[str]) -> tuple[Weighed, ...]:
    """The probabilities of the watched words, wherever a token is one of them."""
    found = []
    before = ""
    for token in (logprobs and logprobs.content) or ():
        if token.token.strip() in watch:
            likely = {
                each.token.strip(): each.logprob
                for each in reversed(token.top_logprobs)  # of two spellings the likelier
                if each.token.strip() in watch
            }
            found.append(
                Weighed(before=_encodable(before[-_BEFORE:]) or "", log_probabilities=likely)
            )
        before += token.token
    return tuple(found)


def _by_status(error: openai.APIStatusError) -> Exception:
    """What a refusal of the server means for the call and the endpoint."""
    line = _status_line(error)
    if error.status_code in (401, 403, 404):
        return _Dead(line, status=error.status_code)
    if error.status_code in (408, 409, 425, 429) or error.status_code >= 500:
        return _Fault(line, wait=_retry_after(error))
    return _Rejected(line)


def _retry_after(error: openai.APIStatusError) -> float | None:
    try:
        return max(0.0, float(error.response.headers["retry-after"]))
    except (KeyError, ValueError):  # absent, or a date
        return None


def _status_line(error: openai.APIStatusError) -> str:
    return f"HTTP {error.status_code}: {' '.join(error.response.text.split())[:200]}"


def _cause(error: openai.APIConnectionError) -> str:
    return str(error.__cause__ or error) or type(error.__cause__ or error).__name__


def _encodable(text: str | None) -> str | None:
    """Lone surrogates, which no file can hold, become U+FFFD."""
    return (
        None if text is None else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


async def _together(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run all; when one fails, cancel the others and raise its error as it is."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
