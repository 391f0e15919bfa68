"""A twin trained and served by mlx-lm, on the data that we write: a few steps for real."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import save_file
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from llm_stub import free_port
from people import bundle
from personalbench.bundle import ModelIdentity
from personalbench.errors import UserError
from personalbench.llm.client import Model, check_reachable, open_model
from personalbench.llm.embedded import MODEL_FILES, locate
from personalbench.llm.types import Reply, Request, user
from personalbench.params import ModelParams, load_params
from personalbench.person import training

pytestmark = pytest.mark.mlx


def write_small_model(folder: Path) -> None:
    """Random weights in the layout of the hub, with the tokenizer of SmolLM2."""
    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
    )
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config.to_dict()))
    weights = LlamaForCausalLM(config).state_dict()
    del weights["lm_head.weight"]  # tied to the embeddings
    weights = {name: each.contiguous() for name, each in weights.items()}
    save_file(weights, folder / "model.safetensors")
    file = locate(MODEL_FILES["smollm2-135m"])
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(folder)


def summarize(model: Model, requests: Sequence[Request], description: str) -> list[Reply]:
    return [Reply(status="ok", text="The text is about a day.") for _ in requests]


def test_mlx_lm_trains_on_our_data_and_its_server_is_an_entry_of_the_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlx_lm", reason="pip install personalbench[mlx]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Model, "complete", summarize)
    shipped = load_params(Path(__file__).parents[1] / "params.yaml")
    params = shipped.model_copy(update={"templates": None})
    made = params.models[params.bundle.prompt_model]
    plain = bundle("ada", profile=40)
    identity = ModelIdentity(id=made.id, revision=made.revision)
    ada = replace(plain, manifest=plain.manifest.model_copy(update={"prompt_model": identity}))
    section = training.section_of("smollm2-135m", {"documents": 20})
    training.training_data(ada, section, params, tmp_path / "data")
    monkeypatch.undo()

    write_small_model(tmp_path / "model")
    lora = [sys.executable, "-m", "mlx_lm", "lora", "--train", "--mask-prompt"]
    options = {
        "--model": "model",
        "--data": "data",
        "--adapter-path": "adapter",
        "--iters": "3",
        "--batch-size": "2",
        "--num-layers": "-1",
        "--val-batches": "1",
    }
    pairs = [part for pair in options.items() for part in pair]
    run = subprocess.run([*lora, *pairs], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "adapter" / "adapters.safetensors").is_file()

    port = free_port()
    serve = [sys.executable, "-m", "mlx_lm", "server", "--model", "model"]
    serve += ["--adapter-path", "adapter", "--port", str(port)]
    spec = ModelParams(
        kind="server",
        family="smollm2",
        id="model",
        revision="sha256-of-the-adapter",
        endpoints=[f"http://127.0.0.1:{port}/v1"],
        send_seed=False,
        structured=False,
    )
    with subprocess.Popen(serve, cwd=tmp_path, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                try:
                    check_reachable(spec)
                    break
                except UserError:
                    assert server.poll() is None, "mlx_lm server ended"
                    time.sleep(0.5)
            request = Request(messages=user("Write."), temperature=0.7, max_tokens=8, seed=1)
            with open_model(spec, cache=None) as model:
                (reply,) = model.complete([request], "test")
        finally:
            server.kill()
    assert reply.status in ("ok", "truncated") and reply.completion_tokens == 8
