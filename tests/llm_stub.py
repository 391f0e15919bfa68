"""A chat server on loopback that answers, stalls, fails or dies as a test tells it to."""

import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from personalbench.llm.client import Patience
from personalbench.params import ModelParams

IMPATIENT = Patience(
    connect=3.0,
    first_answer=3.0,
    base=3.0,
    slowest=1e6,
    backoff=0.01,
    longest_wait=0.5,
    faults_in_a_row=6,
)


@dataclass(frozen=True)
class Says:
    """One answer of the stub.

    Attributes:
        content: The message's text.
        finish_reason: As in a completion.
        message: Further fields of the message.
        status: HTTP status.
        headers: Further headers.
        body: Sent as it is in place of a completion.
        cut: Send only so many bytes of the body, then close.
        hang: Never answer.
        die: Close the connection and the server.
        delay: Seconds before the answer.
    """

    content: str | None = "An answer."
    finish_reason: str = "stop"
    message: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    cut: int | None = None
    hang: bool = False
    die: bool = False
    delay: float = 0.0

    def encoded(self) -> bytes:
        """The body of the response."""
        if self.body is not None:
            return self.body
        message = {"role": "assistant", "content": self.content, **self.message}
        completion = {
            "model": "stub",
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
        }
        return json.dumps(completion).encode()


Script = Callable[[dict[str, Any], int], Says]


class Stub:
    """A loopback server.

    Args:
        script: Called with a request's body and how many came before it, probes not
            counted; gives the answer.
        probe: Answer to the client's probe.
        models: Answer to ``/v1/models``.
        port: To listen on; 0 takes a free one.

    Attributes:
        bodies: The bodies of all requests in the order of arrival, probes not counted.
        arrivals: When they arrived, by ``time.monotonic()``.
        headers: Their headers, names in lower case.
    """

    def __init__(
        self,
        script: Script = lambda body, number: Says(),
        *,
        probe: Says = Says(),
        models: Says = Says(body=b'{"data": []}'),
        port: int = 0,
    ) -> None:
        self.script = script
        self.probe = probe
        self.models = models
        self.bodies: list[dict[str, Any]] = []
        self.arrivals: list[float] = []
        self.headers: list[dict[str, str]] = []
        self._lock = threading.Lock()
        self._dead = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                stub._send(self, stub.models)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub._send(self, stub._next(body, {k.lower(): v for k, v in self.headers.items()}))

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that gave up, or was killed, is what tests are about."""

        self._server = Server(("127.0.0.1", port), Handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def endpoint(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self.port}/v1"

    def spec(self, **fields: Any) -> ModelParams:
        """A registry entry that points here."""
        return stub_spec([self.endpoint], **fields)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering and listening."""
        if not self._dead.is_set():
            self._dead.set()
            self._server.shutdown()
            self._server.server_close()

    def _next(self, body: dict[str, Any], headers: dict[str, str]) -> Says:
        if body["max_tokens"] == 1:
            return self.probe
        with self._lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.arrivals.append(time.monotonic())
            self.headers.append(headers)
        return self.script(body, number)

    def _send(self, handler: BaseHTTPRequestHandler, says: Says) -> None:
        if says.die:
            self.close()
        if says.hang:
            self._dead.wait()
        self._dead.wait(says.delay)
        if self._dead.is_set():
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return
        data = says.encoded()
        handler.send_response(says.status)
        for name, value in says.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[: says.cut])
        if says.cut is not None:
            handler.close_connection = True


def stub_spec(endpoints: list[str], **fields: Any) -> ModelParams:
    """A registry entry of a server."""
    values: dict[str, Any] = {
        "kind": "server",
        "family": "stub",
        "id": "stub-1b",
        "revision": "0123abc",
        "endpoints": endpoints,
        "concurrency": 4,
    }
    return ModelParams(**(values | fields))


def free_port() -> int:
    """A loopback port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
