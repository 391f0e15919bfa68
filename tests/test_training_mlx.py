"""A twin trained and served by mlx-lm, on the data that we write: a few steps for real."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from safetensors.numpy import save_file as save_file_numpy
from safetensors.torch import save_file
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from llm_stub import Stub
from mlx_server import serving
from people import bundle
from personalbench import paths
from personalbench.bundle import ModelIdentity
from personalbench.errors import UserError
from personalbench.llm import client as client_module
from personalbench.llm.client import Model, open_model
from personalbench.llm.embedded import MODEL_FILES, ServedAdapter, locate
from personalbench.llm.types import Reply, Request, user
from personalbench.params import FinetunedParams, ModelParams, TrainingParams, load_params
from personalbench.person import training
from personalbench.stages import personalize
from personalbench.storage import read_json
from personalbench.training import trainer
from personalbench.training.adapters import load_adapter
from personalbench.training.learner import Tokens, Weights
from personalbench.training.torch_model import TorchModel
from test_training_twin import project
from tiny_model import tiny_examples

pytestmark = pytest.mark.mlx


def write_small_model(folder: Path, vocabulary: int = 49152) -> None:
    """Random weights in the layout of the hub, with the tokenizer of SmolLM2."""
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=0.3,
        bos_token_id=1,
        eos_token_id=2,
    )
    torch.manual_seed(0)
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

    with serving(tmp_path, "model", "--adapter-path", "adapter") as spec:
        request = Request(messages=user("Write."), temperature=0.7, max_tokens=8, seed=1)
        with open_model(spec, cache=None) as model:
            (reply,) = model.complete([request], "test")
    assert reply.status in ("ok", "truncated") and reply.completion_tokens == 8


# --- the engine ------------------------------------------------------------------------


def small_spec(endpoint: str = "http://127.0.0.1:1/v1") -> ModelParams:
    return ModelParams(
        kind="server",
        family="smollm2",
        id="model",
        revision="0" * 40,
        endpoints=[endpoint],
    )


def in_words_of_mlx(weights: Weights) -> Weights:
    """LoRA weights of peft by mlx-lm's names, factors transposed."""
    return {
        name.removeprefix("base_model.model.").removesuffix(".weight").lower(): value.T.copy()
        for name, value in weights.items()
    }


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of few words in the working folder, and batches for it."""
    pytest.importorskip("mlx_lm", reason="pip install personalbench[mlx]")
    write_small_model(tmp_path / "model", vocabulary=64)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trainer, "TOKENS_A_BATCH", 48)


@pytest.mark.usefixtures("tiny")
def test_both_engines_learn_the_same_from_the_same_start(tmp_path: Path) -> None:
    from personalbench.training.mlx_model import MlxModel

    network = LlamaForCausalLM.from_pretrained("model", dtype=torch.float32)
    peft = TorchModel(network, None, torch.device("cpu"), torch.float32).adapted(4, seed=1)
    with torch.no_grad():  # B is zero at first, and so would be half of the gradients
        for each in peft.parameters:
            each.normal_(0, 0.05)
    base = MlxModel.load(small_spec())
    assert base.precision == "float32"
    mlx = base.adapted(4, seed=1)
    mlx.load(in_words_of_mlx(peft.weights()))

    params = TrainingParams(epochs=2, rank=4, learning_rate=0.02)
    examples = tiny_examples(30), tiny_examples(4, first=30)
    results = [
        trainer.train(model, *examples, params, 5, tmp_path / f"checkpoint-{name}", "ada")
        for name, model in (("peft", peft), ("mlx", mlx))
    ]
    curves = [[(p.train or 0.0, p.held_out) for p in result.curve] for result in results]
    assert curves[0][-1][1] < 0.9 * curves[0][0][1]
    np.testing.assert_allclose(curves[1], curves[0], rtol=2e-3)


@pytest.mark.usefixtures("tiny")
def test_an_mlx_training_goes_on_from_its_checkpoint_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from personalbench.training.mlx_model import MlxLearner, MlxModel

    base = MlxModel.load(small_spec())
    params = TrainingParams(epochs=1, rank=4, learning_rate=0.02)

    def trained(name: str) -> trainer.Trained:
        examples = tiny_examples(30), tiny_examples(4, first=30)
        model = base.adapted(4, seed=1)
        return trainer.train(model, *examples, params, 5, tmp_path / name, "ada", save_seconds=0)

    whole = trained("whole")
    steps = iter(range(5))
    learn = MlxLearner.learn

    def killed(self: MlxLearner, batch: Sequence[Tokens]) -> tuple[float, float]:
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return learn(self, batch)

    monkeypatch.setattr(MlxLearner, "learn", killed)
    with pytest.raises(KeyboardInterrupt):
        trained("halves")
    monkeypatch.setattr(MlxLearner, "learn", learn)
    result = trained("halves")
    assert result.steps == whole.steps > 5
    assert result.curve == whole.curve
    assert result.weights.keys() == whole.weights.keys()
    assert all(np.array_equal(result.weights[name], whole.weights[name]) for name in whole.weights)


def test_the_stage_trains_with_mlx_and_its_server_answers_with_each_adapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlx_lm", reason="pip install personalbench[mlx]")
    write_small_model(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    section = FinetunedParams(
        method="finetuned", engine="mlx", documents=20, epochs=1, rank=4, max_length=128
    )
    people = [bundle("ada", profile=30), bundle("ben", profile=30)]
    with (
        serving(tmp_path, "model") as spec,
        project(people, section, spec) as (params, _),
    ):
        line = personalize.run(params, "finetuned")
        assert line.startswith("personalize: finetuned: 10 answers, 0 failed")
        request = Request(messages=user("Write."), temperature=0.0, max_tokens=8, seed=1)
        texts = []
        for author in ("ada", "ben"):
            folder = paths.ADAPTERS / "finetuned" / author
            adapter = load_adapter(folder, spec)
            assert adapter.weights.name == "adapters.safetensors"
            assert adapter.record.curve[-1].held_out < adapter.record.curve[0].held_out
            perplexity = read_json(folder / "perplexity.json")
            assert 1 < perplexity["trained"] < perplexity["base"]
            # Weights that can't be missed in what is answered.
            loud = {name: 40 * value for name, value in load_file(adapter.weights).items()}
            save_file_numpy(loud, adapter.weights)
            with open_model(spec, cache=None) as model:
                model.put_on(ServedAdapter(folder.resolve(), author))
                texts.append(model.complete([request], "test")[0].text)
        with open_model(spec, cache=None) as model:
            texts.append(model.complete([request], "test")[0].text)
        assert len(set(texts)) == 3

        gone = ServedAdapter(tmp_path / "elsewhere", "gone")
        with open_model(spec, cache=None) as model:
            model.put_on(gone)
            with pytest.raises(UserError, match=r"adapter path does not exist.*on this machine"):
                model.complete([request], "test")


def test_a_server_that_ignores_adapters_is_one_line(tmp_path: Path) -> None:
    request = Request(messages=user("Write."), temperature=0.0, max_tokens=8, seed=1)
    with Stub() as stub, open_model(stub.spec(), cache=None) as model:
        model.put_on(ServedAdapter(tmp_path, "hash"))
        with pytest.raises(UserError, match=r"ignores the adapter .* python -m mlx_lm server$"):
            model.complete([request], "test")
        assert stub.bodies == []


def test_silence_is_no_refusal_of_an_adapter_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def probe(client: object, spec: object, patience: object, adapter: str | None) -> None:
        asked.append(adapter)
        raise client_module._Dead("does not answer")

    request = Request(messages=user("Write."), temperature=0.0, max_tokens=8, seed=1)
    with Stub() as stub, open_model(stub.spec(), cache=None) as model:
        monkeypatch.setattr(client_module, "check_reachable", lambda *_, **__: None)
        monkeypatch.setattr(client_module, "_probe", probe)
        model.put_on(ServedAdapter(tmp_path, "hash"))
        with pytest.raises(UserError, match=r"does not answer; the server must run on this"):
            model.complete([request], "test")
    assert asked == [str(tmp_path / "missing")]


@pytest.mark.parametrize(
    ("id", "revision", "said"),
    [
        ("empty", "0" * 40, r"models: .*: empty at 0{40}: mlx-lm can't load it: .*config"),
        ("strange", "0" * 40, r"mlx-lm can't load it: Model type strange not supported"),
        ("damaged", "0" * 40, r"mlx-lm can't load it: .*Unable to read"),
        ("a/b/c", "0" * 40, r"mlx-lm can't load it: .*; correct id or revision"),
        ("base", "0" * 40, r"models: .*: base has no chat template; name a model that"),
    ],
)
def test_a_model_that_mlx_lm_can_not_load_is_one_line(
    id: str, revision: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlx_lm", reason="pip install personalbench[mlx]")
    from personalbench.training.mlx_model import MlxModel

    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    for name in ("strange", "damaged"):
        Path(name).mkdir()
        Path(name, "config.json").write_text('{"model_type": "strange"}')
        save_file({}, Path(name, "model.safetensors"))
    Path("damaged/model.safetensors").write_bytes(b"")
    write_small_model(tmp_path / "base")
    Path("base/chat_template.jinja").unlink()
    spec = small_spec().model_copy(update={"id": id, "revision": revision})
    with pytest.raises(UserError, match=said) as caught:
        MlxModel.load(spec)
    assert "\n" not in str(caught.value)
