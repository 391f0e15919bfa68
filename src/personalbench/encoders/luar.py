"""LUAR's architecture, native: a transformer without pooler and LUAR's own head.

Rivera-Soto et al., "Learning Universal Authorship Representations" (EMNLP 2021). The
published weights load as they are; the Python file beside them is never run.
"""

import math
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

from personalbench.errors import UserError
from personalbench.storage import read_json

# sentence-transformers/paraphrase-distilroberta-base-v1: the backbone of LUAR-MUD and
# LUAR-CRUD, whose config.json names none of these numbers.
DISTILROBERTA: dict[str, Any] = {
    "model_type": "roberta",
    "vocab_size": 50265,
    "hidden_size": 768,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}

_CONFIGS: dict[str, type[BertConfig] | type[RobertaConfig]] = {
    "bert": BertConfig,
    "roberta": RobertaConfig,
}

# In the published files, and no part of the function.
_UNUSED = ("transformer.pooler.", "transformer.embeddings.position_ids")


def token_mean(states: Tensor, attention_mask: Tensor) -> Tensor:
    """Mean over the tokens that the mask keeps: (N, L, H) and (N, L) to (N, H)."""
    mask = attention_mask.unsqueeze(-1).to(torch.float32)
    return (states.to(torch.float32) * mask).sum(1) / mask.sum(1).clamp(min=1)


def attend_and_pool(vectors: Tensor) -> Tensor:
    """Self-attention without parameters, then the maximum, over documents.

    ``max_E softmax(c c^T / sqrt(H)) c``: one head, no mask, no residual.
    (B, E, H) to (B, H).
    """
    scores = vectors @ vectors.transpose(1, 2) / math.sqrt(vectors.shape[-1])
    return (scores.softmax(-1) @ vectors).amax(1)


class Luar(nn.Module):
    """The authorship encoder.

    Args:
        backbone: Shape of the transformer, RoBERTa or BERT.
        embedding_size: D, the size of an authorship vector.
        bfloat16: Run the transformer's matrix products in bfloat16; norms, means and
            the head stay in float32.
    """

    def __init__(
        self, backbone: BertConfig | RobertaConfig, embedding_size: int, *, bfloat16: bool = False
    ) -> None:
        super().__init__()
        self.transformer: BertModel | RobertaModel = (
            BertModel(backbone, add_pooling_layer=False)
            if isinstance(backbone, BertConfig)
            else RobertaModel(backbone, add_pooling_layer=False)
        )
        self.linear = nn.Linear(backbone.hidden_size, embedding_size)
        self._autocast = bfloat16

    @classmethod
    def load(cls, folder: Path, *, bfloat16: bool = False) -> "Luar":
        """Load a checkpoint: ``config.json`` and ``model.safetensors``.

        Raises:
            UserError: A file is missing or damaged, a tensor is missing, unknown or of
                another shape, or the configuration asks for another function.
        """
        path = folder / "config.json"
        settings = read_json(path)
        if settings.get("use_memory_efficient_attention"):
            raise UserError(
                f"{path}: use_memory_efficient_attention is true, which is another function "
                "(12 heads), not a faster one; use a checkpoint that sets it to false"
            )
        shape = dict(settings.get("backbone", DISTILROBERTA))
        kind = shape.pop("model_type", "roberta")
        if kind not in _CONFIGS or "embedding_size" not in settings:
            raise UserError(f"{path}: not the configuration of a LUAR checkpoint")
        model = cls(_CONFIGS[kind](**shape), settings["embedding_size"], bfloat16=bfloat16)
        model.load_state_dict(_read_tensors(folder / "model.safetensors", model))
        return model.requires_grad_(False).eval()

    def document_vectors(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode documents: (N, L) and (N, L) to (N, H)."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self._autocast):
            states = self.transformer(input_ids=input_ids, attention_mask=attention_mask)
        return token_mean(states.last_hidden_state, attention_mask)

    def aggregate(self, vectors: Tensor) -> Tensor:
        """Aggregate episodes of E documents: (B, E, H) to (B, D), not normalised.

        Neither the order of the documents nor anything outside the episode matters.
        Every document counts: there are no filler documents.
        """
        pooled: Tensor = self.linear(attend_and_pool(vectors))
        return pooled


def _read_tensors(path: Path, model: Luar) -> dict[str, Tensor]:
    """Read the tensors that the model needs, and refuse any other checkpoint."""
    try:
        found = load_file(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run `personalbench weights`") from None
    except SafetensorError as error:
        raise UserError(f"{path}: not a safetensors file: {error}") from None
    found = {name: value for name, value in found.items() if not name.startswith(_UNUSED)}
    wanted = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found:
            raise UserError(f"{path}: tensor {name} is missing; not this LUAR checkpoint")
        if name not in wanted:
            raise UserError(f"{path}: tensor {name} is not LUAR's; not a LUAR checkpoint")
        if tuple(found[name].shape) != wanted[name]:
            raise UserError(
                f"{path}: tensor {name} has shape {tuple(found[name].shape)}, "
                f"not {wanted[name]}; its config.json and its tensors do not match"
            )
    return found
