"""Lines compared, with vectors whose cosines are known and on an invented run."""

import numpy as np
import pytest

from invented import WordEncoder, invented_run
from people import corpus
from personalbench.analysis.comparisons import case_comparisons, likeness_comparisons
from personalbench.analysis.fingerprint import REAL, fingerprints
from personalbench.analysis.likeness import (
    AnswerGroup,
    Resampling,
    aggregation,
    generated_sets,
    other_profiles,
    target_test,
)
from personalbench.analysis.records import Analysis
from test_scores import Compass, answers, eastern, run

RESAMPLING = Resampling(200, 1)
EAST, NORTH = np.array([[1, 0]] * 5, np.float32), np.array([[0, 1]] * 5, np.float32)
HALF = np.array([[1, 0], [0, 1]] * 2 + [[1, 0]], np.float32)  # mean (0.6, 0.4)


def group(author: str, vectors: np.ndarray) -> AnswerGroup:
    return AnswerGroup(author, tuple(f"case_{n:04}" for n in range(1, 6)), vectors)


def test_each_group_is_held_against_its_target_and_all_others() -> None:
    profiles = {"ada": EAST, "ben": NORTH, "cleo": NORTH}
    groups = [group("ada", EAST), group("ben", HALF)]
    test = target_test("twin", groups, profiles, Compass(), RESAMPLING)
    # ada: own 1, others 0 and 0. ben: own 0.4 / sqrt(0.52), others 0.6 and 0.4 / sqrt(0.52).
    length = 0.52**0.5
    assert test.own.value == pytest.approx((1 + 0.4 / length) / 2)
    assert test.others.value == pytest.approx((0.6 / length + 0.4 / length) / 4)
    # Own 1 beats all four; own 0.555 beats the two zeros, ties with one, loses to one.
    assert test.auc.value == pytest.approx((4 + 2.5) / 8)
    assert test.profiles == 2


def test_a_target_without_others_has_no_auc() -> None:
    test = target_test("twin", [group("ada", EAST)], {"ada": EAST}, Compass(), RESAMPLING)
    assert test.others.value is None and test.auc.value is None
    assert target_test("twin", [], {"ada": EAST}, Compass(), RESAMPLING).own.reason == "no values"


def test_generated_sets_are_paired_between_twins_only() -> None:
    groups = {
        "few_shot": [group("ada", EAST), group("ben", NORTH)],
        "profile": [group("ada", EAST), group("ben", HALF)],
    }
    found = generated_sets(groups, {"ada": EAST, "ben": NORTH}, Compass(), RESAMPLING)
    length = 0.52**0.5
    assert found.same_target.value == pytest.approx((1 + 0.4 / length) / 2)
    assert found.same_target.n == 2
    assert found.other_target.value == pytest.approx((0.6 / length + 0) / 2)
    # 1 beats both; 0.555 beats 0 and loses to 0.832.
    assert found.auc.value == pytest.approx(0.75)
    assert found.to_real.value == pytest.approx((1 + 1 + 1 + 0.4 / length) / 4)


def test_fingerprints_hold_sets_for_different_targets_against_each_other() -> None:
    groups = {
        "ceiling": [group("ada", NORTH), group("ben", NORTH)],
        "few_shot": [group("ada", EAST), group("ben", HALF)],
        "profile": [group("ada", EAST)],
        "mine": [group("ben", NORTH)],
    }
    writers = {"few_shot": "model", "profile": "model", "mine": "mine"}
    found = {
        (item.first, item.second): item.likeness
        for item in fingerprints(groups, writers, Compass(), RESAMPLING)
    }
    length = 0.52**0.5
    # ada's two sets by the model against ben's: the two for ada are no pair.
    assert found["model", "model"].value == pytest.approx(0.6 / length)
    assert found["model", "model"].n == 2
    # ada's sets point east, ben's own set north.
    assert found["model", "mine"].value == pytest.approx(0)
    assert found["model", REAL].value == pytest.approx((0 + 0 + 0.4 / length) / 3)
    assert found[REAL, REAL].value == pytest.approx(1)
    assert found["mine", "mine"].reason == "sets for two different targets are needed"


def test_a_writer_without_a_complete_group_has_no_fingerprint() -> None:
    groups = {"ceiling": [group("ada", NORTH)], "few_shot": []}
    found = fingerprints(groups, {"few_shot": "model"}, Compass(), RESAMPLING)
    assert {item.likeness.reason for item in found[:2]} == {"no complete group of answers"}


def test_one_twin_has_no_generated_pairs() -> None:
    groups = {"few_shot": [group("ada", EAST)]}
    found = generated_sets(groups, {"ada": EAST}, Compass(), RESAMPLING)
    assert found.same_target.reason == "no pairs"
    assert found.auc.value is None
    assert found.to_real.value == 1


def test_likeness_by_number_of_documents() -> None:
    points = aggregation("twin", [group("ada", HALF)], {"ada": EAST}, Compass(), RESAMPLING)
    assert [point.documents for point in points] == [1, 2, 3, 4, 5]
    # Three of five single documents point east.
    assert points[0].likeness.value == pytest.approx(0.6)
    assert points[4].likeness.value == pytest.approx(0.6 / 0.52**0.5)
    assert aggregation("twin", [], {"ada": EAST}, Compass(), RESAMPLING) == []


def test_other_profiles_are_those_of_the_validation_and_leave_out_short_authors() -> None:
    documents = [*corpus(("ada", "ben", "cleo")), *corpus(("dan",), profile=4)]
    encoder = WordEncoder()
    found = other_profiles({"ada": EAST}, documents, 5, encoder, seed=1)
    assert set(found) == {"ben", "cleo"}
    assert found["ben"].shape == (5, 60)
    fewer = other_profiles({"ada": EAST}, documents[::-1], 5, encoder, seed=1)
    assert np.array_equal(found["cleo"], fewer["cleo"])


def test_twins_are_compared_by_planned_case_and_gaps_are_counted() -> None:
    bundles = [eastern("ada"), eastern("ben")]
    whole = run(bundles, [*answers("ada", ["East"] * 5), *answers("ben", ["East"] * 5)])
    gap = run(
        bundles,
        [
            *answers("ada", ["North"] * 4),
            *answers("ada", ["East"] * 5, status="empty")[4:],
            *answers("ben", ["East"] * 5),
        ],
    )
    twins = [whole, gap.model_copy(update={"line": "gap"})]
    (found,) = case_comparisons("rouge_l", twins, bundles, RESAMPLING)
    assert (found.first, found.second) == ("twin", "gap")
    assert found.comparison.dropped == 1
    assert found.comparison.p_adjusted == found.comparison.p
    # ROUGE-L has no worse end; function words have.
    assert found.failures_as_worst is None
    (other,) = case_comparisons("func_cos", twins, bundles, RESAMPLING)
    assert other.failures_as_worst is not None and other.failures_as_worst.dropped == 0


def test_likeness_is_compared_over_groups_that_both_have() -> None:
    bundles = [eastern("ada"), eastern("ben")]
    groups = {
        "one": [group("ada", EAST), group("ben", HALF)],
        "two": [group("ada", HALF)],
    }
    profiles = {"ada": EAST, "ben": EAST}
    (found,) = likeness_comparisons(groups, profiles, bundles, Compass(), RESAMPLING)
    assert found.comparison.dropped == 1
    assert found.comparison.difference.value == pytest.approx(1 - 0.6 / 0.52**0.5)
    assert found.detectable.found == pytest.approx(1 - 0.6 / 0.52**0.5)


def test_the_analysis_of_a_whole_run_survives_json() -> None:
    analysis = invented_run(authors=3).analysis
    assert Analysis.model_validate_json(analysis.model_dump_json()) == analysis
    lines = {point.line for point in analysis.aggregation}
    assert lines == {"ceiling", "non_personalized", "few_shot", "profile", "contrastive", "floor"}
    # Six pairs of four twins by six metrics; fifteen pairs of six metrics.
    assert len(analysis.comparisons) == 36
    assert len(analysis.correlations) == 15
