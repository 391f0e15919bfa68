"""The model that is trained: an embedded GGUF file as a torch module with LoRA."""

import io
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import lru_cache
from logging import ERROR
from pathlib import Path
from typing import Any

import torch
from gguf import GGUFReader
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from peft.helpers import disable_input_dtype_casting
from tokenizers.pre_tokenizers import ByteLevel, Digits
from tokenizers.pre_tokenizers import Sequence as InTurn
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from personalbench.errors import UserError
from personalbench.llm.embedded import locate, model_file
from personalbench.params import ModelParams
from personalbench.training.examples import Example

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""Every linear layer of the blocks."""

SCALE = 2
"""The update is ``SCALE * B A``; LoRA's alpha is that times the rank."""


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


class BaseModel:
    """A causal language model and its tokenizer.

    Attributes:
        network: The torch module, without gradients.
        tokenizer: With the model's chat template.
        device: Where it computes.
        precision: In which it computes.
    """

    def __init__(
        self, network: nn.Module, tokenizer: Any, device: torch.device, precision: torch.dtype
    ) -> None:
        self.network: Any = network.to(device, precision).requires_grad_(False)
        self.tokenizer = tokenizer
        self.device = device
        self.precision = precision
        self._peft: Any = None

    @classmethod
    def load(cls, spec: ModelParams, precision: torch.dtype | None = None) -> "BaseModel":
        """Load an embedded model; its quantized weights become floating-point numbers.

        Args:
            spec: The registry's entry.
            precision: In which it computes; None takes the fastest.

        Returns:
            The model that was loaded last, if it is the same: it takes half a minute.

        Raises:
            UserError: Its file is missing or damaged.
        """
        file = model_file(spec)
        device, fastest = _device()
        return _loaded(locate(file), file.chat_template, device, precision or fastest)

    def encode(self, examples: Sequence[Example], max_length: int) -> list[Tokens]:
        """Examples in tokens; what is longer than ``max_length`` ends there.

        A whole document is followed by the token that ends an answer.

        Raises:
            UserError: A prompt alone is as long as ``max_length``.
        """
        encoded = []
        for example in examples:
            prompt = self.tokenizer.apply_chat_template(
                [{"role": "user", "content": example.prompt}],
                tokenize=False,
                add_generation_prompt=True,
            )
            start = self.tokenizer(prompt, add_special_tokens=False).input_ids
            text = self.tokenizer(example.text, add_special_tokens=False).input_ids
            ids = (*start, *text, self.tokenizer.eos_token_id)
            if max_length <= len(start):
                raise UserError(
                    f"{example.document}: its prompt has {len(start)} tokens, and max_length is "
                    f"{max_length}; raise it"
                )
            encoded.append(Tokens(ids[:max_length], len(start), len(ids) <= max_length))
        return encoded

    def adapted(self, rank: int, seed: int) -> "Adapted":
        """The model with new LoRA weights; an earlier adapted one ends."""
        if self._peft is not None:
            self.network = self._peft.unload()
        torch.manual_seed(seed)
        self._peft = get_peft_model(self.network, LoraConfig(**lora_config(rank)))
        return Adapted(self, self._peft)


@lru_cache(maxsize=1)
def _loaded(
    path: Path, chat_template: str | None, device: torch.device, precision: torch.dtype
) -> BaseModel:
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
    return BaseModel(network, tokenizer, device, precision)


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


class Adapted:
    """A base model with LoRA weights, which alone are trained and in float32.

    Attributes:
        base: The model below; its network is changed.
        parameters: What is trained.
    """

    def __init__(self, base: BaseModel, peft: Any) -> None:
        self.base = base
        self._peft = peft
        self._causal = peft.get_base_model()
        self.parameters = [each for each in peft.parameters() if each.requires_grad]

    def hidden(self, ids: Tensor) -> Tensor:
        """Last hidden states, (B, L, H); padding belongs at the end of the rows."""
        device = self.base.device.type
        low = self.base.precision != torch.float32
        # The casts of peft would compute the small products in float32.
        with (
            torch.autocast(device, self.base.precision, enabled=low),
            disable_input_dtype_casting(self._peft, active=low),
        ):
            states: Tensor = self._causal.model(input_ids=ids, use_cache=False).last_hidden_state
        return states

    @property
    def head(self) -> Tensor:
        """Output embeddings, (V, H)."""
        weight: Tensor = self._causal.lm_head.weight
        return weight

    def weights(self) -> dict[str, Tensor]:
        """The LoRA weights by peft's names, as copies on the CPU."""
        state = get_peft_model_state_dict(self._peft, save_embedding_layers=False)
        return {name: value.detach().cpu().clone() for name, value in sorted(state.items())}

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Take over LoRA weights of the same shapes."""
        set_peft_model_state_dict(self._peft, dict(weights))


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
