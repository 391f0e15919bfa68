"""A judge's agreement with itself, with values worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personalbench.metrics.agreement import (
    SoftOverlap,
    agreement,
    jaccard,
    overlap_between,
    overlap_within,
)

YES, NO = True, False


def test_kappa_is_what_is_left_of_agreement_without_chance() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: agreement 0.7, by chance 0.5, kappa 0.4.
    first = [YES] * 25 + [NO] * 25
    second = [YES] * 20 + [NO] * 5 + [YES] * 10 + [NO] * 15
    found = agreement({"ada": first}, {"ada": second}, 200, 1)
    assert found.share.value == pytest.approx(0.7)
    assert found.kappa.value == pytest.approx(0.4)
    assert found.kappa.n == 50


def test_one_answer_for_everything_has_no_kappa() -> None:
    found = agreement({"ada": [YES] * 4}, {"ada": [YES] * 4}, 200, 1)
    assert found.share.value == 1
    assert found.kappa.value is None
    assert found.kappa.reason == "every answer was yes: agreement beyond chance is undefined"


def test_only_one_side_constant_is_kappa_zero() -> None:
    assert agreement({"a": [YES] * 4}, {"a": [YES, NO] * 2}, 200, 1).kappa.value == 0


def test_failed_calls_are_left_out_in_pairs() -> None:
    found = agreement(
        {"ada": [YES, None, NO], "ben": [None]}, {"ada": [YES, NO, None], "ben": [YES]}, 200, 1
    )
    assert (found.share.value, found.share.n, found.share.authors) == (1, 1, 1)
    nothing = agreement({"ada": [None]}, {"ada": [YES]}, 200, 1)
    assert nothing.share.reason == nothing.kappa.reason == "no question was answered twice"


def test_labels_are_the_same_whatever_their_case_and_punctuation() -> None:
    assert jaccard(["Short sentences?", "Dashes"], ["short  sentences", "Commas"]) == 1 / 3


def test_soft_overlap_knows_a_rewording_from_another_question() -> None:
    labels = [
        "Does the writer use dashes?",
        "Does the writer make use of dashes?",
        "Does the writer shout?",
    ]
    overlap = SoftOverlap(labels)
    assert overlap(labels[:1], labels[:1]) == pytest.approx(1)
    assert overlap(labels[:1], labels[1:2]) > overlap(labels[:1], labels[2:])
    assert jaccard(labels[:1], labels[1:2]) == 0


@given(
    st.lists(
        st.lists(st.sampled_from(["one word", "two words", "three", "four"]), min_size=1),
        min_size=2,
        max_size=2,
    )
)
def test_overlaps_are_symmetric_and_between_0_and_1(lists: list[list[str]]) -> None:
    first, second = lists
    for overlap in (jaccard, SoftOverlap([*first, *second])):
        value = overlap(first, second)
        assert -1e-9 <= value <= 1 + 1e-9
        assert value == pytest.approx(overlap(second, first))
        assert overlap(first, first) == pytest.approx(1)


def test_overlaps_within_and_between_authors() -> None:
    groups = {"ada": [["a", "b"], ["a", "c"], ["a", "b"]], "ben": [["a"], ["d"]], "eve": [["d"]]}
    # ada: 1/3, 1, 1/3; ben: 0; eve has one list.
    within = overlap_within(groups, jaccard, 200, 1)
    assert (within.value, within.n) == (pytest.approx((1 / 3 + 1 + 1 / 3 + 0) / 4), 4)
    # ada and ben: 1/2 three times, 0 three times; ada and eve: 0 three times; ben and eve: 0, 1.
    between = overlap_between(groups, jaccard, 200, 1)
    assert (between.value, between.n, between.authors) == (pytest.approx(2.5 / 11), 11, 3)


def test_one_list_or_one_author_is_missing_with_a_reason() -> None:
    assert overlap_within({"ada": [["a"]]}, jaccard, 200, 1).reason == "no author has two lists"
    alone = overlap_between({"ada": [["a"], ["b"]]}, jaccard, 200, 1)
    assert alone.reason == "fewer than two authors have a list"
