"""The paper's own serving stack: mlx-lm on a real, small model."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from llm_stub import free_port
from personalbench.errors import UserError
from personalbench.llm.client import check_reachable, open_model
from personalbench.llm.embedded import MODEL_FILES, locate
from personalbench.llm.structured import ask
from personalbench.llm.types import Message, Request
from personalbench.llm.usage import summarise
from personalbench.params import ModelParams

pytestmark = pytest.mark.mlx


class Verdict(BaseModel):
    same_author: bool


def convert(source: Path, target: Path) -> None:
    """Write the packaged SmolLM2 as mlx-lm reads it: config, safetensors, tokenizer."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    config = model.config.to_dict()
    del config["quantization_config"]
    target.mkdir()
    (target / "config.json").write_text(json.dumps(config))
    weights = model.state_dict()
    del weights["lm_head.weight"]  # tied to the embeddings
    weights = {name: each.contiguous() for name, each in weights.items()}
    save_file(weights, target / "model.safetensors")
    AutoTokenizer.from_pretrained(**where).save_pretrained(target)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelParams]:
    pytest.importorskip("mlx_lm", reason="pip install personalbench[mlx]")
    folder = tmp_path_factory.mktemp("mlx") / "smollm2"
    file = MODEL_FILES["smollm2-135m"]
    convert(locate(file), folder)
    port = free_port()
    spec = ModelParams(
        kind="server",
        family="smollm2",
        id=str(folder),
        revision=file.sha256,
        endpoints=[f"http://127.0.0.1:{port}/v1"],
        chat_template={"enable_thinking": False},
        send_seed=False,
        structured=False,
        concurrency=3,
    )
    command = [
        sys.executable,
        "-m",
        "mlx_lm",
        "server",
        "--model",
        str(folder),
        "--port",
        str(port),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                try:
                    check_reachable(spec)
                    break
                except UserError:
                    assert server.poll() is None, "mlx_lm server ended"
                    time.sleep(0.5)
            yield spec
        finally:
            server.kill()


def test_a_generator_and_a_judge_run_on_mlx(served: ModelParams) -> None:
    prompts = [f"Write a sentence about {topic}." for topic in ("the sea", "snow", "bread")]
    requests = [
        Request(
            messages=(Message(role="user", content=prompt),),
            temperature=0.7,
            max_tokens=12,
            seed=number,
        )
        for number, prompt in enumerate(prompts)
    ]
    question = 'Is snow white? Answer in JSON like {"same_author": true}.'
    judge = requests[0].model_copy(update={"messages": (Message(role="user", content=question),)})
    with open_model(served, cache=None) as model:
        body = model.body(judge, 1)
        replies = model.complete(requests, "generate")
        answers = ask(model, [judge], Verdict, "judge")
    # A seed would end the batching, and a schema is never read.
    assert "seed" not in body and "response_format" not in body
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert {reply.status for reply in replies} <= {"ok", "truncated"}
    assert all(reply.text and reply.prompt_tokens for reply in replies)
    assert answers[0].status in ("ok", "invalid", "truncated")
    usage = summarise("personalize", None, served, replies, [])
    assert usage.seeds == "not sent"
    assert usage.uncounted == 0
