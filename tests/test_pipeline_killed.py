"""`dvc repro` killed again and again in the middle of its calls.

Up to the last stage that makes any: what follows reads the files that are compared here.
"""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from copy import copy
from pathlib import Path
from typing import Any

from llm_stub import Says, Stub
from test_pipeline import Repository, speak

CONCURRENCY = 4
KILLS = 5
REPRO = ("dvc", "repro", "judge@few_shot")


def test_a_run_killed_five_times_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    chance = random.Random(5)

    def slowly(body: dict[str, Any], number: int) -> Says:
        time.sleep(0.02 + 0.08 * (number * 0.618 % 1))
        return speak(body, number)

    with Stub(slowly) as stub:
        calm = prepared(tmp_path / "calm", stub)
        disturbed = copy(calm)
        disturbed.folder = tmp_path / "disturbed"
        shutil.copytree(calm.folder, disturbed.folder, symlinks=True)
        calm.run(*REPRO)
        wanted = len(stub.bodies)
        assert wanted >= 5 + 5 + 1 + 10

        stub.bodies.clear()
        kept: dict[int, set[str]] = {}
        for kill in range(KILLS):
            left = wanted - len(kept_answers(disturbed))
            moment = len(stub.bodies) + chance.randint(1, max(1, left // (KILLS - kill)))
            killed(disturbed, stub, moment, chance.uniform(0, 0.3))
            kept[len(stub.bodies)] = kept_answers(disturbed)
        disturbed.run(*REPRO)

    asked = [json.dumps(body, sort_keys=True) for body in stub.bodies]
    for before, answered in kept.items():
        assert not answered & set(asked[before:])  # nothing that was answered is asked again
        assert len(set(asked[:before]) - answered) <= CONCURRENCY  # only what was in flight is lost
    assert len(set(asked)) == wanted
    assert artefacts(disturbed) == artefacts(calm)


def prepared(folder: Path, stub: Stub) -> Repository:
    """A small project in which all but the calls, and what follows them, has run."""
    folder.mkdir()
    repository = Repository(folder, stub)

    def smaller(values: Any) -> None:
        values["models"]["stub"]["concurrency"] = CONCURRENCY
        values["bundle"]["authors"] = 1
        values["twins"] = ["few_shot"]

    repository.params(smaller)
    repository.commit()
    repository.run("dvc", "repro", "check")
    return repository


def killed(repository: Repository, stub: Stub, calls: int, seconds: float) -> None:
    """Kill `dvc repro` and all its processes some time after so many calls have been made."""
    with subprocess.Popen(
        REPRO,
        cwd=repository.folder,
        env=repository.environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        while len(stub.bodies) < calls:
            assert run.poll() is None, run.stderr and run.stderr.read()
            time.sleep(0.01)
        time.sleep(seconds)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        # DVC writes its lock file in place: killed in that instant it leaves an empty one,
        # which it then refuses to read; see docs/faults.md.
        rwlock = repository.folder / ".dvc/tmp/rwlock"
        if rwlock.exists() and not rwlock.read_bytes():
            rwlock.unlink()


def kept_answers(repository: Repository) -> set[str]:
    """The bodies of the calls whose answers are kept."""
    path = repository.folder / ".cache/llm/answers.sqlite"
    if not path.exists():
        return set()
    with sqlite3.connect(path) as cache:
        rows = cache.execute("SELECT request FROM answers").fetchall()
    return {json.dumps(json.loads(row), sort_keys=True) for (row,) in rows}


def artefacts(repository: Repository) -> dict[str, str]:
    """Everything that the run made, but for how long calls and stages took."""
    made = {}
    for path in sorted((repository.folder / "data").rglob("*.json*")):
        name = str(path.relative_to(repository.folder))
        if not name.startswith("data/resources/"):
            made[name] = path.read_text(encoding="utf-8")
    for name in [name for name in made if name.startswith("data/usage/")]:
        used = json.loads(made[name])
        for timed in ("seconds", "busy_seconds", "tokens_per_second"):
            del used[timed]
        made[name] = json.dumps(used)
    assert {"data/bundles", "data/answers", "data/judgements", "data/usage/judge"} <= {
        str(parent) for name in made for parent in Path(name).parents
    }
    return made
