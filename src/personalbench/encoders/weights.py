"""An encoder's files: fetched or built, verified, and recorded beside themselves."""

from pathlib import Path

from personalbench.encoders import mini
from personalbench.encoders.hub import completed, fetch, read_pins, record
from personalbench.encoders.luar import Luar
from personalbench.encoders.records import VerifiedWeights, describe
from personalbench.errors import UserError
from personalbench.params import WeightsParams
from personalbench.storage import new_folder, read_json, sha256_file, write_json

RECORD = "weights.json"
FETCHED = "pins.json"
MINI_FILES = ("config.json", "model.safetensors", "tokenizer.json")


def prepare_weights(params: WeightsParams, destination: Path) -> VerifiedWeights:
    """Fetch or build the encoder that params name, verify it, and record what it is.

    The hashes that the hub gives for a file are kept in ``pins.json`` beside the folder;
    whatever is fetched later must have them.

    Args:
        params: The encoder, and where from.
        destination: Folder that is made anew; it takes its name only when everything
            in it is verified.

    Raises:
        UserError: The encoder is not known, or a file is missing, damaged or not the
            pinned one, or cannot be fetched.
    """
    recorded = destination.with_name(FETCHED)
    with new_folder(destination, replace=True) as building:
        if params.encoder == "luar-mini":
            made = _build_mini(building)
        else:
            pin = completed(read_pins()[params.encoder], params.revision, recorded)
            made = fetch(params, building, pin)
            record(pin, made, recorded)
        Luar.load(building)
        write_json(building / RECORD, made.model_dump(mode="json"))
    return made


def read_verified(folder: Path) -> VerifiedWeights:
    """Read an encoder's record and verify its files against it.

    Raises:
        UserError: There is no record, or a file is missing or has changed.
    """
    path = folder / RECORD
    if not path.exists():
        raise UserError(f"{path}: no such file; run `personalbench weights`")
    record = VerifiedWeights.model_validate(read_json(path))
    for file in record.files:
        found = folder / file.name
        if not found.is_file():
            raise UserError(f"{found}: no such file; run `personalbench weights`")
        if sha256_file(found) != file.sha256:
            raise UserError(f"{found}: changed since it was verified; run `personalbench weights`")
    return record


def _build_mini(folder: Path) -> VerifiedWeights:
    adapter = mini.shipped("adapter.safetensors")
    mini.build(adapter, folder)
    files = tuple(describe(folder / name, "built") for name in MINI_FILES)
    return VerifiedWeights(
        encoder="luar-mini",
        source=f"{mini.PACKAGE} {mini.PACKAGE_VERSION} with adapter {sha256_file(adapter)}",
        revision=mini.revision(adapter),
        files=files,
    )
