"""Answers of language models, kept so that none is paid for twice.

One sqlite file in write-ahead mode: several processes share it, each answer is
one transaction, and a process killed at any moment leaves a sound file.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from personalbench.errors import UserError
from personalbench.llm.types import Weighed
from personalbench.paths import cache_folder
from personalbench.storage import sha256_bytes

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    revision TEXT NOT NULL,
    created REAL NOT NULL,
    request TEXT NOT NULL,
    response TEXT NOT NULL
) WITHOUT ROWID
"""
_LOCK_SECONDS = 60.0
_KEYS_PER_QUERY = 500
_DAMAGED = "the file is damaged: move it away (its answers will be asked for again)"
_MENDS = {
    sqlite3.SQLITE_FULL: "free some space and run again; the answers kept so far are safe",
    sqlite3.SQLITE_BUSY: "another process holds it; run again",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
}


class Response(BaseModel):
    """What a server answered, before any rule is applied to it.

    Attributes:
        content: The answer; None as some servers send it when tokens ran out.
        reasoning: The model's thoughts, where the server keeps them apart.
        refusal: The server's own notice of a refusal.
        finish_reason: As the server gave it.
        answered: When it came, in seconds since 1970.
        prompt_tokens: As the server counted.
        reused_tokens: Part of the prompt's tokens that the server had read before.
        completion_tokens: As the server counted.
        model: The model's name as the server gave it.
        seed: The seed that was sent, None where none was.
        seconds: Latency of the call.
        weighed: See :class:`~personalbench.llm.types.Reply`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    content: str | None
    reasoning: str | None = None
    refusal: str | None = None
    finish_reason: str | None = None
    answered: float = 0.0
    prompt_tokens: int | None = None
    reused_tokens: int | None = None
    completion_tokens: int | None = None
    model: str | None = None
    seed: int | None = None
    seconds: float = 0.0
    weighed: tuple[Weighed, ...] = ()


class KeptAnswer(BaseModel):
    """One row of the cache.

    Attributes:
        created: When it was answered, in seconds since 1970.
        request: The body that was sent.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    model: str
    revision: str
    created: float
    request: dict[str, Any]
    response: Response


class CacheStats(BaseModel):
    """What is kept of one model.

    Attributes:
        answers: Number of answers.
        characters: Length of requests and responses as stored.
        oldest: When the first was answered, in seconds since 1970.
        newest: When the last was answered.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    revision: str
    answers: int
    characters: int
    oldest: float
    newest: float


def answer_key(identity: dict[str, Any]) -> str:
    """Key of an answer: SHA-256 over everything that can change it."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return sha256_bytes(text.encode())


class ResponseCache:
    """Answers by key.

    Args:
        path: The sqlite file; its folder is made.

    Raises:
        UserError: The file can't be opened, read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._faults():
            self._db = sqlite3.connect(
                path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(_SCHEMA)

    @classmethod
    def of_project(cls) -> Self:
        """The cache of the project that holds the working directory."""
        return cls(cache_folder("llm") / "answers.sqlite")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()

    def find(self, keys: Iterable[str]) -> dict[str, Response]:
        """The answers that are kept, by key."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, Response] = {}
        with self._faults():
            for start in range(0, len(wanted), _KEYS_PER_QUERY):
                part = wanted[start : start + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, response FROM answers WHERE key IN ({marks})"
                for key, text in self._db.execute(query, part):
                    found[key] = Response.model_validate_json(text)
        return found

    def keep(
        self, key: str, *, model: str, revision: str, request: dict[str, Any], response: Response
    ) -> None:
        """Keep one answer; the first one kept under a key stays."""
        row = (
            key,
            model,
            revision,
            time.time(),
            json.dumps(request, ensure_ascii=False, allow_nan=False),
            response.model_dump_json(),
        )
        with self._faults():
            self._db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)", row)

    def stats(self) -> list[CacheStats]:
        """What is kept, by model and revision, in their order."""
        query = """
            SELECT model, revision, count(*), sum(length(request) + length(response)),
                   min(created), max(created)
            FROM answers GROUP BY model, revision ORDER BY model, revision
        """
        with self._faults():
            rows = self._db.execute(query).fetchall()
        names = list(CacheStats.model_fields)
        return [CacheStats(**dict(zip(names, row, strict=True))) for row in rows]

    def prune(self, *, model: str | None = None, before: float | None = None) -> int:
        """Delete answers and give their space back.

        Args:
            model: Only those of this model id.
            before: Only those answered before, in seconds since 1970.

        Returns:
            How many were deleted.
        """
        with self._faults():
            deleted = self._db.execute(
                "DELETE FROM answers WHERE (?1 IS NULL OR model = ?1)"
                " AND (?2 IS NULL OR created < ?2)",
                (model, before),
            ).rowcount
            self._db.execute("VACUUM")
        return deleted

    def answers(self) -> Iterator[KeptAnswer]:
        """Everything that is kept, in the order of the keys."""
        with self._faults():
            for key, model, revision, created, request, response in self._db.execute(
                "SELECT key, model, revision, created, request, response FROM answers ORDER BY key"
            ):
                yield KeptAnswer(
                    key=key,
                    model=model,
                    revision=revision,
                    created=created,
                    request=json.loads(request),
                    response=Response.model_validate_json(response),
                )

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code is None:  # a wrong use of sqlite, not a fault of the file
                raise
            # The low byte is the kind of fault; the rest only details it.
            mend = _MENDS.get(code & 0xFF, "check the disk and the file's permissions")
            raise UserError(f"{self.path}: {error}; {mend}") from error
