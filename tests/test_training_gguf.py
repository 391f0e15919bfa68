"""LoRA weights for llama.cpp: it computes with them what torch computes."""

from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
import torch
from gguf import GGUFReader, GGUFWriter
from safetensors.numpy import save_file
from transformers import LlamaConfig, LlamaForCausalLM

from personalbench.errors import UserError
from personalbench.llm import embedded
from personalbench.llm.embedded import MODEL_FILES, ModelFile, ServedAdapter, locate
from personalbench.params import ModelParams
from personalbench.storage import sha256_file
from personalbench.training.examples import Example
from personalbench.training.gguf import interleaved, write_gguf
from personalbench.training.learner import SCALE, encode
from personalbench.training.torch_model import TorchModel

PROMPTS = ("Write a short letter about the wind.", "harbour", "Who was it? No one said.")
PACKAGED = MODEL_FILES["smollm2-135m"]


KEYS_IN_8_BITS = 0.5
"""What llama.cpp's rounding of keys moves a log-probability by; unsorted rows move it by 8."""


def random_llama() -> LlamaForCausalLM:
    """Query and key heads of different number, and weights that attention depends on."""
    torch.manual_seed(3)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=49152,
            hidden_size=128,  # heads of 32: keys are kept in blocks of so many
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            rope_theta=100.0,
            max_position_embeddings=256,
            tie_word_embeddings=True,
            initializer_range=0.2,
            rms_norm_eps=1e-5,
        )
    )


def write_llama(model: LlamaForCausalLM, path: Path) -> None:
    """The model in float32, with the tokenizer of SmolLM2."""
    config = model.config
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    fields = GGUFReader(locate(PACKAGED)).fields
    for name, field in fields.items():
        if name.startswith("tokenizer."):
            inner = field.types[-1] if len(field.types) > 1 else None
            writer.add_key_value(name, field.contents(), field.types[0], inner)
    names = {
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    state = model.state_dict()
    writer.add_tensor("token_embd.weight", state["model.embed_tokens.weight"].numpy())
    writer.add_tensor("output_norm.weight", state["model.norm.weight"].numpy())
    for layer in range(config.num_hidden_layers):
        for source, target in names.items():
            values = state[f"model.layers.{layer}.{source}.weight"].numpy()
            if target in heads:
                values = interleaved(values, heads[target])
            writer.add_tensor(f"blk.{layer}.{target}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def by_torch(base: TorchModel) -> list[torch.Tensor]:
    """Log-probabilities of the first token of each answer."""
    found = []
    for prompt in PROMPTS:
        chat = base.tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
        )
        ids = torch.tensor([base.tokenizer(chat, add_special_tokens=False).input_ids])
        with torch.no_grad():
            found.append(base.network(input_ids=ids).logits[0, -1].log_softmax(-1))
    return found


def by_llama_cpp(spec: ModelParams, adapter: ServedAdapter | None) -> list[dict[int, float]]:
    """The likeliest tokens and their log-probabilities."""
    found = []
    with embedded.embedded_servers(spec, adapter) as (address,):
        for prompt in PROMPTS:
            body = {
                "messages": [{"role": "user", "content": prompt}],
                "max_tokens": 1,
                "temperature": 0,
                "logprobs": True,
                "top_logprobs": 20,
            }
            answer = httpx2.post(
                f"{address.base_url}/chat/completions",
                headers={"Authorization": f"Bearer {address.api_key}"},
                json=body,
                timeout=60,
            ).json()
            (first,) = answer["choices"][0]["logprobs"]["content"]
            found.append({each["id"]: each["logprob"] for each in first["top_logprobs"]})
    return found


def difference(torches: list[torch.Tensor], others: list[dict[int, float]]) -> float:
    return max(
        abs(whole[token].item() - value)
        for whole, likely in zip(torches, others, strict=True)
        for token, value in likely.items()
    )


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelParams:
    """An embedded model with random weights."""
    path = tmp_path / "random.gguf"
    write_llama(random_llama(), path)
    (tmp_path / "made_up").mkdir()
    path.rename(tmp_path / "made_up" / path.name)
    monkeypatch.syspath_prepend(tmp_path)
    file = ModelFile(
        (("made_up", path.name),), path.name, sha256_file(tmp_path / "made_up" / path.name)
    )
    monkeypatch.setitem(MODEL_FILES, "random", file)
    return ModelParams(
        kind="embedded", family="llama", id="random", revision=file.sha256, max_context=256,
        concurrency=1,
    )  # fmt: skip


DOCUMENTS = (
    "Plain words, and no more.",
    "1. First?   Two  spaces before a word.  2. Or before a number:   1984,  10-day.",
    "Two\n\n\nlines  \n  and \tothers… it’s “quoted” — café, naïve 3½ :)  ",
)


def test_training_reads_prompts_and_documents_in_the_tokens_of_the_server(
    spec: ModelParams,
) -> None:
    base = TorchModel.load(spec, torch.float32)
    examples = [Example(str(n), PROMPTS[0] + text, text) for n, text in enumerate(DOCUMENTS)]
    with embedded.embedded_servers(spec) as (address,):

        def post(path: str, body: dict[str, object]) -> dict[str, Any]:
            root = address.base_url.removesuffix("/v1")
            key = {"Authorization": f"Bearer {address.api_key}"}
            answer: dict[str, Any] = httpx2.post(
                root + path, headers=key, json=body, timeout=60
            ).json()
            return answer

        for example, encoded in zip(examples, encode(base, spec, examples, 256), strict=True):
            chat = [{"role": "user", "content": example.prompt}]
            prompt = post("/apply-template", {"messages": chat})["prompt"]
            # As the server reads a prompt: with special tokens, and what it puts before it.
            start = post("/tokenize", {"content": prompt, "add_special": True})["tokens"]
            text = post("/tokenize", {"content": example.text, "parse_special": False})["tokens"]
            assert list(encoded.ids) == [*start, *text, base.tokenizer.eos_token_id]
            assert encoded.start == len(start)
            told = post("/v1/chat/completions", {"messages": chat, "max_tokens": 1})["usage"]
            assert told["prompt_tokens"] == len(start)


def test_llama_cpp_with_the_adapter_computes_what_torch_computes(
    tmp_path: Path, spec: ModelParams
) -> None:
    base = TorchModel.load(spec, torch.float32)
    plain = by_torch(base)
    assert difference(plain, by_llama_cpp(spec, None)) < KEYS_IN_8_BITS
    adapted = base.adapted(4, seed=1)
    with torch.no_grad():
        for each in adapted.parameters:
            each.normal_(0, 0.15)
    weights = tmp_path / "adapter_model.safetensors"
    save_file(adapted.weights(), weights)
    write_gguf(weights, locate(MODEL_FILES["random"]), SCALE * 4, tmp_path / "adapter.gguf")
    learnt = by_torch(base)
    assert max((a - b).abs().max() for a, b in zip(plain, learnt, strict=True)) > 1
    served = by_llama_cpp(spec, ServedAdapter(tmp_path / "adapter.gguf", "hash"))
    assert difference(learnt, served) < KEYS_IN_8_BITS


def test_rows_of_a_head_alternate_between_its_halves() -> None:
    rows = np.arange(8, dtype=np.float32)[:, None]
    assert interleaved(rows, 2).ravel().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_an_adapter_for_another_architecture_is_refused(tmp_path: Path) -> None:
    gemma = locate(MODEL_FILES["gemma3-270m"])
    with pytest.raises(UserError, match="made for llama models only, and this is gemma3"):
        write_gguf(tmp_path / "none", gemma, 1.0, tmp_path / "out.gguf")
    assert list(tmp_path.iterdir()) == []
