"""The scores of all lines side by side: what tables, figures, metrics and runs are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from personalbench.errors import UserError
from personalbench.metrics.catalogue import MAIN_METRICS, Metric, catalogue
from personalbench.metrics.estimate import Estimate, missing
from personalbench.scores import EncoderIdentity, Scores
from personalbench.storage import read_json


@dataclass(frozen=True)
class Results:
    """All lines of a run.

    Attributes:
        twins: Scores by twin, in the order of params.yaml.
        ceiling: The authors' own writing.
        floor: Unrelated writers.
    """

    twins: dict[str, Scores]
    ceiling: Scores
    floor: Scores

    @property
    def lines(self) -> dict[str, Scores]:
        """All rows of the table, from ceiling to floor."""
        return {"ceiling": self.ceiling, **self.twins, "floor": self.floor}

    @property
    def encoder(self) -> EncoderIdentity:
        """What made every authorship number of this run."""
        return self.ceiling.encoder

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the method table; the first is the encoder's."""
        return (self.encoder.family, *MAIN_METRICS)

    @property
    def catalogue(self) -> Mapping[str, Metric]:
        """What every metric means, under the names that this run's encoder gives."""
        sizes = {len(group.case_ids) for group in self.ceiling.groups}
        return catalogue(self.encoder.family, self.encoder.name, *sizes)

    def estimate(self, line: str, metric: str) -> Estimate:
        """One cell of the method table."""
        return self.lines[line].summary.get(metric, missing("not measured"))

    def values(self, line: str, metric: str) -> list[float]:
        """What was measured of a metric, answer by answer."""
        return [
            value
            for case in self.lines[line].cases
            if metric in case.metrics and (value := case.metrics[metric].value) is not None
        ]

    def group_points(self, line: str, metric: str) -> list[tuple[float, float]]:
        """Of each group: its likeness, and the mean of a metric over its answers."""
        measured = {
            (case.author, case.source, case.case_id): case.metrics[metric].value
            for case in self.lines[line].cases
            if metric in case.metrics
        }
        points = []
        for group in self.lines[line].groups:
            found = [measured.get((group.author, group.source, name)) for name in group.case_ids]
            values = [value for value in found if value is not None]
            if values:
                points.append((group.likeness, sum(values) / len(values)))
        return points


def load_results(folder: Path, twins: Sequence[str]) -> Results:
    """Read the scores of all lines.

    Raises:
        UserError: Two lines were scored by different encoders.
    """
    scores = {
        line: Scores.model_validate(read_json(folder / f"{line}.json"))
        for line in ("ceiling", *twins, "floor")
    }
    encoders = {(record.encoder.name, record.encoder.revision) for record in scores.values()}
    if len(encoders) > 1:
        raise UserError(
            f"{folder}: scored by different encoders ({encoders}); run `dvc repro` to score anew"
        )
    return Results(
        twins={twin: scores[twin] for twin in twins},
        ceiling=scores["ceiling"],
        floor=scores["floor"],
    )


def likeness_tree(results: Results) -> dict[str, int | dict[str, float]]:
    """A number a line, to four digits: what `dvc exp show` has room for.

    Under the encoder's name, so that DVC never takes numbers of two encoders for one. What
    is not estimable is left out, never 0 or NaN.

    The number of twins is there for its name: `dvc exp show` then calls the parameter
    ``params.yaml:twins``. Else it mixes it up with the folder ``twins`` that stages read.
    """
    found = {line: results.estimate(line, results.encoder.family).value for line in results.lines}
    return {
        "twins": len(results.twins),
        results.encoder.name: {
            line: round(value, 4) for line, value in found.items() if value is not None
        },
    }


def metrics_tree(results: Results) -> dict[str, dict[str, float]]:
    """Every line's main metrics to four digits, for `dvc metrics diff` where it is asked for.

    Only the primary metric has its interval; everything else is in the report and in the
    scores. What is not estimable is left out, never 0 or NaN.
    """
    tree: dict[str, dict[str, float]] = {}
    for line, scores in results.lines.items():
        primary = results.estimate(line, results.encoder.family)
        found = {
            results.encoder.family: primary.value,
            "ci_low": primary.ci_low,
            "ci_high": primary.ci_high,
            **{metric: results.estimate(line, metric).value for metric in MAIN_METRICS},
        }
        tree[line] = {name: round(value, 4) for name, value in found.items() if value is not None}
        tree[line]["failed"] = scores.failed
    return tree


def numbers(estimate: Estimate) -> dict[str, float]:
    """The numbers that an estimate has."""
    named = {"value": estimate.value, "ci_low": estimate.ci_low, "ci_high": estimate.ci_high}
    return {name: number for name, number in named.items() if number is not None}
