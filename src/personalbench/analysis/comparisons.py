"""Twins against each other, and metrics against each other."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from personalbench.analysis.likeness import AnswerGroup, Resampling
from personalbench.analysis.records import MetricCorrelation, TwinComparison
from personalbench.bundle import Bundle
from personalbench.encoders.base import Encoder, Vectors
from personalbench.groups import planned_groups
from personalbench.metrics.catalogue import MAIN_METRICS, catalogue
from personalbench.metrics.comparison import (
    Comparison,
    Episodes,
    adjust,
    compare,
    compare_likeness,
    with_failures_as,
)
from personalbench.metrics.comparison import Scores as CaseScores
from personalbench.metrics.correlation import correlations
from personalbench.metrics.power import Detectable, detectable
from personalbench.metrics.statistics import episode_likeness
from personalbench.scores import Scores


def metric_correlations(
    twins: Sequence[Scores], family: str, resampling: Resampling
) -> list[MetricCorrelation]:
    """Pearson's r of every two main metrics over all generations of all twins."""
    cases = [case for scores in twins for case in scores.cases]
    columns = {
        metric: [case.metrics[metric].value if metric in case.metrics else None for case in cases]
        for metric in (f"{family}_1v5", *MAIN_METRICS)
    }
    found = correlations(
        columns, [case.author for case in cases], resampling.replicates, resampling.seed
    )
    return [MetricCorrelation(first=a, second=b, r=r) for (a, b), r in found.items()]


def case_comparisons(
    metric: str, twins: Sequence[Scores], bundles: Sequence[Bundle], resampling: Resampling
) -> list[TwinComparison]:
    """All pairs of twins by one metric, case by case, with Holm's correction over them."""
    tables = {scores.line: _case_scores(scores, bundles, metric) for scores in twins}
    pairs = list(combinations(tables, 2))
    replicates, seed = resampling.replicates, resampling.seed
    found = adjust([compare(tables[a], tables[b], replicates, seed) for a, b in pairs])
    worst = _worst(metric)
    return [
        TwinComparison(
            metric=metric,
            first=a,
            second=b,
            comparison=comparison,
            failures_as_worst=compare(
                with_failures_as(tables[a], worst),
                with_failures_as(tables[b], worst),
                replicates,
                seed,
            )
            if comparison.dropped and worst is not None
            else None,
            detectable=_detectable(tables[a], tables[b]),
        )
        for (a, b), comparison in zip(pairs, found, strict=True)
    ]


def likeness_comparisons(
    groups: Mapping[str, Sequence[AnswerGroup]],
    profiles: Mapping[str, Vectors],
    bundles: Sequence[Bundle],
    encoder: Encoder,
    resampling: Resampling,
) -> list[TwinComparison]:
    """All pairs of twins by the likeness of groups, with Holm's correction over them."""
    tables = {twin: _episodes(own, profiles, bundles, encoder) for twin, own in groups.items()}
    pairs = list(combinations(tables, 2))
    size = bundles[0].manifest.group_size
    found: list[Comparison] = adjust(
        [
            compare_likeness(tables[a], tables[b], size, resampling.replicates, resampling.seed)
            for a, b in pairs
        ]
    )
    headline = {twin: _as_they_are(table) for twin, table in tables.items()}
    return [
        TwinComparison(
            metric=encoder.family,
            first=a,
            second=b,
            comparison=comparison,
            failures_as_worst=None,  # a missing text has no likeness that would be the worst
            detectable=_detectable(headline[a], headline[b]),
        )
        for (a, b), comparison in zip(pairs, found, strict=True)
    ]


def _case_scores(
    scores: Scores, bundles: Sequence[Bundle], metric: str
) -> dict[str, dict[str, float | None]]:
    """The metric of every planned case; None where it could not be measured."""
    table: dict[str, dict[str, float | None]] = {
        bundle.author: {case.id: None for case in bundle.cases} for bundle in bundles
    }
    for case in scores.cases:
        if metric in case.metrics:
            table[case.author][case.case_id] = case.metrics[metric].value
    return table


def _episodes(
    groups: Sequence[AnswerGroup],
    profiles: Mapping[str, Vectors],
    bundles: Sequence[Bundle],
    encoder: Encoder,
) -> Episodes:
    """The likeness of every planned group in every resample of its documents."""
    complete = {(group.author, group.case_ids): group.vectors for group in groups}
    return {
        bundle.author: {
            f"{block[0]} to {block[-1]}": episode_likeness(
                encoder, profiles[bundle.author], complete[bundle.author, block][None]
            )[0]
            if (bundle.author, block) in complete
            else None
            for block in planned_groups(bundle)
        }
        for bundle in bundles
    }


def _as_they_are(table: Episodes) -> CaseScores:
    """The likeness of the groups themselves, without resampling."""
    return {
        author: {name: None if row is None else float(row[0]) for name, row in groups.items()}
        for author, groups in table.items()
    }


def _detectable(first: CaseScores, second: CaseScores) -> Detectable:
    return detectable(
        {
            author: [
                mine - other
                for name, mine in values.items()
                if mine is not None and (other := second[author][name]) is not None
            ]
            for author, values in first.items()
        }
    )


def _worst(metric: str) -> float | None:
    """The value that a failed answer would have; None where no end is the worst."""
    known = catalogue()[metric]
    if known.higher_is_better is None:
        return None
    return known.low if known.higher_is_better else known.high
