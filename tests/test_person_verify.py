"""The test of an installation: its values, and how it says what is wrong."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from llm_stub import Stub, free_port
from personalbench.cli import main
from personalbench.person import verify
from personalbench.person.settings import settings
from personalbench.person.verify import Check, load_fixture, verify_install


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder, so that the encoder is built once."""
    return tmp_path_factory.mktemp("project")


def _checks(project: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> dict[str, Check]:
    monkeypatch.setenv("DVC_ROOT", str(project))
    monkeypatch.chdir(project)
    params = settings()
    spec = params.models["qwen3-32b"].model_copy(update={"endpoints": [endpoint]})
    params = params.model_copy(
        update={
            "models": {**params.models, "mine": spec},
            "bundle": params.bundle.model_copy(update={"prompt_model": "mine"}),
            "personalize": params.personalize.model_copy(update={"generator": "mine"}),
        }
    )
    return {check.name: check for check in verify_install(params)}


def test_everything_is_there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Stub() as stub:
        checks = _checks(project, monkeypatch, stub.endpoint)
    assert {name: check.status for name, check in checks.items()} == dict.fromkeys(
        ["packages", "memory", "encoder", "measurement", "model mine"], "ok"
    ), checks
    values = load_fixture().expected.values
    assert values["baseline"] < values["twin"] < values["ceiling"]
    assert f"twin {values['twin']:.3f}" in checks["measurement"].detail


def test_what_is_missing_is_named_with_what_to_do(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = f"http://127.0.0.1:{free_port()}/v1"
    monkeypatch.setattr(verify, "_MEMORY", 1 << 60)
    monkeypatch.setattr(verify, "_PACKAGES", ("numpy", "no-such-package"))
    fixture = load_fixture()
    other = fixture.model_copy(update={"twin": fixture.profile})
    monkeypatch.setattr(verify, "load_fixture", lambda: other)
    checks = _checks(project, monkeypatch, closed)
    assert checks["model mine"].status == "missing" and closed in checks["model mine"].detail
    assert checks["packages"].detail == "run `pip install no-such-package`"
    assert checks["memory"].status == "missing"
    assert checks["measurement"].status == "failed"
    assert "twin: 1.0000, expected" in checks["measurement"].detail


def test_the_command_exits_with_1_where_something_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    found = [Check(name="a", status="ok", detail="b")]
    monkeypatch.setattr(verify, "verify_install", lambda params: iter(found))
    assert CliRunner().invoke(main, ["verify-install"]).exit_code == 0
    found.append(Check(name="c", status="missing", detail="get it"))
    result = CliRunner().invoke(main, ["verify-install"])
    assert result.exit_code == 1 and "missing  c: get it" in result.output
    told = CliRunner().invoke(main, ["verify-install", "--json"])
    assert [each["name"] for each in json.loads(told.stdout)] == ["a", "c"]
