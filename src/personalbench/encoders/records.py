"""What is known about an encoder's files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from personalbench.storage import sha256_bytes, sha256_file

Checked = Literal["pin", "hub", "built", "local"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class VerifiedFile(_Record):
    """One file of an encoder.

    Attributes:
        name: In the encoder's folder.
        size: In bytes.
        sha256: Of its bytes.
        checked: What its bytes were compared with: a pin in this project, the hash that
            the hub gives for the pinned revision, or, for a file made here, nothing but
            the inputs that it was made of (``built``). ``local`` is a file of the user
            whose hash the pin does not know.
    """

    name: str
    size: int
    sha256: str
    checked: Checked


class VerifiedWeights(_Record):
    """What was verified: the content of ``weights.json``.

    Attributes:
        encoder: For example ``luar-mini``.
        source: Repository on the hub, or the package and the adapter.
        revision: Commit on the hub, or a hash of the content.
        files: All of the encoder's files but this record.
    """

    encoder: str
    source: str
    revision: str
    files: tuple[VerifiedFile, ...]


def describe(path: Path, checked: Checked) -> VerifiedFile:
    """The record of one file."""
    return VerifiedFile(
        name=path.name, size=path.stat().st_size, sha256=sha256_file(path), checked=checked
    )


def content_hash(files: Iterable[VerifiedFile]) -> str:
    """One hash of names and bytes of several files."""
    lines = "".join(f"{file.name} {file.sha256}\n" for file in files)
    return sha256_bytes(lines.encode())
