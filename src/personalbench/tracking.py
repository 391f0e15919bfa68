"""MLflow: one flat run a twin, with ceiling and floor beside every score."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tqdm import tqdm

from personalbench.metrics.estimate import Estimate
from personalbench.paths import anchor
from personalbench.report.results import Results, numbers


def store() -> str:
    """The tracking URI: ``MLFLOW_TRACKING_URI``, or a database at the repository's root."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{anchor() / 'mlflow.db'}"


def log_runs(
    results: Results,
    experiment: str,
    params: Mapping[str, str],
    artifacts: Mapping[str, Sequence[Path]],
) -> dict[str, str]:
    """Log one run a twin.

    Args:
        results: The run's scores.
        experiment: Name of the MLflow experiment, made where it does not exist.
        params: Logged with every run.
        artifacts: Files of each twin's run, by twin.

    Returns:
        The id of each twin's run.
    """
    # Set before the import: MLflow looks at it once.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    import mlflow

    # Without a store of the user's, artifacts lie beside the database, not in the current
    # folder, which is a temporary one in some experiments. (MLflow sets the variable itself
    # once a store is chosen.)
    location = None if "MLFLOW_TRACKING_URI" in os.environ else (anchor() / "mlruns").as_uri()
    mlflow.set_tracking_uri(store())
    if mlflow.get_experiment_by_name(experiment) is None:
        mlflow.create_experiment(experiment, artifact_location=location)
    mlflow.set_experiment(experiment)
    runs = {}
    for twin in tqdm(results.twins, desc="runs", disable=None):
        with mlflow.start_run(
            run_name=f"{twin} · {params['generator']} · {params['corpus']}"
        ) as run:
            mlflow.log_params({"twin": twin, **params})
            mlflow.log_metrics(run_metrics(results, twin))
            mlflow.set_tags(not_estimable(results, twin))
            for path in artifacts[twin]:
                mlflow.log_artifact(str(path))
            runs[twin] = run.info.run_id
    return runs


def run_metrics(results: Results, twin: str) -> dict[str, float]:
    """The metrics of a twin's run: ``luar.twin``, ``luar.twin_ci_low``, ``luar.ceiling``, …"""
    logged = {
        key if name == "value" else f"{key}_{name}": number
        for key, estimate in _estimates(results, twin).items()
        for name, number in numbers(estimate).items()
    }
    return {**logged, "failed": float(results.twins[twin].failed)}


def not_estimable(results: Results, twin: str) -> dict[str, str]:
    """A tag with the reason for every metric that has no value."""
    return {
        f"{key}.status": f"not estimable: {estimate.reason}"
        for key, estimate in _estimates(results, twin).items()
        if estimate.value is None
    }


def _estimates(results: Results, twin: str) -> dict[str, Estimate]:
    """Every metric of a twin and of the lines beside it, by its name in MLflow."""
    return {
        f"{metric}.{role}": results.estimate(line, metric)
        for metric in results.metrics
        for role, line in (("twin", twin), ("ceiling", "ceiling"), ("floor", "floor"))
    }
