"""Templates fail when a variable is missing or unused."""

from pathlib import Path

import pytest

from personalbench.errors import UserError
from personalbench.templates import load_template


def template(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "ask.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_values_are_put_in_once_and_never_read_as_templates(tmp_path: Path) -> None:
    loaded = load_template(template(tmp_path, "On $topic: $$5\n"), {"topic"})
    assert loaded.render(topic="$topic ${x} $") == "On $topic ${x} $: $5"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no variable", r"does not use \$topic"),
        ("$topic and $other", r"uses \$other, which it is not given; allowed: \$topic"),
        ("$topic costs $5", r"a \$ that starts no variable"),
    ],
)
def test_wrong_variables_fail_when_the_template_loads(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        load_template(template(tmp_path, text), {"topic"})


def test_a_missing_template_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ask\.txt: no such template"):
        load_template(tmp_path / "ask.txt", {"topic"})
