"""Training as a command: who is held out, and what MLflow keeps of it."""

import json
from pathlib import Path

import pytest
from mlflow import MlflowClient

from people import corpus
from personalbench.encoders.train import Recipe
from personalbench.errors import UserError
from personalbench.stages import train_encoder
from personalbench.storage import write_records

RECIPE = Recipe(rank=2, warmup=2, tokens=200, snippet_lengths=((16, 1.0),), documents=((4, 1.0),))
AUTHORS = ("ada", "ben", "cleo", "dan", "eve", "fay")


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    path = tmp_path / "documents.jsonl"
    write_records(path, corpus(AUTHORS))
    return path


def test_a_run_is_resumed_cut_and_logged(
    documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    without = tmp_path / "measured.jsonl"
    write_records(without, corpus(("fay",)))
    work, adapter = tmp_path / "work", tmp_path / "adapter.safetensors"
    train_encoder.run(documents, without, 2, work, RECIPE, 2, None, None)
    told = train_encoder.run(documents, without, 2, work, RECIPE, 3, 1, adapter)
    assert told.startswith("train-encoder: 4 steps done")
    assert adapter.exists()

    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("train-encoder")
    runs = client.search_runs([experiment.experiment_id], order_by=["start_time ASC"])
    assert [run.data.params["first_step"] for run in runs] == ["0", "2"]
    assert {run.data.params["authors"] for run in runs} == {"3"}  # six, less two and fay
    lines = [json.loads(line) for line in (work / "log.jsonl").open(encoding="utf-8")]
    losses = [line["loss_1"] for line in lines if "loss_1" in line]
    kept = [client.get_metric_history(run.info.run_id, "train.loss_1") for run in runs]
    assert [[point.step for point in history] for history in kept] == [[1, 2], [3, 4]]
    assert [point.value for history in kept for point in history] == pytest.approx(losses)
    assert 0 <= runs[1].data.metrics["train.auc_5"] <= 1


def test_too_few_authors_are_said(documents: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"6 authors of 10 documents; to hold out 5 .* takes 7"):
        train_encoder.run(documents, None, 5, tmp_path / "work", RECIPE, 1, None, None)
