"""What of a run goes to MLflow, and what happens when it can't."""

from pathlib import Path

import pytest

from bearing import Bearing, answers, calibration, person
from llm_stub import free_port
from personalbench.person.logged import log_run
from personalbench.person.records import Run
from personalbench.person.scoring import score_run


def _run(folder: Path) -> tuple[Run, Path]:
    scored = score_run(
        "november",
        person(folder / "b"),
        answers(folder / "twin.jsonl", [50.0] * 5),
        answers(folder / "base.jsonl", [60.0] * 5, "base"),
        Bearing(),
        calibration(folder / "c.safetensors", [float(angle) for angle in range(30, 80)]),
        200,
        1,
    )
    path = folder / "scores.json"
    path.write_text(scored.run.model_dump_json(), encoding="utf-8")
    return scored.run, path


def test_nothing_is_logged_where_nothing_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert log_run(*_run(tmp_path), "person") is None


def test_numbers_and_hashes_are_logged_and_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path / 'ml.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    run, path = _run(tmp_path)
    assert "MLflow: run" in (log_run(run, path, "person") or "")
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("person")
    assert experiment is not None
    [logged] = client.search_runs([experiment.experiment_id])
    assert logged.info.run_name == "november"
    assert logged.data.metrics["bearing.twin"] == pytest.approx(run.twin.likeness.value)
    assert logged.data.metrics["bearing.floor"] == pytest.approx(
        run.unrelated.mean if run.unrelated else None
    )
    assert logged.data.params["bundle"] == run.bundle.sha256
    assert [item.path for item in client.list_artifacts(logged.info.run_id)] == ["scores.json"]
    everything = str(logged.to_dictionary()) + path.read_text(encoding="utf-8")
    assert "twin1x" not in everything and "held0x" not in everything


def test_a_dead_server_is_said_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{free_port()}")
    run, path = _run(tmp_path)
    told = log_run(run, path, "person") or ""
    assert told.startswith("MLflow: not logged") and str(tmp_path) in told
    assert "\n" not in told
