"""Time and memory of all statistics of a benchmark run, against a plain loop.

50 authors x 5 cases x 4 twins: intervals of every metric of every twin, all six paired
comparisons of every metric, the correlation matrix and the AUC of target against wrong
author, with 10,000 replicates; for likeness the documents of each replicate are
aggregated again. The plain loop does the intervals and comparisons replicate by replicate
in Python and numpy; it is timed on a few replicates and scaled up. The ratio is one of
processor time, which other work on the machine changes least; BLAS has one thread.

    python bench/bench_statistics.py [replicates]
"""

import random
import resource
import sys
import time
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from personalbench.encoders.base import Vectors
from personalbench.metrics.comparison import adjust, compare, compare_likeness
from personalbench.metrics.correlation import correlations
from personalbench.metrics.power import detectable
from personalbench.metrics.similarity import likeness
from personalbench.metrics.statistics import (
    bootstrap_likeness,
    bootstrap_mean,
    bootstrap_share,
    episode_likeness,
)
from personalbench.metrics.verification import auc

AUTHORS, CASES, TWINS = 50, 5, ("none", "few_shot", "profile", "contrastive")
METRICS = ("luar_1v5", "tmr", "same_author", "func_cos", "punct_cos", "rouge_l", "mattr_diff")
SAMPLED_REPLICATES = 20
SEED = 42


class Aggregator:
    """LUAR after the token mean, with random weights: attention, maximum, linear layer."""

    family, name, revision, max_length = "bench", "bench", "0", 512

    def __init__(self) -> None:
        self.linear = np.random.default_rng(0).normal(0, 0.03, (768, 512)).astype(np.float32)

    def token_counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        raise NotImplementedError

    def document_vectors(self, texts: Sequence[str]) -> Vectors:
        raise NotImplementedError

    def aggregate(self, vectors: Vectors) -> Vectors:
        scores = vectors @ vectors.swapaxes(1, 2) / np.float32(768**0.5)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attended = weights / weights.sum(axis=-1, keepdims=True) @ vectors
        result: Vectors = attended.max(axis=1) @ self.linear
        return result


class Run:
    """A made-up benchmark run."""

    def __init__(self) -> None:
        generator = np.random.default_rng(1)
        self.encoder = Aggregator()
        self.authors = [f"author-{k:02}" for k in range(AUTHORS)]
        style = generator.normal(0, 0.3, (AUTHORS, 1, 768))

        def documents() -> Vectors:
            noise = generator.normal(0, 0.3, (AUTHORS, CASES, 768))
            return (style + noise).astype(np.float32)

        self.profiles = documents()
        self.answers = {twin: documents() for twin in TWINS}
        shift = generator.normal(0, 0.1, (AUTHORS, 1))
        self.scores = {
            (metric, twin): {
                author: {f"case_{k:04}": float(value) for k, value in enumerate(row)}
                for author, row in zip(
                    self.authors,
                    (shift + generator.normal(0.5, 0.1, (AUTHORS, CASES)) > 0.5).astype(float)
                    if metric == "same_author"
                    else shift + generator.normal(0.5, 0.1, (AUTHORS, CASES)),
                    strict=True,
                )
            }
            for metric in METRICS
            for twin in TWINS
        }


def all_statistics(run: Run, replicates: int) -> None:
    """Everything that a report shows."""
    tables = {
        twin: {
            author: episode_likeness(run.encoder, profile, answers[None])
            for author, profile, answers in zip(
                run.authors, run.profiles, run.answers[twin], strict=True
            )
        }
        for twin in TWINS
    }
    for twin in TWINS:
        bootstrap_likeness(tables[twin], CASES, replicates, SEED)
    groups = {
        twin: {author: {"all": table[0]} for author, table in own.items()}
        for twin, own in tables.items()
    }
    adjust(
        [
            compare_likeness(groups[a], groups[b], CASES, replicates, SEED)
            for a, b in combinations(TWINS, 2)
        ]
    )
    for metric in METRICS:
        for twin in TWINS:
            values = {a: list(cases.values()) for a, cases in run.scores[metric, twin].items()}
            if metric == "same_author":
                answers = {author: [value > 0 for value in row] for author, row in values.items()}
                bootstrap_share(answers, replicates, SEED)
            else:
                bootstrap_mean(values, replicates, SEED)
            detectable(values)
        adjust(
            [
                compare(run.scores[metric, a], run.scores[metric, b], replicates, SEED)
                for a, b in combinations(TWINS, 2)
            ]
        )
    columns = {
        metric: [
            value
            for twin in TWINS
            for cases in run.scores[metric, twin].values()
            for value in cases.values()
        ]
        for metric in METRICS
    }
    clusters = [author for _ in TWINS for author in run.authors for _ in range(CASES)]
    correlations(columns, clusters, replicates, SEED)
    truth = [k % 2 == 0 for k in range(len(clusters))]
    auc(columns["luar_1v5"], truth, clusters, replicates, SEED)


def plain_means(groups: Sequence[Sequence[float]]) -> float:
    """One replicate of one mean."""
    drawn = random.choices(groups, k=len(groups))
    values = [value for group in drawn for value in random.choices(group, k=len(group))]
    return sum(values) / len(values)


def plain_likeness(run: Run, twins: Sequence[str]) -> float:
    """One replicate of the mean likeness of a twin, or of the difference of two."""
    total = 0.0
    for author in random.choices(range(AUTHORS), k=AUTHORS):
        documents = random.choices(range(CASES), k=CASES)
        values = [
            float(
                likeness(
                    run.encoder, run.profiles[author], run.answers[twin][author][None, documents]
                )[0]
            )
            for twin in twins
        ]
        total += values[0] - (values[1] if len(values) > 1 else 0)
    return total / AUTHORS


def plain_flip(sums: Sequence[float]) -> float:
    """One random sign pattern."""
    return abs(sum(random.choice((-1, 1)) * value for value in sums))


def plain_loop(run: Run, replicates: int) -> None:
    """The intervals and comparisons of :func:`all_statistics`, without the rest of it."""
    pairs = list(combinations(TWINS, 2))
    for twins in [*((twin,) for twin in TWINS), *pairs]:
        for _ in range(replicates):
            plain_likeness(run, twins)
    for metric in METRICS:
        tables = {
            twin: [list(cases.values()) for cases in run.scores[metric, twin].values()]
            for twin in TWINS
        }
        for twin in TWINS:
            for _ in range(replicates):
                plain_means(tables[twin])
        for a, b in pairs:
            differences = [
                [x - y for x, y in zip(*rows, strict=True)]
                for rows in zip(tables[a], tables[b], strict=True)
            ]
            sums = [sum(row) for row in differences]
            for _ in range(replicates):
                plain_means(differences)
                plain_flip(sums)


def seconds(work: Callable[[], None]) -> tuple[float, float]:
    """Wall-clock and processor time of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    run = Run()
    with threadpool_limits(1):
        wall, cpu = seconds(lambda: all_statistics(run, replicates))
        _, plain = seconds(lambda: plain_loop(run, SAMPLED_REPLICATES))
    scaled = plain / SAMPLED_REPLICATES * replicates
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"replicates             {replicates}")
    print(f"all statistics         {wall:8.2f} s wall (bound 10 s), {cpu:.2f} s processor")
    print(f"plain loop, scaled up  {scaled:8.2f} s processor ({SAMPLED_REPLICATES} timed)")
    print(f"ratio                  {scaled / cpu:8.0f} (bound 200)")
    print(f"peak memory            {peak:8.0f} MiB (bound 1024)")


if __name__ == "__main__":
    main()
