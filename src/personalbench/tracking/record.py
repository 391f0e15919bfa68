"""What a twin's run holds: numbers, names and hashes, and never a text of the corpus."""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from pydantic import BaseModel, ConfigDict

from personalbench.llm.usage import Usage
from personalbench.metrics.catalogue import catalogue
from personalbench.metrics.estimate import Estimate
from personalbench.report.results import Results
from personalbench.report.section import Cell, Table, columns, plain
from personalbench.resources import Resources
from personalbench.scores import Scores
from personalbench.training.outcomes import Outcome


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MetricPoint(_Record):
    """One number; ``step`` is the number of the author, 0 for all of them together."""

    key: str
    value: float
    step: int = 0


class DatasetRecord(_Record):
    """What was measured: a name, where it lies in the repository, and its hash."""

    name: str
    path: str
    sha256: str
    profile: dict[str, int]


class RunRecord(_Record):
    """All of a run but its files.

    Attributes:
        result: Hash of what was measured and how: the run's identity.
        experiment: Name of the MLflow experiment.
        about: Markdown on the experiment.
        name: The run's name in a list.
        description: Markdown on the run.
        params: The settings behind the numbers.
        tags: Where the numbers come from.
        links: Tags for a run that was there before, too: the DVC experiment that has
            the same result.
        metrics: The numbers.
        datasets: The corpus and the bundles.
    """

    result: str
    experiment: str
    about: str
    name: str
    description: str
    params: dict[str, str]
    tags: dict[str, str]
    links: dict[str, str]
    metrics: tuple[MetricPoint, ...]
    datasets: tuple[DatasetRecord, ...]


def metric_points(results: Results, twin: str) -> tuple[MetricPoint, ...]:
    """A twin's numbers with the lines beside them, then the same for each author.

    ``luar/twin``, ``luar/twin_ci_low``, ``luar/ceiling``, ``luar/floor`` and so on; what
    can't be estimated is not there. ``by_author/luar/twin`` has a step an author.
    """
    scores = results.twins[twin]
    points = []
    for metric, estimate in scores.summary.items():
        named = {
            "twin": estimate.value,
            "twin_ci_low": estimate.ci_low,
            "twin_ci_high": estimate.ci_high,
            "ceiling": results.estimate("ceiling", metric).value,
            "floor": results.estimate("floor", metric).value,
        }
        points += [
            MetricPoint(key=f"{metric}/{role}", value=value)
            for role, value in named.items()
            if value is not None
        ]
    counts = {
        "answers/failed": scores.failed,
        "answers/copied": scores.copied,
        "answers/truncated": scores.truncated,
        "answers/unreliable": scores.unreliable,
        "answers/judge_failures": scores.judge_failures.value,
    }
    points += [
        MetricPoint(key=key, value=value) for key, value in counts.items() if value is not None
    ]
    steps = {author: step for step, author in enumerate(authors(results), start=1)}
    for key, column in _author_columns(results, twin).items():
        points += [
            MetricPoint(key=f"by_author/{key}", value=value, step=steps[author])
            for author, value in column.items()
        ]
    return tuple(points)


def system_points(
    usages: Iterable[Usage], resources: Iterable[Resources]
) -> tuple[MetricPoint, ...]:
    """What a twin's numbers took, by stage: ``system/personalize/prompt_tokens``, ...

    MLflow's UI shows metrics of this prefix apart from the others.
    """
    measured: list[tuple[str, dict[str, float | None]]] = [
        *((each.stage, each.model_dump(exclude={"stage", "item"})) for each in resources),
        *(
            (
                each.stage,
                {
                    "calls": each.replies,
                    "calls_seconds": each.busy_seconds,
                    "prompt_tokens": each.prompt_tokens,
                    "completion_tokens": each.completion_tokens,
                    "cost_usd": each.cost,
                },
            )
            for each in usages
        ),
    ]
    return tuple(
        MetricPoint(key=f"system/{stage}/{name}", value=value)
        for stage, values in measured
        for name, value in values.items()
        if value is not None
    )


def training_points(results: Results, outcomes: Mapping[str, Outcome]) -> tuple[MetricPoint, ...]:
    """What training gave: the loss on the way, and perplexity before and after.

    ``training/loss_held_out/author_01`` has the training's steps; the number is the author's.
    """
    points = []
    for number, author in enumerate(authors(results), start=1):
        if author not in outcomes:
            continue
        outcome = outcomes[author]
        for point in outcome.record.curve:
            for kind, loss in (("learnt", point.train), ("held_out", point.held_out)):
                if loss is not None:
                    key = f"training/loss_{kind}/author_{number:02}"
                    points.append(MetricPoint(key=key, value=loss, step=point.step))
        for role in ("base", "trained"):
            value = getattr(outcome.perplexity, role)
            points.append(MetricPoint(key=f"by_author/perplexity/{role}", value=value, step=number))
    for role in ("base", "trained") if outcomes else ():
        value = fmean(getattr(each.perplexity, role) for each in outcomes.values())
        points.append(MetricPoint(key=f"perplexity/{role}", value=value))
    return tuple(points)


def author_table(results: Results, twin: str) -> dict[str, Any]:
    """The same by author's name, as MLflow shows tables: columns and rows."""
    columns = _author_columns(results, twin)
    return {
        "columns": ["step", "author", *columns],
        "data": [
            [step, author, *(column.get(author) for column in columns.values())]
            for step, author in enumerate(authors(results), start=1)
        ],
    }


def case_table(scores: Scores) -> dict[str, Any]:
    """Every metric of every answer, without its text."""
    metrics = list(dict.fromkeys(name for case in scores.cases for name in case.metrics))
    return {
        "columns": ["author", "case", "words", "tokens", *metrics],
        "data": [
            [
                case.author,
                case.case_id,
                case.words,
                case.tokens,
                *(case.metrics[name].value if name in case.metrics else None for name in metrics),
            ]
            for case in scores.cases
        ],
    }


def authors(results: Results) -> list[str]:
    """All authors of a run; an author's place in it is the step of the metrics by author."""
    return sorted({case.author for case in results.ceiling.cases})


def by_author(scores: Scores, metric: str) -> dict[str, float]:
    """Mean of a metric over an author's answers, or over the author's groups for likeness."""
    values: dict[str, list[float]] = {}
    for author, value in _values(scores, metric):
        if value is not None:
            values.setdefault(author, []).append(value)
    return {author: fmean(own) for author, own in values.items()}


def _values(scores: Scores, metric: str) -> Iterable[tuple[str, float | None]]:
    if metric == scores.encoder.family:
        return ((group.author, group.likeness) for group in scores.groups)
    return (
        (case.author, case.metrics[metric].value) for case in scores.cases if metric in case.metrics
    )


def _author_columns(results: Results, twin: str) -> dict[str, dict[str, float]]:
    """Values by author of the twin and of the lines beside it: ``luar/twin`` and so on."""
    roles = {"twin": results.twins[twin], "ceiling": results.ceiling, "floor": results.floor}
    return {
        f"{metric}/{role}": by_author(scores, metric)
        for metric in results.metrics
        for role, scores in roles.items()
    }


def status_tags(results: Results, twin: str) -> dict[str, str]:
    """A tag for every metric that has no value, with the reason."""
    return {
        f"{metric}.status": f"not estimable: {_plain_reason(estimate)}"
        for metric, estimate in results.twins[twin].summary.items()
        if estimate.value is None
    }


def _plain_reason(estimate: Estimate) -> str:
    # What follows is one call's fault in a server's or a model's own words.
    return (estimate.reason or "").partition(", for example: ")[0]


def describe_run(results: Results, twin: str) -> str:
    """Markdown: where each number of a twin stands."""
    known = catalogue(results.encoder.family)
    rows: list[tuple[Cell, ...]] = [
        (
            known[metric].title,
            *(results.estimate(line, metric) for line in (twin, "ceiling", "floor")),
        )
        for metric in results.twins[twin].summary
        if metric in known
    ]
    table = Table("", columns("metric", "twin", "ceiling", "floor"), tuple(rows))
    return (
        f"{plain(table)}\n\n"
        "Ceiling: the authors' own held-out writing, measured in the same way. "
        "Floor: documents by other people. Brackets: 95 % intervals."
    )


def describe_experiment(results: Results) -> str:
    """Markdown: what the metrics of every run mean."""
    known = catalogue(results.encoder.family)
    meanings = "\n".join(
        f"- **{metric}**, {known[metric].title}: {known[metric].meaning}"
        for metric in results.ceiling.summary
        if metric in known
    )
    return (
        "Each run is one twin: how much its texts are like the person's. `metric/twin` is "
        "the twin, `metric/ceiling` the authors' own held-out writing, `metric/floor` that of "
        "other people; `by_author/...` has a step an author, named in `authors.json`. "
        "Compare runs only where `encoder_revision` and `bundle_hash` are the same.\n\n" + meanings
    )
