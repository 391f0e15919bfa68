"""An encoder whose cosines can be worked out by hand, and a person who writes to it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from people import bundle, document
from personalbench.bundle import Bundle, freeze, load_bundle
from personalbench.encoders.base import Vectors
from personalbench.encoders.calibration import Calibration


class Bearing:
    """A text begins with its direction in degrees; a group's vector is the mean."""

    family, name, revision, max_length = "bearing", "bearing-2d", "rev1", 512

    def token_counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([len(text.split()) for text in texts], np.int64)

    def document_vectors(self, texts: Sequence[str]) -> Vectors:
        angles = np.radians([float(text.split()[0]) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    def aggregate(self, vectors: Vectors) -> Vectors:
        return vectors.mean(axis=1)


def wordy(angle: float, mark: str) -> str:
    """A text of more than fifty words in that direction."""
    return f"{angle} " + " ".join(f"{mark}{number}" for number in range(60))


def person(folder: Path, cases: int = 5, held_out: float = 20.0) -> Bundle:
    """A frozen bundle: the profile points to 0, the held-out documents elsewhere."""
    made = bundle("ada", cases)
    profile = tuple(
        replace_text(document("ada", number, "profile"), wordy(0, f"profile{number}x"))
        for number in range(16)
    )
    references = tuple(
        replace_text(each, wordy(held_out, f"held{number}x"))
        for number, each in enumerate(made.references)
    )
    freeze(replace(made, profile=profile, references=references), folder)
    return load_bundle(folder)


def replace_text(made, text: str):
    """The document with another text."""
    return made.model_copy(update={"text": text, "words": len(text.split())})


def answers(path: Path, angles: Sequence[float | None], mark: str = "twin") -> Path:
    """A file of answers in those directions, one a case; no line where there is None."""
    lines = [
        {"case_id": f"case_{number:04}", "output": wordy(angle, f"{mark}{number}x")}
        for number, angle in enumerate(angles, start=1)
        if angle is not None
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def calibration(path: Path, angles: Sequence[float], **other: object) -> Path:
    """Unrelated writers in those directions."""
    radians = np.radians(angles)
    fields = {
        "encoder": "bearing-2d",
        "revision": "rev1",
        "max_length": 512,
        "group_size": 5,
        "authors": tuple(f"{number:016x}" for number in range(len(angles))),
        "vectors": np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32),
    }
    Calibration(**(fields | other)).save(path)
    return path
