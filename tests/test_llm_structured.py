"""Answers that follow a schema, strictly or not at all."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from llm_stub import IMPATIENT, Says, Script, Stub
from personalbench.llm.client import open_model
from personalbench.llm.structured import Answer, InvalidAnswer, ask, parse, schema_of
from personalbench.llm.types import Message, Request


class Verdict(BaseModel):
    same_author: bool
    reason: str


YES = '{"same_author": true, "reason": "uses { and }"}'


@pytest.mark.parametrize(
    "text",
    [
        YES,
        f"Sure:\n```json\n{YES}\n```",
        f"Sure:\n```json\n{YES}\n``` ",
        f"The answer is {YES}, I think.",
        f"{YES}\n{YES}",
        f"Sets like {{a, b}} aside: {YES}",
    ],
)
def test_fences_and_prose_are_tolerated(text: str) -> None:
    assert parse(text, Verdict) == Verdict(same_author=True, reason="uses { and }")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON object"),
        ("true", "no JSON object"),
        ("Yes, the same author.", "no JSON object"),
        ("{'same_author': true, 'reason': 'x'}", "no JSON object"),
        ("{'outer': " + YES + "}", "no JSON object"),
        (YES[:-1], "cut off"),
        (YES[:20], "cut off"),
        ('{"same_author": true}', "reason"),
        ('{"same_author": "yes", "reason": "x"}', "same_author"),
        ('{"same_author": 1, "reason": "x"}', "same_author"),
        ('{"same_author": true, "reason": "x", "score": 3}', "score"),
        ('{"same_author": true, "same_author": false, "reason": "x"}', "given twice"),
        ('{"same_author": NaN, "reason": "x"}', "NaN"),
        ('{"same_author": true "reason": "x"}', "not JSON"),
        ('{"same_author": ' + "[" * 100_000 + "}", "not JSON"),
        ('{"same_author": ' + "1" * 5_000 + "}", "not JSON"),
        (YES + '{"same_author": false, "reason": "x"}', "contradicts"),
    ],
)
def test_everything_else_is_invalid_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidAnswer, match=reason):
        parse(text, Verdict)


@given(st.booleans(), st.text())
def test_any_record_is_read_back_out_of_prose(same_author: bool, reason: str) -> None:
    record = {"same_author": same_author, "reason": reason}
    text = f"I say:\n{json.dumps(record)}\nThat is all."
    if reason.encode("utf-16", "surrogatepass") == reason.encode("utf-16", "replace"):
        assert parse(text, Verdict).model_dump() == record


class Score(BaseModel):
    score: int


@pytest.mark.parametrize("text", ["5 reasons follow. Score: 9", "8/10", '{"score": "8"}'])
def test_a_number_is_never_picked_out_of_prose(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        parse(text, Score)


def ask_stub(script: Script, number: int = 1) -> tuple[list[Answer[Verdict]], Stub]:
    requests = [
        Request(
            messages=(Message(role="user", content=f"q{index}"),),
            temperature=0.0,
            max_tokens=60,
            seed=index,
        )
        for index in range(number)
    ]
    with (
        Stub(script) as stub,
        open_model(stub.spec(concurrency=1), cache=None, patience=IMPATIENT) as model,
    ):
        return ask(model, requests, Verdict, "test"), stub


def test_the_schema_goes_with_the_request() -> None:
    answers, stub = ask_stub(lambda body, number: Says(YES))
    assert answers[0].record == Verdict(same_author=True, reason="uses { and }")
    sent = stub.bodies[0]["response_format"]["json_schema"]["schema"]
    assert sent == schema_of(Verdict)
    assert sent["additionalProperties"] is False
    assert sent["required"] == ["same_author", "reason"]


def test_an_invalid_answer_is_asked_for_again_with_another_seed() -> None:
    def later(body: dict[str, Any], number: int) -> Says:
        return Says("Yes.") if body["seed"] == 1 else Says(YES)

    answers, stub = ask_stub(later, 3)
    assert [answer.status for answer in answers] == ["ok"] * 3
    assert [answer.asked for answer in answers] == [1, 2, 1]
    assert len(stub.bodies) == 4
    # At temperature 0 the same question would have the same answer.
    assert sorted(body["temperature"] for body in stub.bodies) == [0.0, 0.0, 0.0, 0.7]


def test_an_answer_invalid_three_times_stays_invalid() -> None:
    answers, stub = ask_stub(lambda body, number: Says("Yes."))
    assert (answers[0].status, answers[0].record, answers[0].asked) == ("invalid", None, 3)
    assert answers[0].reason == "no JSON object in the answer"
    assert len({body["seed"] for body in stub.bodies}) == len(stub.bodies) == 3


@pytest.mark.parametrize(
    ("says", "status"),
    [
        (Says(YES[:20], finish_reason="length"), "truncated"),
        (Says(YES, finish_reason="length"), "truncated"),
        (Says("I'm sorry, I can't help with that."), "refused"),
        (Says(status=400, body=b"{}"), "failed"),
    ],
)
def test_a_reply_that_is_no_whole_answer_keeps_its_status(says: Says, status: str) -> None:
    answers, _ = ask_stub(lambda body, number: says)
    assert (answers[0].status, answers[0].record) == (status, None)
