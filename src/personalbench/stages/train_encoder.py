"""Training of luar-mini's adapter, outside the default pipeline, with a run in MLflow."""

import json
import os
from collections import Counter
from collections.abc import Set
from dataclasses import asdict
from pathlib import Path

from personalbench import tracking
from personalbench.corpus.document import Document
from personalbench.encoders import mini
from personalbench.encoders.token_store import TokenStore
from personalbench.encoders.train import SHORTEST, VALIDATION_DOCUMENTS, Recipe, Trainer
from personalbench.errors import UserError
from personalbench.seeds import draw
from personalbench.storage import iterate_records, sha256_file

EXPERIMENT = "train-encoder"


def run(
    documents: Path,
    without: Path | None,
    held_out: int,
    folder: Path,
    recipe: Recipe,
    steps: int,
    decay: int | None,
    output: Path | None,
) -> str:
    """Train to ``steps``, cut an adapter where asked, and log what was done to MLflow.

    Args:
        documents: By many authors, as the corpus stage writes them.
        without: Documents whose authors training must not see.
        held_out: How many authors to keep for validation.
        folder: For checkpoint and log; training goes on from the checkpoint.
        recipe: How to train.
        steps: How many steps at the full rate there are to be in all.
        decay: Steps of decay before an adapter is written.
        output: Where to write it.

    Raises:
        UserError: Too few authors have enough documents.
    """
    sizes = Counter(document.author for document in iterate_records(documents, Document))
    if without is not None:
        for document in iterate_records(without, Document):
            sizes.pop(document.author, None)
    able = [author for author, count in sizes.items() if count >= VALIDATION_DOCUMENTS]
    if len(able) < held_out + 2:
        raise UserError(
            f"{documents}: {len(able)} authors of {VALIDATION_DOCUMENTS} documents; to hold out "
            f"{held_out} and train on others takes {held_out + 2}; lower --held-out"
        )
    validation = set(draw(able, held_out, recipe.seed, EXPERIMENT, "validation"))
    tokenizer = mini.tokenizer(mini.backbone_folder())

    def store(authors: Set[str]) -> TokenStore:
        kept = (d for d in iterate_records(documents, Document) if d.author in authors)
        return TokenStore.build(kept, tokenizer, SHORTEST)

    trainer = Trainer(store(sizes.keys() - validation), store(validation), folder, recipe)
    first = trainer.step
    trainer.train(steps)
    if decay is not None and output is not None:
        trainer.cut(decay, output)
    params = {
        **asdict(recipe),
        "documents": sha256_file(documents),
        "authors": len(sizes) - held_out,
        "held_out": held_out,
        "first_step": first,
    }
    _log(folder / "log.jsonl", first, {name: str(value) for name, value in params.items()})
    return f"train-encoder: {trainer.step} steps done; log and checkpoint in {folder}"


def _log(path: Path, first: int, params: dict[str, str]) -> None:
    """One run with the log's numbers, as far as they are from this call."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    import mlflow
    from mlflow.entities import Metric

    mlflow.set_tracking_uri(tracking.store())
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
