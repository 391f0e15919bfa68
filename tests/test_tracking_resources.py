"""What each stage took of the machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from personalbench import paths
from personalbench.cli import STAGES
from personalbench.resources import read_resources
from recorded import ROOT

STAGE = """
import subprocess, sys, time
from personalbench.resources import write_resources
held = bytearray(64_000_000)
time.sleep(0.5)
heavy = "held = bytearray(256_000_000); sum(range(10**7))"
subprocess.run([sys.executable, "-c", heavy], check=True)
write_resources("score", "few_shot")
write_resources("traits")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / paths.RESOURCES


def test_a_stage_is_counted_with_the_processes_that_it_started(folder: Path) -> None:
    idle = STAGE.replace("256_000_000", "1").replace("10**7", "1")
    subprocess.run([sys.executable, "-c", idle], check=True)
    light = read_resources(folder, ["few_shot"])
    subprocess.run([sys.executable, "-c", STAGE], check=True)
    heavy = read_resources(folder, ["few_shot"])
    assert [(each.stage, each.item) for each in heavy] == [("score", "few_shot"), ("traits", None)]
    assert heavy[0].seconds >= 0.5
    # The largest process alone, which is the child; and nothing of this one, which is large.
    assert 64 <= light[0].peak_memory_megabytes < 256
    assert 256 <= heavy[0].peak_memory_megabytes < 256 + 64
    assert heavy[0].processor_seconds > light[0].processor_seconds
    assert read_resources(folder, ["another"]) == heavy[1:]
    assert read_resources(folder / "none", ["few_shot"]) == []


def test_the_pipeline_keeps_what_each_stage_took() -> None:
    """DVC brings these files back with a stage's other outputs; nothing depends on them."""
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    kept = set()
    for name, stage in stages.items():
        _, program, *item = stage["cmd"].removeprefix("personalbench ").split()
        path = "/".join([str(paths.RESOURCES), program, *item]) + ".json"
        assert (path in stage.get("outs", [])) == (name != "track"), name
        kept.add(program)
        assert not [dep for dep in stage["deps"] if re.match("data/(usage|resources)", dep)], name
    assert kept == set(STAGES)
