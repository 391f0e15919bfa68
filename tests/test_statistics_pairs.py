"""Likeness by number of documents, and means over pairs of authors."""

from itertools import combinations, product

import numpy as np
import pytest

from personalbench.metrics.aggregation import likeness_by_size
from personalbench.metrics.dyads import dyad_auc, dyad_mean
from personalbench.metrics.similarity import cosine, likeness
from test_similarity import MaxEncoder
from test_statistics import vectors


def test_likeness_by_size_is_the_mean_over_all_choices() -> None:
    encoder, profile, groups = MaxEncoder(), vectors(1, 5, 8), vectors(2, 3, 5, 8)
    curve = likeness_by_size(encoder, profile, groups)
    assert curve.shape == (3, 5)
    assert curve[:, 4] == pytest.approx(likeness(encoder, profile, groups))
    assert curve[1, 0] == pytest.approx(
        np.mean([cosine(one, other) for one in groups[1] for other in profile])
    )
    pairs = list(combinations(range(5), 2))
    expected = [
        cosine(groups[2][list(mine)].max(axis=0), profile[list(other)].max(axis=0))
        for mine in pairs
        for other in pairs
    ]
    assert curve[2, 1] == pytest.approx(np.mean(expected))


def test_a_mean_over_pairs_by_hand() -> None:
    # Two authors: a replicate could only draw both, or one of them twice: no interval.
    estimate = dyad_mean([1.0, 3.0, 5.0, 7.0], ["a", "b", "a", "b"], ["a", "b", "b", "a"], 4_000, 1)
    assert estimate.value == 4
    assert (estimate.n, estimate.authors) == (4, 2)
    assert (estimate.ci_low, estimate.reason) == (None, "too few authors for an interval")


def test_a_pair_counts_as_often_as_both_its_authors_are_drawn() -> None:
    names = "abcd"
    within = {"a": 0.0, "b": 1.0, "c": 4.0, "d": 9.0}
    between = {("a", "b"): 2.0, ("a", "c"): 7.0, ("b", "d"): 3.0, ("c", "d"): 8.0}
    means = []
    for drawn in product(names, repeat=4):
        times = {name: drawn.count(name) for name in names}
        pairs = [(times[name], value) for name, value in within.items()]
        pairs += [(times[i] * times[j], value) for (i, j), value in between.items()]
        means.append(sum(n * value for n, value in pairs) / sum(n for n, _ in pairs))
    estimate = dyad_mean(
        [*within.values(), *between.values()],
        [*within, *(first for first, _ in between)],
        [*within, *(second for _, second in between)],
        40_000,
        seed=1,
    )
    assert (estimate.ci_low, estimate.ci_high) == pytest.approx(
        np.percentile(means, [2.5, 97.5]), abs=0.1
    )


def test_pairs_that_can_not_be_resampled_say_why() -> None:
    assert dyad_mean([], [], [], 100, 1).reason == "no pairs"
    # One pair of four authors is missing from most replicates.
    lone = dyad_mean([1.0, 2.0], ["a", "c"], ["b", "d"], 100, 1)
    assert (lone.value, lone.ci_low, lone.reason) == (1.5, None, "too few authors for an interval")


def test_pairs_without_spread_have_no_interval() -> None:
    first, second = [*"abcdaaabbc"], [*"abcdbcdcdd"]
    level = dyad_mean([0.1] * 10, first, second, 200, 1)
    assert level.value == pytest.approx(0.1) and level.ci_low is None
    assert level.reason == "all values are equal: resampling them shows no spread"
    apart = dyad_auc([0.9] * 4 + [0.1] * 6, first, second, 1, 200)
    assert (apart.value, apart.ci_low) == (1, None)
    assert apart.reason == "resampling authors shows no spread"
    # Only a and b are compared: both are drawn in 1 - 2 (3/4)^4 + (1/2)^4 = 43 % of replicates.
    few = dyad_auc([0.9, 0.2, 0.8, 0.8, 0.5], [*"abcda"], [*"abcdb"], 1, 200)
    assert (few.value, few.ci_low, few.reason) == (0.75, None, "too few authors for an interval")


def test_intervals_over_pairs_cover_where_naive_ones_do_not() -> None:
    generator = np.random.default_rng(5)
    authors, trials, hits, naive = 30, 300, 0, 0
    names = [f"a{k:02}" for k in range(authors)]
    first, second = np.triu_indices(authors, 1)
    for trial in range(trials):
        style = generator.normal(size=authors)
        values = style[first] + style[second] + generator.normal(size=first.size)
        estimate = dyad_mean(
            values.tolist(),
            [names[i] for i in first],
            [names[i] for i in second],
            400,
            seed=trial,
        )
        assert estimate.ci_low is not None and estimate.ci_high is not None
        hits += estimate.ci_low <= 0 <= estimate.ci_high
        naive += abs(values.mean()) <= 1.96 * values.std(ddof=1) / values.size**0.5
    assert 0.92 <= hits / trials <= 0.98
    assert naive / trials < 0.6
