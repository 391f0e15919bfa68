"""`import personalbench` for people with a loop of their own, and scorers for MLflow."""

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import personalbench
from bearing import Bearing, answers, person, replace_text, wordy
from personalbench.errors import UserError

ROOT = Path(__file__).parent.parent


def said(angle: float) -> dict[str, str]:
    return {f"case_{number:04}": wordy(angle, f"twin{number}x") for number in range(1, 6)}


def test_the_import_is_quick() -> None:
    code = (
        "import sys, personalbench\n"
        "print(sorted({'torch', 'mlflow', 'numpy', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_score_and_compare_give_the_cosines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    person(tmp_path / "ada")
    bundle = personalbench.load_bundle(str(tmp_path / "ada"))
    old = personalbench.score(bundle, said(60), name="old", encoder=Bearing())
    new = personalbench.score(
        bundle, answers(tmp_path / "new.jsonl", [30] * 5), said(60), name="new", encoder=Bearing()
    )
    # The profile points to 0 degrees and the held-out documents to 20.
    assert old.run.twin.likeness.value == pytest.approx(math.cos(math.radians(60)))
    assert new.run.ceiling.likeness.value == pytest.approx(math.cos(math.radians(20)))
    assert new.run.improvement.value == pytest.approx(math.cos(math.radians(30)) - 0.5)
    compared = personalbench.compare(old, new)
    assert (compared.first, [run.name for run in compared.runs]) == ("old", ["new"])


def test_a_missing_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bundle = person(tmp_path / "ada")
    some = said(60)
    del some["case_0003"]
    with pytest.raises(UserError, match="case_0003"):
        personalbench.score(bundle, some, encoder=Bearing())


def test_mlflow_evaluates_with_the_scorers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_GENAI_EVAL_MAX_WORKERS", "2")
    monkeypatch.chdir(tmp_path)
    import mlflow

    from personalbench.scorers import person_scorers

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    mlflow.set_experiment("evaluated")
    words = " the cat and the dog"
    bundle = person(tmp_path / "ada")
    bundle = replace(
        bundle, profile=tuple(replace_text(one, one.text + words) for one in bundle.profile)
    )
    angles = [0, 10, 20, 30, 40, 50, 60, 70, 80, 89]
    rows = [
        {"inputs": {"prompt": f"Write on {angle}."}, "outputs": wordy(angle, "twin") + words}
        for angle in angles
    ]
    copied = bundle.profile[0].text
    rows += [
        {"inputs": {"prompt": "Copy."}, "outputs": copied},
        {"inputs": {"prompt": "Say nothing."}, "outputs": " "},
    ]
    result = mlflow.genai.evaluate(data=rows, scorers=person_scorers(bundle, Bearing()))
    frame = result.result_df
    assert len(frame) == len(rows)
    by_output = {row["response"]: row for _, row in frame.iterrows()}
    for angle, row in zip(angles, rows, strict=False):
        found = by_output[row["outputs"]]
        assert found["bearing_1v5/value"] == pytest.approx(math.cos(math.radians(angle)), abs=1e-6)
    assert by_output[copied]["copied_run/value"] == len(copied.split())
    # The profile and the answers use "the" twice as often as "and", and no other.
    assert by_output[rows[0]["outputs"]]["func_cos/value"] == pytest.approx(1)
    assert math.isnan(by_output[" "]["bearing_1v5/value"] or math.nan)
    mlflow.set_tracking_uri("")
