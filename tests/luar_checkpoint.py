"""Checkpoints in LUAR-MUD's layout with random weights."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import RobertaConfig, RobertaModel

from personalbench.encoders.luar import DISTILROBERTA

SMALL = {
    "vocab_size": 400,
    "hidden_size": 48,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "max_position_embeddings": 130,
}
"""LUAR-MUD's layers with less in them: as many tensors, of the same names."""


def write_checkpoint(folder: Path, texts: list[str], shape: dict[str, Any] | None = None) -> None:
    """Write config.json, model.safetensors and tokenizer.json.

    Args:
        folder: Made where it does not exist.
        texts: What the byte-level BPE is learnt from.
        shape: What differs from LUAR-MUD's backbone. Without any, config.json has no
            backbone, as the published one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    backbone = DISTILROBERTA | (shape or {})
    settings = {
        "model_type": "LUAR",
        "embedding_size": 512,
        "use_memory_efficient_attention": False,
        **({"backbone": backbone} if shape else {}),
    }
    (folder / "config.json").write_text(json.dumps(settings))
    torch.manual_seed(0)
    config = RobertaConfig(**{k: v for k, v in backbone.items() if k != "model_type"})
    head = torch.nn.Linear(config.hidden_size, 512)
    tensors = {f"transformer.{k}": v for k, v in RobertaModel(config).state_dict().items()}
    tensors |= {f"linear.{name}": value for name, value in head.state_dict().items()}
    save_file(tensors, folder / "model.safetensors")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=backbone["vocab_size"],
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.save(str(folder / "tokenizer.json"))
