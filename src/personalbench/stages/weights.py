"""Stage ``weights``: the encoder's files, verified."""

from pathlib import Path

from personalbench.encoders.weights import prepare_weights
from personalbench.params import Params

ENCODER = Path("models/encoder")


def run(params: Params) -> str:
    """Fetch or build the encoder's files and verify them."""
    made = prepare_weights(params.weights, ENCODER)
    return f"{made.encoder} at {made.revision}: {len(made.files)} files verified in {ENCODER}"
