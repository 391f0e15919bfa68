"""The paper's own serving stack: mlx-lm on a real, small model."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlx_server import PATIENT, serving
from people import bundle
from personalbench.bundle import reference_documents
from personalbench.judge.judge import judge
from personalbench.judge.records import AuthorTraits
from personalbench.llm.client import open_model
from personalbench.llm.embedded import MODEL_FILES, locate
from personalbench.llm.usage import read_usage
from personalbench.params import (
    ContrastiveParams,
    FewShotParams,
    JudgeParams,
    ModelParams,
    NonPersonalizedParams,
    ProfileParams,
    PromptedParams,
)
from personalbench.stages.calls import write_usage
from personalbench.twins.answers import answer
from personalbench.twins.outside import read_answers
from personalbench.twins.prompts import Generator

pytestmark = pytest.mark.mlx


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
    with serving(
        folder.parent,
        str(folder),
        revision=file.sha256,
        chat_template={"enable_thinking": False},
        concurrency=3,
    ) as spec:
        yield spec


def test_a_twin_and_a_judge_run_on_mlx(
    served: ModelParams, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ada = bundle(cases=2, profile=10)
    traits = AuthorTraits(
        author="ada", questions=tuple(f"Does it show manner {n}?" for n in range(5)), documents=()
    )
    references = reference_documents([ada])
    sent: list[dict[str, Any]] = []
    # Whole verdicts of 300 tokens would take minutes on a CPU.
    short = served.model_copy(update={"extra_body": {"max_tokens": 48}})
    with open_model(short, cache=None, patience=PATIENT) as model:
        body = model.body
        monkeypatch.setattr(
            model, "body", lambda *given: sent.append(body(*given)) or sent[-1].copy()
        )
        generator = Generator(
            ask=model.complete, context=2048, max_tokens=24, temperature=0.7, seed=1
        )
        params = FewShotParams(method="few_shot", samples=2)
        answers = answer([ada], "few_shot", params, generator)
        written = write_usage("personalize", "few_shot", model, [None] * len(answers))
        judged = judge(answers[:1], {"ada": traits}, references, JudgeParams(model="mlx"), 1, model)
    assert [each.status for each in answers] == ["ok", "ok"]
    assert all(each.text and each.prompt_tokens for each in answers)
    # A model this small may break the schema; what it never does is give half a verdict.
    assert (judged[0].same_author is None) == (judged[0].same_author_reason is not None)
    assert (judged[0].findings is None) == (judged[0].findings_reason is not None)
    # A seed would end the batching, and a schema is never read.
    assert len(sent) >= 4
    for each in sent:
        assert "seed" not in each and "response_format" not in each
        assert each["chat_template_kwargs"] == {"enable_thinking": False}
    assert "gets no seed" in written
    used = read_usage(tmp_path / "data/usage", ["few_shot"])
    assert [(each.seeds, each.replies, each.uncounted) for each in used] == [("not sent", 2, 0)]


def test_every_twin_runs_on_mlx(served: ModelParams, tmp_path: Path) -> None:
    ada = bundle(cases=1, profile=12)
    sections: list[PromptedParams] = [
        NonPersonalizedParams(method="non_personalized"),
        FewShotParams(method="few_shot", samples=2),
        ProfileParams(method="profile", posts=2, profile_tokens=12),
        ContrastiveParams(method="contrastive", samples=1, authors=1),
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text('{"case_id": "case_0001", "output": "I wrote it."}\n', encoding="utf-8")
    traits = AuthorTraits(author="ada", questions=None, reason="not asked", documents=())
    with open_model(served, cache=None, patience=PATIENT) as model:
        generator = Generator(
            ask=model.complete, context=2048, max_tokens=8, temperature=0.7, seed=1
        )
        written = [
            each
            for section in sections
            for each in answer([ada], section.method, section, generator)
        ]
        mine = read_answers(path, [ada], "mine")
        judged = judge(
            mine, {"ada": traits}, reference_documents([ada]), JudgeParams(model="mlx"), 1, model
        )
    assert [(each.source, each.status) for each in written] == [
        (section.method, "ok") for section in sections
    ]
    assert all(each.text for each in written)
    assert (judged[0].same_author is None) == (judged[0].same_author_reason is not None)
