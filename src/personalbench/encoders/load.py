"""From the name of an encoder and its verified files to the encoder itself."""

from pathlib import Path

from personalbench.encoders.luar_encoder import LuarEncoder
from personalbench.encoders.weights import read_verified
from personalbench.errors import UserError


def load_encoder(name: str, folder: Path, max_length: int) -> LuarEncoder:
    """Load an encoder that ``personalbench weights`` has prepared.

    Args:
        name: ``luar-mini``, ``luar-mud`` or ``luar-crud``.
        folder: The prepared folder; its files are verified once more.
        max_length: Longest document in tokens, both ends included.

    Raises:
        UserError: The folder holds another encoder, or a file is missing or has changed.
    """
    record = read_verified(folder)
    if record.encoder != name:
        raise UserError(
            f"{folder}: holds {record.encoder}, not {name}; run `personalbench weights`"
        )
    return LuarEncoder.load(folder, name, record.revision, max_length)
