"""What training changes in luar-mini, small enough to ship, as it is trained.

Low-rank updates of every matrix of the backbone's layers (Hu et al., "LoRA", 2021), its
biases and norms, the embeddings of the marker tokens, and the new head.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from personalbench.encoders.luar import Luar, token_mean
from personalbench.encoders.mini import MARKER_IDS, MARKERS


class LowRank(nn.Module):
    """``W + B A`` in place of ``W``; starts as ``W``."""

    def __init__(self, weight: Tensor, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        rows, columns = weight.shape
        noise = torch.randn(rank, columns, generator=generator)
        self.a = nn.Parameter(noise / math.sqrt(columns))
        self.b = nn.Parameter(torch.zeros(rows, rank))

    def forward(self, weight: Tensor) -> Tensor:
        updated: Tensor = weight + self.b @ self.a
        return updated


class Adapted(nn.Module):
    """A LUAR model whose adapter can be trained and whose other weights stay."""

    def __init__(self, luar: Luar, rank: int, seed: int) -> None:
        super().__init__()
        self.luar = luar.requires_grad_(False).train()
        # Plain attention: on short snippets, its backward pass is three times as fast on a
        # CPU as the fused one's.
        luar.transformer.config._attn_implementation = "eager"
        self.markers = nn.Embedding(1 + len(MARKER_IDS), luar.linear.in_features, padding_idx=0)
        nn.init.zeros_(self.markers.weight)
        generator = torch.Generator().manual_seed(seed)
        for name, module in list(luar.transformer.encoder.named_modules()):
            for own, parameter in module.named_parameters(recurse=False):
                parameter.requires_grad_("bias" in own or "LayerNorm" in name)
            if isinstance(module, nn.Linear):
                update = LowRank(module.weight, rank, generator)
                parametrize.register_parametrization(module, "weight", update)
        luar.linear.requires_grad_(True)

    def document_vectors(
        self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor
    ) -> Tensor:
        """As :meth:`Luar.document_vectors`, with gradients for the adapter alone."""
        transformer = self.luar.transformer
        marker = (input_ids - (MARKER_IDS[0] - 1)) * torch.isin(input_ids, torch.tensor(MARKER_IDS))
        words = transformer.embeddings.word_embeddings(input_ids) + self.markers(marker)
        states = transformer(
            inputs_embeds=words, attention_mask=attention_mask, position_ids=position_ids
        )
        return token_mean(states.last_hidden_state, attention_mask)

    def adapter(self) -> dict[str, Tensor]:
        """The trained tensors under short names; see :func:`mini.merge`."""
        found = {MARKERS: self.markers.weight[1:]}
        for name, parameter in self.luar.named_parameters():
            if parameter.requires_grad:
                found[name.replace(".parametrizations.weight.0.", ".lora_")] = parameter
        return {name: value.detach().clone().contiguous() for name, value in found.items()}

    def load_adapter(self, tensors: dict[str, Tensor]) -> None:
        """Put tensors of :meth:`adapter` in place."""
        self.markers.weight.data[1:] = tensors[MARKERS]
        for name, parameter in self.luar.named_parameters():
            if parameter.requires_grad:
                short = name.replace(".parametrizations.weight.0.", ".lora_")
                parameter.data.copy_(tensors[short])
