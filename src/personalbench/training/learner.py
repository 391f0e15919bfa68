"""What the training loop needs of an engine, and which engine a twin has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from personalbench.errors import UserError
from personalbench.params import ModelParams, TrainingParams
from personalbench.training.examples import Example

SCALE = 2
"""The LoRA update is ``SCALE * B A``; LoRA's alpha is that times the rank."""

LONGEST_GRADIENT = 1.0
"""Norm to which longer gradients are scaled down."""

Weights = dict[str, NDArray[np.float32]]
"""LoRA weights by the engine's names."""


@dataclass(frozen=True)
class Tokens:
    """One example as the model reads it.

    Attributes:
        ids: The prompt in the model's chat format, then the document.
        start: Position of the document's first token.
        whole: Whether all of the document is there.
    """

    ids: tuple[int, ...]
    start: int
    whole: bool

    @property
    def targets(self) -> int:
        """Number of tokens that are to be foreseen: the document's."""
        return len(self.ids) - self.start


class Learner(Protocol):
    """A base model with LoRA weights, which alone learn, and their optimizer (AdamW)."""

    def learn(self, batch: Sequence[Tokens]) -> tuple[float, float]:
        """Take the gradient of the mean loss over a batch's document tokens.

        Returns:
            The sum of the loss in nats, and the gradient's norm before it is shortened.
        """
        ...

    def update(self, rate: float) -> None:
        """One step along the gradient that was taken last, with this learning rate."""
        ...

    def evaluate(self, batch: Sequence[Tokens]) -> float:
        """Sum of the loss over a batch's document tokens, in nats."""
        ...

    def weights(self) -> Weights:
        """A copy of the LoRA weights."""
        ...

    def load(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Take over LoRA weights of the same shapes."""
        ...

    def optimizer(self) -> dict[str, NDArray[Any]]:
        """A copy of the optimizer's state, empty before the first step."""
        ...

    def load_optimizer(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state."""
        ...


class TrainableModel(Protocol):
    """A causal language model that an engine has loaded.

    Attributes:
        tokenizer: With the model's chat template.
        precision: In which it computes, by its usual name.
    """

    tokenizer: Any
    precision: str

    def adapted(self, rank: int, seed: int) -> Learner:
        """The model with new LoRA weights; an earlier learner of it ends."""
        ...

    def config(self, rank: int) -> dict[str, Any]:
        """What stands in ``adapter_config.json`` beside the weights."""
        ...


def load_model(spec: ModelParams, params: TrainingParams) -> TrainableModel:
    """Load a base model for training.

    Raises:
        UserError: It is not there, or damaged.
    """
    # Both take seconds to import, and the other need not be installed.
    if params.engine == "mlx":
        from personalbench.training.mlx_model import MlxModel

        return MlxModel.load(spec)
    from personalbench.training.torch_model import TorchModel

    return TorchModel.load(spec)


def encode(
    model: TrainableModel, spec: ModelParams, examples: Sequence[Example], max_length: int
) -> list[Tokens]:
    """Examples in tokens; what is longer than ``max_length`` ends there.

    A whole document is followed by the token that ends an answer.

    Raises:
        UserError: A prompt alone is as long as ``max_length``.
    """
    tokenizer = model.tokenizer
    encoded = []
    for example in examples:
        prompt = tokenizer.apply_chat_template(
            [{"role": "user", "content": example.prompt}],
            tokenize=False,
            add_generation_prompt=True,
            **spec.chat_template,
        )
        start = tokenizer.encode(prompt, add_special_tokens=False)
        text = tokenizer.encode(example.text, add_special_tokens=False)
        ids = (*start, *text, tokenizer.eos_token_id)
        if max_length <= len(start):
            raise UserError(
                f"{example.document}: its prompt has {len(start)} tokens, and max_length is "
                f"{max_length}; raise it"
            )
        encoded.append(Tokens(ids[:max_length], len(start), len(ids) <= max_length))
    return encoded
