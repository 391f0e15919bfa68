"""A causal language model with random weights, small enough to train in a test."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from personalbench.training.learner import Tokens
from personalbench.training.torch_model import TorchModel

VOCABULARY = 64


def tiny_model(precision: torch.dtype = torch.float32) -> TorchModel:
    """Two layers of 32 dimensions; always the same weights."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        initializer_range=0.3,
    )
    return TorchModel(LlamaForCausalLM(config), None, torch.device("cpu"), precision)


def tiny_examples(count: int, first: int = 0) -> list[Tokens]:
    """Documents that count upwards, of different lengths; they can be learnt."""
    return [
        Tokens(
            (1, 2, 3, *((number + step) % 50 + 4 for step in range(8 + number % 5))), 3, whole=True
        )
        for number in range(first, first + count)
    ]
