"""The client against servers that answer and servers that fail."""

import json
import multiprocessing
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from llm_stub import IMPATIENT, Says, Script, Stub, free_port, stub_spec
from personalbench.errors import UserError
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import check_reachable, open_model
from personalbench.llm.types import Message, Reply, Request
from personalbench.params import ModelParams


def asks(text: str, **fields: Any) -> Request:
    values: dict[str, Any] = {"temperature": 0.7, "max_tokens": 50, "seed": 5}
    return Request(messages=(Message(role="user", content=text),), **(values | fields))


def complete(
    spec: ModelParams, requests: list[Request], cache: ResponseCache | None = None
) -> list[Reply]:
    with open_model(spec, cache=cache, patience=IMPATIENT) as model:
        return model.complete(requests, "test")


def echo(body: dict[str, Any], number: int) -> Says:
    return Says(f"Answer to {body['messages'][-1]['content']}.")


def first(*answers: Says) -> Script:
    """The given answers in order of arrival, then ordinary ones."""
    return lambda body, number: answers[number] if number < len(answers) else echo(body, number)


@pytest.fixture
def cache(tmp_path: Path) -> Any:
    with ResponseCache(tmp_path / "answers.sqlite") as opened:
        yield opened


# --- what a working server sees -------------------------------------------------------


def test_replies_come_in_the_order_of_the_requests() -> None:
    def slow_first(body: dict[str, Any], number: int) -> Says:
        says = echo(body, number)
        return Says(says.content, delay=0.3) if "q0" in says.content else says  # type: ignore[operator]

    with Stub(slow_first) as stub:
        replies = complete(stub.spec(), [asks(f"q{number}") for number in range(12)])
    assert [reply.text for reply in replies] == [f"Answer to q{number}." for number in range(12)]
    assert {reply.status for reply in replies} == {"ok"}
    assert (replies[0].prompt_tokens, replies[0].completion_tokens) == (11, 3)


def test_the_body_holds_what_the_entry_and_the_request_say() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}}
    with Stub() as stub:
        spec = stub.spec(
            chat_template={"enable_thinking": False}, extra_body={"top_p": 0.9}, concurrency=1
        )
        complete(spec, [asks("q", json_schema=schema, stop=("\n",))])
        complete(stub.spec(send_seed=False, structured=False), [asks("q", json_schema=schema)])
    full, plain = stub.bodies
    assert full["model"] == "stub-1b"
    assert full["messages"] == [{"role": "user", "content": "q"}]
    assert (full["temperature"], full["max_tokens"], full["seed"]) == (0.7, 50, 5)
    assert full["stop"] == ["\n"]
    assert full["top_p"] == 0.9
    assert full["chat_template_kwargs"] == {"enable_thinking": False}
    assert full["response_format"]["json_schema"]["schema"] == schema
    assert "seed" not in plain and "response_format" not in plain


def test_requests_with_the_same_beginning_follow_each_other() -> None:
    with Stub() as stub:
        prompts = [f"{author} topic {topic}" for topic in range(3) for author in "ABC"]
        complete(stub.spec(concurrency=1), [asks(prompt) for prompt in prompts])
    authors = [body["messages"][0]["content"][0] for body in stub.bodies]
    assert authors == ["A"] * 3 + ["B"] * 3 + ["C"] * 3


def test_no_more_calls_are_in_flight_than_allowed() -> None:
    busy, most = 0, 0

    def counted(body: dict[str, Any], number: int) -> Says:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        time.sleep(0.02)
        busy -= 1
        return Says()

    with Stub(counted) as stub:
        complete(stub.spec(concurrency=3), [asks(f"q{number}") for number in range(20)])
    assert most == 3


def test_equal_requests_are_asked_once_and_repeats_are_not_equal() -> None:
    with Stub() as stub:
        replies = complete(stub.spec(), [asks("q"), asks("q"), asks("q", repeat=1)])
    assert len(stub.bodies) == 2
    assert len(replies) == 3


def test_requests_are_spread_over_all_endpoints() -> None:
    slow: Script = lambda body, number: Says(delay=0.05)  # noqa: E731
    with Stub(slow) as one, Stub(slow) as other:
        spec = stub_spec([one.endpoint, other.endpoint], concurrency=2)
        complete(spec, [asks(f"q{number}") for number in range(12)])
    assert len(one.bodies) + len(other.bodies) == 12
    assert min(len(one.bodies), len(other.bodies)) >= 3


# --- nothing is paid for twice --------------------------------------------------------


def test_an_answered_call_is_not_repeated_and_the_server_not_even_contacted(
    cache: ResponseCache,
) -> None:
    requests = [asks(f"q{number}") for number in range(5)]
    with Stub(echo) as stub:
        spec = stub.spec()
        before = complete(spec, requests, cache)
    after = complete(spec, requests, cache)  # the stub is gone
    assert [reply.text for reply in after] == [reply.text for reply in before]
    assert [reply.cached for reply in before + after] == [False] * 5 + [True] * 5


def test_the_connection_is_no_part_of_the_key_and_all_that_changes_answers_is(
    cache: ResponseCache,
) -> None:
    with Stub() as stub:
        complete(stub.spec(), [asks("q")], cache)
        complete(stub.spec(concurrency=1, price=None, max_context=99), [asks("q")], cache)
        with Stub() as moved:
            complete(moved.spec(), [asks("q")], cache)
        assert (len(stub.bodies), len(moved.bodies)) == (1, 0)
        other_specs: list[dict[str, Any]] = [
            {"id": "stub-2b"},
            {"revision": "4567def"},
            {"quantization": "4bit"},
            {"chat_template": {"enable_thinking": False}},
            {"extra_body": {"top_k": 5}},
        ]
        other_requests: list[dict[str, Any]] = [
            {"temperature": 0.8},
            {"max_tokens": 51},
            {"seed": 6},
            {"repeat": 1},
            {"stop": ("x",)},
            {"json_schema": {"type": "object"}},
        ]
        for fields in other_specs:
            complete(stub.spec(**fields), [asks("q")], cache)
        for fields in other_requests:
            complete(stub.spec(), [asks("q", **fields)], cache)
        assert len(stub.bodies) == 1 + len(other_specs) + len(other_requests)


@pytest.mark.parametrize(
    ("says", "status"),
    [
        (Says("I'm sorry, I can't help with that."), "refused"),
        (Says("No", finish_reason="content_filter"), "refused"),
        (Says(None, finish_reason="length"), "truncated_reasoning"),
        (Says(""), "empty"),
        (Says(status=400, body=b'{"error": "too long"}'), "failed"),
    ],
)
def test_what_gave_no_text_is_not_kept(cache: ResponseCache, says: Says, status: str) -> None:
    with Stub(lambda body, number: says) as stub:
        assert [each.status for each in complete(stub.spec(), [asks("q")], cache)] == [status]
        calls = len(stub.bodies)
        stub.script = echo
        assert [each.status for each in complete(stub.spec(), [asks("q")], cache)] == ["ok"]
        assert len(stub.bodies) == calls + 1


def test_an_answer_cut_at_the_token_limit_is_paid_for_once(cache: ResponseCache) -> None:
    with Stub(lambda body, number: Says("I went to", finish_reason="length")) as stub:
        replies = [complete(stub.spec(), [asks("q")], cache)[0] for _ in range(2)]
        assert len(stub.bodies) == 1
        complete(stub.spec(), [asks("q", max_tokens=51)], cache)
        assert len(stub.bodies) == 2  # more tokens are another call
    assert {(reply.status, reply.text) for reply in replies} == {("truncated", "I went to")}


def _killed_client(spec: ModelParams, path: Path) -> None:
    with ResponseCache(path) as cache:
        complete(spec, [asks(f"q{number}") for number in range(40)], cache)


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    answered: list[str] = []

    def slowly(body: dict[str, Any], number: int) -> Says:
        time.sleep(0.02)
        answered.append(body["messages"][0]["content"])
        return echo(body, number)

    with Stub(slowly) as stub:
        spec = stub.spec(concurrency=2)
        child = multiprocessing.get_context("spawn").Process(
            target=_killed_client, args=(spec, path)
        )
        child.start()
        while len(answered) < 15:
            time.sleep(0.005)
        child.kill()
        child.join()
        with sqlite3.connect(path) as db:
            kept = db.execute("SELECT count(*) FROM answers").fetchone()[0]
        stub.bodies.clear()
        with ResponseCache(path) as cache:
            replies = complete(spec, [asks(f"q{number}") for number in range(40)], cache)
    assert kept >= 11  # all but those in flight
    assert len(stub.bodies) == 40 - kept
    assert [reply.text for reply in replies] == [f"Answer to q{number}." for number in range(40)]


# --- faults ---------------------------------------------------------------------------


def test_a_server_that_refuses_connections_is_named() -> None:
    endpoint = f"http://127.0.0.1:{free_port()}/v1"
    with pytest.raises(UserError) as error:
        complete(stub_spec([endpoint]), [asks("q")])
    assert "stub-1b" in error.value.message
    assert endpoint in error.value.message
    assert "start the server" in error.value.message
    assert "\n" not in error.value.message


def test_a_server_that_accepts_and_never_answers_is_named() -> None:
    with (
        Stub(models=Says(hang=True)) as stub,
        pytest.raises(UserError, match=f"{stub.endpoint}.*does not answer"),
    ):
        complete(stub.spec(), [asks("q")])
    assert stub.bodies == []


def test_a_server_that_lists_models_but_does_not_complete_is_found_by_the_probe() -> None:
    with (
        Stub(probe=Says(hang=True)) as stub,
        pytest.raises(UserError, match=f"{stub.endpoint}.*does not answer"),
    ):
        check_reachable(stub.spec(), patience=IMPATIENT)


def test_a_server_whose_completions_hang_in_the_middle_stops_the_run(cache: ResponseCache) -> None:
    def hangs_later(body: dict[str, Any], number: int) -> Says:
        if number >= 5:
            stub.probe = Says(hang=True)
            return Says(hang=True)
        return echo(body, number)

    requests = [asks(f"q{number}") for number in range(20)]
    with Stub(hangs_later) as stub:
        with pytest.raises(UserError, match=r"does not answer.*5 new answers are kept"):
            complete(stub.spec(), requests, cache)
        stub.script, stub.probe = echo, Says()
        stub.bodies.clear()
        replies = complete(stub.spec(), requests, cache)
        assert len(stub.bodies) == 15
    assert {reply.status for reply in replies} == {"ok"}


def test_a_server_that_dies_after_some_answers_loses_none_of_them(cache: ResponseCache) -> None:
    requests = [asks(f"q{number}") for number in range(20)]
    dies: Script = lambda body, number: Says(die=True) if number == 7 else echo(body, number)  # noqa: E731
    with Stub(dies) as stub:
        spec = stub.spec(concurrency=1)
        with pytest.raises(UserError, match="7 new answers are kept and 13 are missing"):
            complete(spec, requests, cache)
    with Stub(echo, port=stub.port) as revived:
        replies = complete(spec, requests, cache)
    assert len(revived.bodies) == 13
    assert [reply.text for reply in replies] == [f"Answer to q{number}." for number in range(20)]


def test_a_dead_endpoint_leaves_its_work_to_the_others() -> None:
    dies: Script = lambda body, number: Says(die=True) if number == 2 else echo(body, number)  # noqa: E731
    with Stub(dies) as weak, Stub(echo) as strong:
        spec = stub_spec([weak.endpoint, strong.endpoint], concurrency=2)
        replies = complete(spec, [asks(f"q{number}") for number in range(30)])
    assert [reply.text for reply in replies] == [f"Answer to q{number}." for number in range(30)]


def test_too_many_requests_waits_as_long_as_it_is_told() -> None:
    busy = Says(status=429, headers={"Retry-After": "0.3"}, body=b"{}")
    with Stub(first(busy)) as stub:
        replies = complete(stub.spec(), [asks("q")])
    assert replies[0].status == "ok"
    assert stub.arrivals[1] - stub.arrivals[0] >= 0.3


@pytest.mark.parametrize(
    "fault",
    [
        Says(status=500, body=b"{}"),
        Says(cut=40),
        Says(body=b'{"choices": [{"message"'),
        Says(body=b'{"choices": []}'),
        Says(body=b"<html>busy</html>"),
    ],
    ids=["500", "half a body", "invalid JSON", "no choice", "a web page"],
)
def test_a_fault_that_passes_leaves_no_trace(fault: Says) -> None:
    with Stub(first(fault, fault)) as stub:
        replies = complete(stub.spec(concurrency=1), [asks("q"), asks("r")])
    assert [reply.text for reply in replies] == ["Answer to q.", "Answer to r."]
    assert len(stub.bodies) == 4


def test_a_fault_that_stays_with_one_request_is_a_failed_reply_with_a_reason() -> None:
    def cursed(body: dict[str, Any], number: int) -> Says:
        bad = body["messages"][0]["content"] == "q3"
        return Says(status=503, body=b'{"error": "overloaded"}') if bad else echo(body, number)

    with Stub(cursed) as stub:
        replies = complete(stub.spec(), [asks(f"q{number}") for number in range(8)])
    assert [reply.status for reply in replies].count("ok") == 7
    assert replies[3].status == "failed"
    assert replies[3].text == ""
    assert replies[3].reason is not None and "503" in replies[3].reason


def test_faults_in_a_row_stop_the_run_with_one_line() -> None:
    broken = Says(status=500, body=b'{"error": "out of\nmemory"}')
    with (
        Stub(lambda body, number: broken) as stub,
        pytest.raises(
            UserError, match=r"6 times in a row, last: HTTP 500.*mend the server"
        ) as error,
    ):
        complete(stub.spec(), [asks(f"q{number}") for number in range(50)])
    assert len(stub.bodies) <= 6 + 4
    assert "\n" not in error.value.message


def test_faults_among_answers_do_not_stop_the_run() -> None:
    def flaky(body: dict[str, Any], number: int) -> Says:
        return Says(status=500, body=b"{}") if number % 3 == 0 else echo(body, number)

    with Stub(flaky) as stub:
        replies = complete(stub.spec(concurrency=1), [asks(f"q{number}") for number in range(20)])
    assert {reply.status for reply in replies} == {"ok"}
    assert len(stub.bodies) - 20 > IMPATIENT.faults_in_a_row


@pytest.mark.parametrize(
    ("status", "fields", "mend"),
    [
        (401, {"api_key_env": "STUB_KEY"}, "check the key in $STUB_KEY"),
        (403, {}, "name the variable with its key as api_key_env"),
        (404, {}, "correct id or endpoints"),
    ],
)
def test_a_wrong_key_or_model_stops_the_run_at_once(
    status: int, fields: dict[str, Any], mend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_KEY", "wrong")
    refusal = Says(status=status, body=b'{"error": "no such model"}')
    with Stub(probe=refusal) as stub, pytest.raises(UserError) as error:
        complete(stub.spec(**fields), [asks("q")])
    assert stub.bodies == []
    assert f"HTTP {status}" in error.value.message
    assert mend in error.value.message


def test_content_null_is_a_failure_and_never_a_text() -> None:
    thinking = {"reasoning_content": "Let me think"}
    with Stub(lambda body, number: Says(None, finish_reason="length", message=thinking)) as stub:
        reply = complete(stub.spec(), [asks("q")])[0]
    assert (reply.status, reply.text) == ("truncated_reasoning", "")


def test_an_answer_cut_at_the_token_limit_says_so() -> None:
    with Stub(lambda body, number: Says("I went to", finish_reason="length")) as stub:
        reply = complete(stub.spec(), [asks("q")])[0]
    assert (reply.status, reply.text) == ("truncated", "I went to")


def test_an_answer_of_five_megabytes_is_no_answer(cache: ResponseCache) -> None:
    with Stub(lambda body, number: Says("word " * 1_000_000)) as stub:
        reply = complete(stub.spec(), [asks("q")], cache)[0]
    assert reply.status == "failed"
    assert reply.reason == "an answer of 5000000 characters to max_tokens 50"
    assert reply.text == reply.raw == ""


def test_a_lone_surrogate_becomes_a_replacement_character(
    cache: ResponseCache, tmp_path: Path
) -> None:
    with Stub(lambda body, number: Says("up \ud83d and \ud83c\udfc3 away")) as stub:
        spec = stub.spec()
        reply = complete(spec, [asks("q")], cache)[0]
    assert reply.text == "up \ufffd and 🏃 away"
    assert reply.flags == ("replacement_character",)
    (tmp_path / "out.jsonl").write_text(reply.model_dump_json(), encoding="utf-8")
    assert complete(spec, [asks("q")], cache)[0].text == reply.text


def test_an_empty_answer_is_asked_for_again_with_other_seeds() -> None:
    with Stub(first(Says(" \n"), Says(""))) as stub:
        reply = complete(stub.spec(), [asks("q")])[0]
    seeds = [body["seed"] for body in stub.bodies]
    assert reply.text == "Answer to q."
    assert seeds[0] == 5
    assert len(set(seeds)) == 3
    assert reply.seed == seeds[2]


def test_empty_answers_end_after_a_bounded_number_of_calls() -> None:
    with Stub(lambda body, number: Says("")) as stub:
        reply = complete(stub.spec(), [asks("q")])[0]
    assert (reply.status, len(stub.bodies)) == ("empty", IMPATIENT.empty_attempts)


def _one_of_ten(spec: ModelParams, path: Path) -> None:
    with ResponseCache(path) as cache:
        replies = complete(spec, [asks(f"q{number}") for number in range(30)], cache)
    assert [reply.text for reply in replies] == [f"Answer to q{number}." for number in range(30)]


def test_ten_processes_share_one_cache(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    context = multiprocessing.get_context("fork")
    with Stub(echo) as stub:
        spec = stub.spec()
        children = [context.Process(target=_one_of_ten, args=(spec, path)) for _ in range(10)]
        for child in children:
            child.start()
        for child in children:
            child.join(60)
        assert [child.exitcode for child in children] == [0] * 10
        stub.bodies.clear()
        _one_of_ten(spec, path)
        assert stub.bodies == []


def test_a_full_disk_stops_the_run_and_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    requests = [asks(f"q{number}") for number in range(60)]
    long: Script = lambda body, number: Says("word " * 300)  # noqa: E731
    with Stub(long) as stub:
        with ResponseCache(path) as cache:
            pages = cache._db.execute("PRAGMA page_count").fetchone()[0]
            cache._db.execute(f"PRAGMA max_page_count = {pages + 10}")
            with pytest.raises(UserError, match=r"answers\.sqlite.*full; free some space"):
                complete(stub.spec(), requests, cache)
        with sqlite3.connect(path) as db:
            kept = db.execute("SELECT count(*) FROM answers").fetchone()[0]
        stub.bodies.clear()
        with ResponseCache(path) as cache:
            complete(stub.spec(), requests, cache)
        assert kept > 0
        assert len(stub.bodies) == 60 - kept


def test_a_file_that_is_no_cache_is_named(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(UserError, match=r"answers\.sqlite.*move it away"):
        ResponseCache(path)


def test_the_key_comes_from_the_environment_and_is_kept_nowhere(
    cache: ResponseCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STUB_KEY", raising=False)
    with Stub() as stub:
        spec = stub.spec(api_key_env="STUB_KEY")
        with pytest.raises(UserError, match=r"stub-1b.*\$STUB_KEY"):
            complete(spec, [asks("q")], cache)
        monkeypatch.setenv("STUB_KEY", "s3cret")
        reply = complete(spec, [asks("q")], cache)[0]
        assert stub.headers[0]["authorization"] == "Bearer s3cret"
    assert "s3cret" not in reply.model_dump_json()
    stored = cache._db.execute("SELECT * FROM answers").fetchall()
    assert "s3cret" not in json.dumps(stored)
