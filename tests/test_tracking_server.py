"""A team's server: MLflow on a real PostgreSQL, with an artefact store of its own."""

import getpass
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg2
import pytest

from llm_stub import free_port
from personalbench import paths
from personalbench.stages import track
from personalbench.tracking.outbox import kept
from personalbench.tracking.store import Unreachable, open_store, send
from recorded import SECRET, record_project


def binaries() -> Path | None:
    """The newest PostgreSQL of Debian's packages, or the one on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


pytestmark = pytest.mark.skipif(
    binaries() is None, reason="needs PostgreSQL: apt-get install postgresql"
)


def unprivileged() -> tuple[list[str], str]:
    """How to run PostgreSQL, which refuses to be root, and as whom."""
    if os.geteuid() != 0:
        return [], getpass.getuser()
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"], "nobody"


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The address of a new database on a free port."""
    folder = binaries()
    assert folder is not None
    become, user = unprivileged()
    data = Path(tempfile.mkdtemp(prefix="personalbench-postgres-"))
    port = free_port()
    try:
        if become:
            shutil.chown(data, user, "nogroup")
        subprocess.run(
            [*become, folder / "initdb", "-D", data / "db", "-U", "mlflow", "--auth=trust"],
            check=True,
            capture_output=True,
            cwd="/",
        )
        server = subprocess.Popen(
            [*become, folder / "postgres", "-D", data / "db", "-k", data, "-p", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )
        try:
            _wait_for_database(port)
            yield f"postgresql+psycopg2://mlflow@127.0.0.1:{port}/postgres"
        finally:
            server.terminate()
            server.wait()
    finally:
        shutil.rmtree(data)


def _wait_for_database(port: int) -> None:
    for _ in range(240):
        try:
            psycopg2.connect(host="127.0.0.1", port=port, user="mlflow", dbname="postgres").close()
            return
        except psycopg2.OperationalError:
            time.sleep(0.5)
    raise AssertionError("PostgreSQL does not answer")


@contextmanager
def mlflow_server(database: str, artifacts: Path, port: int) -> Iterator[str]:
    """`mlflow server` as docs/team-server.md starts it."""
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "mlflow", "server", "--backend-store-uri", database),
            *("--artifacts-destination", artifacts.as_uri()),
            *("--host", "127.0.0.1", "--port", str(port), "--workers", "1"),
        ],
        env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"},
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(360):
            assert server.poll() is None, "the server did not start"
            try:
                urllib.request.urlopen(f"{address}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.5)
        yield address
    finally:
        server.terminate()
        server.wait()


def test_runs_go_to_the_team_and_wait_while_its_server_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    params = record_project(tmp_path)
    artifacts = tmp_path / "team"
    port = free_port()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    with mlflow_server(database, artifacts, port):
        assert track.run(params).startswith("track: 2 new runs and 0 known ones")
        assert track.run(params).startswith("track: 0 new runs and 2 known ones")
        with open_store() as client:
            experiment = client.get_experiment_by_name("personalbench")
            assert experiment.artifact_location.startswith("mlflow-artifacts:")
            run = client.search_runs([experiment.experiment_id])[0]
            got = client.download_artifacts(run.info.run_id, "answers", str(tmp_path))
            assert SECRET in next(Path(got).glob("*.jsonl")).read_text(encoding="utf-8")
    assert list(artifacts.rglob("authors.json"))
    assert not (tmp_path / "mlruns").exists()

    with open(paths.ANSWERS / "profile.jsonl", "a", encoding="utf-8") as file:
        file.write("\n")
    assert "2 runs are kept" in track.run(params)
    with mlflow_server(database, artifacts, port), open_store() as client:
        assert [arrival.is_new for arrival in send(client, kept())].count(True) == 1
        runs = client.search_runs([experiment.experiment_id])
        assert {run.info.status for run in runs} == {"FINISHED"}
        assert len(runs) == 3
    assert kept() == []


def test_a_dead_database_is_given_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"postgresql+psycopg2://me:hunter2@127.0.0.1:{free_port()}/mlflow"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    with pytest.raises(Unreachable) as raised, open_store():
        pass
    assert "hunter2" not in str(raised.value)
