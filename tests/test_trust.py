"""How far a judge can be trusted: judges that know, that guess, and that always say yes."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from llm_stub import IMPATIENT, Says, Stub
from people import bundle, corpus
from personalbench.bundle import reference_documents
from personalbench.judge.again import Again, ask_again
from personalbench.judge.judge import judge
from personalbench.judge.records import AuthorTraits, Judgement, TraitFinding
from personalbench.judge.trust import NO_FLOOR, Trust, trust
from personalbench.llm.client import open_model
from personalbench.params import JudgeParams, ModelParams, TrustParams
from personalbench.references import ceiling, floor, one_per_case
from personalbench.storage import read_json, write_json
from personalbench.twins.answers import Answer

AUTHORS = ("ada", "ben", "cleo", "dan")
SPEC = ModelParams(
    kind="server", family="fam", id="judge-1b", revision="1", endpoints=["http://x"], logprobs=True
)
QUESTIONS = tuple(f"Are the sentences of kind number {number}?" for number in range(5))
NOTHING = Again((), (), (), ())


def said(
    author: str,
    case: int,
    present: int | None,
    same: bool | None,
    probability: float | None = None,
    source: str = "s",
) -> Judgement:
    return Judgement(
        author=author,
        case_id=f"case_{case:04}",
        source=source,
        findings=None
        if present is None
        else tuple(TraitFinding(evidence="", present=number < present) for number in range(5)),
        same_author=same,
        probability=probability,
    )


def line(
    present: int | None, same: bool | None, probability: float | None = None
) -> list[Judgement]:
    return [
        said(author, case, present, same, probability) for author in AUTHORS for case in range(1, 4)
    ]


def traits(questions: tuple[str, ...] | None = QUESTIONS, author: str = "ada") -> AuthorTraits:
    return AuthorTraits(author=author, questions=questions, reason="none", documents=())


def measured(
    judgements: dict[str, list[Judgement]],
    again: Again = NOTHING,
    known: Sequence[AuthorTraits] = tuple(traits(author=author) for author in AUTHORS),
    writers: dict[str, tuple[str, ModelParams]] | None = None,
    spec: ModelParams = SPEC,
) -> Trust:
    return trust("judge", judgements, known, again, writers or {}, spec, 200, 1)


def test_a_judge_that_knows_separates_the_authors_from_others() -> None:
    found = measured({"ceiling": line(4, True, 0.9), "floor": line(1, False, 0.2)})
    assert [lens.metric for lens in found.separations] == ["tmr", "same_author"]
    assert [lens.difference.value for lens in found.separations] == pytest.approx([0.6, 1])
    assert [lens.separates for lens in found.separations] == [True, True]
    assert found.verdict_auc.value == 1
    assert found.yes_rate.value == 0.5 and found.yes_rate_floor.value == 0
    assert found.trait_yes_rate.value == 0.5


def test_a_judge_that_always_says_yes_separates_nothing() -> None:
    found = measured({"ceiling": line(5, True), "floor": line(5, True)})
    assert [lens.separates for lens in found.separations] == [False, False]
    # An interval from 0 to 0 would look certain.
    assert [lens.difference.ci_low for lens in found.separations] == [None, None]
    assert found.yes_rate_floor.value == 1
    assert found.verdict_auc.reason == "the endpoint gave no log-probabilities of the verdicts"


def test_the_interval_resamples_authors() -> None:
    """Three authors far apart and one the other way round: one author too few to be sure."""
    own = [said(author, 1, 3, author != "dan") for author in AUTHORS]
    others = [said(author, 1, 3, author == "dan") for author in AUTHORS]
    lens = measured({"ceiling": own, "floor": others}).separations[1]
    assert lens.difference.value == 0.5
    assert lens.separates is False


def test_failed_calls_are_counted_and_are_in_no_share() -> None:
    own = [said("ada", 1, None, None), said("ada", 2, 5, True), said("ben", 1, None, True)]
    others = [said("ada", 1, 0, False), said("ada", 2, None, False), said("ben", 1, None, None)]
    found = measured(
        {"ceiling": own, "floor": others}, known=(traits(), traits(None, author="ben"))
    )
    assert found.failures["questions"].value == 0.5
    # ben has no questions, so nobody could score his texts.
    assert (found.failures["findings"].value, found.failures["findings"].n) == (0.5, 4)
    assert found.failures["verdicts"].value == pytest.approx(2 / 6)
    assert (found.yes_rate.value, found.yes_rate.n) == (0.5, 4)
    # Only the second case was judged on both sides.
    assert found.separations[1].difference.n == 1


def test_a_corpus_of_one_has_no_floor() -> None:
    found = measured({"ceiling": line(3, True, 0.5), "floor": []})
    assert {lens.difference.reason for lens in found.separations} == {NO_FLOOR}
    assert found.separations[0].separates is None
    assert found.yes_rate_floor.reason == found.verdict_auc.reason == NO_FLOOR


def test_no_log_probabilities_asked_for() -> None:
    spec = SPEC.model_copy(update={"logprobs": False})
    found = measured({"ceiling": line(3, True), "floor": line(3, True)}, spec=spec)
    assert found.verdict_auc.reason == "the judge's entry in params.yaml has no logprobs"


def test_circularity_names_the_twins_above_the_author() -> None:
    found = measured(
        {
            "ceiling": line(3, True),
            "floor": line(1, True),
            "profile": line(4, True),
            "few_shot": line(3, True),
            "mute": line(None, None),
        }
    )
    assert [(item.twin, item.tmr, item.ceiling) for item in found.circular] == [
        ("profile", pytest.approx(0.8), pytest.approx(0.6))
    ]


def test_a_judge_of_the_generators_family_may_prefer_its_own() -> None:
    cousin = SPEC.model_copy(update={"id": "writer-9b"})
    stranger = SPEC.model_copy(update={"id": "other-1b", "family": "other"})
    found = measured(
        {"ceiling": line(3, True), "floor": line(1, True)},
        writers={"a": ("same", SPEC), "b": ("cousin", cousin), "c": ("stranger", stranger)},
    )
    assert [(item.twin, item.generator, item.same_model) for item in found.self_preference] == [
        ("a", "same", True),
        ("b", "cousin", False),
    ]


def test_stability_of_questions() -> None:
    other = tuple(f"Does this person shout in way {number}?" for number in range(5))
    half = (*QUESTIONS[:3], *other[:2])
    extractions = (
        (traits(QUESTIONS, "ada"), traits(other, "ben")),
        (traits(half, "ada"), traits(other, "ben")),
        (traits(None, "ada"), traits(None, "ben")),
    )
    again = Again(extractions, (), (), ())
    found = measured({"ceiling": line(3, True), "floor": line(1, True)}, again).stability
    # ada: 3 of 7 different questions are in both; ben: all.
    assert found.exact.value == pytest.approx((3 / 7 + 1) / 2)
    assert found.exact.n == 2
    assert (found.failed, found.asked) == (2, 6)
    assert found.soft.value is not None and found.soft_others.value is not None
    assert found.soft.value > found.soft_others.value


def test_nothing_extracted_is_missing_with_a_reason() -> None:
    again = Again(((traits(None),), (traits(None),)), (), (), ())
    found = measured({"ceiling": line(3, True), "floor": line(1, True)}, again)
    assert found.stability.exact.reason == "no author has two lists"
    assert found.repeat_verdicts.kappa.reason == "no question was answered twice"


def asked_again(
    script: Callable[[dict[str, Any], int], Says], texts: int = 4
) -> tuple[Again, list[dict[str, Any]]]:
    bundles = [bundle(author) for author in ("ada", "ben")]
    known = {author: traits(author=author) for author in ("ada", "ben")}
    real: dict[str, list[Answer]] = {
        "ceiling": [answer for each in bundles for answer in ceiling(each)],
        "floor": one_per_case([answer for each in bundles for answer in floor(each, corpus(), 1)]),
    }
    params = JudgeParams(model="judge")
    references = reference_documents(bundles)
    with Stub(script) as stub, open_model(stub.spec(), cache=None, patience=IMPATIENT) as model:
        judgements = {
            name: judge(answers, known, references, params, 1, model)
            for name, answers in real.items()
        }
        before = len(stub.bodies)
        again = ask_again(
            bundles,
            real,
            judgements,
            known,
            references,
            params,
            TrustParams(authors=1, extractions=2, texts=texts),
            1,
            model,
        )
        return again, stub.bodies[before:]


def fields(body: dict[str, Any]) -> set[str]:
    return set(body["response_format"]["json_schema"]["schema"]["properties"])


def shown(body: dict[str, Any]) -> list[str]:
    """The two texts of call 2b."""
    parts = body["messages"][-1]["content"].split("<text>")[1:]
    return [part.split("</text>")[0].strip() for part in parts]


def well_behaved(body: dict[str, Any], number: int) -> Says:
    """Says yes where the two texts name the same author, in either order."""
    if "questions" in fields(body):
        return Says(json.dumps({"questions": [f"Is it of kind {number}, {n}?" for n in range(5)]}))
    if "findings" in fields(body):
        return Says(
            json.dumps({"findings": [{"evidence": "", "present": n < 3} for n in range(5)]})
        )
    authors = {re.search(r"the (\w+)reference", text).group(1) for text in shown(body)}  # type: ignore[union-attr]
    return Says(json.dumps({"reason": "r", "same_author": len(authors) == 1}))


def test_a_sample_of_real_text_is_judged_again_and_turned_round() -> None:
    again, bodies = asked_again(well_behaved)
    assert len(again.first) == len(again.second) == len(again.swapped) == 4
    # Half of them are the authors' own.
    assert [item.same_author for item in again.first].count(True) == 2
    assert [item.same_author for item in again.first] == [item.same_author for item in again.second]
    fields = [
        set(body["response_format"]["json_schema"]["schema"]["properties"]) for body in bodies
    ]
    assert sum("findings" in each for each in fields) == 4
    assert sum("same_author" in each for each in fields) == 8
    assert sum("questions" in each for each in fields) == 2
    assert {body["temperature"] for body in bodies if "questions" in str(body)} >= {0.7}


def test_the_order_effect_is_seen() -> None:
    def order_alone(body: dict[str, Any], number: int) -> Says:
        if "same_author" not in fields(body):
            return well_behaved(body, number)
        first, second = shown(body)
        return Says(json.dumps({"reason": "r", "same_author": first < second}))

    again, _ = asked_again(order_alone, texts=6)
    found = measured({"ceiling": line(3, True), "floor": line(1, True)}, again)
    assert found.order.share.value == 0
    assert found.repeat_verdicts.share.value == 1


def test_the_record_is_written_and_read_back(tmp_path: Any) -> None:
    found = measured({"ceiling": line(4, True, 0.9), "floor": line(1, False, 0.2)})
    write_json(tmp_path / "trust.json", found.model_dump(mode="json"))
    assert Trust.model_validate(read_json(tmp_path / "trust.json")) == found
