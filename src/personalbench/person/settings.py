"""What the commands for one person run with, in a repository or outside of any."""

from pathlib import Path

from personalbench import paths
from personalbench.encoders.kept import KeptVectors
from personalbench.encoders.load import load_encoder
from personalbench.encoders.weights import RECORD, prepare_weights
from personalbench.params import Params, WeightsParams, load_params


def settings() -> Params:
    """params.yaml of the current folder; elsewhere the one that comes with this release.

    Raises:
        UserError: The file of the current folder is faulty.
    """
    here = Path("params.yaml")
    if here.exists():
        return load_params(here)
    # Its folder of templates is the repository's, for DVC to watch; elsewhere it is the package's.
    return load_params(_shipped()).model_copy(update={"templates": None})


def _shipped() -> Path:
    packaged = Path(__file__).parent.parent / "params.yaml"
    return packaged if packaged.exists() else Path(__file__).parents[3] / "params.yaml"


def open_encoder(params: WeightsParams) -> KeptVectors:
    """The encoder that params name; prepared in the cache where the pipeline has none.

    Raises:
        UserError: Its files are missing, damaged, or can't be fetched.
    """
    folder = paths.ENCODER
    if not (folder / RECORD).exists():
        folder = paths.cache_folder("encoders") / params.encoder
        if not (folder / RECORD).exists():
            prepare_weights(params, folder)
    return KeptVectors(load_encoder(params.encoder, folder, params.max_length))
