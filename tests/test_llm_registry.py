"""Entries of the registry, and the commands around it."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pydantic import ValidationError

from llm_stub import IMPATIENT, Says, Script, Stub, stub_spec
from personalbench.cli import main
from personalbench.errors import UserError
from personalbench.llm import check, client
from personalbench.llm.cache import Response, ResponseCache
from personalbench.llm.registry import find_model
from personalbench.llm.types import Reply
from personalbench.llm.usage import require_answers, summarise
from personalbench.params import ModelParams, Price
from personalbench.paths import cache_folder


@pytest.mark.parametrize("revision", ["main", "latest", "Master", "HEAD", " ", ""])
def test_a_revision_that_moves_is_refused(revision: str) -> None:
    with pytest.raises(ValidationError, match="moves"):
        stub_spec(["http://127.0.0.1:1/v1"], revision=revision)


@pytest.mark.parametrize(
    "fields",
    [
        {"endpoints": []},
        {"endpoints": ["localhost:8080"]},
        {"kind": "embedded"},
        {"concurrency": 0},
        {"temprature": 1.0},
    ],
)
def test_an_entry_that_can_not_work_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        stub_spec(**({"endpoints": ["http://127.0.0.1:1/v1"]} | fields))


def test_an_unknown_model_is_named_with_those_that_there_are() -> None:
    registry = {"b": stub_spec(["http://x/v1"]), "a": stub_spec(["http://x/v1"])}
    assert find_model(registry, "b") is registry["b"]
    with pytest.raises(UserError, match=r"no model is named 'c'; params\.yaml has: a, b"):
        find_model(registry, "c")


def test_the_cache_belongs_to_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    (project / ".dvc").mkdir(parents=True)
    (project / "deep" / "down").mkdir(parents=True)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(project / "deep" / "down")
    assert cache_folder("llm") == project / ".cache" / "llm"
    monkeypatch.chdir(tmp_path)
    assert cache_folder("llm") == tmp_path / ".cache" / "llm"
    monkeypatch.setenv("DVC_ROOT", str(project))
    assert cache_folder("llm") == project / ".cache" / "llm"


def kept(cache: ResponseCache, key: str, model: str) -> None:
    response = Response(content="An answer.", prompt_tokens=11, completion_tokens=3)
    cache.keep(key, model=model, revision="r1", request={"model": model}, response=response)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_cache_can_be_counted_exported_and_pruned(project: Path) -> None:
    with ResponseCache.of_project() as cache:
        for number in range(5):
            kept(cache, f"k{number}", "one" if number < 3 else "two")
        kept(cache, "k0", "two")  # the first answer under a key stays
    stats = json.loads(run("cache", "stats", "--json").output)
    assert [(each["model"], each["answers"]) for each in stats] == [("one", 3), ("two", 2)]
    assert "5 answers" in run("cache", "stats").output

    assert run("cache", "export", "out.jsonl").exit_code == 0
    rows = [json.loads(line) for line in (project / "out.jsonl").read_text().splitlines()]
    assert [row["key"] for row in rows] == ["k0", "k1", "k2", "k3", "k4"]
    assert rows[0]["request"] == {"model": "one"}
    assert rows[0]["response"]["content"] == "An answer."

    assert run("cache", "prune").exit_code == 2
    assert "0 answers deleted" in run("cache", "prune", "--older-than", "1").output
    assert "3 answers deleted" in run("cache", "prune", "--model", "one").output
    time.sleep(0.01)
    assert "2 answers deleted" in run("cache", "prune", "--older-than", "0").output
    assert json.loads(run("cache", "stats", "--json").output) == []


def test_usage_adds_up_and_never_guesses() -> None:
    spec = stub_spec(["http://x/v1"], price=Price(input=2.0, output=10.0))
    counted = {"prompt_tokens": 1000, "completion_tokens": 100, "seconds": 1.5}
    replies = [
        Reply(status="ok", text="a", flags=("fence",), **counted),
        Reply(status="ok", text="b", cached=True, **counted),
        Reply(status="truncated", text="c", **counted),
        Reply(status="failed", reason="HTTP 500"),
    ]
    results = [None, None, "the tokens ran out", "HTTP 500"]
    usage = summarise("personalize", "few_shot", spec, replies, results)
    assert (usage.questions, usage.failed, usage.failure_rate) == (4, 2, 0.5)
    assert (usage.replies, usage.uncounted) == (4, 0)
    assert usage.statuses == {"failed": 1, "ok": 2, "truncated": 1}
    assert usage.flags == {"fence": 1}
    assert usage.duplicates == 0
    assert summarise("judge", None, spec, [*replies, *replies], []).duplicates == 4
    assert (usage.prompt_tokens, usage.completion_tokens, usage.seconds) == (3000, 300, 4.5)
    assert usage.cost == pytest.approx(0.009)  # 3000 * 2 / 1e6 + 300 * 10 / 1e6

    free = summarise("judge", None, stub_spec(["http://x/v1"]), replies, [])
    assert (free.cost, free.cost_reason) == (None, "the model has no price in params.yaml")
    silent = summarise("judge", None, spec, [Reply(status="ok", text="a")], [])
    assert silent.cost is None
    assert silent.cost_reason == "the server did not count the tokens of 1 answers"
    assert summarise("judge", None, spec, [], []).failure_rate is None


def test_throughput_is_over_the_time_in_which_calls_were_in_flight() -> None:
    # 10 to 12 and 11 to 14 overlap, 20 to 21 is a later run: 4 + 1 seconds.
    times = [(2.0, 12.0), (3.0, 14.0), (1.0, 21.0)]
    replies = [
        Reply(
            status="ok",
            text="a",
            seconds=seconds,
            answered=at,
            prompt_tokens=10,
            completion_tokens=100,
        )
        for seconds, at in times
    ]
    usage = summarise("judge", None, stub_spec(["http://x/v1"]), replies, [None] * 3)
    assert (usage.seconds, usage.busy_seconds, usage.tokens_per_second) == (6.0, 5.0, 60.0)
    assert summarise("judge", None, stub_spec(["http://x/v1"]), [], []).tokens_per_second is None


def test_too_many_failures_stop_a_stage_with_one_line() -> None:
    results = [None] * 17 + ["HTTP 500"] * 2 + ["empty"]
    require_answers("judge: floor", results, 0.15, "see to it")
    require_answers("judge: floor", [], 0.0, "see to it")
    with pytest.raises(UserError) as error:
        require_answers("judge: floor", results, 0.14, "see to it")
    assert error.value.message == (
        "judge: floor: 3 of 20 have no usable answer, more than 14%; the commonest reason "
        "(2 times): HTTP 500; see to it; what was answered is kept"
    )


# --- models check ---------------------------------------------------------------------


def check_stub(script: Script, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> check.ModelCheck:
    monkeypatch.setattr(client, "Patience", lambda: IMPATIENT)
    with Stub(script) as stub:
        return check.check_model(stub.spec(**fields))


def obedient(body: dict[str, Any], number: int) -> Says:
    if "response_format" in body:
        return Says('{"answer": true}')
    return Says(f"The sea, seen {body.get('seed')} times.")


def test_a_server_that_does_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    result = check_stub(obedient, monkeypatch)
    assert (result.chat, result.seed, result.json_schema, result.thinking_off) == (True,) * 4
    assert result.answered_as == "stub"
    assert result.tokens_per_second is not None
    assert result.problems == ()


def test_a_server_that_ignores_seed_and_schema_and_thinks(monkeypatch: pytest.MonkeyPatch) -> None:
    stubborn: Script = lambda body, number: Says(f"<think>hm</think>The sea {number}.")  # noqa: E731
    result = check_stub(stubborn, monkeypatch)
    assert (result.chat, result.seed, result.json_schema, result.thinking_off) == (
        True,
        False,
        False,
        False,
    )
    assert [problem.split(":")[0] for problem in result.problems] == [
        "the seed is ignored",
        "the JSON schema is ignored; set structured",
        "the model thinks; set chat_template",
    ]


def test_a_server_that_always_says_the_same_does_not_follow_the_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = check_stub(lambda body, number: Says("The sea."), monkeypatch, structured=False)
    assert (result.seed, result.json_schema) == (False, None)


def test_a_first_answer_that_differs_is_no_ignored_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    cold: Script = lambda body, number: Says("Cold.") if number == 0 else obedient(body, number)  # noqa: E731
    assert check_stub(cold, monkeypatch).seed is True


def test_what_is_not_sent_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    result = check_stub(obedient, monkeypatch, send_seed=False, structured=False)
    assert (result.seed, result.json_schema, result.problems) == (None, None, ())


def test_a_server_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    result = check_stub(lambda body, number: Says(""), monkeypatch, send_seed=False)
    assert not result.chat
    assert result.problems[0].startswith("no text came back: empty")


def test_the_commands_list_and_check(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Loaded:
        models: dict[str, ModelParams]

    with Stub(obedient) as stub:
        loaded = Loaded()
        loaded.models = {"mine": stub.spec(quantization="4bit")}
        monkeypatch.setattr("personalbench.params.load_params", lambda: loaded)
        listed = run("models")
        assert listed.output == f"mine: stub-1b, 4bit, 0123abc; {stub.endpoint}\n"
        checked = run("models", "check", "mine", "--json")
        assert checked.exit_code == 0
        assert json.loads(checked.stdout)["seed"] is True
        assert "\nthinking off: yes\n" in run("models", "check", "mine").output
        assert run("models", "check", "yours").exit_code == 2
        stub.script = lambda body, number: Says("The sea.")
        assert run("models", "check", "mine").exit_code == 1
