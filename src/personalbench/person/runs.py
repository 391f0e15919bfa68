"""A run's folder: its scores, what a comparison needs, and the report."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from personalbench.bundle import Bundle
from personalbench.errors import UserError, some
from personalbench.metrics.statistics import Floats, episodes
from personalbench.person.chart import svg
from personalbench.person.page import RULER, report_html, report_markdown, side_by_side
from personalbench.person.records import Run
from personalbench.person.scoring import Scored
from personalbench.person.words import ruler
from personalbench.storage import atomic_write, new_folder, read_json, sha256_file, write_json

SCORES = "scores.json"
_TABLE = "likeness.safetensors"
_AGAIN = "remove the run and score it again"


def write_run(scored: Scored, bundle: Bundle, folder: Path) -> Run:
    """Write ``scores.json``, ``likeness.safetensors``, ``report.md`` and ``report.html``.

    Returns:
        The run that lies there: where the same was scored before, that one.

    Raises:
        UserError: The folder holds something else, or another run.
    """
    if there := run_in(folder):
        _require_same(folder, _inputs(there), _inputs(scored.run))
        _require_same(folder, _results(there), _results(scored.run))
        return there
    shown = side_by_side(scored.run, bundle, scored.answers)
    pages = {
        RULER: svg(ruler(scored.run)),
        "report.md": report_markdown(scored.run, shown),
        "report.html": report_html(scored.run, shown),
    }
    with new_folder(folder) as made:
        for name, text in pages.items():
            with atomic_write(made / name) as file:
                file.write(text)
        (made / _TABLE).write_bytes(save({"likeness": scored.table}))
        write_json(made / SCORES, scored.run.model_dump(mode="json"))
    return scored.run


def require_free(folder: Path, bundle: Bundle, answers: Path, baseline: Path | None) -> None:
    """Make sure, before any work, that a score would not have to replace another.

    Raises:
        UserError: The folder holds something else, or a run on other files.
    """
    there = run_in(folder)
    if there is None or not answers.is_file() or (baseline and not baseline.is_file()):
        return
    given = {
        "bundle": bundle.sha256,
        "answers": sha256_file(answers),
        "baseline answers": sha256_file(baseline) if baseline else None,
    }
    _require_same(folder, {what: _inputs(there)[what] for what in given}, given)


def run_in(folder: Path) -> Run | None:
    """The run in a folder; None where there is nothing yet.

    Raises:
        UserError: The folder holds something else, or a run that can't be read.
    """
    if (folder / SCORES).is_file():
        return read_run(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder}: holds files and is no run; name another folder")
    return None


def _require_same(folder: Path, there: dict[str, Any], given: dict[str, Any]) -> None:
    other = [what for what, value in given.items() if there[what] != value]
    if other:
        raise UserError(
            f"{folder}: holds a run with other {' and other '.join(other)}, and runs are never "
            "overwritten; choose another --output or remove it"
        )


def _inputs(run: Run) -> dict[str, Any]:
    return {
        "bundle": run.bundle.sha256,
        "answers": run.answers.sha256,
        "baseline answers": run.baseline_answers.sha256 if run.baseline_answers else None,
        "settings": run.settings,
        "calibration": run.unrelated.calibration if run.unrelated else None,
    }


def _results(run: Run) -> dict[str, Any]:
    """What two releases or two limits of copying may see differently."""
    also = {"name", "created", "software", "bundle", "settings", "answers", "baseline_answers"}
    # These follow from the rest, and an older release has no difference and other words.
    derived = {"short_of_person", "warnings"}
    return {"results": run.model_dump(exclude=also | derived)}


def read_run(folder: Path) -> Run:
    """Read a run's scores.

    Raises:
        UserError: There is no run in the folder, or another release wrote it; says what is
            there instead.
    """
    path = folder / SCORES
    if not path.is_file():
        raise UserError(_no_run(folder))
    try:
        return Run.model_validate(read_json(path))
    except UserError as error:
        raise UserError(f"{error.message}; {_AGAIN}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        what = f"{where}: {first['msg']}" if where else first["msg"]
        raise UserError(f"{path}: {what}; {_AGAIN}") from None


def _no_run(folder: Path) -> str:
    """What somebody named in place of a run, and what to name."""
    if runs := [str(path.parent) for path in sorted(folder.glob(f"*/{SCORES}"))]:
        return f"{folder}: is a folder of runs; name one of them: {some(runs, 3)}"
    if (folder / "manifest.json").is_file():
        return f"{folder}: is a bundle; name a run on it, the folder that `score --output` wrote"
    if folder.is_file():
        return f"{folder}: is a file; name a run, the folder that `score --output` wrote"
    return f"{folder / SCORES}: no such file; a run is a folder that `score` wrote"


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """Read several runs; those of one name are named by their folders.

    Raises:
        UserError: As :func:`read_run`.
    """
    runs = [read_run(folder) for folder in folders]
    names = Counter(run.name for run in runs)
    return [
        run if names[run.name] == 1 else run.model_copy(update={"name": str(folder)})
        for run, folder in zip(runs, folders, strict=True)
    ]


def read_table(folder: Path) -> Floats:
    """Read the likeness of every resample of a run's groups, (G, M).

    Raises:
        UserError: The file is missing or damaged, or not of the run beside it.
    """
    path = folder / _TABLE
    run = read_run(folder)
    try:
        table = load(path.read_bytes())["likeness"]
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; {_AGAIN}") from None
    except (SafetensorError, KeyError) as error:
        raise UserError(f"{path}: damaged ({error}); {_AGAIN}") from None
    likeness = [group.twin for group in run.groups if group.twin is not None]
    samples, _ = episodes(run.bundle.group_size)
    expected = (len(likeness), len(samples)) if likeness else (0,)
    if table.shape != expected:
        raise UserError(f"{path}: damaged (shape {table.shape}, not {expected}); {_AGAIN}")
    if not np.isfinite(table).all():
        raise UserError(f"{path}: damaged (a value is not finite); {_AGAIN}")
    if likeness and not np.array_equal(table[:, 0], likeness):
        raise UserError(f"{path}: not of the run in {SCORES}; {_AGAIN}")
    return table
