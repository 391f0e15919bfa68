"""What the report and MLflow say of a training, and a disk that takes no more."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from safetensors import safe_open

from invented import invented_run
from personalbench.bundle import ModelIdentity
from personalbench.params import TrainingParams
from personalbench.report.parts.training import training_section
from personalbench.report.sections import report_sections
from personalbench.tracking.record import training_points
from personalbench.training.outcomes import Outcome
from personalbench.training.perplexity import Perplexity
from personalbench.training.records import AdapterRecord, CurvePoint


def outcome(author: str, shift: float) -> Outcome:
    curve = [(0, None, 4.0), (5, 3.5, 3.0), (10, 3.0, 3.25)]
    return Outcome(
        AdapterRecord(
            author=author,
            base=ModelIdentity(id="small", revision="0" * 64),
            training_set="0",
            params=TrainingParams(),
            seed=1,
            trained=("a", "b"),
            held_out=("c",),
            flags=("fewer_documents",),
            cut=1,
            tokens=9,
            steps=12,
            best=5,
            curve=tuple(
                CurvePoint(step=step, train=train, held_out=held + shift)
                for step, train, held in curve
            ),
            precision="float32",
            weights="0",
        ),
        Perplexity(documents=5, tokens=50, base=30.0 + shift, trained=12.0 + shift),
    )


def test_curve_and_perplexity_stand_in_the_report_and_in_mlflow() -> None:
    run = invented_run(authors=2, twins=("non_personalized", "finetuned"))
    assert "training" not in [section.id for section in report_sections(run)]
    own = {"author-00": outcome("author-00", 0.0), "author-01": outcome("author-01", 1.0)}
    section = training_section(replace(run, trainings={"finetuned": own}))
    before_after, curve = section.tables
    assert before_after.rows[1] == ("finetuned", "author-01", 2, 5.0, 4.0, 5, 12, 31.0, 13.0)
    assert curve.rows[0] == ("finetuned", "author-00", 0, "", 4.0) and len(curve.rows) == 6
    assert "finetuned 4.500 before, 3.500 after" in section.figures[0].alt
    assert section.notes == (
        "finetuned: 2 of 4 documents were too long and were cut at their end.",
        "finetuned: fewer documents: author-00, author-01.",
    )
    points = {(each.key, each.step): each.value for each in training_points(run.results, own)}
    assert points["training/loss_held_out/author_02", 5] == 4.0
    assert points["training/loss_learnt/author_01", 10] == 3.0
    assert ("training/loss_learnt/author_01", 0) not in points
    assert points["by_author/perplexity/base", 2] == 31.0
    assert points["perplexity/trained", 0] == 12.5
    assert training_points(run.results, {}) == ()


SAVE = """
import resource
import sys
from pathlib import Path
from personalbench import cli
from personalbench.training.trainer import _Run
from tiny_model import tiny_model

@cli.main.command()
def save():
    run = _Run(tiny_model().adapted(2, 5), 0.01, 9, Path(sys.argv.pop()), "ada")
    run.save()
    # Only now: what Python compiles on import must not be cut.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    run.step = 1
    run.save()

cli.main(["save"])
"""


def test_a_checkpoint_that_does_not_fit_is_one_line(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    done = subprocess.run(
        [sys.executable, "-c", SAVE, str(checkpoint)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"Error: {checkpoint}: can't be written: File too large; make room and run again"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
    with safe_open(checkpoint, "numpy") as file:
        assert json.loads(file.metadata()["progress"])["step"] == 0
