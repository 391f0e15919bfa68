"""Fetching of pinned files from the hub, each compared with what it should be."""

import hashlib
import shutil
from pathlib import Path
from typing import Literal

from huggingface_hub import constants, hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError
from pydantic import BaseModel, ConfigDict

from personalbench.encoders.records import Checked, VerifiedWeights, content_hash, describe
from personalbench.errors import UserError
from personalbench.params import WeightsParams
from personalbench.storage import read_json, sha256_file, write_json

_PINS = Path(__file__).with_name("pins.json")


class _Pinned(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PinnedFile(_Pinned):
    """A file as it has to be; size and sha256 where they are known.

    Attributes:
        known_from: Who vouches for the sha256: this version, or the hub when the file was
            first fetched.
    """

    name: str
    size: int | None
    sha256: str | None
    known_from: Literal["pin", "hub"] = "pin"


class Pin(_Pinned):
    """An encoder on the hub at one immutable revision."""

    repository: str
    revision: str | None
    files: tuple[PinnedFile, ...]

    @property
    def key(self) -> str:
        """What an earlier fetch is recorded under."""
        return f"{self.repository}@{self.revision}"


def read_pins(path: Path = _PINS) -> dict[str, Pin]:
    """The pins that come with this version, by the encoder's name."""
    return {name: Pin.model_validate(pin) for name, pin in read_json(path).items()}


def completed(pin: Pin, revision: str | None, recorded: Path) -> Pin:
    """A pin with what params and an earlier fetch add to it.

    Args:
        pin: As it comes with this version.
        revision: The user's, for a pin without one.
        recorded: File that :func:`record` wrote; it need not exist.
    """
    pin = pin.model_copy(update={"revision": pin.revision or revision})
    known = read_json(recorded).get(pin.key, []) if recorded.exists() else []
    fetched = {file.name: file for file in map(PinnedFile.model_validate, known)}
    files = tuple(
        fetched.get(file.name, file) if file.sha256 is None else file for file in pin.files
    )
    return pin.model_copy(update={"files": files})


def record(pin: Pin, made: VerifiedWeights, recorded: Path) -> None:
    """Keep the hashes that the hub gave, so that every later fetch is held against them."""
    files = [
        PinnedFile(name=file.name, size=file.size, sha256=file.sha256, known_from="hub")
        for file in made.files
        if file.checked == "hub"
    ]
    if files:
        known = read_json(recorded) if recorded.exists() else {}
        write_json(recorded, known | {pin.key: [file.model_dump() for file in files]})


def fetch(params: WeightsParams, destination: Path, pin: Pin) -> VerifiedWeights:
    """Put a pinned encoder's files into a folder, each verified.

    Files come from ``params.folder`` where it is set, otherwise from the hub or its
    cache. ``HF_HOME``, ``HF_ENDPOINT`` and ``HF_HUB_OFFLINE`` apply.

    Raises:
        UserError: No revision is pinned or given, a file is missing or not the pinned
            one, or the hub cannot be reached.
    """
    if params.folder is not None:
        return _from_folder(params.encoder, Path(params.folder), destination, pin)
    if pin.revision is None:
        raise UserError(
            f"weights.revision: {params.encoder} has no pinned revision; give the 40 digits of "
            f"the commit of {pin.repository} to use"
        )
    files = []
    for pinned in pin.files:
        source, checked = _download(pin.repository, pin.revision, pinned)
        shutil.copyfile(source, destination / pinned.name)
        files.append(describe(destination / pinned.name, checked))
    return VerifiedWeights(
        encoder=params.encoder, source=pin.repository, revision=pin.revision, files=tuple(files)
    )


def _from_folder(encoder: str, folder: Path, destination: Path, pin: Pin) -> VerifiedWeights:
    files = []
    for pinned in pin.files:
        path = folder / pinned.name
        if not path.is_file():
            raise UserError(f"{path}: no such file; weights.folder needs all of {encoder}'s files")
        checked = _compare(path, pinned) or "local"
        shutil.copyfile(path, destination / pinned.name)
        files.append(describe(destination / pinned.name, checked))
    # Files that nobody vouches for are not known to be those of the pinned revision.
    known = pin.revision is not None and all(file.checked != "local" for file in files)
    return VerifiedWeights(
        encoder=encoder,
        source="local folder",
        revision=pin.revision if known and pin.revision else content_hash(files),
        files=tuple(files),
    )


def _download(repository: str, revision: str, pinned: PinnedFile) -> tuple[Path, Checked]:
    where = f"{constants.ENDPOINT}/{repository}/resolve/{revision}/{pinned.name}"
    try:
        path = Path(hf_hub_download(repository, pinned.name, revision=revision))
    except LocalEntryNotFoundError:
        raise UserError(
            f"{where}: cannot be reached and is not in the cache; check the network, HF_ENDPOINT "
            "and HF_HUB_OFFLINE, or set weights.folder"
        ) from None
    except EntryNotFoundError:
        raise UserError(f"{where}: the hub has no such file at the pinned revision") from None
    except HfHubHTTPError as error:
        raise UserError(f"{where}: {' '.join(str(error).split())}") from None
    except (OSError, RuntimeError) as error:
        raise UserError(
            f"{where}: the download broke off ({' '.join(str(error).split())}); run again"
        ) from error
    return path, _compare(path, pinned) or _compare_with_hub(path)


def _compare_with_hub(path: Path) -> Checked:
    """Compare a file in the cache with the hash that the hub gave for it.

    The cache keeps every file at ``<repository>/snapshots/<revision>/<name>``, a link to
    ``<repository>/blobs/<hash>``: SHA-256 for large files, git's hash for small ones.
    """
    blobs = path.parents[2] / "blobs"
    content = path.read_bytes()
    git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    for found in (hashlib.sha256(content).hexdigest(), git.hexdigest()):
        if (blobs / found).exists() and (blobs / found).samefile(path):
            return "hub"
    raise UserError(f"{path}: not the bytes that the hub announced; delete it and run again")


def _compare(path: Path, pinned: PinnedFile) -> Checked | None:
    """Compare a file with its pin; None where the pin does not know the hash."""
    wanted = "pinned" if pinned.known_from == "pin" else "recorded"
    size = path.stat().st_size
    if pinned.size is not None and size != pinned.size:
        raise UserError(
            f"{path}: {size} bytes, not the {wanted} {pinned.size}; delete it and run again"
        )
    if pinned.sha256 is None:
        return None
    found = sha256_file(path)
    if found != pinned.sha256:
        raise UserError(
            f"{path}: sha256 {found}, not the {wanted} {pinned.sha256}; delete it and run again"
        )
    return pinned.known_from
