"""Stages that ask a model: the limit on failures, what is written down, and what is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from llm_stub import IMPATIENT, Says, Stub
from people import bundle
from personalbench import paths
from personalbench.bundle import freeze
from personalbench.errors import UserError
from personalbench.judge.records import AuthorTraits
from personalbench.llm import client
from personalbench.llm.check import check_model
from personalbench.llm.usage import read_usage
from personalbench.params import ModelParams, Params, load_params
from personalbench.stages import judge, personalize, traits
from personalbench.storage import write_records

SHIPPED = Path(__file__).parent.parent / "params.yaml"
QUESTIONS = tuple(f"Does it show manner {number}?" for number in range(5))
FOUND = json.dumps({"findings": [{"evidence": "e", "present": True} for _ in range(5)]})
SAME = json.dumps({"reason": "alike", "same_author": True})


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(client, "Patience", lambda: IMPATIENT)
    freeze(bundle(), paths.BUNDLES / "ada")
    known = AuthorTraits(author="ada", questions=QUESTIONS, documents=())
    write_records(paths.TRAITS, [known])
    return tmp_path


def params(spec: ModelParams, limit: float = 0.05) -> Params:
    """The shipped ones with one model for everything."""
    shipped = load_params(SHIPPED)
    spec._name = "mine"
    changes = {
        "templates": None,
        "models": {"mine": spec},
        "personalize": shipped.personalize.model_copy(
            update={"generator": "mine", "max_failure_rate": limit}
        ),
        "judge": shipped.judge.model_copy(update={"model": "mine", "max_failure_rate": limit}),
    }
    return shipped.model_copy(update=changes)


def says(body: dict[str, Any], number: int) -> Says:
    """A writer and a judge that work."""
    if "response_format" not in body:
        return Says("I went out today.")
    fields = body["response_format"]["json_schema"]["schema"]["properties"]
    return Says(FOUND if "findings" in fields else SAME)


def test_too_many_failed_answers_stop_a_twin_and_what_was_answered_is_kept() -> None:
    def two_are_refused(body: dict[str, Any], number: int) -> Says:
        refused = body["messages"][-1]["content"].endswith(("matter 1.", "matter 2."))
        return Says(status=400, body=b'{"error": "too long"}') if refused else says(body, number)

    with Stub(two_are_refused) as stub:
        with pytest.raises(UserError) as error:
            personalize.run(params(stub.spec()), "non_personalized")
        assert error.value.message == (
            "personalize: non_personalized: 2 of 5 have no usable answer, more than 5%; the "
            'commonest reason (2 times): HTTP 400: {"error": "too long"}; see to mine '
            "(personalbench models check mine) and run again, or raise "
            "personalize.max_failure_rate; what was answered is kept"
        )
        assert not (paths.ANSWERS / "non_personalized.jsonl").exists()

        stub.bodies.clear()
        allowed = personalize.run(params(stub.spec(), limit=0.4), "non_personalized")
        assert "5 answers, 2 failed" in allowed
        assert len(stub.bodies) == 2  # the two that failed, asked once more
        used = read_usage(paths.USAGE, ["non_personalized"])[0]
        assert (used.model, used.questions, used.failed, used.replies) == ("mine", 5, 2, 5)
        assert used.statuses == {"failed": 2, "ok": 3}


def test_usage_is_the_same_when_all_answers_come_from_the_cache(project: Path) -> None:
    with Stub(says) as stub:
        personalize.run(params(stub.spec()), "few_shot")
        path = paths.USAGE / "personalize/few_shot.jsonl"
        before = path.read_bytes()
        path.unlink()
        personalize.run(params(stub.spec()), "few_shot")
        assert path.read_bytes() == before
        assert len(stub.bodies) == 5
    used = read_usage(paths.USAGE, ["few_shot"])[0]
    assert (used.stage, used.item, used.seeds) == ("personalize", "few_shot", "sent")
    assert (used.prompt_tokens, used.completion_tokens) == (5 * 11, 5 * 3)
    assert used.busy_seconds > 0
    assert read_usage(paths.USAGE, ["another"]) == []


def test_too_many_unusable_verdicts_stop_the_judge() -> None:
    def mumbles(body: dict[str, Any], number: int) -> Says:
        good = says(body, number)
        return Says("Maybe.") if good.content == SAME else good

    with Stub(says) as stub:
        personalize.run(params(stub.spec()), "few_shot")
        stub.script = mumbles
        with pytest.raises(UserError, match=r"^judge: few_shot: 5 of 10 .*\(5 times\): no JSON"):
            judge.run(params(stub.spec(), limit=0.45), "few_shot")
        assert judge.run(params(stub.spec(), limit=0.5), "few_shot").startswith("judge: few_shot: ")
    used = {each.stage: each for each in read_usage(paths.USAGE, ["few_shot"])}["judge"]
    # Every mumbled verdict was asked for twice more.
    assert (used.questions, used.failed, used.replies) == (10, 5, 20)


def test_an_author_without_questions_stops_the_traits() -> None:
    with (
        Stub(lambda body, number: Says("No idea.")) as stub,
        pytest.raises(UserError, match=r"^traits: 1 of 1 .*judge\.max_failure_rate"),
    ):
        traits.run(params(stub.spec()))


def test_a_run_says_when_seeds_are_not_sent_or_ignored() -> None:
    with Stub(says) as stub:
        seedless = stub.spec(send_seed=False)
        assert "; mine gets no seed: only" in personalize.run(params(seedless), "few_shot")
        deaf = stub.spec(structured=False)
        told = params(deaf)
        assert "seed" not in personalize.run(told, "few_shot")
        check_model(told.models["mine"]).keep()  # the stub says the same to every seed
        assert "; mine ignores the seed: only" in personalize.run(told, "few_shot")
        assert read_usage(paths.USAGE, ["few_shot"])[0].seeds == "ignored"
        with Stub(says) as moved:  # what was found elsewhere does not hold here
            assert "seed" not in personalize.run(params(moved.spec()), "few_shot")


def test_a_twin_takes_what_nobody_sets_from_its_model() -> None:
    with Stub(says) as stub:
        given = params(stub.spec(temperature=1.2, max_tokens=333))
        personalize.run(given, "non_personalized")
        silent = given.personalize.model_copy(update={"temperature": None, "max_tokens": None})
        personalize.run(given.model_copy(update={"personalize": silent}), "non_personalized")
    sent = {(body["temperature"], body["max_tokens"]) for body in stub.bodies}
    assert sent == {(0.7, 200), (1.2, 333)}
