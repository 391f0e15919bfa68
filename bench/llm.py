"""How fast the language model client is; each line is measured and set against its bound.

python bench/llm.py embedded   # throughput of the embedded SmolLM2
python bench/llm.py client     # overhead of the client and the cache
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import httpx2

from personalbench.llm.cache import Response, ResponseCache
from personalbench.llm.client import open_model
from personalbench.llm.embedded import MODEL_FILES, Address, Layout, embedded_servers
from personalbench.llm.types import Message, Reply, Request
from personalbench.params import ModelParams

AUTHORS = ("the harbour master", "the schoolteacher", "the beekeeper")
TOPICS = 20
MAX_TOKENS = 160
CALLS = 5_000
KEPT = 100_000


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("embedded", "client", "stub"))
    part = parser.parse_args().part
    {"embedded": bench_embedded, "client": bench_client, "stub": run_stub}[part]()


def line(what: str, value: float, unit: str, bound: float) -> None:
    """Print one result and whether it meets its bound."""
    print(f"{what}: {value:.2f} {unit} (bound {bound:g})", flush=True)


# --- embedded server ------------------------------------------------------------------


def few_shot_requests() -> list[Request]:
    """Twenty topics for each of three authors, after five samples of about 1,300 tokens."""
    requests = []
    for number, author in enumerate(AUTHORS):
        samples = "\n\n".join(
            f"Sample {sample}. "
            + " ".join(
                f"On day {day * (number + 2)} of that year {author} wrote down, as always, what "
                f"the wind had done since morning and who had come by for number {sample + day}."
                for day in range(7)
            )
            for sample in range(5)
        )
        for topic in range(TOPICS):
            text = (
                f"Write like the author of these samples.\n\n{samples}\n\n"
                f"Write two paragraphs about topic {topic}: a walk to the mill."
            )
            requests.append(
                Request(
                    messages=(Message(role="user", content=text),),
                    temperature=0.7,
                    max_tokens=MAX_TOKENS,
                    seed=topic,
                )
            )
    return requests


def embedded(concurrency: int) -> ModelParams:
    """SmolLM2 with so many slots."""
    name = "smollm2-135m"
    return ModelParams(
        kind="embedded",
        family="smollm2",
        id=name,
        revision=MODEL_FILES[name].sha256,
        concurrency=concurrency,
        # Answers of one length, so that all runs do the same work.
        extra_body={"ignore_eos": True},
    )


def throughput(replies: Sequence[Reply], seconds: float) -> float:
    """Generated tokens per second."""
    return sum(reply.completion_tokens or 0 for reply in replies) / seconds


def with_client(concurrency: int, requests: Sequence[Request]) -> float:
    """Tokens per second of the client."""
    with open_model(embedded(concurrency), cache=None) as model:
        model.complete(
            [
                Request(
                    messages=(Message(role="user", content="Hello."),),
                    temperature=0.0,
                    max_tokens=4,
                    seed=0,
                )
            ],
            "warm up",
        )
        started = time.perf_counter()
        replies = model.complete(requests, f"{concurrency} at a time")
        return throughput(replies, time.perf_counter() - started)


def with_load_generator(concurrency: int, requests: Sequence[Request]) -> float:
    """Tokens per second of the same server to nothing but concurrent posts, in order."""

    async def post_all(addresses: Sequence[Address]) -> int:
        queue = list(reversed(requests))
        tokens = 0

        async def worker(client: httpx2.AsyncClient, address: Address) -> None:
            nonlocal tokens
            while queue:
                request = queue.pop()
                body = {
                    "messages": [message.model_dump() for message in request.messages],
                    "temperature": request.temperature,
                    "max_tokens": request.max_tokens,
                    "seed": request.seed,
                    "ignore_eos": True,
                }
                answer = await client.post(f"{address.base_url}/chat/completions", json=body)
                tokens += answer.json()["usage"]["completion_tokens"]

        headers = {"Authorization": f"Bearer {addresses[0].api_key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=None, trust_env=False) as client:
            each = concurrency // len(addresses)
            await asyncio.gather(*(worker(client, where) for where in list(addresses) * each))
        return tokens

    with embedded_servers(embedded(concurrency)) as addresses:
        started = time.perf_counter()
        tokens = asyncio.run(post_all(addresses))
        return tokens / (time.perf_counter() - started)


def bench_embedded() -> None:
    """Sixty few-shot generations for three authors."""
    requests = few_shot_requests()
    layout = Layout.of(embedded(8))
    wide = layout.processes * layout.slots
    alone = with_client(1, requests)
    print(f"one at a time: {alone:.1f} tokens/s", flush=True)
    together = with_client(wide, requests)
    print(f"{wide} at a time: {together:.1f} tokens/s", flush=True)
    plain = with_load_generator(wide, requests)
    print(f"load generator, {wide} at a time: {plain:.1f} tokens/s", flush=True)
    line(f"{wide} at a time against one at a time", together / alone, "times", 1.8)
    line("client against load generator", together / plain, "times", 0.9)


# --- client overhead ------------------------------------------------------------------


class Echo(asyncio.Protocol):
    """Answers every request at once with the same completion."""

    BODY = json.dumps(
        {
            "model": "stub",
            "choices": [{"message": {"content": "An answer."}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 3},
        }
    ).encode()
    ANSWER = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % len(BODY)
    ) + BODY

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        """Answer each whole request."""
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = self.received[:end].lower()
            length = 0
            if b"content-length:" in head:
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self.received) < end + 4 + length:
                return
            self.received = self.received[end + 4 + length :]
            self.transport.write(self.ANSWER)  # type: ignore[attr-defined]


def run_stub() -> None:
    """Serve until killed; print the port."""

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(serve())


def bench_client() -> None:
    """Calls per second against a stub, and time to read kept answers."""
    requests = [
        Request(
            messages=(Message(role="user", content=f"Question {number}. " + "word " * 200),),
            temperature=0.7,
            max_tokens=50,
            seed=number,
        )
        for number in range(KEPT)
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, __file__, "stub"], stdout=subprocess.PIPE, text=True
        ) as stub,
        ResponseCache(Path(folder) / "answers.sqlite") as cache,
    ):
        assert stub.stdout is not None
        spec = ModelParams(
            kind="server",
            family="stub",
            id="stub",
            revision="1",
            endpoints=[f"http://127.0.0.1:{int(stub.stdout.readline())}/v1"],
            concurrency=32,
        )
        with open_model(spec, cache=cache) as model:
            started, busy = time.perf_counter(), time.process_time()
            model.complete(requests[:CALLS], "calls")
            line("calls", CALLS / (time.perf_counter() - started), "requests/s", 500)
            # On a machine with other work this is the fairer number.
            line("calls", CALLS / (time.process_time() - busy), "requests per CPU second", 500)
            response = Response(content="An answer of some length. " * 40, finish_reason="stop")
            for request in requests[CALLS:]:
                cache.keep(
                    model.key(request), model="stub", revision="1", request={}, response=response
                )
            started = time.perf_counter()
            replies = model.complete(requests, "kept answers")
            seconds = time.perf_counter() - started
        assert all(reply.cached for reply in replies)
        line(f"{KEPT} kept answers", seconds, "s", 20)
        stub.kill()


if __name__ == "__main__":
    os.environ.setdefault("TQDM_DISABLE", "1")
    main()
