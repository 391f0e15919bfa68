"""Verification measures and correlations against published values and other libraries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import brier_score_loss, roc_auc_score, roc_curve

from personalbench.metrics.correlation import correlations
from personalbench.metrics.verification import auc, brier, c_at_1, eer, f05u

SCORED = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40).filter(
    lambda rows: len({same for _, same in rows}) == 2
)


def test_pan_published_values() -> None:
    truth, answers = [True, True, False, False], [0.9, 0.5, 0.5, 0.1]
    assert c_at_1(answers, truth).value == pytest.approx(0.75)
    assert f05u(answers, truth).value == pytest.approx(0.7142857)
    assert f05u([0.9, 0.5, 0.1], [True, False, False]).value == pytest.approx(0.8333333)


def test_c_at_1_is_accuracy_where_all_is_answered_and_zero_where_nothing_is() -> None:
    assert c_at_1([0.9, 0.8, 0.2, 0.1], [True, False, False, True]).value == 0.5
    assert c_at_1([0.5, 0.5], [True, False]).value == 0


def test_brier() -> None:
    answers, truth = [0.9, 0.4, 0.2], [True, True, False]
    assert brier(answers, truth).value == pytest.approx(1 - brier_score_loss(truth, answers))


def test_no_answers_are_missing_and_bad_ones_refused() -> None:
    assert c_at_1([], []).value is None
    assert brier([], []).value is None
    assert f05u([0.1], [False]).value is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        c_at_1([1.5], [True])
    with pytest.raises(ValueError, match="not finite"):
        brier([float("nan")], [True])
    with pytest.raises(ValueError, match="1 scores for 2"):
        brier([0.5], [True, False])


@given(SCORED, st.integers(1, 5))
def test_auc_is_that_of_scikit_learn(rows: list[tuple[int, bool]], authors: int) -> None:
    scores, truth = [float(score) for score, _ in rows], [same for _, same in rows]
    names = [f"a{k % authors}" for k in range(len(rows))]
    estimate = auc(scores, truth, names, 50, seed=1)
    assert estimate.value == pytest.approx(roc_auc_score(truth, scores))
    assert estimate.n == len(rows)


@given(SCORED)
def test_eer_lies_on_the_roc_curve(rows: list[tuple[int, bool]]) -> None:
    scores, truth = [float(score) for score, _ in rows], [same for _, same in rows]
    alarms, hits, _ = roc_curve(truth, scores, drop_intermediate=False)
    value = eer(scores, truth).value
    assert value is not None
    grid = np.interp(np.linspace(0, 1, 20_001), np.linspace(0, 1, alarms.size), alarms)
    curve = np.interp(np.linspace(0, 1, 20_001), np.linspace(0, 1, alarms.size), 1 - hits)
    nearest = int(np.argmin(np.abs(grid - curve)))
    assert value == pytest.approx((grid[nearest] + curve[nearest]) / 2, abs=1e-3)


def test_perfect_and_useless_scores() -> None:
    truth = [True, True, False, False]
    assert eer([4, 3, 2, 1], truth).value == 0
    assert eer([1, 2, 3, 4], truth).value == 1
    assert eer([1, 1, 1, 1], truth).value == 0.5
    assert eer([1.0], [True]).value is None


def test_auc_interval_resamples_authors() -> None:
    generator = np.random.default_rng(0)
    authors = [f"a{k // 20:02}" for k in range(600)]
    truth = [k % 2 == 0 for k in range(600)]
    shift = np.repeat(generator.normal(0, 2, 30), 20)
    scores = (shift + np.array(truth) + generator.normal(0, 0.5, 600)).tolist()
    clustered = auc(scores, truth, authors, 2_000, seed=1)
    naive = auc(scores, truth, [f"a{k:03}" for k in range(600)], 2_000, seed=1)
    assert clustered.value == naive.value
    # Within authors the scores are told apart almost always: pairing narrows the interval.
    widths = [(e.ci_high or 0) - (e.ci_low or 0) for e in (clustered, naive)]
    assert widths[0] < 0.9 * widths[1]
    # The spread of replicates, against a plain resampling loop.
    rows = np.arange(600).reshape(30, 20)
    plain = []
    for _ in range(400):
        drawn = rows[generator.integers(0, 30, 30)].ravel()
        plain.append(roc_auc_score(np.array(truth)[drawn], np.array(scores)[drawn]))
    low, high = np.percentile(plain, [2.5, 97.5])
    assert (clustered.ci_low, clustered.ci_high) == pytest.approx((low, high), abs=0.01)


def test_auc_that_can_not_be_estimated_says_why() -> None:
    assert auc([0.1, 0.2], [True, True], ["a", "b"], 50, seed=1).value is None
    split = auc([0.1, 0.2, 0.3], [True, False, True], ["a", "b", "a"], 200, seed=1)
    assert split.value == 0.5
    assert split.ci_low is None and split.reason is not None
    one = auc([0.1, 0.2, 0.3, 0.5] * 5, [True, False, True, True] * 5, ["a"] * 20, 200, seed=1)
    assert one.ci_low is not None
    assert one.note is not None and "one author" in one.note


def test_correlations_are_those_of_scipy_and_keep_missing_apart() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=60) + 1000
    y = 0.5 * x + generator.normal(size=60)
    with_gap: list[float | None] = y.tolist()
    with_gap[3] = None
    authors = [f"a{k // 5:02}" for k in range(60)]
    table = correlations(
        {"x": x.tolist(), "y": with_gap, "flat": [1.0] * 60, "empty": [None] * 60},
        authors,
        1_000,
        seed=1,
    )
    assert list(table) == [
        ("x", "y"), ("x", "flat"), ("x", "empty"), ("y", "flat"), ("y", "empty"), ("flat", "empty")
    ]  # fmt: skip
    found = table["x", "y"]
    kept = np.arange(60) != 3
    assert found.value == pytest.approx(stats.pearsonr(x[kept], y[kept]).statistic)
    assert (found.n, found.authors) == (59, 12)
    assert found.ci_low is not None and found.ci_high is not None
    assert -1 <= found.ci_low < (found.value or 0) < found.ci_high <= 1
    assert table["x", "flat"].reason == "one of the two does not vary"
    assert table["x", "empty"].value is None


def test_correlation_interval_resamples_authors() -> None:
    generator = np.random.default_rng(1)
    # Both metrics are constants of the author: twenty copies tell nothing new.
    x, y = (np.repeat(generator.normal(size=20), 20) for _ in range(2))
    authors = [f"a{k // 20:02}" for k in range(400)]
    noise = generator.normal(0, 0.01, (2, 400))
    columns = {"x": (x + noise[0]).tolist(), "y": (y + noise[1]).tolist()}
    found = correlations(columns, authors, 2_000, seed=1)["x", "y"]
    ignored = correlations(columns, [str(k) for k in range(400)], 2_000, seed=1)["x", "y"]
    widths = [(e.ci_high or 0) - (e.ci_low or 0) for e in (found, ignored)]
    assert widths[0] > 3 * widths[1]


def test_correlation_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="2 values for 3"):
        correlations({"x": [1.0, 2.0]}, ["a", "b", "c"], 10, seed=1)
    with pytest.raises(ValueError, match="not finite"):
        correlations({"x": [float("nan")]}, ["a"], 10, seed=1)


def test_two_authors_give_no_interval_where_authors_are_resampled() -> None:
    columns = {"x": [1.0, 2.0, 4.0, 3.0], "y": [1.0, 3.0, 2.0, 5.0]}
    found = correlations(columns, ["a", "a", "b", "b"], 100, seed=1)["x", "y"]
    assert found.value is not None and found.ci_low is None
    assert found.reason is not None and "too few authors" in found.reason
