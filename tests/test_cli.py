"""The command line: quick help, and mistakes that end in one line."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from people import shipped_params
from personalbench.cli import main

ROOT = Path(__file__).parent.parent


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from personalbench.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "heavy = {'torch', 'transformers', 'mlflow', 'pandas', 'numpy', 'dvc', 'openai',\n"
        "         'great_expectations', 'pydantic', 'matplotlib', 'sklearn'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Measure whether an AI twin" in done.stdout
    assert "HEAVY []" in done.stdout


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (("reader: sotu", "reader: blogs\n  path: nowhere.zip"), ["stage", "corpus"], "nowhere"),
        (("authors: 2", "authors: 900"), ["stage", "bundle"], "bundle.authors: 900 asked for"),
        (("authors: 2", "authors: [zoe, ada]"), ["stage", "bundle"], "bundle.authors: zoe: not in"),
        (("model: gemma3-270m", "model: gpt-9"), ["stage", "corpus"], "gpt-9 is not in the reg"),
        (("seed: 42", "seed: -1"), ["stage", "corpus"], "seed"),
    ],
)
def test_mistakes_end_in_one_line_with_code_2_and_nothing_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: tuple[str, str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    text = shipped_params()
    assert change[0] in text
    (tmp_path / "params.yaml").write_text(text.replace(*change, 1), encoding="utf-8")
    if arguments == ["stage", "bundle"]:
        from people import corpus
        from personalbench import paths
        from personalbench.storage import write_records

        write_records(tmp_path / paths.DOCUMENTS, corpus())
    before = sorted(path for path in tmp_path.rglob("*") if ".cache" not in path.parts)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.startswith("Error: ")
    assert len(result.output.strip().splitlines()) == 1
    assert sorted(path for path in tmp_path.rglob("*") if ".cache" not in path.parts) == before


def test_a_full_disk_is_one_line_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    import personalbench.params

    def full(path: Path = Path("params.yaml")) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "data/documents.jsonl")

    monkeypatch.setattr(personalbench.params, "load_params", full)
    result = CliRunner().invoke(main, ["stage", "corpus"])
    assert result.exit_code == 2
    assert result.output == (
        "Error: data/documents.jsonl: no space left; free some and run again\n"
    )


def test_a_stage_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(main, ["stage", "nothing"])
    assert result.exit_code == 2
    assert "corpus" in result.output and "track" in result.output


def test_an_unreachable_judge_is_found_before_any_topic_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llm_stub import Stub, free_port
    from people import corpus
    from personalbench import paths
    from personalbench.storage import write_records

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    write_records(tmp_path / paths.DOCUMENTS, corpus())
    text = shipped_params()
    closed = f"http://127.0.0.1:{free_port()}/v1"
    entry = "    kind: server\n    family: stub\n    id: stub-1b\n    revision: 0123abc\n"
    with Stub() as stub:
        models = "".join(
            f"  {name}:\n{entry}    endpoints: ['{endpoint}']\n"
            for name, endpoint in (("writer", stub.endpoint), ("gone", closed))
        )
        text = text.replace("model: gemma3-270m", "model: gone")
        text = text.replace(": smollm2-135m", ": writer") + models
        (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
        result = CliRunner().invoke(main, ["stage", "bundle"])
        assert result.exit_code == 2, result.output
        assert len(result.output.strip().splitlines()) == 1
        assert closed in result.output and "start the server" in result.output
        assert stub.bodies == []
    assert not (tmp_path / paths.BUNDLES).exists()
