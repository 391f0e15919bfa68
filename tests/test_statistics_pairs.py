"""Likeness by number of documents, and means over pairs of authors."""

from itertools import combinations

import numpy as np
import pytest

from personalbench.metrics.aggregation import likeness_by_size
from personalbench.metrics.dyads import dyad_mean
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
    # Two authors: a replicate draws both (mean of all four), or one of them twice.
    estimate = dyad_mean([1.0, 3.0, 5.0, 7.0], ["a", "b", "a", "b"], ["a", "b", "b", "a"], 4_000, 1)
    assert estimate.value == 4
    assert (estimate.n, estimate.authors) == (4, 2)
    # Author a alone leaves the pair within a: 1; b alone 3; both 4.
    assert (estimate.ci_low, estimate.ci_high) == (1, 4)
    assert estimate.note is not None and "2 authors" in estimate.note


def test_pairs_that_can_not_be_resampled_say_why() -> None:
    assert dyad_mean([], [], [], 100, 1).reason == "no pairs"
    assert dyad_mean([1.0, 2.0], ["a", "a"], ["a", "a"], 100, 1).reason == "one author"
    # One pair of two authors is there in half of the replicates only.
    lone = dyad_mean([1.0], ["a"], ["b"], 100, 1)
    assert (lone.value, lone.ci_low, lone.reason) == (1, None, "too few authors for an interval")


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
