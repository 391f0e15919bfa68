"""Adapters by what they were made from: the same inputs are never trained twice.

A folder holds the weights and ``adapter_config.json`` as the engine's own tools read them
(peft's also vLLM and others), and ``adapter.json``, which says what they are. It takes its
name when it is whole.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from personalbench.bundle import ModelIdentity
from personalbench.errors import UserError
from personalbench.llm.embedded import ServedAdapter, locate, model_file
from personalbench.params import ModelParams, TrainingParams
from personalbench.paths import cache_folder
from personalbench.storage import (
    new_folder,
    read_json,
    sha256_bytes,
    sha256_file,
    write_bytes,
    write_json,
)
from personalbench.training.examples import TrainingSet
from personalbench.training.records import AdapterRecord

WEIGHTS = {"peft": "adapter_model.safetensors", "mlx": "adapters.safetensors"}
"""Name of the weights' file, by engine."""

RECORD = "adapter.json"
_CONFIG = "adapter_config.json"


@dataclass(frozen=True)
class Adapter:
    """A whole, verified adapter on disk."""

    folder: Path
    record: AdapterRecord

    @property
    def weights(self) -> Path:
        """The file of the weights."""
        return self.folder / WEIGHTS[self.record.params.engine]


def identity(spec: ModelParams) -> ModelIdentity:
    """Which base model an entry of the registry is."""
    return ModelIdentity(id=spec.id, revision=spec.revision)


def recipe(params: TrainingParams) -> TrainingParams:
    """What concerns the training alone, of a twin's section."""
    return TrainingParams(**params.model_dump(include=set(TrainingParams.model_fields)))


def decisive(params: TrainingParams) -> dict[str, Any]:
    """Of a recipe, what decides how one training set is learnt."""
    return recipe(params).model_dump(exclude={"documents"})


def hash_of(examples: TrainingSet) -> str:
    """SHA-256 of everything that training sees."""
    return sha256_bytes(_json(asdict(examples)))


def adapter_key(spec: ModelParams, examples: TrainingSet, params: TrainingParams, seed: int) -> str:
    """SHA-256 of everything that decides what comes out, but for the machine."""
    # A model without options of its own has the key that it had before they were part of it.
    template = {"chat_template": spec.chat_template} if spec.chat_template else {}
    return sha256_bytes(
        _json(
            {
                **template,
                "format": AdapterRecord.model_fields["format"].default,
                "base": identity(spec).model_dump(),
                "training_set": hash_of(examples),
                "params": decisive(params),
                "seed": seed,
            }
        )
    )


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, allow_nan=False).encode()


def kept(key: str) -> Path:
    """Where an adapter of that key lies or will lie; the checkpoint lies beside it."""
    return cache_folder("adapters") / key


def checkpoint_of(folder: Path) -> Path:
    """The checkpoint of an unfinished training."""
    return folder.with_name(f"{folder.name}.checkpoint")


@contextmanager
def saving(path: Path) -> Iterator[None]:
    """Say in one line that something could not be written.

    Raises:
        UserError: The disk is full or takes no more for another reason.
    """
    try:
        yield
    except OSError as error:
        # NumPy's own error of a full disk has a text only.
        why = error.strerror or str(error)
        mend = "make room" if error.errno in (None, ENOSPC, EDQUOT, EFBIG) else "correct that"
        raise UserError(f"{path}: can't be written: {why}; {mend} and run again") from error


def write_adapter(
    folder: Path, weights: bytes, config: Mapping[str, Any], record: AdapterRecord
) -> Adapter:
    """Write an adapter, whole or not at all."""
    with saving(folder), new_folder(folder) as made:
        write_bytes(made / WEIGHTS[record.params.engine], weights)
        write_json(made / _CONFIG, dict(config))
        write_json(made / RECORD, record.model_dump(mode="json"))
    return Adapter(folder, record)


def load_adapter(folder: Path, base: ModelParams) -> Adapter:
    """Load an adapter and verify it.

    Raises:
        UserError: It is not whole, its weights have changed, or it is one of another base
            model.
    """
    path = folder / RECORD
    try:
        record = AdapterRecord.model_validate_json(json.dumps(read_json(path)))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {where}: {first['msg']}; delete {folder}") from None
    if record.base != identity(base):
        raise UserError(
            f"{path}: an adapter of {record.base.id} {record.base.revision[:12]}, not of "
            f"{base.id} {base.revision[:12]}; name that model, or another folder"
        )
    adapter = Adapter(folder, record)
    if not adapter.weights.is_file() or sha256_file(adapter.weights) != record.weights:
        raise UserError(f"{adapter.weights}: missing or changed since training; delete {folder}")
    return adapter


def served(adapter: Adapter, base: ModelParams) -> ServedAdapter:
    """The adapter as the server takes it: for llama.cpp a file that is made once."""
    if adapter.record.params.engine == "mlx":
        return ServedAdapter(adapter.folder.resolve(), adapter.record.weights)
    path = adapter.folder / "adapter.gguf"
    if not path.is_file():
        from personalbench.training.gguf import write_gguf

        alpha = read_json(adapter.folder / _CONFIG)["lora_alpha"]
        with saving(path):
            write_gguf(adapter.weights, locate(model_file(base)), alpha, path)
    return ServedAdapter(path, adapter.record.weights)


def copy_adapter(adapter: Adapter, folder: Path) -> None:
    """Put an adapter where the pipeline keeps its outputs, whole or not at all."""
    with saving(folder), new_folder(folder) as made:
        for name in (adapter.weights.name, _CONFIG, RECORD):
            shutil.copyfile(adapter.folder / name, made / name)
