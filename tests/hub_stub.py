"""A loopback hub that serves LUAR-MUD at its pinned revision."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from huggingface_hub import constants

REVISION = "f1db50251805ed69b43cf4f72ea2f0e231f36a1c"


class Hub(ThreadingHTTPServer):
    """A hub with one repository at one revision.

    Attributes:
        files: What it serves.
        announced: The hash that it gives for a file, where that is not the right one.
        broken: Files whose first transfer breaks off half-way.
        ranges: ``Range`` headers that it got.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.announced: dict[str, str] = {}
        self.broken: set[str] = set()
        self.ranges: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


def git_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        prefix = f"/rrivera1849/LUAR-MUD/resolve/{REVISION}/"
        name = self.path.removeprefix(prefix)
        if not self.path.startswith(prefix) or name not in self.server.files:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = self.server.files[name]
        start = 0
        if wanted := self.headers.get("Range"):
            self.server.ranges.append(wanted)
            start = int(re.fullmatch(r"bytes=(\d+)-.*", wanted)[1])
        self.send_response(206 if wanted else 200)
        right = hashlib.sha256(content).hexdigest() if "safe" in name else git_hash(content)
        self.send_header("ETag", f'"{self.server.announced.get(name, right)}"')
        self.send_header("X-Repo-Commit", REVISION)
        self.send_header("Content-Length", str(len(content) - start))
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if not body:
            return
        if name in self.server.broken:
            self.server.broken.remove(name)
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
            return
        self.wfile.write(content[start:])

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[Hub]:
    """A hub without files that this process takes for the hub, and an empty cache."""
    server = Hub()
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(
        constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        server.url + "/{repo_id}/resolve/{revision}/{filename}",
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    yield server
    server.shutdown()
    server.server_close()
