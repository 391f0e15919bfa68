"""A checkpoint in LUAR-MUD's layout runs through the stages as luar-mini does."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML
from safetensors import safe_open

from hub_stub import REVISION, serving
from luar_checkpoint import SMALL, write_checkpoint
from people import bundle, corpus, document
from personalbench import paths
from personalbench.bundle import freeze
from personalbench.cli import main
from personalbench.encoders.weights import read_verified
from personalbench.judge.records import Judgement
from personalbench.params import Params, WeightsParams, load_params
from personalbench.report.validation import Validation
from personalbench.scores import Scores
from personalbench.stages import score, validate, weights
from personalbench.storage import read_json, write_records
from personalbench.twins.answers import Answer

ROOT = Path(__file__).parent.parent


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    write_checkpoint(folder, [item.text for item in corpus()], SMALL)
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents, one bundle and a twin's answers; the working directory."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    write_records(paths.DOCUMENTS, corpus())
    freeze(bundle(), paths.BUNDLES / "ada")
    texts = [document("twin", number, "reference").text for number in range(4)]
    texts.append("He wrote on and on. " * 60)  # longer than the encoder reads
    answers = [
        Answer(author="ada", case_id=f"case_{number:04}", source="twin", text=text)
        for number, text in enumerate(texts, start=1)
    ]
    write_records(paths.ANSWERS / "twin.jsonl", answers)
    judgements = [
        Judgement(
            author="ada",
            case_id=answer.case_id,
            source="twin",
            findings=None,
            findings_reason="not asked",
            same_author=None,
            same_author_reason="not asked",
        )
        for answer in answers
    ]
    write_records(paths.JUDGEMENTS / "twin.jsonl", judgements)
    return folder


def params(**given: object) -> Params:
    whole = load_params(ROOT / "params.yaml")
    chosen = WeightsParams.model_validate({"encoder": "luar-mud", "max_length": 100, **given})
    return whole.model_copy(
        update={
            "weights": chosen,
            "validate_": whole.validate_.model_copy(update={"pairs": 50}),
            "score": whole.score.model_copy(update={"bootstrap": 100}),
        }
    )


def test_layout_is_that_of_luar_mud(checkpoint: Path) -> None:
    with safe_open(checkpoint / "model.safetensors", framework="pt") as file:
        names = set(file.keys())
    assert len(names) == 105
    assert {"transformer.pooler.dense.weight", "linear.bias"} < names


@pytest.mark.parametrize("route", ["hub", "folder"])
def test_runs_through_the_stages(
    checkpoint: Path, project: Path, monkeypatch: pytest.MonkeyPatch, route: str
) -> None:
    if route == "folder":
        given = params(folder=str(checkpoint))
        weights.run(given)
        revision = read_verified(paths.ENCODER).revision
        assert len(revision) == 64
    else:
        given, revision = params(), REVISION
        with serving(monkeypatch, project / "cache") as hub:
            hub.files = {path.name: path.read_bytes() for path in checkpoint.iterdir()}
            weights.run(given)
        assert {file.checked for file in read_verified(paths.ENCODER).files} == {"hub"}

    told = validate.run(given)
    validation = Validation.model_validate(read_json(paths.VALIDATION))
    assert told.startswith("validate: luar-mud tells 5 authors apart")
    assert validation.encoders == [
        "luar-mud",
        "all-MiniLM-L6-v2",
        "char-ngram-tfidf",
        "word-tfidf",
        "function-words",
    ]
    assert {r.revision for r in validation.results if r.encoder == "luar-mud"} == {revision}
    assert validation.unreliable == validation.documents  # each has some 30 tokens

    score.run(given, "twin")
    scores = Scores.model_validate(read_json(paths.SCORES / "twin.json"))
    assert (scores.encoder.family, scores.encoder.name) == ("luar", "luar-mud")
    assert (scores.encoder.revision, scores.encoder.max_length) == (revision, 100)
    assert (scores.truncated, scores.unreliable) == (1, 4)
    assert len(scores.groups) == 1 and -1 <= scores.groups[0].likeness <= 1


def test_command_validates_on_any_documents(checkpoint: Path, project: Path) -> None:
    values = YAML(typ="safe").load(ROOT / "params.yaml")
    values["weights"] = {"encoder": "luar-mud", "folder": str(checkpoint), "max_length": 100}
    values["validate"]["pairs"] = 50
    YAML(typ="safe").dump(values, project / "params.yaml")
    weights.run(load_params())
    paths.DOCUMENTS.rename("mine.jsonl")
    few = ["--authors", "3", "--documents-per-author", "6", "--output", "tried.json"]
    result = CliRunner().invoke(main, ["validate", "mine.jsonl", *few])
    assert result.exit_code == 0, result.output
    record = Validation.model_validate(read_json(Path("tried.json")))
    assert (record.authors, record.documents) == (3, 18)
    # Every author has three documents of either source: one way to pair all of them up.
    assert record.of("luar-mud", 3).same_pairs == 3
    assert record.of("luar-mud", 5).auc is None
