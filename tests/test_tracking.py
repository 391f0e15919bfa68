"""Runs in MLflow: what is in them, that nothing is lost and nothing logged twice."""

import base64
import json
import shutil
import sqlite3
import urllib.request
import zlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from llm_stub import free_port
from personalbench import paths
from personalbench.cli import main
from personalbench.params import Params
from personalbench.report.results import load_results
from personalbench.stages import track
from personalbench.storage import read_json, write_json
from personalbench.tracking import store
from personalbench.tracking.outbox import kept
from personalbench.tracking.record import author_table, by_author, describe_experiment
from personalbench.tracking.runs import keep_runs
from personalbench.tracking.store import Unreachable, open_store, send, store_name, store_uri
from personalbench.tracking.ui import serving
from personalbench.tracking.view import save_view, view_url
from recorded import SECRET, record_project


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with its tables, which take MLflow seconds to make."""
    folder = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DVC_ROOT", str(folder))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        with open_store():
            pass
    return folder / "mlflow.db"


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_store: Path) -> Params:
    """A recorded project in the current folder, with a store of its own."""
    shutil.copy(empty_store, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    for name in ("MLFLOW_TRACKING_URI", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV"):
        monkeypatch.delenv(name, raising=False)
    return record_project(tmp_path)


def runs() -> list[Any]:
    with open_store() as client:
        experiment = client.get_experiment_by_name("personalbench")
        return list(client.search_runs([experiment.experiment_id])) if experiment else []


def with_texts(params: Params, texts: bool) -> Params:
    return params.model_copy(update={"track": params.track.model_copy(update={"texts": texts})})


def test_each_twin_is_a_run_with_the_lines_beside_it(params: Params) -> None:
    assert track.run(params).startswith("track: 2 new runs and 0 known ones")
    found = {run.data.params["twin"]: run for run in runs()}
    assert set(found) == {"few_shot", "profile"}
    run = found["few_shot"]
    assert run.info.run_name == "few_shot · smollm2-135m · sotu"
    assert run.info.status == "FINISHED"
    metrics = run.data.metrics
    assert metrics["luar/twin"] == 0.5
    assert (metrics["luar/twin_ci_low"], metrics["luar/twin_ci_high"]) == (0.4, 0.6)
    assert metrics["luar/ceiling"] == pytest.approx(0.6)
    assert metrics["luar/floor"] == pytest.approx(0.4)
    assert metrics["answers/failed"] == 1
    assert metrics["system/personalize/calls"] == 6
    assert metrics["system/personalize/completion_tokens"] == 300
    own = read_json(paths.RESOURCES / "score" / "few_shot.json")
    for name in ("seconds", "processor_seconds", "peak_memory_megabytes"):
        assert metrics[f"system/score/{name}"] == own[name]
    assert "rouge_l/twin" not in metrics
    assert run.data.tags["rouge_l.status"] == "not estimable: 5 of 5 not measured"
    assert run.data.params["samples"] == "5"
    assert run.data.params["method"] == "few_shot"
    assert {"bundle_hash", "encoder_revision", "generator_revision", "judge"} <= set(
        run.data.params
    )
    assert run.data.tags["data_quality"] == "passed, warnings: language"
    assert run.data.tags["quality.language"] == "warning: 1"
    assert run.data.tags["corpus_hash"] == "c0ffee" * 10
    assert len(run.data.tags["template.twins/few_shot"]) == 64
    assert "| LUAR likeness" in run.data.tags["mlflow.note.content"]
    assert [item.dataset.name for item in run.inputs.dataset_inputs] == ["corpus sotu", "bundles"]


def test_values_by_author_are_steps_and_a_table(params: Params) -> None:
    track.run(params)
    run = next(run for run in runs() if run.data.params["twin"] == "few_shot")
    with open_store() as client:
        history = client.get_metric_history(run.info.run_id, "by_author/func_cos/ceiling")
        table = json.loads(
            Path(client.download_artifacts(run.info.run_id, "authors.json")).read_text("utf-8")
        )
    assert [(point.step, round(point.value, 3)) for point in history] == [(1, 0.6), (2, 0.61)]
    assert [row[:2] for row in table["data"]] == [[1, "ada"], [2, "ben"]]
    place = table["columns"].index("func_cos/ceiling")
    assert [round(row[place], 3) for row in table["data"]] == [0.6, 0.61]


def test_an_author_is_the_mean_of_its_answers(params: Params) -> None:
    scores = load_results(paths.SCORES, ["few_shot"]).twins["few_shot"]
    first, *rest = scores.cases
    changed = first.model_copy(
        update={
            "metrics": {
                **first.metrics,
                "tmr": first.metrics["tmr"].model_copy(update={"value": 1.0}),
            }
        }
    )
    changed_scores = scores.model_copy(update={"cases": (changed, *rest)})
    # (1.0 + 4 * 0.5) / 5
    assert by_author(changed_scores, "tmr") == {
        "ada": pytest.approx(0.6),
        "ben": pytest.approx(0.51),
    }
    assert by_author(scores, "rouge_l") == {}


def test_the_same_results_are_logged_once(params: Params) -> None:
    track.run(params)
    before = {run.info.run_id for run in runs()}
    # What a repetition takes is no part of a result.
    path = paths.RESOURCES / "score" / "profile.json"
    write_json(path, {**read_json(path), "seconds": 3600.0})
    assert track.run(params).startswith("track: 0 new runs and 2 known ones")
    assert {run.info.run_id for run in runs()} == before


def test_the_registry_has_a_version_for_each_encoder(params: Params) -> None:
    track.run(params)
    with open_store() as client:
        versions = client.search_model_versions("name = 'luar-mini'")
        assert [version.tags for version in versions] == [{"revision": "abc"}]
        folder = Path(client.download_artifacts(versions[0].run_id, "encoder"))
    assert json.loads((folder / "weights.json").read_text("utf-8"))["revision"] == "abc"


def test_a_changed_answer_is_another_result(params: Params) -> None:
    track.run(params)
    with open(paths.ANSWERS / "profile.jsonl", "a", encoding="utf-8") as file:
        file.write("\n")
    assert track.run(params).startswith("track: 1 new runs and 1 known ones")


def test_experiments_with_the_same_results_share_a_run(
    params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_BASELINE_REV", "1234abc")
    for name in ("cold-tern", "warm-ibis"):
        monkeypatch.setenv("DVC_EXP_NAME", name)
        track.run(params)
    found = runs()
    assert len(found) == 2
    for run in found:
        assert run.info.run_name.endswith(" · cold-tern")
        assert run.data.tags["DVC_EXP_NAME"] == "cold-tern"
        assert run.data.tags["dvc_exp.cold-tern"] == run.data.tags["dvc_exp.warm-ibis"] == "1234abc"


def test_a_run_that_was_cut_off_is_completed(
    params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*args: Any) -> None:
        raise KeyboardInterrupt

    from mlflow import MlflowClient

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_inputs", die)
        with pytest.raises(KeyboardInterrupt):
            track.run(params)
    cut = runs()
    assert [run.info.status for run in cut] == ["RUNNING"]
    track.run(params)
    found = {run.info.run_id: run for run in runs()}
    assert len(found) == 2
    assert cut[0].info.run_id in found
    assert {run.info.status for run in found.values()} == {"FINISHED"}
    with open_store() as client:
        for key in ("luar/twin", "by_author/luar/twin"):
            history = client.get_metric_history(cut[0].info.run_id, key)
            assert len(history) == len({point.step for point in history})


def test_a_dead_server_loses_nothing(params: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"http://name:hunter2@127.0.0.1:{free_port()}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    said = track.run(params)
    assert "2 runs are kept: `personalbench track` sends them" in said
    assert "hunter2" not in said
    assert len(kept()) == 2
    assert track.run(params)  # keeping the same results again adds nothing
    assert len(kept()) == 2
    # The next results replace the files here; the kept ones stay as they were.
    first = {parcel.record.result for parcel in kept()}
    with open(paths.ANSWERS / "profile.jsonl", "a", encoding="utf-8") as file:
        file.write("\n")
    track.run(params)
    assert len(kept()) == 3
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    with open_store() as client:
        send(client, kept())
    assert kept() == []
    assert first < {run.data.tags["result"] for run in runs()}
    assert len(runs()) == 3


def test_a_server_that_never_answers_is_given_up(
    params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    monkeypatch.setitem(store._FIRST_CALL, "MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"http://name:hunter2@127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        with pytest.raises(Unreachable) as raised, open_store():
            pass
    assert "hunter2" not in str(raised.value)


def test_a_deleted_experiment_is_named(params: Params) -> None:
    track.run(params)
    with open_store() as client:
        client.delete_experiment(client.get_experiment_by_name("personalbench").experiment_id)
    with open(paths.ANSWERS / "profile.jsonl", "a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(Exception, match="'personalbench' is deleted: restore it"):
        track.run(params)
    assert len(kept()) == 2


@pytest.mark.parametrize("texts", [True, False])
def test_texts_stay_where_they_are_allowed(params: Params, tmp_path: Path, texts: bool) -> None:
    track.run(with_texts(params, texts))
    database = sqlite3.connect(tmp_path / "mlflow.db")
    dump = "\n".join(database.iterdump())
    assert "few_shot" in dump
    assert SECRET not in dump
    files = [path for path in (tmp_path / "mlruns").rglob("*") if path.is_file()]
    told = {path.name for path in files if SECRET in path.read_text(encoding="utf-8")}
    assert bool(told) == texts
    assert {"methods.png", "authors.json", "cases.json", "quality.html"} <= {
        path.name for path in files
    }
    if texts:
        assert {
            "few_shot.jsonl",
            "traits.jsonl",
            "few_shot.json",
            "index.html",
            "report.md",
        } <= told


def test_the_command_sends_the_results_here(params: Params, tmp_path: Path) -> None:
    import yaml

    text = (Path(__file__).parent.parent / "params.yaml").read_text(encoding="utf-8")
    values = yaml.safe_load(text)
    values["twins"] = params.twins
    del values["templates"]
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    done = CliRunner().invoke(main, ["track"])
    assert done.output.endswith(f"2 new runs and 0 known ones in {store_name()}\n")
    assert len(runs()) == 2


def test_the_ui_has_a_view_of_the_twins(params: Params) -> None:
    with open_store() as client:
        arrivals = send(client, keep_runs(params))
        experiment_id = arrivals[0].experiment_id
        run_ids = [arrival.run_id for arrival in arrivals]
        key = save_view(client, experiment_id, run_ids, "luar")
        tags = client.get_experiment(experiment_id).tags
    kind, _, packed = json.loads(tags[f"mlflow.sharedViewState.{key}"])["state"].partition(";")
    assert kind == "deflate"
    state = json.loads(zlib.decompress(base64.b64decode(packed)))
    assert all(run_id in state["searchFilter"] for run_id in run_ids)
    sections = {section["uuid"] for section in state["compareRunSections"]}
    charts = state["compareRunCharts"]
    assert {chart["metricSectionId"] for chart in charts} == sections
    assert charts[0]["metricKey"] == "luar/twin"
    lines = next(chart for chart in charts if chart["type"] == "LINE")
    assert lines["selectedMetricKeys"] == [
        "by_author/luar/twin", "by_author/luar/ceiling", "by_author/luar/floor",
    ]  # fmt: skip
    with serving(free_port()) as ui:
        assert ui.process is not None
        with urllib.request.urlopen(ui.address, timeout=60) as page:
            assert b"MLflow" in page.read()
    assert ui.process.poll() is not None
    assert key in view_url(ui.address, experiment_id, key)


def test_a_servers_ui_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://mlflow.example")
    with serving(1) as ui:
        assert (ui.address, ui.process) == ("https://mlflow.example", None)


def test_a_store_is_the_projects_wherever_a_stage_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert store_uri() == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///runs/all.db")
    assert store_uri() == f"sqlite:///{tmp_path}/runs/all.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////srv/all.db")
    assert store_uri() == "sqlite:////srv/all.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:secret@db.example/mlflow")
    assert store_uri() == "postgresql://me:secret@db.example/mlflow"
    assert store_name() == "postgresql://db.example/mlflow"


def test_long_settings_are_logged_as_hashes(params: Params) -> None:
    long = params.model_copy(
        update={"bundle": params.bundle.model_copy(update={"genre": "letter\n" * 900})}
    )
    record = keep_runs(long)[0].record
    assert record.params["genre"].startswith("sha256:")
    assert len(record.params["genre"]) == len("sha256:") + 16


def test_descriptions_fit_and_tables_are_complete(params: Params) -> None:
    results = load_results(paths.SCORES, params.twins)
    assert len(describe_experiment(results)) < 5000
    table = author_table(results, "profile")
    assert all(len(row) == len(table["columns"]) for row in table["data"])
    for parcel in keep_runs(params):
        assert read_json(parcel.artifacts / "authors.json") == author_table(
            results, parcel.record.params["twin"]
        )
