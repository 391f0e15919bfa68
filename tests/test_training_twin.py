"""A trained twin in the pipeline and for one person, with the real embedded model."""

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from filelock import FileLock
from safetensors.torch import load_file

from llm_stub import Says, Stub
from people import bundle
from personalbench import paths
from personalbench.bundle import Bundle, ModelIdentity, freeze
from personalbench.cli import main
from personalbench.errors import UserError
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import open_model
from personalbench.llm.embedded import MODEL_FILES, ServedAdapter
from personalbench.llm.types import Request, user
from personalbench.llm.usage import read_usage
from personalbench.params import FinetunedParams, ModelParams, Params, TrainingParams, load_params
from personalbench.stages import personalize
from personalbench.storage import read_json, read_records
from personalbench.training import adapters, finetune
from personalbench.training.adapters import (
    RECORD,
    WEIGHTS,
    adapter_key,
    load_adapter,
    write_adapter,
)
from personalbench.training.examples import Example, TrainingSet
from personalbench.training.outcomes import read_outcomes
from personalbench.training.records import AdapterRecord, CurvePoint
from personalbench.twins.answers import Answer

SPEC = ModelParams(
    kind="embedded",
    family="smollm2",
    id="smollm2-135m",
    revision=MODEL_FILES["smollm2-135m"].sha256,
    concurrency=2,
)
SET = TrainingSet(
    "ada",
    tuple(Example(f"ada/profile/{n}", "Write.", f"Text {n}.") for n in range(20)),
    (Example("ada/profile/98", "Write.", "Held."), Example("ada/profile/99", "Write.", "Out.")),
    (),
)
PARAMS = TrainingParams()


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.chdir(tmp_path)


# --- adapters on disk ------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"spec": SPEC.model_copy(update={"revision": "0" * 64})},
        {"spec": SPEC.model_copy(update={"chat_template": {"enable_thinking": False}})},
        {"examples": replace(SET, trained=SET.trained[::-1])},
        {"examples": replace(SET, held_out=SET.held_out[:1])},
        {"params": PARAMS.model_copy(update={"engine": "mlx"})},
        {"params": PARAMS.model_copy(update={"rank": 8})},
        {"params": PARAMS.model_copy(update={"learning_rate": 2e-3})},
        {"seed": 2},
    ],
)
def test_the_key_changes_with_everything_that_is_learnt_from(changed: dict[str, object]) -> None:
    plain: dict[str, object] = {"spec": SPEC, "examples": SET, "params": PARAMS, "seed": 1}
    assert adapter_key(**plain) == adapter_key(**plain)  # type: ignore[arg-type]
    assert adapter_key(**{**plain, **changed}) != adapter_key(**plain)  # type: ignore[arg-type]


def test_the_key_does_not_change_with_how_answers_are_made() -> None:
    twin = FinetunedParams(method="finetuned", temperature=0.1, documents=100)
    entry = SPEC.model_copy(update={"concurrency": 8})
    assert adapter_key(entry, SET, twin, 1) == adapter_key(SPEC, SET, PARAMS, 1)


def written(folder: Path, weights: bytes = b"weights") -> None:
    record = AdapterRecord(
        author="ada",
        base=ModelIdentity(id=SPEC.id, revision=SPEC.revision),
        training_set="0",
        params=PARAMS,
        seed=1,
        trained=("a",),
        held_out=("b",),
        flags=(),
        cut=0,
        tokens=9,
        steps=2,
        best=0,
        curve=(CurvePoint(step=0, train=None, held_out=4.0),),
        precision="float32",
        weights=adapters.sha256_bytes(b"weights"),
    )
    write_adapter(folder, weights, {"lora_alpha": 32}, record)


def test_an_adapter_of_another_base_model_is_one_line(tmp_path: Path) -> None:
    written(tmp_path / "adapter")
    assert load_adapter(tmp_path / "adapter", SPEC).record.author == "ada"
    other = SPEC.model_copy(update={"id": "gemma3-270m"})
    with pytest.raises(UserError, match=r"an adapter of smollm2-135m b179c9523d0e, not of"):
        load_adapter(tmp_path / "adapter", other)


def test_changed_weights_are_one_line(tmp_path: Path) -> None:
    written(tmp_path / "adapter", b"other weights")
    with pytest.raises(UserError, match=r"adapter_model\.safetensors: missing or changed since"):
        load_adapter(tmp_path / "adapter", SPEC)


def test_a_record_of_another_release_is_one_line(tmp_path: Path) -> None:
    written(tmp_path / "adapter")
    path = tmp_path / "adapter" / RECORD
    path.write_text(path.read_text().replace('"format": 2', '"format": 9'))
    with pytest.raises(
        UserError, match=r"adapter\.json: format: Input should be 2; delete .*adapter$"
    ):
        load_adapter(tmp_path / "adapter", SPEC)


def test_a_full_disk_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, value: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(adapters, "write_json", full)
    with pytest.raises(UserError, match=r"adapter: can't be written: No space left on device"):
        written(tmp_path / "adapter")
    assert list(tmp_path.iterdir()) == []


def test_only_a_full_disk_needs_room(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"Not a directory; correct that and run again$"):
        written(tmp_path / "file" / "adapter")


def test_two_runs_train_the_same_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("trained twice")

    monkeypatch.setattr(finetune, "_finetune", never)
    folder = adapters.kept(adapter_key(SPEC, SET, PARAMS, 1))
    folder.parent.mkdir(parents=True)
    with ThreadPoolExecutor(1) as pool:
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            second = pool.submit(finetune.finetune, SPEC, SET, PARAMS, 1)
            assert wait([second], timeout=0.5).not_done
            written(folder)
        assert second.result().record.author == "ada"


def test_what_can_not_be_trained_is_said_before_any_work() -> None:
    server = SPEC.model_copy(update={"kind": "server", "endpoints": ["http://127.0.0.1:1/v1"]})
    with pytest.raises(UserError, match=r"^models: .*: engine peft trains models of kind embedded"):
        finetune.require_trainable(server, PARAMS)
    with pytest.raises(UserError, match=r"engine mlx trains models of kind server only; take"):
        finetune.require_trainable(SPEC, TrainingParams(engine="mlx"))
    gemma = MODEL_FILES["gemma3-270m"].sha256
    other = SPEC.model_copy(update={"id": "gemma3-270m", "revision": gemma})
    with pytest.raises(UserError, match="llama models only, and this is gemma3; name another"):
        finetune.require_trainable(other, PARAMS)
    with pytest.raises(UserError, match=r"^max_length: 5000 is beyond the context of .* 4096"):
        finetune.require_trainable(SPEC, TrainingParams(max_length=5000))


def test_answers_of_an_adapter_are_kept_apart(tmp_path: Path) -> None:
    request = Request(messages=user("Hello"), temperature=0.0, max_tokens=4, seed=1)
    with ResponseCache.of_project() as cache, open_model(SPEC, cache=cache) as model:
        plain = model.key(request)
        model.put_on(ServedAdapter(tmp_path / "a.gguf", "one"))
        first = model.key(request)
        model.put_on(ServedAdapter(tmp_path / "a.gguf", "two"))
        assert len({plain, first, model.key(request)}) == 3


# --- the whole way ---------------------------------------------------------------------


SECTION = FinetunedParams(method="finetuned", documents=20, epochs=1, rank=4, max_length=128)


@contextmanager
def project(
    bundles: list[Bundle], section: FinetunedParams = SECTION, generator: ModelParams = SPEC
) -> Iterator[tuple[Params, Stub]]:
    """Bundles in place, topics by a stub, and a real generator."""

    def topic(body: dict[str, object], count: int) -> Says:
        return Says(content="The text is about a day.")

    with Stub(topic) as stub:
        shipped = load_params(Path(__file__).parents[1] / "params.yaml")
        topics = {"prompt_model": "stub", "genre": "letter"}
        answers = {"generator": "own", "max_tokens": 16, "finetuned": section}
        params = shipped.model_copy(
            update={
                "seed": 7,
                "templates": None,
                "twins": ["finetuned"],
                "bundle": shipped.bundle.model_copy(update=topics),
                "models": {"stub": stub.spec(), "own": generator, "smollm2-135m": SPEC},
                "personalize": shipped.personalize.model_copy(update=answers),
            }
        )
        identity = ModelIdentity(id=stub.spec().id, revision=stub.spec().revision)
        for each in bundles:
            manifest = each.manifest.model_copy(update={"prompt_model": identity})
            freeze(replace(each, manifest=manifest), paths.BUNDLES / each.author)
        yield params, stub


def test_the_stage_trains_every_author_once_and_answers_with_each_adapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with project([bundle("ada", profile=30), bundle("ben", profile=30)]) as (params, _):
        line = personalize.run(params, "finetuned")
        assert line.startswith("personalize: finetuned: 10 answers, 0 failed")
        answers = read_records(paths.ANSWERS / "finetuned.jsonl", Answer)
        for author in ("ada", "ben"):
            folder = paths.ADAPTERS / "finetuned" / author
            record = load_adapter(folder, SPEC).record
            assert record.author == author and len(record.trained) == 20
            own = [answer for answer in answers if answer.author == author]
            assert [answer.seen for answer in own] == [record.trained] * 5
            assert not any("reference" in name for name in (*record.trained, *record.held_out))
            assert record.curve[-1].held_out < record.curve[0].held_out
            assert read_json(folder.parent / "authors.json")[author] == author
            perplexity = read_json(folder / "perplexity.json")
            assert perplexity["documents"] == 5
            assert 1 < perplexity["trained"] < perplexity["base"]
        topics, answered = read_usage(paths.USAGE, ["finetuned"])
        assert (answered.stage, answered.questions) == ("personalize", 10)
        assert (topics.stage, topics.questions, topics.failed) == ("training", 44, 0)
        assert topics.replies == 44 and topics.prompt_tokens > 0
        outcomes = read_outcomes(params)["finetuned"]
        assert list(outcomes) == ["ada", "ben"] and outcomes["ben"].perplexity.documents == 5
        weights = [
            load_file(paths.ADAPTERS / "finetuned" / each / WEIGHTS["peft"])
            for each in ("ada", "ben")
        ]
        assert not all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
        quality = read_json(paths.ADAPTERS / "finetuned" / "quality.json")
        assert quality["passed"] and quality["checks"][0]["checked"] == 44
        assert not list(paths.cache_folder("adapters").glob("*.checkpoint"))

        # What DVC deletes comes back without any training.
        before = {path: path.read_bytes() for path in paths.ADAPTERS.rglob("*.safetensors")}
        shutil.rmtree(paths.ADAPTERS)

        def never(*_: object, **__: object) -> None:
            raise AssertionError("trained twice")

        monkeypatch.setattr(finetune, "train", never)
        personalize.run(params, "finetuned")
        assert before == {path: path.read_bytes() for path in paths.ADAPTERS.rglob("*.safetensors")}
        assert read_records(paths.ANSWERS / "finetuned.jsonl", Answer) == answers

        # For one person it is the same adapter and the same answers.
        monkeypatch.setattr("personalbench.person.settings.settings", lambda: params)
        options = [
            "--documents",
            "20",
            "--epochs",
            "1",
            "--rank",
            "4",
            "--max-length",
            "128",
            "--json",
        ]
        command = ["train", str(paths.BUNDLES / "ada"), "--output", "mine", *options]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["training"]["author"] == "ada"
        assert (tmp_path / "mine" / WEIGHTS["peft"]).read_bytes() == before[
            paths.ADAPTERS / "finetuned" / "ada" / WEIGHTS["peft"]
        ]
        # The same again, also if it was asked for with another number of documents and found.
        record = tmp_path / "mine" / RECORD
        record.write_text(record.read_text().replace('"documents": 20', '"documents": 21'))
        (tmp_path / "mine" / "notes.txt").write_text("mine")
        again = CliRunner().invoke(main, command)
        assert (again.exit_code, again.stdout) == (0, result.stdout)
        assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"
        other = CliRunner().invoke(main, [*command, "--rank", "2"])
        assert other.exit_code == 2
        assert other.stderr.splitlines()[-1] == (
            "Error: mine: holds a twin of another training; name another folder"
        )
        lines = (tmp_path / "mine" / "answers.jsonl").read_text().splitlines()
        assert [json.loads(line)["output"] for line in lines] == [
            answer.text for answer in answers if answer.author == "ada"
        ]


def test_a_twin_that_is_not_trained_has_an_empty_folder() -> None:
    with project([bundle("ada")]) as (params, _):
        personalize.run(
            params.model_copy(
                update={"personalize": params.personalize.model_copy(update={"generator": "stub"})}
            ),
            "non_personalized",
        )
    [index] = (paths.ADAPTERS / "non_personalized").iterdir()
    assert read_json(index) == {}


def test_training_data_for_another_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = bundle("ada", profile=40)
    with project([ada]) as (params, _):
        monkeypatch.setattr("personalbench.person.settings.settings", lambda: params)
        command = [
            "training-data",
            str(paths.BUNDLES / "ada"),
            "--output",
            "data",
            "--model",
            "stub",
        ]
        result = CliRunner().invoke(main, [*command, "--documents", "25"])
        assert result.exit_code == 0, result.output
    assert result.stdout == "data: 25 documents to learn from, 2 held out\n"
    texts = {document.text for document in ada.profile}
    for name, count in (("train", 25), ("valid", 2)):
        lines = Path(f"data/{name}.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == count
        for line in lines:
            asked, answered = json.loads(line)["messages"]
            assert asked["role"] == "user" and "The text is about a day." in asked["content"]
            assert answered == {"role": "assistant", "content": answered["content"]}
            assert answered["content"] in texts


@pytest.mark.parametrize("command", ["train", "training-data"])
def test_help_names_the_defaults(command: str) -> None:
    defaults = TrainingParams().model_dump()
    told = {
        option.name: option.help.partition("default: ")[2]
        for option in main.commands[command].params
        if option.name in defaults and option.name != "engine"
    }
    assert told and told == {name: f"{defaults[name]}." for name in told}


def test_a_value_out_of_range_is_one_line() -> None:
    command = ["train", "bundle", "--output", "mine", "--learning-rate", "nan"]
    with project([bundle("ada", profile=40)]):
        result = CliRunner().invoke(main, [*command[:1], str(paths.BUNDLES / "ada"), *command[2:]])
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: --learning-rate: Input should be ")
    assert len(result.stderr.splitlines()) == 1


def test_no_folder_of_somebody_elses_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("diary").mkdir()
    with project([bundle("ada", profile=40)]) as (params, stub):
        monkeypatch.setattr("personalbench.person.settings.settings", lambda: params)
        command = ["train", str(paths.BUNDLES / "ada"), "--output", "diary"]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 2
        assert result.stderr == "Error: diary: exists and is no trained twin; name another folder\n"
        other = ModelIdentity(id="elsewhere", revision="9" * 40)
        strange = bundle("ben", profile=40)
        manifest = strange.manifest.model_copy(update={"prompt_model": other})
        freeze(replace(strange, manifest=manifest), paths.BUNDLES / "ben")
        command = ["train", str(paths.BUNDLES / "ben"), "--output", "mine"]
        result = CliRunner().invoke(main, command)
        assert (result.exit_code, stub.bodies) == (2, [])
        assert result.stderr.startswith("Error: models: no entry is elsewhere 999999999999, which")
