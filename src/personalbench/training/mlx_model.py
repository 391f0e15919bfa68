"""Engine ``mlx``: a model of ``mlx_lm server``, with LoRA by mlx-lm."""

from collections.abc import Mapping, Sequence
from typing import Any

import mlx.core as mx
import mlx_lm
import numpy as np
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from mlx.nn.utils import value_and_grad
from mlx.optimizers import AdamW, clip_grad_norm
from mlx.utils import tree_flatten, tree_unflatten
from mlx_lm.tuner.trainer import default_loss
from mlx_lm.tuner.utils import linear_to_lora_layers
from numpy.typing import NDArray

from personalbench.errors import UserError
from personalbench.params import ModelParams
from personalbench.training.learner import LONGEST_GRADIENT, SCALE, Tokens, Weights

_PAD = 0


class MlxModel:
    """A :class:`~personalbench.training.learner.TrainableModel`.

    Attributes:
        tokenizer: With the model's chat template.
        precision: In which the base model computes.
    """

    def __init__(self, spec: ModelParams, tokenizer: Any, precision: str, blocks: int) -> None:
        self.tokenizer = tokenizer
        self.precision = precision
        self._spec = spec
        self._blocks = blocks

    @classmethod
    def load(cls, spec: ModelParams) -> "MlxModel":
        """Find a model in its folder or, at its revision, on the hub.

        Raises:
            UserError: It can't be had, is none that mlx-lm knows, or has no chat template.
        """
        network, tokenizer = _loaded(spec, lazy=True)
        if not tokenizer.has_chat_template:
            raise UserError(
                f"models: {spec.name}: {spec.id} has no chat template; name a model that was "
                "trained to follow instructions"
            )
        # Vectors, such as the norms', are never quantized.
        weights = dict(tree_flatten(network.parameters())).values()
        precision = next(str(each.dtype) for each in weights if each.ndim == 1)
        return cls(spec, tokenizer, precision.removeprefix("mlx.core."), len(network.layers))

    def adapted(self, rank: int, seed: int) -> "MlxLearner":
        """The model, read anew, with new LoRA weights on every linear layer of the blocks."""
        network, _ = _loaded(self._spec, lazy=False)
        network.freeze()
        mx.random.seed(seed)
        linear_to_lora_layers(network, self._blocks, _lora(rank))
        return MlxLearner(network)

    def config(self, rank: int) -> dict[str, Any]:
        """As mlx-lm reads it."""
        return {
            "fine_tune_type": "lora",
            "num_layers": self._blocks,
            "lora_parameters": _lora(rank),
        }


def _loaded(spec: ModelParams, *, lazy: bool) -> tuple[Any, Any]:
    where = f"models: {spec.name}: {spec.id}"
    try:
        return mlx_lm.load(spec.id, revision=spec.revision, lazy=lazy)[:2]
    except LocalEntryNotFoundError:
        raise UserError(
            f"{where}: the hub can't be reached and the model is not in the cache; check the "
            "network, HF_ENDPOINT and HF_HUB_OFFLINE, or give a folder as id"
        ) from None
    except (
        HfHubHTTPError,
        HFValidationError,
        FileNotFoundError,
        ValueError,
        RuntimeError,  # what mlx says of a damaged file
    ) as error:
        why = str(error).splitlines()[0]
        raise UserError(
            f"{where} at {spec.revision}: mlx-lm can't load it: {why}; correct id or revision"
        ) from None


def _lora(rank: int) -> dict[str, Any]:
    """LoRA (Hu et al., 2021) in mlx-lm's words, which have no alpha."""
    return {"rank": rank, "scale": float(SCALE), "dropout": 0.0}


class MlxLearner:
    """A :class:`~personalbench.training.learner.Learner`; what learns is in float32."""

    def __init__(self, network: Any) -> None:
        self._network = network
        self._gradient: Any = None
        # Without the correction the first steps would be three times as long as torch's.
        self._adam = AdamW(0.0, weight_decay=0.0, bias_correction=True)
        self._loss_and_gradient = value_and_grad(network, default_loss)

    def learn(self, batch: Sequence[Tokens]) -> tuple[float, float]:
        """See the protocol."""
        self._network.train()
        (loss, count), gradient = self._loss_and_gradient(self._network, *_padded(batch))
        self._gradient, norm = clip_grad_norm(gradient, LONGEST_GRADIENT)
        mx.eval(loss, self._gradient, norm)
        return loss.item() * count.item(), norm.item()

    def update(self, rate: float) -> None:
        """See the protocol."""
        self._adam.learning_rate = rate
        self._adam.update(self._network, self._gradient)
        mx.eval(self._network.trainable_parameters(), self._adam.state)

    def evaluate(self, batch: Sequence[Tokens]) -> float:
        """See the protocol."""
        self._network.eval()
        loss, count = default_loss(self._network, *_padded(batch))
        return float(loss.item() * count.item())

    def weights(self) -> Weights:
        """By mlx-lm's names."""
        return _arrays(self._network.trainable_parameters())

    def load(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """See the protocol."""
        self._network.load_weights(
            [(name, mx.array(value)) for name, value in weights.items()], strict=False
        )

    def optimizer(self) -> dict[str, NDArray[Any]]:
        """See the protocol."""
        return _arrays(self._adam.state)

    def load_optimizer(self, state: Mapping[str, NDArray[Any]]) -> None:
        """See the protocol."""
        self._adam.init(self._network.trainable_parameters())
        self._adam.state = tree_unflatten(
            [(name, mx.array(value)) for name, value in state.items()]
        )


def _padded(batch: Sequence[Tokens]) -> tuple[mx.array, mx.array]:
    """Token ids, (B, L), and the first and last position of each document, (B, 2)."""
    ids = np.full((len(batch), max(len(each.ids) for each in batch)), _PAD, dtype=np.int32)
    for row, each in enumerate(batch):
        ids[row, : len(each.ids)] = each.ids
    return mx.array(ids), mx.array([[each.start, len(each.ids) - 1] for each in batch])


def _arrays(tree: Any) -> dict[str, NDArray[Any]]:
    return {name: np.array(value) for name, value in dict(tree_flatten(tree)).items()}
