"""Paired comparison, its test, and how large a study would have to be."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from personalbench.errors import UserError
from personalbench.metrics.comparison import (
    adjust,
    cohens_d,
    compare,
    compare_likeness,
    holm,
    sign_flip,
    with_failures_as,
)
from personalbench.metrics.power import detectable
from test_statistics import Floats, clustered

P_VALUES = st.lists(st.none() | st.floats(0, 1), max_size=8)


def scores(table: Floats) -> dict[str, dict[str, float | None]]:
    """Rows as authors, columns as cases."""
    return {
        f"a{row}": {f"c{k}": value for k, value in enumerate(line)}
        for row, line in enumerate(table.tolist())
    }


# Sign flips and Holm


def test_sign_flip_published_value() -> None:
    assert sign_flip([1.0, 2.0, 0.5], seed=1) == (0.25, True)


@given(st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=6))
def test_exact_sign_flip_is_that_of_enumeration(sums: list[float]) -> None:
    totals = [
        abs(sum(sign * value for sign, value in zip(signs, sums, strict=True)))
        for signs in product((1, -1), repeat=len(sums))
    ]
    expected = sum(total >= abs(sum(sums)) for total in totals) / len(totals)
    p, exact = sign_flip(sums, seed=1)
    assert exact
    assert p == pytest.approx(expected)


def test_sampled_sign_flip_is_never_zero_and_near_the_exact_one() -> None:
    assert sign_flip([1.0] * 40, seed=1) == (1 / 10_000, False)
    sums = np.random.default_rng(0).normal(0.3, 1, 15)
    p, exact = sign_flip(sums.tolist(), seed=1)
    reference = stats.permutation_test(
        (sums,), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert not exact
    assert p == pytest.approx(reference, abs=0.02)


def test_equal_twins_have_p_one() -> None:
    assert sign_flip([0.0] * 5, seed=1)[0] == 1
    assert sign_flip([0.0] * 50, seed=1)[0] == 1


def test_holm_published_value() -> None:
    assert holm([0.01, None, 0.04]) == [pytest.approx(0.03), None, pytest.approx(0.08)]


def test_holm_of_nothing_zeros_and_ties() -> None:
    assert holm([]) == []
    assert holm([None]) == [None]
    assert holm([0.0, 0.0, 0.0]) == [0, 0, 0]
    assert holm([0.04, 0.04, 0.9]) == pytest.approx([0.12, 0.12, 0.9])
    assert holm([0.03, 0.02]) == pytest.approx([0.04, 0.04])
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.2])
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([float("nan"), 0.01])


@given(P_VALUES)
def test_holm_keeps_order_range_and_missing(p_values: list[float | None]) -> None:
    adjusted = holm(p_values)
    assert [p is None for p in adjusted] == [p is None for p in p_values]
    both = zip(p_values, adjusted, strict=True)
    pairs = sorted((p, q) for p, q in both if p is not None and q is not None)
    assert all(p <= q <= 1 for p, q in pairs)
    assert [q for _, q in pairs] == sorted(q for _, q in pairs)


# Comparison


def test_a_constant_gain_is_seen_through_any_spread_of_authors() -> None:
    table = np.random.default_rng(0).normal(0.5, 0.3, (8, 1)) + np.zeros((1, 5))
    result = compare(scores(table + 0.01), scores(table), 1_000, seed=1)
    ends = (result.difference.value, result.difference.ci_low, result.difference.ci_high)
    assert ends == pytest.approx((0.01, 0.01, 0.01))
    assert (result.difference.n, result.difference.authors) == (40, 8)
    assert result.standard_error.value == pytest.approx(0, abs=1e-12)
    assert (result.p, result.exact, result.smallest_p) == (2 / 256, True, 2 / 256)
    assert result.note is None


def test_comparison_is_antisymmetric() -> None:
    generator = np.random.default_rng(0)
    first, second = (scores(clustered(generator, 9, 3)) for _ in range(2))
    there, back = compare(first, second, 500, seed=1), compare(second, first, 500, seed=1)
    assert there.difference.value is not None and back.difference.value is not None
    assert there.difference.value == pytest.approx(-back.difference.value)
    assert there.difference.ci_low == pytest.approx(-(back.difference.ci_high or 0))
    assert there.p == back.p


def test_twins_without_the_same_cases_are_not_compared() -> None:
    whole = scores(np.ones((3, 2)))
    fewer_authors = {author: cases for author, cases in whole.items() if author != "a1"}
    with pytest.raises(UserError, match="author a1 is scored for one only"):
        compare(whole, fewer_authors, 100, seed=1)
    other_case = {author: {"c0": 1.0, "c9": 1.0} for author in whole}
    with pytest.raises(UserError, match="author a0, c1 is scored for one only"):
        compare(whole, other_case, 100, seed=1)


def test_pairs_with_a_failed_score_are_dropped_and_counted() -> None:
    first, second = scores(np.full((3, 2), 0.7)), scores(np.full((3, 2), 0.5))
    first["a0"]["c0"] = None
    second["a1"] = dict.fromkeys(second["a1"])
    result = compare(first, second, 100, seed=1)
    assert result.dropped == 3
    assert result.difference.n == 3
    assert result.units == 2
    assert result.difference.value == pytest.approx(0.2)
    kept = compare(with_failures_as(first, 0), with_failures_as(second, 0), 100, seed=1)
    assert (kept.dropped, kept.difference.n) == (0, 6)
    # Three pairs 0.2, one 0 - 0.5 and two 0.7 - 0.
    assert kept.difference.value == pytest.approx((3 * 0.2 - 0.5 + 2 * 0.7) / 6)


def test_nothing_to_compare_is_missing() -> None:
    nothing = {"a": {"c": None}, "b": {"c": None}}
    result = compare(nothing, nothing, 100, seed=1)
    assert (result.difference.value, result.p, result.dropped) == (None, None, 2)


def test_significance_out_of_reach_is_said() -> None:
    few = compare(scores(np.ones((3, 4))), scores(np.zeros((3, 4))), 100, seed=1)
    assert few.p == 0.25
    assert few.note is not None and "out of reach" in few.note and "0.25" in few.note
    enough = compare(scores(np.ones((6, 4))), scores(np.zeros((6, 4))), 100, seed=1)
    assert enough.note is None
    adjusted = adjust([enough, enough])
    assert [result.p_adjusted for result in adjusted] == [0.0625, 0.0625]
    assert adjusted[0].note is not None and "2 planned comparisons" in adjusted[0].note


def test_the_cases_of_one_author_are_flipped_one_by_one() -> None:
    result = compare(scores(np.ones((1, 6))), scores(np.zeros((1, 6))), 100, seed=1)
    assert (result.units, result.p) == (6, 2 / 64)
    assert result.standard_error.value is None
    assert result.difference.note is not None and "one author" in result.difference.note


def test_likeness_is_compared_by_group() -> None:
    generator = np.random.default_rng(0)
    first = {
        f"a{k}": {f"g{n}": generator.normal(0.5, 0.1, 126) for n in range(2)} for k in range(7)
    }
    second = {
        author: {name: row - 0.02 for name, row in groups.items()}
        for author, groups in first.items()
    }
    result = compare_likeness(first, second, 5, 500, seed=1)
    ends = (result.difference.value, result.difference.ci_low, result.difference.ci_high)
    assert ends == pytest.approx((0.02, 0.02, 0.02))
    assert (result.p, result.units) == (2 / 128, 7)
    with pytest.raises(UserError, match="scored for one only"):
        compare_likeness(first, {**second, "a3": {"g0": second["a3"]["g0"]}}, 5, 100, seed=1)


def test_groups_that_one_twin_has_not_complete_are_dropped_and_counted() -> None:
    first = {"a": {"g0": np.full(126, 0.7), "g1": np.full(126, 0.9)}, "b": {"g0": None}}
    second = {"a": {"g0": np.full(126, 0.5), "g1": None}, "b": {"g0": np.full(126, 0.5)}}
    result = compare_likeness(first, second, 5, 100, seed=1)
    assert (result.dropped, result.units) == (2, 1)
    assert result.difference.value == pytest.approx(0.2)
    nothing = compare_likeness({"b": first["b"]}, {"b": second["b"]}, 5, 100, seed=1)
    assert (nothing.difference.value, nothing.p, nothing.dropped) == (None, None, 1)


def test_cohens_d_by_hand() -> None:
    # Means 3 and 1, both sample variances 1.
    assert cohens_d([2.0, 3.0, 4.0], [0.0, 1.0, 2.0]).value == pytest.approx(2)
    # Variances 1 and 9: pooled standard deviation sqrt 5.
    assert cohens_d([2.0, 3.0, 4.0], [-2.0, 1.0, 4.0]).value == pytest.approx(2 / 5**0.5)
    assert cohens_d([1.0], [2.0]).value is None
    assert cohens_d([1.0, 1.0], [2.0, 2.0]).value is None


# Simulation


def test_false_positives_of_the_paired_test_and_of_a_naive_one() -> None:
    generator = np.random.default_rng(3)
    trials, cases = 1_000, 5
    for authors in (10, 30):
        found = naive = 0
        for trial in range(trials):
            # Twins differ by chance, and alike on all cases of an author.
            differences = clustered(generator, authors, cases)
            found += sign_flip(differences.sum(axis=1).tolist(), seed=trial)[0] <= 0.05
            naive += stats.ttest_1samp(differences.ravel(), 0).pvalue <= 0.05
        assert found / trials <= 0.06
        assert naive / trials > 0.15


# Power


def test_detectable_difference_is_detected_at_its_power() -> None:
    generator = np.random.default_rng(4)
    differences = dict(enumerate((clustered(generator, 400, 5) + 0.3).tolist()))
    wanted = detectable({str(author): values for author, values in differences.items()})
    # Variance of a mean over A authors: (1 + 1/5) / A.
    assert wanted.authors_needed is not None
    assert wanted.authors_needed == pytest.approx(1.2 * (2.8016 / 0.3) ** 2, rel=0.25)
    assert wanted.found == pytest.approx(0.3, abs=0.12)
    assert wanted.detectable == pytest.approx(2.8016 * (1.2 / 400) ** 0.5, rel=0.1)
    study = clustered(generator, 500 * wanted.authors_needed, 5) + (wanted.found or 0)
    means = study.mean(axis=1).reshape(500, -1)
    power = np.mean(stats.ttest_1samp(means, 0, axis=1).pvalue <= 0.05)
    assert power == pytest.approx(0.8, abs=0.06)


def test_cases_needed_by_hand() -> None:
    # Author means 0.4 and 0.6 twice: between mean squares 2 * 0.04 / 3; within 0.02.
    pairs = {"a": [0.3, 0.5], "b": [0.5, 0.7], "c": [0.3, 0.5], "d": [0.5, 0.7]}
    wanted = detectable(pairs)
    between, within = (0.08 / 3 - 0.02) / 2, 0.02
    room = 4 * (0.5 / 2.80158) ** 2 - between
    assert wanted.cases_needed == max(1, int(np.ceil(within / room)))
    assert wanted.detectable == pytest.approx(2.80158 * ((between + within / 2) / 4) ** 0.5, 1e-4)


def test_what_can_not_be_planned_says_why() -> None:
    assert detectable({}).reason == "no differences"
    assert detectable({"a": [0.1]}).found == 0.1
    assert detectable({"a": [0.1]}).detectable is None
    single = detectable({"a": [0.1], "b": [0.3], "c": [0.2]})
    assert single.authors_needed is not None and single.cases_needed is None
    assert single.detectable == pytest.approx(2.80158 * (0.01 / 3) ** 0.5, 1e-4)
    apart = detectable({"a": [1.0, 1.01], "b": [-0.9, -0.91], "c": [0.2, 0.21]})
    assert apart.cases_needed is None and apart.reason is not None
    assert detectable({"a": [0.1, -0.1], "b": [0.1, -0.1]}).authors_needed is None
    for equal in ({"a": [0.1, 0.1], "b": [0.1, 0.1]}, {"a": [0.1, 0.1]}, {"a": [0.1], "b": [0.1]}):
        planned = detectable(equal)
        assert planned.found == 0.1 and planned.reason is not None
        assert planned.detectable is planned.authors_needed is planned.cases_needed is None
    one = detectable({"a": [0.1, 0.2, 0.3]})
    assert one.authors_needed is None and one.cases_needed == max(2, int(np.ceil(2.80158**2 / 4)))
