"""A run's folder: its scores, what a comparison needs, and the report."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from personalbench.bundle import Bundle
from personalbench.errors import UserError
from personalbench.metrics.statistics import Floats, episodes
from personalbench.person.chart import svg
from personalbench.person.page import RULER, report_html, report_markdown, side_by_side
from personalbench.person.records import Run
from personalbench.person.scoring import Scored
from personalbench.person.words import ruler
from personalbench.storage import atomic_write, read_json, write_json

SCORES = "scores.json"
_TABLE = "likeness.safetensors"


def write_run(scored: Scored, bundle: Bundle, folder: Path) -> None:
    """Write ``scores.json``, ``likeness.safetensors``, ``report.md`` and ``report.html``.

    The scores come last: a folder without them is no run.

    Raises:
        UserError: As :func:`require_free`.
    """
    require_free(folder)
    shown = side_by_side(scored.run, bundle, scored.answers)
    pages = {
        RULER: svg(ruler(scored.run)),
        "report.md": report_markdown(scored.run, shown),
        "report.html": report_html(scored.run, shown),
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SCORES).unlink(missing_ok=True)
    for name, text in pages.items():
        with atomic_write(folder / name) as file:
            file.write(text)
    (folder / _TABLE).write_bytes(save({"likeness": scored.table}))
    write_json(folder / SCORES, scored.run.model_dump(mode="json"))


def require_free(folder: Path) -> None:
    """Make sure that nothing but an earlier run would be replaced.

    Raises:
        UserError: The folder holds something else.
    """
    if folder.exists() and not (folder / SCORES).is_file() and any(folder.iterdir()):
        raise UserError(f"{folder}: holds files and is no run; name another folder")


def read_run(folder: Path) -> Run:
    """Read a run's scores.

    Raises:
        UserError: There is no run in the folder, or another release wrote it.
    """
    path = folder / SCORES
    if not path.is_file():
        raise UserError(f"{path}: no such file; a run is a folder that `score` wrote")
    try:
        return Run.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {where}: {first['msg']}; score it again") from None


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
        raise UserError(f"{path}: no such file; score the run again") from None
    except (SafetensorError, KeyError) as error:
        raise UserError(f"{path}: damaged ({error}); score the run again") from None
    likeness = [group.twin for group in run.groups if group.twin is not None]
    samples, _ = episodes(run.bundle.group_size)
    expected = (len(likeness), len(samples)) if likeness else (0,)
    if table.shape != expected:
        raise UserError(
            f"{path}: damaged (shape {table.shape}, not {expected}); score the run again"
        )
    if not np.isfinite(table).all():
        raise UserError(f"{path}: damaged (a value is not finite); score the run again")
    if likeness and not np.array_equal(table[:, 0], likeness):
        raise UserError(f"{path}: not of the run in {SCORES}; score the run again")
    return table
