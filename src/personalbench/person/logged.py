"""A run of one person in MLflow: numbers and hashes, no text."""

import os
import time
from pathlib import Path

from personalbench.metrics.estimate import Estimate
from personalbench.person.records import Run
from personalbench.report.results import numbers
from personalbench.tracking import store
from personalbench.tracking.store import Unreachable, open_store


def log_run(run: Run, scores: Path, experiment: str) -> str | None:
    """Log a run where ``MLFLOW_TRACKING_URI`` names a store.

    Args:
        run: What was scored.
        scores: Its ``scores.json``, kept as an artefact.
        experiment: Name of the MLflow experiment.

    Returns:
        What became of it, in a line; None where no store is named. A store that can't be
        reached loses nothing: the run lies in its folder.
    """
    if not os.environ.get("MLFLOW_TRACKING_URI"):
        return None
    from mlflow.entities import Metric

    now = time.time_ns() // 1_000_000
    estimates = _estimates(run)
    metrics = [
        Metric(key if part == "value" else f"{key}_{part}", number, now, 0)
        for key, estimate in estimates.items()
        for part, number in numbers(estimate).items()
    ]
    tags = {
        f"{key}.status": f"not estimable: {estimate.reason}"
        for key, estimate in estimates.items()
        if estimate.value is None
    }
    try:
        with open_store() as client:
            run_id = store.log_run(client, experiment, run.name, _params(run), metrics, tags)
            client.log_artifact(run_id, str(scores))
    except Unreachable as reason:
        return f"MLflow: not logged ({reason}); the run is kept in {scores.parent}"
    return f"MLflow: run {run_id} in experiment {experiment}"


def _params(run: Run) -> dict[str, str]:
    encoder = run.settings.encoder
    return {
        "twin": run.name,
        "bundle": run.bundle.sha256,
        "cases": str(run.bundle.cases),
        "answers": run.answers.sha256,
        "encoder": encoder.name,
        "encoder_revision": encoder.revision,
        "prompt_model": f"{run.bundle.prompt_model.id} {run.bundle.prompt_model.revision}",
    }


def _estimates(run: Run) -> dict[str, Estimate]:
    """Every number that is logged, by its name in MLflow."""
    family = run.family
    found = {
        f"{family}.twin": run.twin.likeness,
        f"{family}.ceiling": run.ceiling.likeness,
        f"{family}.improvement": run.improvement,
        f"{family}.gap_closed": run.gap_closed,
        **{f"{name}.twin": value for name, value in run.twin.metrics.items()},
        **{f"{name}.ceiling": value for name, value in run.ceiling.metrics.items()},
    }
    if run.baseline is not None:
        found[f"{family}.baseline"] = run.baseline.likeness
    if run.unrelated is not None:
        found[f"{family}.floor"] = Estimate(value=run.unrelated.mean, n=run.unrelated.n)
        if run.unrelated.twin_percentile is not None:
            found[f"{family}.percentile"] = Estimate(value=run.unrelated.twin_percentile)
    return found
