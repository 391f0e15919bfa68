"""A LoRA adapter as llama.cpp reads it.

llama.cpp rotates pairs of neighbouring dimensions where transformers rotates the two halves
of a head, so the rows of query and key weights stand in another order there. An update
``B A`` of such a weight moves the rows of ``B`` only.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gguf import GGUFReader, GGUFWriter
from numpy.typing import NDArray
from safetensors.numpy import load_file

from personalbench.errors import UserError

_PREFIX = "base_model.model.model.layers."
_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_ROTATED = {"attn_q": "head_count", "attn_k": "head_count_kv"}

Floats = NDArray[np.float32]


def require_llama(base: Path) -> None:
    """Find out whether adapters can be written for a model.

    Raises:
        UserError: It is of another architecture than ``llama``.
    """
    architecture = GGUFReader(base).fields["general.architecture"].contents()
    if architecture != "llama":
        raise UserError(
            f"{base.name}: adapters for llama.cpp are made for llama models only, "
            f"and this is {architecture}; name another generator"
        )


def write_gguf(weights: Path, base: Path, alpha: float, output: Path) -> None:
    """Write LoRA weights in the format of peft as a GGUF adapter.

    Args:
        weights: Safetensors with ``lora_A`` (r, in) and ``lora_B`` (out, r) by module.
        base: The base model's GGUF file, of the architecture ``llama``.
        alpha: The update is ``alpha / r * B A``.
        output: The file to write; it takes its name when it is whole.

    Raises:
        UserError: The base model is of another architecture.
    """
    require_llama(base)
    fields = GGUFReader(base).fields
    heads = {
        name: int(fields[f"llama.attention.{key}"].contents()) for name, key in _ROTATED.items()
    }
    temporary = output.with_name(f".{output.name}.{os.getpid()}")  # two runs may make it at once
    writer = GGUFWriter(temporary, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    for name, tensor in _tensors(weights, heads):
        writer.add_tensor(name, tensor)
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        temporary.replace(output)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _tensors(weights: Path, heads: dict[str, int]) -> Iterator[tuple[str, Floats]]:
    for name, tensor in sorted(load_file(weights).items()):
        layer, module = name.removeprefix(_PREFIX).split(".", 1)
        module, factor, _ = module.rsplit(".", 2)
        target = _NAMES[module]
        values = tensor.astype(np.float32)
        if factor == "lora_B" and target in heads:
            values = interleaved(values, heads[target])
        yield f"blk.{layer}.{target}.weight.{factor.lower()}", values


def interleaved(rows: Floats, heads: int) -> Floats:
    """Each head's rows 0, n/2, 1, n/2 + 1, ... in the place of 0, 1, 2, ...

    Args:
        rows: (heads * n, r)
        heads: Number of heads.
    """
    halves = rows.reshape(heads, 2, -1, rows.shape[-1])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows.shape))
