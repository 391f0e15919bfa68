"""Where a run's numbers come from: versions, hashes and names, as tags."""

import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

import personalbench
from personalbench.storage import sha256_bytes
from personalbench.templates import template_hashes

EXPERIMENT_TAG = "dvc_exp."
"""Prefix of the tag that links a run with a DVC experiment; the value is its baseline."""


def provenance(templates: Path) -> dict[str, str]:
    """Tags on the code, the prompts, the pipeline's state and the DVC experiment that runs.

    Args:
        templates: Folder of the prompt templates.
    """
    experiment = {
        name: os.environ[name]
        for name in ("DVC_EXP_NAME", "DVC_EXP_BASELINE_REV")
        if os.environ.get(name)
    }
    commit = git_commit()
    lock = lock_hash(Path("dvc.lock"))
    return {
        **({"git_commit": commit, "mlflow.source.git.commit": commit} if commit else {}),
        **({"dvc_lock_hash": lock} if lock else {}),
        **experiment,
        "personalbench_version": personalbench.__version__,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        **{f"template.{name}": sha256 for name, sha256 in template_hashes(templates).items()},
    }


def current_experiment() -> str | None:
    """The name of the DVC experiment that runs."""
    return os.environ.get("DVC_EXP_NAME") or None


def experiment_links() -> dict[str, str]:
    """A tag of its own for the DVC experiment: two that end at once overwrite nothing."""
    name = current_experiment()
    if name is None:
        return {}
    return {f"{EXPERIMENT_TAG}{name}": os.environ.get("DVC_EXP_BASELINE_REV") or "unknown"}


def git_commit() -> str | None:
    """The commit that is checked out; None without git or outside a repository."""
    try:
        found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return found.stdout.strip() if found.returncode == 0 else None


def lock_hash(path: Path) -> str | None:
    """Hash of what dvc.lock says of all stages but `track`, which is being written."""
    if not path.exists():
        return None
    stages: Mapping[str, Any] = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))[
        "stages"
    ]
    hashes = sorted(f"{name} {stage}" for name, stage in stages.items() if name != "track")
    return sha256_bytes("\n".join(hashes).encode())
