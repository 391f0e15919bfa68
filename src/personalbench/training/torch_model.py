"""Engine ``peft``: an embedded GGUF file as a torch module with LoRA."""

import io
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from functools import lru_cache
from logging import ERROR
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader
from numpy.typing import NDArray
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from peft.helpers import disable_input_dtype_casting
from tokenizers.pre_tokenizers import ByteLevel, Digits
from tokenizers.pre_tokenizers import Sequence as InTurn
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from personalbench.llm.embedded import locate, model_file
from personalbench.params import ModelParams
from personalbench.training.learner import LONGEST_GRADIENT, SCALE, Tokens, Weights
from personalbench.training.loss import Batch, cross_entropy

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""Every linear layer of the blocks."""


class TorchModel:
    """A :class:`~personalbench.training.learner.TrainableModel`.

    Attributes:
        network: The torch module, without gradients.
        tokenizer: With the model's chat template.
        device: Where it computes.
        dtype: In which it computes.
    """

    def __init__(
        self, network: nn.Module, tokenizer: Any, device: torch.device, dtype: torch.dtype
    ) -> None:
        self.network: Any = network.to(device, dtype).requires_grad_(False)
        self.tokenizer = tokenizer
        self.device = device
        self.dtype = dtype
        self.precision = str(dtype).removeprefix("torch.")
        self._peft: Any = None

    @classmethod
    def load(cls, spec: ModelParams, dtype: torch.dtype | None = None) -> "TorchModel":
        """Load an embedded model; its quantized weights become floating-point numbers.

        Args:
            spec: The registry's entry.
            dtype: In which it computes; None takes the fastest.

        Returns:
            The model that was loaded last, if it is the same: it takes half a minute.

        Raises:
            UserError: Its file is missing or damaged.
        """
        file = model_file(spec)
        device, fastest = _device()
        return _loaded(locate(file), file.chat_template, device, dtype or fastest)

    def adapted(self, rank: int, seed: int) -> "TorchLearner":
        """The model with new LoRA weights; an earlier adapted one ends."""
        if self._peft is not None:
            self.network = self._peft.unload()
        torch.manual_seed(seed)
        self._peft = get_peft_model(self.network, LoraConfig(**lora_config(rank)))
        return TorchLearner(self, self._peft)

    def config(self, rank: int) -> dict[str, Any]:
        """As peft and vLLM read it."""
        return {"peft_type": "LORA", **lora_config(rank)}


@lru_cache(maxsize=1)
def _loaded(
    path: Path, chat_template: str | None, device: torch.device, dtype: torch.dtype
) -> TorchModel:
    logging.set_verbosity(ERROR)
    # Its bars can't be switched off otherwise.
    with redirect_stderr(io.StringIO()):
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        network = AutoModelForCausalLM.from_pretrained(
            path.parent, gguf_file=path.name, dtype=torch.float32
        )
    # transformers takes every GGUF tokenizer for GPT-2's. This one splits off each digit first,
    # so that spaces before a number are other tokens.
    if GGUFReader(path).fields["tokenizer.ggml.pre"].contents() == "smollm":
        tokenizer.backend_tokenizer.pre_tokenizer = InTurn(
            [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
        )
    if chat_template is not None:
        tokenizer.chat_template = chat_template
    return TorchModel(network, tokenizer, device, dtype)


def lora_config(rank: int) -> dict[str, Any]:
    """LoRA on every linear layer of the blocks (Hu et al., 2021), in peft's words."""
    return {
        "task_type": "CAUSAL_LM",
        "r": rank,
        "lora_alpha": SCALE * rank,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": list(TARGETS),
    }


class TorchLearner:
    """A :class:`~personalbench.training.learner.Learner`; what learns is in float32.

    Attributes:
        parameters: What is trained.
    """

    def __init__(self, base: TorchModel, peft: Any) -> None:
        self._base = base
        self._peft = peft
        self._causal = peft.get_base_model()
        self.parameters = [each for each in peft.parameters() if each.requires_grad]
        self._adam = torch.optim.AdamW(self.parameters, weight_decay=0.0)

    def learn(self, batch: Sequence[Tokens]) -> tuple[float, float]:
        """See the protocol.

        The output embeddings are frozen, so the gradient of the hidden states follows from the
        logits at once, some rows at a time: neither all logits nor their gradient are held.
        """
        self._adam.zero_grad()
        padded = Batch.of(batch, self._base.device)
        states = self._states(padded)
        total, gradient = cross_entropy(
            states.detach(), padded.target, self._head, with_gradient=True
        )
        assert gradient is not None
        states.backward(gradient / len(padded.target))  # type: ignore[no-untyped-call]
        return total, float(nn.utils.clip_grad_norm_(self.parameters, LONGEST_GRADIENT))

    def update(self, rate: float) -> None:
        """See the protocol."""
        for group in self._adam.param_groups:
            group["lr"] = rate
        self._adam.step()

    @torch.no_grad()
    def evaluate(self, batch: Sequence[Tokens]) -> float:
        """See the protocol."""
        padded = Batch.of(batch, self._base.device)
        return cross_entropy(self._states(padded), padded.target, self._head, with_gradient=False)[
            0
        ]

    def weights(self) -> Weights:
        """By peft's names."""
        state = get_peft_model_state_dict(self._peft, save_embedding_layers=False)
        return {name: value.numpy(force=True).copy() for name, value in sorted(state.items())}

    def load(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """See the protocol."""
        tensors = {name: torch.tensor(value) for name, value in weights.items()}
        set_peft_model_state_dict(self._peft, tensors)

    def optimizer(self) -> dict[str, NDArray[Any]]:
        """See the protocol."""
        return {
            f"{number}.{name}": value.numpy(force=True).copy()
            for number, own in self._adam.state_dict()["state"].items()
            for name, value in own.items()
        }

    def load_optimizer(self, state: Mapping[str, NDArray[Any]]) -> None:
        """See the protocol."""
        restored = self._adam.state_dict()
        for key, value in state.items():
            number, name = key.split(".")
            restored["state"].setdefault(int(number), {})[name] = torch.tensor(value)
        self._adam.load_state_dict(restored)

    def _states(self, batch: Batch) -> Tensor:
        """Last hidden states from which the document tokens are foreseen, (T, H)."""
        device = self._base.device.type
        low = self._base.dtype != torch.float32
        # The casts of peft would compute the small products in float32.
        with (
            torch.autocast(device, self._base.dtype, enabled=low),
            disable_input_dtype_casting(self._peft, active=low),
        ):
            states: Tensor = self._causal.model(
                input_ids=batch.ids, use_cache=False
            ).last_hidden_state
        return states.flatten(0, 1)[batch.source]

    @property
    def _head(self) -> Tensor:
        """Output embeddings, (V, H)."""
        weight: Tensor = self._causal.lm_head.weight
        return weight


def _device() -> tuple[torch.device, torch.dtype]:
    """The fastest device, and bfloat16 where it computes faster than float32."""
    if torch.cuda.is_available():
        low = torch.cuda.is_bf16_supported()
        return torch.device("cuda"), torch.bfloat16 if low else torch.float32
    if torch.backends.mps.is_available():
        return torch.device("mps"), torch.float32
    # Without such instructions bfloat16 is emulated, which is several times slower.
    has = torch.cpu.get_capabilities()
    low = bool(has.get("avx512_bf16") or has.get("amx_bf16"))
    return torch.device("cpu"), torch.bfloat16 if low else torch.float32
