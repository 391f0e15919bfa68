"""DVC experiments and MLflow: side by side, in queues and temporary folders, from caches.

One quick stage stands for all that come before `track`; that one is the pipeline's own.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from recorded import ROOT

RESULTS = """
import json, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from ruamel.yaml import YAML
from recorded import record_project
samples = YAML(typ="safe").load(Path("params.yaml"))["personalize"]["few_shot"]["samples"]
record_project(Path.cwd())
path = Path("data/scores/few_shot.json")
path.write_text(path.read_text().replace('"value": 0.5,', f'"value": 0.5{{samples}},'))
metrics = {{"few_shot": {{"luar": float(f"0.5{{samples}}")}}}}
Path("reports/metrics.json").write_text(json.dumps(metrics))
"""


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not true():
        assert time.monotonic() < deadline
        time.sleep(1)


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        yaml = YAML()
        pipeline = yaml.load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))
        track = pipeline["stages"]["track"]
        # No twin is trained here, and no code changes.
        track["deps"] = [
            dep for dep in track["deps"] if dep != "models/adapters" and not dep.startswith("src/")
        ]
        results = {
            "cmd": f"{sys.executable} results.py",
            "deps": ["results.py"],
            "params": ["personalize.few_shot"],
            "outs": ["data", "models", "reports/report.md", "reports/figures", "reports/index.html",
                     *(f"reports/{name}quality.{kind}" for name in ("", "bundle-")
                       for kind in ("json", "html"))],
            "metrics": [{"reports/metrics.json": {"cache": False}}],
        }  # fmt: skip
        yaml.dump({"stages": {"results": results, "track": track}}, folder / "dvc.yaml")
        params = yaml.load((ROOT / "params.yaml").read_text(encoding="utf-8"))
        params["twins"] = ["few_shot", "profile"]
        del params["templates"]
        yaml.dump(params, folder / "params.yaml")
        code = RESULTS.format(tests=str(ROOT / "tests"))
        (folder / "results.py").write_text(code, encoding="utf-8")
        (folder / ".gitignore").write_text("/mlflow.db\n/mlruns/\n.cache/\n", encoding="utf-8")
        self.run("git", "init", "-q")
        for command in ("config user.name t", "config user.email t@example.org"):
            self.run("git", *command.split())
        self.run("dvc", "init", "-q")
        self.run("dvc", "repro")
        self.commit()

    def run(self, *command: str) -> str:
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("DVC_", "MLFLOW_", "GIT_"))
        }
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        environment["PYTHONPATH"] = str(ROOT / "src")
        # Not a pipe: workers inherit it, and one that stays would keep it open.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, timeout=300,
                stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
            output.seek(0)
            said = output.read()
        assert done.returncode == 0, said
        return said

    def commit(self) -> None:
        self.run("git", "add", "-A")
        self.run("git", "commit", "-qm", "state")

    def samples(self, number: int) -> None:
        yaml = YAML()
        values = yaml.load(self.folder / "params.yaml")
        values["personalize"]["few_shot"]["samples"] = number
        yaml.dump(values, self.folder / "params.yaml")

    def tags(self) -> dict[str, set[str]]:
        """The samples of every few-shot run, and the experiments that it belongs to."""
        found: dict[str, set[str]] = {}
        with sqlite3.connect(self.folder / "mlflow.db") as database:
            query = (
                "SELECT run_uuid, value FROM params WHERE key = 'samples' AND run_uuid IN "
                "(SELECT run_uuid FROM params WHERE key = 'twin' AND value = 'few_shot')"
            )
            for run, samples in database.execute(query).fetchall():
                assert samples not in found, f"{samples} samples are logged twice"
                keys = database.execute(
                    "SELECT key FROM tags WHERE run_uuid = ? AND key LIKE 'dvc_exp.%'", (run,)
                )
                found[samples] = {key.removeprefix("dvc_exp.") for (key,) in keys}
        return found

    def end_workers(self) -> None:
        for file in self.folder.glob(".dvc/tmp/exps/celery/dvc-exp-worker-*.json"):
            worker = json.loads(file.read_text(encoding="utf-8"))
            if worker["returncode"] is None:
                with suppress(ProcessLookupError):
                    os.kill(worker["pid"], signal.SIGKILL)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("experiments"))
    yield project
    project.end_workers()


def test_nothing_changed_means_nothing_runs(project: Project) -> None:
    assert "Running stage" not in project.run("dvc", "repro")
    assert project.tags() == {"5": set()}


def test_the_run_cache_never_leaves_out_a_run(project: Project) -> None:
    project.samples(2)
    project.run("dvc", "repro")
    assert set(project.tags()) == {"5", "2"}
    for name in ("mlflow.db", "mlruns"):
        path = project.folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    project.samples(5)
    said = project.run("dvc", "repro")
    assert "Stage 'results' is cached" in said
    assert "Running stage 'track'" in said
    assert project.tags() == {"5": set()}
    project.run("git", "checkout", "-q", ".")


def test_a_grid_in_two_workers_loses_and_mixes_nothing(project: Project) -> None:
    project.run("dvc", "exp", "run", "--queue", "-n", "grid",
                "-S", "personalize.few_shot.samples=1,3,4")  # fmt: skip
    # One after the other: of two workers that start in the same instant, DVC's message
    # broker may forget one, which then never hears that it should end.
    project.run("dvc", "queue", "start")
    wait_until(lambda: "0 active, 0 idle" not in project.run("dvc", "queue", "status"))
    project.run("dvc", "queue", "start", "-j", "2")
    wait_until(
        lambda: not {"Queued", "Running"} & set(project.run("dvc", "queue", "status").split())
    )
    tags = project.tags()
    assert {name for samples in "134" for name in tags[samples]} == {"grid-1", "grid-2", "grid-3"}
    assert all(len(tags[samples]) == 1 for samples in "134")
    # The profile twin came out the same each time: one run, linked with all three.
    with sqlite3.connect(project.folder / "mlflow.db") as database:
        profile = database.execute(
            "SELECT run_uuid, count(*) FROM tags WHERE key LIKE 'dvc_exp.grid-%' AND run_uuid IN "
            "(SELECT run_uuid FROM params WHERE key = 'twin' AND value = 'profile') GROUP BY 1"
        ).fetchall()
    assert [count for _, count in profile] == [3]


def test_an_experiment_in_a_temporary_folder_leaves_everything_here(project: Project) -> None:
    change = "personalize.few_shot.samples=6"
    project.run("dvc", "exp", "run", "--temp", "-n", "apart", "-S", change)
    assert project.tags()["6"] == {"apart"}
    # The same again under another name comes from the run cache, and is linked.
    project.run("dvc", "exp", "run", "--temp", "-n", "again", "-S", change)
    assert project.tags()["6"] == {"apart", "again"}
    assert project.run("git", "status", "--short") == ""
    assert {path.name for path in (project.folder / ".cache").iterdir()} == {"track"}
    artifacts = [path for path in (project.folder / "mlruns").rglob("authors.json")]
    assert len(artifacts) == sum(1 for _ in (project.folder / "mlruns").glob("*/artifacts"))


def test_experiments_are_compared_by_dvc_too(project: Project) -> None:
    shown = project.run("dvc", "exp", "show", "--csv", "--only-changed")
    assert "few_shot.luar" in shown
    assert "personalize.few_shot.samples" in shown
    assert "samples" in project.run("dvc", "params", "diff", "HEAD", "apart")
    assert "few_shot.luar" in project.run("dvc", "metrics", "diff", "HEAD", "apart")
