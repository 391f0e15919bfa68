"""Training of luar-mini's adapter, outside the default pipeline, with a run in MLflow."""

import json
import os
from dataclasses import asdict
from pathlib import Path

from personalbench.encoders import mini
from personalbench.encoders.token_store import TokenStore
from personalbench.encoders.train import SHORTEST, Recipe, Trainer
from personalbench.storage import sha256_file
from personalbench.tracking import store

EXPERIMENT = "train-encoder"


def run(
    documents: Path,
    validation: Path,
    folder: Path,
    recipe: Recipe,
    steps: int,
    decay: int | None,
    output: Path | None,
) -> str:
    """Train to ``steps``, cut an adapter where asked, and log what was done to MLflow."""
    tokenizer = mini.tokenizer(mini.backbone_folder())
    trainer = Trainer(
        TokenStore.read(documents, tokenizer, SHORTEST),
        TokenStore.read(validation, tokenizer, SHORTEST),
        folder,
        recipe,
    )
    first = trainer.step
    trainer.train(steps)
    if decay is not None and output is not None:
        trainer.cut(decay, output)
    params = {**asdict(recipe), "documents": sha256_file(documents), "first_step": first}
    _log(folder / "log.jsonl", first, {name: str(value) for name, value in params.items()})
    return f"train-encoder: {trainer.step} steps done; log and checkpoint in {folder}"


def _log(path: Path, first: int, params: dict[str, str]) -> None:
    """One run with the log's numbers, as far as they are from this call."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    import mlflow
    from mlflow.entities import Metric

    mlflow.set_tracking_uri(store())
    mlflow.set_experiment(EXPERIMENT)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    metrics = [
        Metric(f"train.{name}", value, line["time"], line["step"])
        for line in lines
        if line["step"] > first
        for name, value in line.items()
        if name not in ("step", "time")
    ]
    with mlflow.start_run() as active:
        mlflow.log_params(params)
        client = mlflow.MlflowClient()
        for start in range(0, len(metrics), 1000):
            client.log_batch(active.info.run_id, metrics=metrics[start : start + 1000])
