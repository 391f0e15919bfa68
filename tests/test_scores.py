"""Scores of a line, with an encoder whose cosines are worked out by hand."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from people import bundle, document
from personalbench.encoders.base import Vectors
from personalbench.judge.records import Judgement, TraitFinding
from personalbench.metrics.copying import CopyingLimits, copying
from personalbench.scores import Scores, score
from personalbench.twins.answers import Answer


class Compass:
    """Texts that start with ``East`` point one way, all others at a right angle to it."""

    family, name, revision, max_length = "compass", "compass-2d", "rev1", 12

    def token_counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([len(text.split()) for text in texts], np.int64)

    def document_vectors(self, texts: Sequence[str]) -> Vectors:
        return np.array(
            [[1, 0] if text.startswith("East") else [0, 1] for text in texts], np.float32
        ).reshape(-1, 2)

    def aggregate(self, vectors: Vectors) -> Vectors:
        return vectors.mean(axis=1)


def eastern(author: str = "ada", cases: int = 5):
    base = bundle(author, cases)
    return replace(
        base,
        profile=tuple(
            document(author, number, "profile", f"East of here, {number} the {author}.")
            for number in range(16)
        ),
    )


def answers(
    author: str, texts: Sequence[str], source: str = "twin", status: str = "ok"
) -> list[Answer]:
    return [
        Answer(author=author, case_id=f"case_{number:04}", source=source, text=text, status=status)
        for number, text in enumerate(texts, start=1)
    ]


def judged(
    answer: Answer, present: Sequence[bool] | None, same: bool | None, reason: str | None = None
) -> Judgement:
    return Judgement(
        author=answer.author,
        case_id=answer.case_id,
        source=answer.source,
        findings=None
        if present is None
        else tuple(TraitFinding(evidence="", present=value) for value in present),
        findings_reason=reason,
        same_author=same,
        same_author_reason=reason,
    )


def run(bundles, given: Sequence[Answer], judgements: Sequence[Judgement] = ()) -> Scores:
    return score("twin", bundles, given, judgements, Compass(), replicates=200, seed=1)


THREE_EAST = ["East a.", "East b.", "East c.", "North a.", "North b."]


def test_one_comparison_of_five_and_never_the_mean_of_single_ones() -> None:
    scores = run([eastern()], answers("ada", THREE_EAST))
    # T = (3/5, 2/5), P = (1, 0): cos = 0.6 / sqrt(0.52).
    assert scores.groups[0].likeness == pytest.approx(0.8320503, abs=1e-6)
    assert scores.summary["compass"].value == pytest.approx(0.8320503, abs=1e-6)
    # The single comparisons are 1, 1, 1, 0, 0.
    assert scores.summary["compass_1v5"].value == pytest.approx(0.6)


def test_the_mean_over_authors_groups_and_sources() -> None:
    given = [
        *answers("ada", THREE_EAST, source="x"),
        *answers("ada", ["East"] * 5, source="y"),
        *answers("ben", ["North"] * 5, source="x"),
    ]
    scores = run([eastern("ada"), eastern("ben")], given)
    assert [round(item.likeness, 4) for item in scores.groups] == [0.8321, 1.0, 0.0]
    assert scores.summary["compass"].value == pytest.approx((0.8320503 + 1 + 0) / 3, abs=1e-6)


def test_cases_beyond_complete_groups_are_named() -> None:
    scores = run([eastern(cases=12)], answers("ada", ["East"] * 12))
    assert len(scores.groups) == 2
    assert scores.leftover == {"ada": ("case_0011", "case_0012")}


def test_a_failed_answer_breaks_its_group_and_is_no_zero() -> None:
    given = (
        answers("ada", THREE_EAST[:4]) + answers("ada", ["", "", "", "", ""], status="empty")[4:]
    )
    scores = run([eastern()], given)
    assert scores.failed == 1
    assert scores.summary["compass"].value is None
    assert scores.summary["compass"].reason == "no author has a complete group of answers"
    # Four single comparisons are left: 1, 1, 1, 0.
    assert scores.summary["compass_1v5"].value == pytest.approx(0.75)
    assert len(scores.cases) == 4


def test_judgements_are_joined_by_id_and_failures_are_no_scores() -> None:
    given = answers("ada", THREE_EAST)
    judgements = [
        judged(given[3], [True, True, False, False, False], True),
        judged(given[0], [True] * 5, False),
        judged(given[1], None, None, reason="not JSON"),
    ]
    scores = run([eastern()], given, judgements)
    by_case = {case.case_id: case.metrics for case in scores.cases}
    assert by_case["case_0004"]["tmr"].value == pytest.approx(0.4)
    assert by_case["case_0001"]["tmr"].value == 1
    assert by_case["case_0002"]["tmr"].value is None
    assert "tmr" not in by_case["case_0005"]
    assert scores.summary["tmr"].value == pytest.approx(0.7)
    assert scores.summary["same_author"].value == pytest.approx(0.5)
    assert "1 of 3 not measured, for example: not JSON" in (scores.summary["tmr"].note or "")
    # Two of the six calls gave nothing.
    assert scores.judge_failures.value == pytest.approx(2 / 6)


def test_rouge_is_against_the_cases_own_document() -> None:
    ada = eastern()
    given = answers("ada", [item.text for item in ada.references])
    scores = run([ada], given)
    assert [case.metrics["rouge_l"].value for case in scores.cases] == [1.0] * 5
    turned = answers("ada", [item.text for item in (*ada.references[1:], ada.references[0])])
    assert all((case.metrics["rouge_l"].value or 0) < 1 for case in run([ada], turned).cases)


def test_copying_is_measured_against_what_the_twin_saw() -> None:
    ada = eastern()
    seen = ada.profile[7]
    copied = Answer(
        author="ada",
        case_id="case_0001",
        source="twin",
        seen=(seen.id,),
        text=f"Now: {seen.text} And more.",
    )
    scores = run([ada], [copied])
    # "East of here, 7 the ada." is six words.
    assert scores.cases[0].metrics["copied_run"].value == 6


def test_long_and_short_texts_are_counted() -> None:
    given = answers("ada", ["East " * 13, "East " * 60, "East", "East", "East"])
    scores = run([eastern()], given)
    assert scores.truncated == 2
    assert scores.unreliable == 4


def test_no_answers_at_all() -> None:
    scores = run([eastern()], [])
    assert scores.answers == 0
    assert scores.summary["compass"].value is None
    assert scores.judge_failures.value is None


def test_equal_values_have_no_interval_of_zero_width() -> None:
    given = answers("ada", THREE_EAST)
    scores = run([eastern()], given, [judged(item, [False] * 5, True) for item in given])
    assert scores.summary["tmr"].value == 0
    assert scores.summary["tmr"].ci_low is None
    assert "all values are equal" in (scores.summary["tmr"].reason or "")
    # A share of yes answers has Wilson's interval: 5 of 5 from 0.566.
    assert scores.summary["same_author"].ci_low == pytest.approx(0.566, abs=5e-4)


def test_copied_answers_are_flagged_and_likeness_is_shown_without_them() -> None:
    ada = eastern(cases=10)
    copied = f"East. {ada.profile[0].text} {ada.profile[1].text} And so on."
    texts = [copied, *["East b."] * 4, *THREE_EAST]
    seen = (ada.profile[0].id, ada.profile[1].id)
    given = [item.model_copy(update={"seen": seen}) for item in answers("ada", texts)]
    limits = CopyingLimits(run_words=6, share=0.9)
    scores = score("twin", [ada], given, (), Compass(), 200, 1, limits)
    assert scores.copied == 1
    assert [case.copied for case in scores.cases] == [True] + [False] * 9
    # The first group is out as a whole; ten single answers lose one of eight eastern ones.
    assert scores.summary["compass"].value == pytest.approx((1 + 0.8320503) / 2, abs=1e-6)
    assert scores.summary["compass_uncopied"].value == pytest.approx(0.8320503, abs=1e-6)
    assert scores.summary["compass_1v5_uncopied"].value == pytest.approx(7 / 9)
    run_ = scores.cases[0].metrics["copied_run"].value
    assert run_ is not None and run_ >= 6


def test_many_short_copied_runs_are_flagged_by_their_share() -> None:
    sources = ["one two three four five six", "seven eight nine ten eleven twelve"]
    found = copying("one two three four five, seven eight nine ten eleven.", sources)
    assert found.longest_run_words == 5
    assert CopyingLimits(run_words=10, share=0.3).reached(found)  # 2 of 6 5-grams
    assert not CopyingLimits(run_words=10, share=0.4).reached(found)
    assert CopyingLimits(run_words=5, share=1).reached(found)


def test_where_every_answer_is_copied_nothing_is_left_to_measure() -> None:
    ada = eastern()
    given = [
        item.model_copy(update={"seen": (ada.profile[0].id,)})
        for item in answers("ada", [ada.profile[0].text] * 5)
    ]
    scores = score("twin", [ada], given, (), Compass(), 200, 1, CopyingLimits(run_words=3))
    assert scores.summary["compass_uncopied"].value is None
    assert scores.summary["compass_1v5_uncopied"].reason == "every answer is copied"


def test_without_a_copied_answer_there_is_nothing_to_leave_out() -> None:
    scores = run([eastern()], answers("ada", THREE_EAST))
    assert scores.copied == 0
    assert not [name for name in scores.summary if name.endswith("uncopied")]


def test_missing_verdicts_bound_the_share_of_yes() -> None:
    given = answers("ada", THREE_EAST[:4])
    verdicts = [True, False, None, True]
    judgements = [
        judged(item, None, verdict, reason="not JSON")
        for item, verdict in zip(given, verdicts, strict=True)
    ]
    share = run([eastern()], given, judgements).summary["same_author"]
    assert (share.value, share.n) == (pytest.approx(2 / 3), 3)
    assert "1 of 4 not measured" in (share.note or "")
    assert "between 0.500 and 0.750" in (share.note or "")


def test_an_answer_without_a_text_is_no_failure_of_the_judge() -> None:
    given = [*answers("ada", THREE_EAST[:4]), *answers("ada", [""] * 5, status="empty")[4:]]
    judgements = [
        *(judged(item, [True] * 5, True) for item in given[:4]),
        judged(given[4], None, None, reason="no text to judge: empty"),
    ]
    failures = run([eastern()], given, judgements).judge_failures
    assert (failures.value, failures.n) == (0, 8)
