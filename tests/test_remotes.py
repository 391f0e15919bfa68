"""Sharing with DVC remotes: what one pushes another pulls, and nothing is made again.

The outputs are recorded ones, committed without a stage having run; pipeline, remotes and
Git are real.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from personalbench import paths
from recorded import ROOT, record_project

_IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.org")
_OTHERS = ("DVC_", "MLFLOW_", "GIT_", "AWS_")
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)},
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": str(ROOT / "src"),
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
}  # fmt: skip


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def commit(folder: Path) -> None:
    run(folder, "git", "add", "-A")
    run(folder, "git", *_IDENTITY, "commit", "-qm", "state")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose dvc.lock says that every stage has run."""
    folder = tmp_path_factory.mktemp("project")
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    for name in tracked:
        if name and (ROOT / name).is_file() and not name.startswith(("tests/", "dvc.lock")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        params = record_project(folder)
    yaml = YAML()
    values = yaml.load(folder / "params.yaml")
    values["twins"] = params.twins
    yaml.dump(values, folder / "params.yaml")
    run(folder, "git", "init", "-q")
    for name in run(folder, sys.executable, "-c", _OUTPUTS).split():
        if not (folder / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"{name}\n", encoding="utf-8")
    run(folder, "dvc", "commit", "--force")
    commit(folder)
    return folder


_OUTPUTS = """
from dvc.repo import Repo
print("\\n".join(out.def_path for stage in Repo().index.stages for out in stage.outs))
"""


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The address of an S3 server with the bucket `team`."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    boto3.client(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    ).create_bucket(Bucket="team")
    yield address
    server.stop()


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_what_is_pushed_is_pulled_and_not_made_again(
    kind: str, project: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "folder":
        run(project, "dvc", "remote", "add", "--force", "-d", "team", str(tmp_path / "remote"))
    else:
        address = request.getfixturevalue("bucket")
        run(project, "dvc", "remote", "add", "--force", "-d", "team", "s3://team/personalbench")
        run(project, "dvc", "remote", "modify", "team", "endpointurl", address)
    commit(project)
    assert "pushed" in run(project, "dvc", "push")
    assert "Everything is up to date" in run(project, "dvc", "push")

    clone = tmp_path / "clone"
    run(tmp_path, "git", "clone", "-q", str(project), str(clone))
    assert not (clone / paths.ENCODER).exists()
    run(clone, "dvc", "pull", "models/encoder", "data/bundles")
    assert (clone / paths.ENCODER / "weights.json").exists()
    assert not (clone / paths.ANSWERS).exists()
    run(clone, "dvc", "pull")
    said = run(clone, "dvc", "repro")
    assert "Running stage" not in said
    assert "up to date" in said
    assert run(clone, "git", "status", "--short") == ""
    answers = paths.ANSWERS / "few_shot.jsonl"
    assert (clone / answers).read_bytes() == (project / answers).read_bytes()


def test_bundles_and_encoder_are_artifacts_with_versions(project: Path, tmp_path: Path) -> None:
    for name, file in (("bundles", "ada/manifest.json"), ("encoder", "weights.json")):
        run(project, "git", *_IDENTITY, "tag", "-a", f"{name}@v1.0.0", "-m", name)
        run(project, "dvc", "artifacts", "get", ".", name, "-o", str(tmp_path / name))
        assert (tmp_path / name / file).exists()


def test_a_source_is_imported_with_its_address(project: Path, tmp_path: Path) -> None:
    source = tmp_path / "blogs.zip"
    source.write_bytes(b"first")
    run(project, "dvc", "import-url", str(source), "data/raw/blogs.zip")
    commit(project)
    assert run(project, "git", "ls-files", "data/raw").split() == [
        "data/raw/README.md",
        "data/raw/blogs.zip.dvc",
    ]
    source.write_bytes(b"second")
    assert "blogs.zip" in run(project, "dvc", "status", "data/raw/blogs.zip.dvc")
    run(project, "dvc", "update", "data/raw/blogs.zip.dvc")
    assert (project / "data/raw/blogs.zip").read_bytes() == b"second"
