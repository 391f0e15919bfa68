"""A run of one person in MLflow: numbers and hashes, no text."""

import os
from pathlib import Path

from personalbench.metrics.estimate import Estimate
from personalbench.person.records import Run
from personalbench.report.results import numbers

_ERRORS_SHOWN = 200


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
    # Set before the import: MLflow looks at them once. Its own patience is seven tries
    # over minutes.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    import mlflow
    from mlflow.exceptions import MlflowException

    estimates = _estimates(run)
    try:
        mlflow.set_experiment(experiment)
        with mlflow.start_run(run_name=run.name) as logged:
            mlflow.log_params(_params(run))
            mlflow.log_metrics(
                {
                    key if part == "value" else f"{key}_{part}": number
                    for key, estimate in estimates.items()
                    for part, number in numbers(estimate).items()
                }
            )
            mlflow.set_tags(
                {
                    f"{key}.status": f"not estimable: {estimate.reason}"
                    for key, estimate in estimates.items()
                    if estimate.value is None
                }
            )
            mlflow.log_artifact(str(scores))
            return f"MLflow: run {logged.info.run_id} in experiment {experiment}"
    except MlflowException as error:
        told = " ".join(str(error).split())[:_ERRORS_SHOWN]
        return f"MLflow: not logged ({told}); the run is kept in {scores.parent}"


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
