"""What a stage's processes took of the machine, written down beside its other outputs."""

import re
import resource
import sys
import time
from collections.abc import Collection
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict

from personalbench import paths
from personalbench.storage import read_json, write_json

# getrusage counts in bytes on macOS and in KiB elsewhere.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Resources(BaseModel):
    """What one run of a stage took on this machine; a model's server elsewhere is not in it.

    Attributes:
        stage: For example ``score``.
        item: The twin or the reference line; None where the stage has no items.
        seconds: From the start of its process.
        processor_seconds: Of all cores, by the stage and the processes that it started.
        peak_memory_megabytes: Most memory that the largest of these processes held.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str
    item: str | None
    seconds: float
    processor_seconds: float
    peak_memory_megabytes: float


def taken(stage: str, item: str | None) -> Resources:
    """What this process and its ended children have taken so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Resources(
        stage=stage,
        item=item,
        seconds=round(time.time() - psutil.Process().create_time(), 3),
        processor_seconds=round(sum(each.ru_utime + each.ru_stime for each in used), 3),
        peak_memory_megabytes=round(max(_own_peak(), used[1].ru_maxrss * _RSS_UNIT) / 1e6, 1),
    )


def _own_peak() -> int:
    """Most memory that this process has held, in bytes."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
    # Linux hands ru_maxrss down to what a process starts: DVC's own would be in it.
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def write_resources(stage: str, item: str | None = None) -> None:
    """Write down what this process has taken for a stage, at its end."""
    folder = paths.RESOURCES if item is None else paths.RESOURCES / stage
    write_json(folder / f"{item or stage}.json", taken(stage, item).model_dump(mode="json"))


def read_resources(folder: Path, items: Collection[str]) -> list[Resources]:
    """What the stages of the last run took, sorted by stage and item.

    Args:
        folder: Where the stages wrote it.
        items: The twins and reference lines of interest; files of others are left out.
    """
    found = [Resources.model_validate(read_json(path)) for path in sorted(folder.rglob("*.json"))]
    return [each for each in found if each.item is None or each.item in items]
