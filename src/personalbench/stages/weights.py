"""Stage ``weights``: the encoder's files, verified."""

from personalbench import paths
from personalbench.encoders.weights import prepare_weights
from personalbench.params import Params


def run(params: Params) -> str:
    """Fetch or build the encoder's files and verify them."""
    made = prepare_weights(params.weights, paths.ENCODER)
    files = f"{len(made.files)} files verified in {paths.ENCODER}"
    return f"weights: {made.encoder} at {made.revision[:12]}: {files}"
