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
        ("  - few_shot", "  - few", "twins: few", "few_shot, non_personalized"),
        ("  - few_shot", "  - profile", "twins", "stands twice"),
        ("  - few_shot", "  - ceiling", "twins: 'ceiling'", "not ceiling or floor"),
        ("  - few_shot", "  - ../up", "twins: '../up'", "lower-case letters"),
        ("prompt_model: smollm2-135m", "prompt_model: gpt", "bundle.prompt_model", "smollm2-135m"),
        ("\ncorpus:", "\nkorpus:", "unknown key 'korpus'", "corpus, check, bundle"),
        ("seed: 42", "seed: 42\nseed: 43", "duplicate key", "seed"),
        ("reader: sotu", "reader: no", "corpus.reader", "'sotu'"),
        ("seed: 42", "seed: [", "not YAML", ""),
        ("seed: 42", "", "seed", "required"),
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


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        load_params(tmp_path / "params.yaml")
