"""Runs on their way to MLflow: written down first, so that a dead server loses nothing."""

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from personalbench.paths import cache_folder
from personalbench.storage import read_json, sha256_bytes, write_json
from personalbench.tracking.record import RunRecord

_RECORD = "run.json"


class Artifact(NamedTuple):
    """A file of a run, and the folder that it lies in there; empty for none."""

    path: Path
    folder: str = ""


class Parcel(NamedTuple):
    """A kept run: its record, and a folder with its artefacts as they are to lie."""

    record: RunRecord
    folder: Path

    @property
    def artifacts(self) -> Path:
        """The folder whose content goes to MLflow."""
        return self.folder / "artifacts"

    def discard(self) -> None:
        """Forget a run that has arrived."""
        shutil.rmtree(self.folder)


def keep(record: RunRecord, tables: Mapping[str, Any], artifacts: Iterable[Artifact]) -> Parcel:
    """Write a run down with its tables and copies of its files.

    Keeping the same one again replaces it.
    """
    outbox = cache_folder("track")
    outbox.mkdir(parents=True, exist_ok=True)
    identity = "\n".join([record.experiment, record.result, *sorted(record.links)])
    building = Path(tempfile.mkdtemp(dir=outbox, prefix="."))
    for name, table in tables.items():
        write_json(building / "artifacts" / name, table)
    for artifact in artifacts:
        target = building / "artifacts" / artifact.folder
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(artifact.path, target)
    write_json(building / _RECORD, record.model_dump(mode="json"))
    folder = outbox / sha256_bytes(identity.encode())[:16]
    shutil.rmtree(folder, ignore_errors=True)
    building.rename(folder)
    return Parcel(record, folder)


def kept() -> list[Parcel]:
    """All runs that have not arrived."""
    return [
        Parcel(RunRecord.model_validate(read_json(path)), path.parent)
        for path in sorted(cache_folder("track").glob(f"[!.]*/{_RECORD}"))
    ]
