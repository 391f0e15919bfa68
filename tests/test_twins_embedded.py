"""All twins and the judge on the models of the embedded default."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from people import bundle
from personalbench.bundle import Bundle, reference_documents
from personalbench.judge.judge import judge
from personalbench.judge.records import AuthorTraits
from personalbench.llm.client import Model, open_model
from personalbench.params import JudgeParams, ModelParams, Params, PromptedParams, load_params
from personalbench.twins.answers import Answer, answer
from personalbench.twins.outside import read_answers
from personalbench.twins.prompts import Generator

SHIPPED = Path(__file__).parent.parent / "params.yaml"
CASES = 1
QUESTIONS = (
    "Are the sentences short?",
    "Is there an exclamation mark?",
    "Does the writer say I?",
    "Are words repeated on purpose?",
    "Is the tone plain?",
)


@pytest.fixture(scope="module")
def params() -> Params:
    return load_params(SHIPPED)


@pytest.fixture(scope="module")
def ada() -> Bundle:
    return bundle("ada", cases=CASES)


def small(spec: ModelParams) -> ModelParams:
    return spec.model_copy(update={"concurrency": 2, "max_context": 2048})


@pytest.fixture(scope="module")
def writer(params: Params) -> Iterator[Model]:
    spec = small(params.models[params.personalize.generator])
    with open_model(spec, cache=None) as model:
        yield model


def test_every_shipped_twin_writes(params: Params, ada: Bundle, writer: Model) -> None:
    generator = Generator(writer.complete, 2048, max_tokens=12, temperature=0.7, seed=1)
    for twin in params.twins:
        section = params.personalize.twin(twin)
        assert isinstance(section, PromptedParams)
        if section.method == "profile":
            section = section.model_copy(update={"profile_tokens": 16})
        answers = answer([ada], twin, section, generator)
        assert [(item.case_id, item.status) for item in answers] == [
            (case.id, "ok") for case in ada.cases
        ]
        assert all(item.text and item.source == twin for item in answers)


def test_a_file_is_judged_with_the_verdicts_probability(
    params: Params, ada: Bundle, tmp_path: Path
) -> None:
    path = tmp_path / "mine.jsonl"
    lines = [
        json.dumps({"case_id": case.id, "output": f"I wrote of {case.topic}. It was short!"})
        for case in ada.cases
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    answers: list[Answer] = read_answers(path, [ada], "mine")
    traits = AuthorTraits(author="ada", questions=QUESTIONS, documents=())
    with open_model(small(params.models[params.judge.model]), cache=None) as model:
        judgements = judge(
            answers, {"ada": traits}, reference_documents([ada]), JudgeParams(model="j"), 1, model
        )
    assert [item.case_id for item in judgements] == [case.id for case in ada.cases]
    judged = [item for item in judgements if item.same_author is not None]
    assert judged, [item.same_author_reason for item in judgements]
    for item in judged:
        assert item.probability is not None and 0 <= item.probability <= 1
