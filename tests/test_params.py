"""params.yaml: what is refused, and how it is said."""

from pathlib import Path

import pytest

from personalbench.errors import UserError
from personalbench.params import load_params

SHIPPED = Path(__file__).parent.parent / "params.yaml"


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = SHIPPED.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    path = tmp_path / "params.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_shipped_params_load() -> None:
    params = load_params(SHIPPED)
    assert params.twins == ["non_personalized", "few_shot", "profile", "contrastive"]
    assert params.personalize.twin("few_shot").method == "few_shot"


@pytest.mark.parametrize(
    ("old", "new", "key", "allowed"),
    [
        ("samples: 5", "samplez: 5", "personalize.few_shot: unknown key 'samplez'", "samples"),
        ("samples: 5", "samples: five", "personalize.few_shot.samples", "integer"),
        ("samples: 5", "samples: 0", "personalize.few_shot.samples", "greater than or equal to 1"),
        ("temperature: 0.7", 'temperature: "1e-5"', "personalize.temperature", "number"),
        ("method: few_shot", "method: fewshot", "personalize.few_shot", "'contrastive'"),
        ("  - few_shot", "  - few", "twins: few", "few_shot, finetuned, non_personalized"),
        ("  - few_shot", "  - profile", "twins", "stands twice"),
        ("  - few_shot", "  - ceiling", "twins: 'ceiling'", "not ceiling or floor"),
        ("  - few_shot", "  - ../up", "twins: '../up'", "lower-case letters"),
        ("prompt_model: smollm2-135m", "prompt_model: gpt", "bundle.prompt_model", "smollm2-135m"),
        (
            "samples: 5",
            "generator: gpt",
            "personalize.few_shot.generator: gpt is not in the registry",
            "smollm2-135m",
        ),
        (
            "    method: few_shot\n    samples: 5",
            "    method: file\n    answers: /tmp/mine.jsonl",
            "personalize.few_shot.answers",
            "below twins/",
        ),
        (
            "    method: few_shot\n    samples: 5",
            "    method: file\n    answers: twins/mine.jsonl\n    temperature: 1.0",
            "personalize.few_shot: unknown key 'temperature'",
            "allow_missing",
        ),
        ("\ncorpus:", "\nkorpus:", "unknown key 'korpus'", "corpus, check, bundle"),
        ("seed: 42", "seed: 42\nseed: 43", "duplicate key", "seed"),
        ("reader: sotu", "reader: no", "corpus.reader", "'sotu'"),
        ("seed: 42", "seed: [", "not YAML", ""),
        ("seed: 42", "", "seed", "required"),
        ("seed: 42", "seed: 2024-99-99", "not YAML", "month must be in 1..12"),
        ("seed: 42", 'seed: !!int "abc"', "not YAML", "'abc'"),
        ("seed: 42", "seed: " + "[" * 3_000, "not YAML", "nested too deep"),
        ("group_size: 5", "group_size: 9", "bundle.group_size", "less than or equal to 8"),
        ("genre: ", "genre: ' ' # ", "bundle.genre", "at least 1 character"),
        ("price: {input: 0.4", "price: {input: .inf", "price.input", "finite number"),
        (
            "    method: few_shot\n    samples: 5",
            "    method: finetuned\n    learning_rate: .inf",
            "personalize.few_shot.learning_rate",
            "finite number",
        ),
    ],
)
def test_mistakes_name_the_key_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, key: str, allowed: str
) -> None:
    path = changed(tmp_path, old, new)
    with pytest.raises(UserError) as error:
        load_params(path)
    message = error.value.message
    assert message.startswith(f"{path}: ")
    assert key in message
    assert allowed in message
    assert "\n" not in message


def test_a_number_in_scientific_notation_is_a_number(tmp_path: Path) -> None:
    path = changed(tmp_path, "temperature: 0.7", "temperature: 1e-5")
    assert load_params(path).personalize.temperature == 0.00001


def test_a_file_that_is_not_utf_8_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_bytes(b"# caf\xe9\n" + SHIPPED.read_bytes())
    with pytest.raises(UserError, match="not UTF-8 at byte 5; save the file as UTF-8"):
        load_params(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        load_params(tmp_path / "params.yaml")


def test_a_twin_has_a_method_and_a_generator_or_is_a_file(tmp_path: Path) -> None:
    section = "    method: few_shot\n    generator: gemma3-270m\n    temperature: 0.0\n"
    path = changed(tmp_path, "    method: few_shot\n", section)
    text = path.read_text(encoding="utf-8").replace("  - profile\n", "  - mine\n")
    mine = "personalize:\n  mine:\n    method: file\n    answers: twins/mine.jsonl\n"
    path.write_text(text.replace("personalize:\n", mine), encoding="utf-8")
    params = load_params(path)
    assert [params.method_of(twin) for twin in params.twins] == [
        "non_personalized", "few_shot", "file", "contrastive",
    ]  # fmt: skip
    assert [params.generator_of(twin) for twin in params.twins] == [
        "smollm2-135m", "gemma3-270m", None, "smollm2-135m",
    ]  # fmt: skip
    assert params.personalize.twin("few_shot").temperature == 0.0
    assert {model.id for model in params.models_in_use()} == {"smollm2-135m", "gemma3-270m"}


def test_only_models_of_compared_twins_are_in_use(tmp_path: Path) -> None:
    spare = "personalize:\n  spare:\n    method: few_shot\n    generator: qwen3-32b\n"
    params = load_params(changed(tmp_path, "personalize:\n", spare))
    assert {model.id for model in params.models_in_use()} == {"smollm2-135m", "gemma3-270m"}


def test_words_that_yaml_once_took_for_truth_values_stay_words(tmp_path: Path) -> None:
    text = SHIPPED.read_text("utf-8").replace("authors: 2", "authors: [no, off, y, 'on']", 1)
    path = tmp_path / "params.yaml"
    path.write_text(text, "utf-8")
    assert load_params(path).bundle.authors == ["no", "off", "y", "on"]
