"""Intervals and tests against published values, closed forms and simulation."""

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from personalbench.encoders.base import Vectors
from personalbench.metrics.similarity import likeness
from personalbench.metrics.statistics import (
    bootstrap_likeness,
    bootstrap_mean,
    bootstrap_share,
    cluster_standard_error,
    cluster_weights,
    clusters_of,
    episode_likeness,
    episodes,
    likeness_replicates,
    mean_replicates,
    percentile_interval,
    wilson,
)
from test_similarity import MaxEncoder

Floats = NDArray[np.float64]


def by_author(values: Floats) -> dict[str, list[float]]:
    """Rows of a table as the values of authors."""
    return {f"author {row:03}": line.tolist() for row, line in enumerate(values)}


def clustered(
    generator: np.random.Generator, authors: int, cases: int, between: float = 1.0
) -> Floats:
    """Values with mean 0, standard deviation 1 within authors and ``between`` among them."""
    shift = generator.normal(size=(authors, 1)) * between
    return shift + generator.normal(size=(authors, cases))


# Wilson


def test_wilson_published_value() -> None:
    assert wilson(20, 20) == pytest.approx((0.839, 1), abs=5e-4)


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 20), (3, 7), (31, 250)])
def test_wilson_is_that_of_scipy(successes: int, n: int) -> None:
    expected = stats.binomtest(successes, n).proportion_ci(method="wilson")
    assert wilson(successes, n) == pytest.approx((expected.low, expected.high))


def test_wilson_needs_trials() -> None:
    with pytest.raises(ValueError, match="trial"):
        wilson(0, 0)


# Standard error


def test_cluster_standard_error_published_values() -> None:
    interleaved = {f"c{k}": [float(i) for i in range(20) if i % 4 == k] for k in range(4)}
    copies = {f"c{k}": [float(k)] * 5 for k in range(4)}
    assert cluster_standard_error(interleaved).value == pytest.approx(0.6454972243678, abs=1e-12)
    assert cluster_standard_error(copies).value == pytest.approx(0.6454972243678, abs=1e-12)
    # The same values as twenty authors: clusters ignored.
    ignored = {f"c{i}": [float(i // 5)] for i in range(20)}
    assert cluster_standard_error(ignored).value == pytest.approx(0.2564946, abs=1e-7)


def test_one_cluster_has_no_standard_error() -> None:
    error = cluster_standard_error({"a": [1.0, 2.0]})
    assert error.value is None
    assert error.reason is not None


# Bootstrap of means


def test_bootstrap_spreads_as_its_closed_form_says() -> None:
    table = clustered(np.random.default_rng(0), 12, 5)
    replicates = mean_replicates(by_author(table), 20_000, seed=1)
    variance = table.mean(axis=1).var() / 12 + table.var(axis=1).mean() / (12 * 5)
    assert replicates.mean() == pytest.approx(table.mean(), abs=0.01)
    assert replicates.std() == pytest.approx(variance**0.5, rel=0.02)


def test_bootstrap_of_unequal_authors_draws_from_each_what_it_has() -> None:
    values = {"a": [1.0], "b": [2.0, 2.0, 2.0]}
    replicates = mean_replicates(values, 4_000, seed=1)
    # a a: 1; b b: 2; a and b: 7 / 4.
    levels, counts = np.unique(replicates, return_counts=True)
    assert levels.tolist() == [1, 1.75, 2]
    assert counts / 4_000 == pytest.approx([0.25, 0.5, 0.25], abs=0.03)


def test_bootstrap_of_many_values_needs_several_portions() -> None:
    values = by_author(np.random.default_rng(0).normal(size=(40, 300)))
    whole = mean_replicates(values, 300, seed=1)
    assert whole.shape == (300,)
    assert np.unique(whole).size == 300
    assert mean_replicates(values, 100, seed=1) == pytest.approx(whole[:100])


def test_bootstrap_depends_on_the_seed_alone() -> None:
    values = by_author(clustered(np.random.default_rng(0), 11, 4))
    backwards = dict(reversed(values.items()))
    first = bootstrap_mean(values, 500, seed=1)
    assert bootstrap_mean(backwards, 500, seed=1) == first
    assert bootstrap_mean(values, 500, seed=2).ci_low != first.ci_low


def test_twins_share_their_draws() -> None:
    table = clustered(np.random.default_rng(0), 11, 4)
    one = mean_replicates(by_author(table), 200, seed=1)
    other = mean_replicates(by_author(table + 0.01), 200, seed=1)
    assert other - one == pytest.approx(np.full(200, 0.01))
    # The same authors are drawn for likeness: with one group whose samples are all equal,
    # both are means over drawn authors.
    constant = {name: np.full((1, 126), row[0]) for name, row in by_author(table).items()}
    alone = {name: [row[0]] for name, row in by_author(table).items()}
    assert likeness_replicates(constant, 5, 200, seed=1) == pytest.approx(
        mean_replicates(alone, 200, seed=1)
    )


def test_missing_values_are_left_out_and_counted() -> None:
    values: Mapping[str, list[float | None]] = {"a": [1.0, None], "b": [None], "c": [2.0, 3.0]}
    estimate = bootstrap_mean(values, 100, seed=1)
    assert (estimate.value, estimate.n, estimate.authors) == (2, 3, 2)


def test_one_author_is_resampled_within_and_says_so() -> None:
    estimate = bootstrap_mean({"a": [1.0, 2.0, 3.0, 4.0]}, 2_000, seed=1)
    assert estimate.ci_low is not None and estimate.ci_high is not None
    assert 1 < estimate.ci_low < 2.5 < estimate.ci_high < 4
    assert estimate.note is not None and "not other authors" in estimate.note


def test_few_authors_are_said() -> None:
    note = bootstrap_mean({"a": [1.0, 2.0], "b": [3.0]}, 100, seed=1).note
    assert note is not None and "2 authors" in note
    enough = by_author(clustered(np.random.default_rng(0), 10, 2))
    assert bootstrap_mean(enough, 100, seed=1).note is None


@pytest.mark.parametrize("values", [{}, {"a": []}, {"a": [None]}])
def test_nothing_gives_nothing(values: Mapping[str, list[float | None]]) -> None:
    estimate = bootstrap_mean(values, 100, seed=1)
    assert (estimate.value, estimate.reason, estimate.n) == (None, "no values", 0)


def test_one_value_has_no_interval() -> None:
    estimate = bootstrap_mean({"a": [0.5]}, 100, seed=1)
    assert (estimate.value, estimate.ci_low, estimate.ci_high) == (0.5, None, None)
    assert estimate.reason == "an interval needs at least two values"


def test_what_is_no_number_or_has_no_author_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        bootstrap_mean({"a": [1.0, float("nan")]}, 100, seed=1)
    with pytest.raises(ValueError, match="without its author"):
        bootstrap_mean({"": [1.0]}, 100, seed=1)
    with pytest.raises(ValueError, match="without its author"):
        clusters_of(["a", ""])


def test_shares() -> None:
    mixed = bootstrap_share({"a": [True, False], "b": [True, True]}, 500, seed=1)
    assert mixed.value == 0.75
    certain = bootstrap_share({f"a{k}": [True] * 5 for k in range(4)}, 500, seed=1)
    assert certain.value == 1
    assert (certain.ci_low, certain.ci_high) == pytest.approx((0.839, 1), abs=5e-4)
    assert certain.note is not None and "Wilson" in certain.note
    never = bootstrap_share({f"a{k}": [False, None] for k in range(20)}, 500, seed=1)
    assert (never.value, never.n, never.ci_low) == (0, 20, 0)
    assert never.ci_high == pytest.approx(0.161, abs=5e-4)
    assert bootstrap_share({"a": [None]}, 100, seed=1).value is None


def test_cluster_weights_draw_as_many_as_there_are() -> None:
    weights = cluster_weights(7, 4_000, seed=1)
    assert (weights.sum(axis=1) == 7).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(7), abs=0.06)


# Bootstrap of likeness


def test_there_are_126_samples_of_five_documents() -> None:
    samples, chances = episodes(5)
    assert samples.shape == (126, 5)
    assert samples[0].tolist() == [0, 1, 2, 3, 4]
    assert chances.sum() == pytest.approx(1)
    assert chances[0] == pytest.approx(120 / 5**5)
    same = [k for k, sample in enumerate(samples.tolist()) if sample == [2] * 5]
    assert chances[same] == pytest.approx(1 / 5**5)
    # Each document is drawn once on average.
    drawn = (samples[:, :, None] == np.arange(5)).sum(axis=1)
    assert chances @ drawn == pytest.approx(np.ones(5))


def vectors(seed: int, *shape: int) -> Vectors:
    return np.random.default_rng(seed).uniform(0.1, 1, shape).astype(np.float32)


def test_episode_likeness_aggregates_every_sample_again() -> None:
    profile, groups = vectors(1, 5, 8), vectors(2, 3, 5, 8)
    table = episode_likeness(MaxEncoder(), profile, groups)
    assert table.shape == (3, 126)
    assert table[:, 0] == pytest.approx(likeness(MaxEncoder(), profile, groups))
    samples, _ = episodes(5)
    again = likeness(MaxEncoder(), profile, groups[2][samples[77]][None])
    assert table[2, 77] == pytest.approx(again[0])


def test_likeness_interval_is_about_the_likeness_and_spreads_as_its_closed_form_says() -> None:
    # Fewer different documents are less alike, as with a real encoder.
    samples, chances = episodes(5)
    different = np.array([len(set(sample)) for sample in samples.tolist()])
    generator = np.random.default_rng(0)
    tables = {
        f"a{k:02}": 0.1 * different + generator.normal(0, 0.05, (2, 1))
        + generator.normal(0, 0.1, (2, 126))
        for k in range(15)
    }  # fmt: skip
    estimate = bootstrap_likeness(tables, 5, 2_000, seed=1)
    full = np.stack([table[:, 0] for table in tables.values()])
    assert estimate.value == pytest.approx(full.mean())
    assert (estimate.n, estimate.authors) == (30, 15)
    assert estimate.ci_low is not None and estimate.ci_high is not None
    assert estimate.ci_low < full.mean() < estimate.ci_high
    replicates = likeness_replicates(tables, 5, 20_000, seed=1)
    within = np.mean([chances @ table.T**2 - (chances @ table.T) ** 2 for table in tables.values()])
    variance = full.mean(axis=1).var() / 15 + full.var(axis=1).mean() / 30 + within / 30
    assert replicates.mean() == pytest.approx(full.mean(), abs=1e-3)
    assert replicates.std() == pytest.approx(variance**0.5, rel=0.02)


def test_likeness_of_one_group_has_no_interval() -> None:
    table = np.linspace(0.4, 0.6, 126)[None]
    estimate = bootstrap_likeness({"a": table}, 5, 100, seed=1)
    assert estimate.value == pytest.approx(0.4)
    assert estimate.ci_low is None
    assert estimate.reason == "an interval needs at least two groups"
    assert bootstrap_likeness({}, 5, 100, seed=1).reason == "no groups"


def test_authors_without_a_complete_group_are_left_out() -> None:
    none = episode_likeness(MaxEncoder(), vectors(1, 5, 8), vectors(2, 0, 5, 8))
    assert none.shape == (0, 126)
    tables = {f"a{k:02}": np.random.default_rng(k).normal(size=(1, 126)) for k in range(12)}
    with_it = bootstrap_likeness({**tables, "b": none}, 5, 200, seed=1)
    assert with_it == bootstrap_likeness(tables, 5, 200, seed=1)


def test_likeness_of_one_author_with_two_groups_says_what_it_covers() -> None:
    table = np.random.default_rng(0).normal(0.5, 0.1, (2, 126))
    estimate = bootstrap_likeness({"a": table}, 5, 500, seed=1)
    assert estimate.ci_low is not None
    assert estimate.note is not None and "one author" in estimate.note


# Simulation


@pytest.mark.parametrize(("authors", "cases"), [(30, 5), (50, 3)])
def test_intervals_cover_what_they_say_and_naive_ones_do_not(authors: int, cases: int) -> None:
    generator = np.random.default_rng(7)
    trials, hits, naive_hits = 600, 0, 0
    for trial in range(trials):
        table = clustered(generator, authors, cases)
        estimate = bootstrap_mean(by_author(table), 400, seed=trial)
        assert estimate.ci_low is not None and estimate.ci_high is not None
        hits += estimate.ci_low <= 0 <= estimate.ci_high
        naive_hits += abs(table.mean()) <= 1.96 * table.std(ddof=1) / table.size**0.5
    assert 0.92 <= hits / trials <= 0.98
    assert naive_hits / trials < 0.92


def test_likeness_intervals_cover_the_likeness_of_new_groups() -> None:
    """Documents of an author about the author's own direction, aggregated by maximum."""
    generator = np.random.default_rng(8)
    encoder, profile = MaxEncoder(), np.ones((1, 6), np.float32)

    def documents(authors: int) -> Vectors:
        style = generator.uniform(0.5, 2, (authors, 1, 1, 6))
        return (style * generator.uniform(0.2, 1, (authors, 1, 5, 6))).astype(np.float32)

    truth = likeness(encoder, profile, documents(20_000)[:, 0]).mean()
    trials, hits = 300, 0
    for trial in range(trials):
        tables = {
            f"a{k:02}": episode_likeness(encoder, profile, groups)
            for k, groups in enumerate(documents(25))
        }
        low, high = percentile_interval(likeness_replicates(tables, 5, 300, seed=trial))
        hits += low <= truth <= high
    assert 0.92 <= hits / trials <= 0.98
