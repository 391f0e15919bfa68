"""Templates fail when a variable is missing or unused."""

import shutil
from pathlib import Path

import pytest

from personalbench.errors import UserError
from personalbench.templates import SHIPPED, VARIABLES, load_template, template_hashes


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
    with pytest.raises(UserError, match=r"ask\.txt: no such template; .* copy "):
        load_template(tmp_path / "ask.txt", {"topic"})


def test_every_shipped_template_loads_and_has_its_own_hash() -> None:
    files = {str(path.relative_to(SHIPPED).with_suffix("")) for path in SHIPPED.rglob("*.txt")}
    hashes = template_hashes(SHIPPED)
    assert files == set(VARIABLES) == set(hashes)
    assert len(set(hashes.values())) == len(files)


def test_a_folder_of_ones_own_is_checked_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(SHIPPED, folder)
    before = template_hashes(folder)
    assert before == template_hashes(SHIPPED)
    (folder / "judge/same_author.txt").write_text("One: $first Two: $second", encoding="utf-8")
    after = template_hashes(folder)
    assert {name for name in before if before[name] != after[name]} == {"judge/same_author"}
    (folder / "judge/same_author.txt").write_text("One: $first", encoding="utf-8")
    with pytest.raises(UserError, match=r"same_author\.txt: does not use \$second"):
        template_hashes(folder)
