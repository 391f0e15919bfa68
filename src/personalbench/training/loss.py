"""Cross-entropy of documents in torch, without ever holding all logits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from personalbench.training.learner import Tokens

_PAD = 0
_ROWS = 256
_WIDTH = 32  # oneDNN makes and keeps a kernel a shape: few widths save time and memory


@dataclass(frozen=True)
class Batch:
    """Examples of similar length, padded at the end.

    Attributes:
        ids: (B, L), L a multiple of 32
        source: Positions in the flattened rows from which a document token is predicted, (T,).
        target: The tokens at the positions after them, (T,).
    """

    ids: Tensor
    source: Tensor
    target: Tensor

    @classmethod
    def of(cls, examples: Sequence[Tokens], device: torch.device) -> "Batch":
        """Put examples together. Only document tokens are targets."""
        width = _WIDTH * math.ceil(max(len(each.ids) for each in examples) / _WIDTH)
        ids = torch.full((len(examples), width), _PAD)
        source = []
        for row, each in enumerate(examples):
            ids[row, : len(each.ids)] = torch.tensor(each.ids)
            source.append(row * width + torch.arange(each.start - 1, len(each.ids) - 1))
        positions = torch.cat(source)
        target = ids.flatten()[positions + 1]
        return cls(ids.to(device), positions.to(device), target.to(device))


@torch.no_grad()
def cross_entropy(
    states: Tensor, target: Tensor, head: Tensor, *, with_gradient: bool
) -> tuple[float, Tensor | None]:
    """Summed negative log-likelihood, and its gradient by the states.

    d/ds -log softmax(W s)[t] = (softmax(W s) - onehot(t)) W

    Args:
        states: (T, H)
        target: (T,)
        head: W, (V, H)
        with_gradient: Whether the gradient is wanted.
    """
    total = torch.zeros((), device=states.device)
    gradient = torch.empty_like(states) if with_gradient else None
    for start in range(0, len(target), _ROWS):
        rows = slice(start, start + _ROWS)
        log_probabilities = F.log_softmax(F.linear(states[rows].to(head.dtype), head).float(), -1)
        wanted = target[rows, None]
        total -= log_probabilities.gather(1, wanted).sum()
        if gradient is not None:
            error = log_probabilities.exp_()
            error.scatter_add_(1, wanted, torch.full_like(wanted, -1, dtype=error.dtype))
            gradient[rows] = (error.to(head.dtype) @ head).to(gradient.dtype)
    return float(total), gradient
