"""The whole pipeline under DVC, in a repository of its own.

Real corpus, encoder, DVC and MLflow; the language models are a loopback server, so that
what is asked of them can be counted.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from llm_stub import Says, Stub

ROOT = Path(__file__).parent.parent
WORDS = (
    "The people of this country have asked for a plain answer, and I give it here. "
    "We shall pay what we owe; we shall keep what we promised, and no man will say "
    "otherwise. It is late, but it is not too late, to begin the work before us. "
)


def speak(body: dict[str, Any], number: int) -> Says:
    """Answer as a writer or, where a schema asks for it, as a judge."""
    content = body["messages"][-1]["content"]
    if "response_format" not in body:
        return Says(f"{WORDS * 3}That is what I think of matter {len(content)}.")
    fields = body["response_format"]["json_schema"]["schema"]["properties"]
    if "questions" in fields:
        return Says(json.dumps({"questions": [f"Is it plain, way {n}?" for n in range(5)]}))
    if "findings" in fields:
        found = [{"evidence": "a plain answer", "present": n < len(content) % 6} for n in range(5)]
        return Says(json.dumps({"findings": found}))
    return Says(json.dumps({"reason": "plain", "same_author": len(content) % 2 == 0}))


AFTER_TWINS = {"trust", "analyse", "report", "track"}
"""Stages that see all twins at once."""


class Repository:
    """A copy of the project under git and DVC, with small params."""

    def __init__(self, folder: Path, stub: Stub) -> None:
        self.folder = folder
        tracked = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, check=True, text=True,
        ).stdout.split("\0")  # fmt: skip
        for name in tracked:
            if name and (ROOT / name).is_file() and not name.startswith(("tests/", "dvc.lock")):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        self.params(
            lambda values: (
                values["models"].update({"stub": self._model(stub)}),
                values["corpus"].update({"max_documents": 30}),
                values["bundle"].update({"prompt_model": "stub"}),
                values["personalize"].update({"generator": "stub"}),
                values["judge"].update({"model": "stub"}),
                values["validate"].update({"pairs": 50, "documents_per_author": 10}),
                values["score"].update({"bootstrap": 200}),
                values.update({"twins": ["non_personalized", "few_shot"]}),
            )
        )
        self.run("git", "init", "-q")
        self.commit()

    @staticmethod
    def _model(stub: Stub) -> dict[str, Any]:
        return {
            "kind": "server",
            "family": "stub",
            "id": "stub-1b",
            "revision": "0123abc",
            "endpoints": [stub.endpoint],
        }

    def params(self, change: Any) -> None:
        """Change params.yaml."""
        path = self.folder / "params.yaml"
        yaml = YAML()
        values = yaml.load(path.read_text(encoding="utf-8"))
        change(values)
        with open(path, "w", encoding="utf-8") as file:
            yaml.dump(values, file)

    def commit(self) -> None:
        self.run("git", "add", "-A")
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        self.run("git", *identity, "commit", "-qm", "state")

    @property
    def environment(self) -> dict[str, str]:
        """Of commands: this source tree's, and nothing of the caller's tools."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("DVC_", "MLFLOW_", "GIT_"))
        }
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        environment["PYTHONPATH"] = str(ROOT / "src")
        return environment

    def run(self, *command: str, code: int = 0) -> str:
        """Run a command in the repository; gives back what it printed."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def metrics_details(self) -> dict[str, dict[str, float]]:
        """Every line's main metrics."""
        path = self.folder / "reports/metrics-details.json"
        details: dict[str, dict[str, float]] = json.loads(path.read_text(encoding="utf-8"))
        return details

    def mlflow_runs(self) -> list[Any]:
        """All runs of the project's own store."""
        import mlflow

        client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{self.folder / 'mlflow.db'}")
        experiment = client.get_experiment_by_name("personalbench")
        return list(client.search_runs([experiment.experiment_id]))

    def ran(self, output: str) -> set[str]:
        """Names of the stages that `dvc repro` ran."""
        return set(re.findall(r"Running stage '([^']+)'", output))


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    with Stub(speak) as server:
        yield server


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, stub: Stub) -> Repository:
    made = Repository(tmp_path_factory.mktemp("project"), stub)
    made.first_output = made.run("dvc", "repro")  # type: ignore[attr-defined]
    made.commit()
    return made


def test_everything_runs_and_says_what_it_made(repository: Repository) -> None:
    output: str = repository.first_output  # type: ignore[attr-defined]
    stages = {name.split("@")[0] for name in repository.ran(output)}
    assert stages >= {"corpus", "check", "bundle", "weights", "validate", "personalize", "judge",
                      "score", "report", "track"}  # fmt: skip
    for name in ("corpus", "check", "bundle", "weights", "validate", "personalize", "references",
                 "traits", "judge", "trust", "score", "analyse", "report", "track"):  # fmt: skip
        assert re.search(rf"^{name}: ", output, re.MULTILINE), name


def test_the_results_lie_where_they_should(repository: Repository) -> None:
    shown = json.loads(repository.run("dvc", "metrics", "show", "--json"))
    metrics = shown[""]["data"]["reports/metrics.json"]["data"]
    lines = {"ceiling", "non_personalized", "few_shot", "floor"}
    assert metrics.pop("twins") == 2
    assert {name: set(numbers) for name, numbers in metrics.items()} == {"luar-mini": lines}
    # The folder and the parameter `twins` are columns of their own: DVC must not mix them up.
    columns = repository.run("dvc", "exp", "show", "--csv").splitlines()[0].split(",")
    assert len(columns) == len(set(columns))
    details = repository.metrics_details()
    assert set(details) == lines
    assert set(details["few_shot"]) >= {"luar", "tmr", "same_author", "func_cos", "punct_cos"}
    assert {"ci_low", "ci_high"} <= set(details["few_shot"])
    table = repository.run("personalbench", "results")
    assert re.search(r"^\| ceiling +\| 0\.\d{3} \[", table, re.MULTILINE)
    assert table in repository.run("personalbench", "results")
    assert (repository.folder / "reports/figures/methods.png").stat().st_size > 10_000


def test_no_json_holds_what_is_not_a_number(repository: Repository) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    files = [
        path
        for folder in ("data", "models", "reports")
        for path in (repository.folder / folder).rglob("*.json*")
    ]
    assert len(files) > 20
    for path in files:
        text = path.read_text(encoding="utf-8")
        for document in text.splitlines() if path.suffix == ".jsonl" else [text]:
            json.loads(document, parse_constant=refuse)


def test_real_writing_by_the_author_is_closer_than_that_of_others(repository: Repository) -> None:
    metrics = repository.metrics_details()
    assert metrics["ceiling"]["luar"] > metrics["floor"]["luar"]
    assert metrics["ceiling"]["func_cos"] > metrics["floor"]["func_cos"]


def test_mlflow_has_a_run_a_twin(repository: Repository) -> None:
    runs = repository.mlflow_runs()
    assert {run.data.params["twin"] for run in runs} == {"non_personalized", "few_shot"}
    assert all({"luar/twin", "luar/ceiling", "luar/floor"} <= set(run.data.metrics) for run in runs)
    assert all(run.data.metrics["system/personalize/completion_tokens"] > 0 for run in runs)
    assert all(run.data.params["bundle_hash"] for run in runs)


def test_nothing_changed_means_nothing_runs(repository: Repository, stub: Stub) -> None:
    asked = len(stub.bodies)
    assert repository.ran(repository.run("dvc", "repro")) == set()
    assert len(stub.bodies) == asked
    assert "up to date" in repository.run("dvc", "status")
    assert repository.run("git", "status", "--short") == ""


def test_an_experiment_elsewhere_is_tracked_here_and_asks_only_what_is_new(
    repository: Repository, stub: Stub
) -> None:
    asked = len(stub.bodies)
    repository.run(
        "dvc", "exp", "run", "--temp", "-n", "two", "-S", "personalize.few_shot.samples=2"
    )
    new = stub.bodies[asked:]
    cases = 2 * 5
    assert sum("response_format" not in body for body in new) == cases
    tagged = {
        run.data.params["twin"]: run.data.params.get("samples")
        for run in repository.mlflow_runs()
        if "dvc_exp.two" in run.data.tags
    }
    # The other twin came out as it was: its run is linked, not logged again.
    assert tagged == {"few_shot": "2", "non_personalized": None}
    assert len(repository.mlflow_runs()) == 3
    assert repository.run("git", "status", "--short") == ""
    assert "samples" in repository.run("dvc", "params", "diff", "HEAD", "two")
    repository.run("dvc", "metrics", "diff", "HEAD", "two")
    repository.run("dvc", "exp", "remove", "two")


def test_another_judge_repeats_no_generation(repository: Repository) -> None:
    repository.params(lambda values: values["judge"].update({"trait_posts": 6}))
    planned = repository.ran(repository.run("dvc", "repro", "--dry"))
    assert {"traits", "judge@few_shot", "judge_line@floor"} <= planned
    assert not {name for name in planned if name.startswith(("personalize", "bundle", "valid"))}
    repository.run("git", "checkout", "-q", "params.yaml")


def test_a_new_twin_runs_alone(repository: Repository, stub: Stub) -> None:
    def add(values: Any) -> None:
        values["twins"].append("two_shot")
        values["personalize"]["two_shot"] = {"method": "few_shot", "samples": 2}

    repository.params(add)
    asked = len(stub.bodies)
    ran = repository.ran(repository.run("dvc", "repro"))
    assert ran == {"personalize@two_shot", "judge@two_shot", "score@two_shot", *AFTER_TWINS}
    new = stub.bodies[asked:]
    cases = 2 * 5
    assert sum("response_format" not in body for body in new) == cases
    assert sum("response_format" in body for body in new) == 2 * cases


def test_a_file_of_answers_is_judged_and_scored_alone(repository: Repository, stub: Stub) -> None:
    """A twin from outside, its next version, and what either costs."""
    cases = [
        {"author": json.loads((folder / "manifest.json").read_text("utf-8"))["author"], **case}
        for folder in sorted((repository.folder / "data/bundles").iterdir())
        for line in (folder / "cases.jsonl").read_text("utf-8").splitlines()
        for case in [{"case_id": json.loads(line)["id"]}]
    ]
    path = repository.folder / "twins/mine.jsonl"

    def write(version: str) -> None:
        lines = [json.dumps({**case, "output": f"{version}. {WORDS * 2}"}) for case in cases]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def add(values: Any) -> None:
        values["twins"].append("mine")
        values["personalize"]["mine"] = {"method": "file", "answers": "twins/mine.jsonl"}

    write("First version")
    repository.params(add)
    asked = len(stub.bodies)
    ran = repository.ran(repository.run("dvc", "repro"))
    # The folder is read again for every twin; what the models answered before is kept.
    others = {name for name in ran if name.startswith("personalize@")} - {"personalize@mine"}
    assert ran - others == {"personalize@mine", "judge@mine", "score@mine", *AFTER_TWINS}
    assert len(stub.bodies) - asked == 2 * len(cases)
    assert all("response_format" in body for body in stub.bodies[asked:])

    write("Second version")
    asked = len(stub.bodies)
    ran = repository.ran(repository.run("dvc", "repro"))
    assert {name for name in ran if not name.startswith("personalize@")} == {
        "judge@mine", "score@mine", *AFTER_TWINS,
    }  # fmt: skip
    assert len(stub.bodies) - asked == 2 * len(cases)

    path.write_text(json.dumps({**cases[0], "output": "Only one."}) + "\n", encoding="utf-8")
    output = repository.run("personalbench", "stage", "personalize", "mine", code=2)
    assert output.startswith("Error: twins/mine.jsonl: no answer to case_0002 of ")
    write("Second version")


def test_a_judges_template_of_ones_own_repeats_no_generation(
    repository: Repository, stub: Stub
) -> None:
    folder = repository.folder / "my-prompts"
    shutil.copytree(repository.folder / "src/personalbench/prompts", folder)
    template = folder / "judge/same_author.txt"
    template.write_text(f"Mind this.\n{template.read_text('utf-8')}", encoding="utf-8")
    repository.params(lambda values: values.update({"templates": "my-prompts"}))
    asked = len(stub.bodies)
    repository.run("dvc", "repro", "judge@few_shot")
    # The other templates say the same in another folder: what they asked is kept.
    new = [body["messages"][-1]["content"] for body in stub.bodies[asked:]]
    assert len(new) == 2 * 5
    assert all(content.startswith("Mind this.") for content in new)
    template.write_text("One $first and nothing else.", encoding="utf-8")
    output = repository.run("personalbench", "stage", "bundle", code=2)
    assert "same_author.txt: does not use $second" in output
    repository.run("git", "checkout", "-q", "params.yaml")
    shutil.rmtree(folder)


def test_deleted_answers_come_back_from_the_cache_alone(repository: Repository, stub: Stub) -> None:
    path = repository.folder / "data/answers/few_shot.jsonl"
    before = path.read_bytes()
    asked = len(stub.bodies)
    repository.run("dvc", "repro", "--force", "--single-item", "personalize@few_shot")
    texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert texts == [json.loads(line)["text"] for line in before.decode().splitlines()]
    assert len(stub.bodies) == asked


def test_a_reference_document_in_the_profile_stops_the_pipeline(repository: Repository) -> None:
    path = repository.folder / "data/documents.jsonl"
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    records = [json.loads(line) for line in lines]
    leaked = next(record for record in records if record["split"] == "reference")
    copied = {**leaked, "id": leaked["id"] + "-copy", "split": "profile", "source": "elsewhere"}
    path.unlink()
    path.write_text("\n".join([*lines, json.dumps(copied)]) + "\n", encoding="utf-8")
    output = repository.run("personalbench", "stage", "check", code=2)
    assert output.startswith("Error: ")
    assert leaked["id"] in output and copied["id"] in output
    repository.run("dvc", "checkout", "--force", "data/documents.jsonl")
