"""From a folder to a bundle: what is taken, and what is refused in one line."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from llm_stub import Says, Stub
from personalbench.bundle import load_bundle
from personalbench.cli import main

ROOT = Path(__file__).parent.parent


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside of any repository, with a model that answers at once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path


@pytest.fixture
def model(here: Path) -> Iterator[Sequence[str]]:
    """Options that name the stub; params.yaml is the shipped one with another entry."""
    stub = Stub(lambda body, number: Says(f"The text is about matter {number}."))
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    text = text.replace("templates: src/personalbench/prompts\n", "")
    entry = (
        "  stub:\n    kind: server\n    family: stub\n    id: stub-1b\n    revision: 0123abc\n"
        f"    endpoints: ['{stub.endpoint}']\n    concurrency: 1\n"
    )
    (here / "params.yaml").write_text(text + entry, encoding="utf-8")
    yield ("--model", "stub")
    stub.close()


def write(folder: Path, profile: int = 10, reference: int = 5) -> Path:
    """A person's folder; no two texts share three words in a row."""
    for side, count in (("profile", profile), ("reference", reference)):
        for number in range(count):
            path = folder / side / f"{side[0]}{number:02}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            words = " ".join(f"{side}{number}word{k}" for k in range(30))
            path.write_text(f"Dear {number}, {words}. The end of it.", encoding="utf-8")
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def error_of(*arguments: str) -> str:
    """The one line that a faulty input ends in."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    [line] = result.output.strip().splitlines()
    return line


def test_a_folder_becomes_a_bundle(here: Path, model: Sequence[str]) -> None:
    write(here / "mine")
    result = run("prepare", "mine", "--output", "my.bundle", "--genre", "letter", *model)
    assert result.exit_code == 0, result.output
    bundle = load_bundle(here / "my.bundle")
    assert bundle.author == "mine"
    assert (len(bundle.profile), len(bundle.selected), len(bundle.cases)) == (10, 5, 5)
    assert bundle.manifest.seed == 42
    assert bundle.manifest.prompt_model.revision == "0123abc"
    assert {case.document for case in bundle.cases} == {
        f"reference/r{number:02}.txt" for number in range(5)
    }
    assert all("letter" in case.prompt for case in bundle.cases)


def test_the_same_input_gives_the_same_bytes_as_folder_and_as_zip(
    here: Path, model: Sequence[str]
) -> None:
    write(here / "mine")
    for output in ("a", "b", "a.zip", "b.zip"):
        assert run("prepare", "mine", "--output", output, *model).exit_code == 0
    for path in sorted((here / "a").iterdir()):
        assert path.read_bytes() == (here / "b" / path.name).read_bytes()
    assert (here / "a.zip").read_bytes() == (here / "b.zip").read_bytes()
    assert load_bundle(here / "a.zip") == load_bundle(here / "a")


def test_a_bundle_is_never_overwritten_by_another(here: Path, model: Sequence[str]) -> None:
    write(here / "mine")
    assert run("prepare", "mine", "--output", "b", *model).exit_code == 0
    before = load_bundle(here / "b")
    assert run("prepare", "mine", "--output", "b", *model).exit_code == 0
    assert "never overwritten" in error_of(
        "prepare", "mine", "--output", "b", "--seed", "1", *model
    )
    assert load_bundle(here / "b") == before


def test_prompts_tell_a_twin_the_prompt_and_nothing_else(here: Path, model: Sequence[str]) -> None:
    write(here / "mine")
    run("prepare", "mine", "--output", "b", *model)
    assert run("prompts", "b", "--output", "prompts.jsonl").exit_code == 0
    text = (here / "prompts.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    assert [set(line) for line in lines] == [{"case_id", "prompt"}] * 5
    assert [line["case_id"] for line in lines] == [f"case_{n:04}" for n in range(1, 6)]
    bundle = load_bundle(here / "b")
    for document in (*bundle.profile, *bundle.references):
        assert document.id not in text
        assert not any(word in text for word in document.text.split() if "word" in word)


def test_mail_that_quotes_only_is_left_out_and_said(here: Path, model: Sequence[str]) -> None:
    write(here / "mine")
    mail = "From: a@example.org\nDate: Mon, 3 May 2004 10:00:00 +0000\n\n> only a quotation\n"
    (here / "mine" / "profile" / "empty.eml").write_text(mail, encoding="utf-8")
    result = run("prepare", "mine", "--output", "b", "--json", *model)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["noticed"] == {"no_words": ["profile/empty.eml"]}
    assert told["profile"] == 10


def test_one_of_several_people_is_chosen_by_name(here: Path, model: Sequence[str]) -> None:
    for name in ("ann", "ben"):
        write(here / "people" / "authors" / name)
        for path in (here / "people" / "authors" / name).rglob("*.txt"):
            path.write_text(path.read_text(encoding="utf-8").replace("word", name), "utf-8")
    assert "choose one with --author: ann, ben" in error_of(
        "prepare", "people", "--output", "b", *model
    )
    assert "there is no cleo" in error_of(
        "prepare", "people", "--output", "b", "--author", "cleo", *model
    )
    assert run("prepare", "people", "--output", "b", "--author", "ann", *model).exit_code == 0
    bundle = load_bundle(here / "b")
    assert {document.author for document in bundle.profile} == {"ann"}
    assert {document.author for document in bundle.contrast} == {"ben"}


def _four(mine: Path) -> None:
    for number in range(4, 10):
        (mine / "profile" / f"p{number:02}.txt").unlink()


def _stem(mine: Path) -> None:
    (mine / "reference" / "p03.md").write_text("A stem of the profile.", encoding="utf-8")


def _empty(mine: Path) -> None:
    (mine / "profile" / "p03.txt").write_text(" \n", encoding="utf-8")


def _binary(mine: Path) -> None:
    (mine / "profile" / "p03.txt").write_bytes(b"first\nsecond \xff\xfe\x00\x01")


def _utf_16(mine: Path) -> None:
    (mine / "profile" / "p03.txt").write_bytes("plain English".encode("utf-16"))


def _utf_16_without_mark(mine: Path) -> None:
    (mine / "profile" / "p03.txt").write_bytes("plain English".encode("utf-16-le"))


def _latin(mine: Path) -> None:
    (mine / "profile" / "p03.txt").write_bytes("line\nun garçon".encode("latin-1"))


def _twice(mine: Path) -> None:
    text = (mine / "profile" / "p03.txt").read_text(encoding="utf-8")
    (mine / "reference" / "copy.txt").write_text(text.upper() + "\n\n", encoding="utf-8")


def _no_reference(mine: Path) -> None:
    for path in (mine / "reference").iterdir():
        path.unlink()
    (mine / "reference").rmdir()


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (_four, "mine: mine has 4 profile documents of 5 at least"),
        (_stem, "profile/p03.txt and reference/p03.md have one stem"),
        (_empty, "mine/profile/p03.txt: no words"),
        (_binary, "profile/p03.txt: not UTF-8 at byte 13, line 2"),
        (_utf_16, "profile/p03.txt: not UTF-8 at byte 0, line 1"),
        (_utf_16_without_mark, "p03.txt: not UTF-8 at byte 1, line 1 but binary or UTF-16"),
        (_latin, "profile/p03.txt: not UTF-8 at byte 11, line 2"),
        (_twice, 'mine: "No text is on both sides'),
        (_no_reference, "mine: reference/ is missing beside profile/"),
    ],
)
def test_a_faulty_folder_is_one_line_and_no_bundle(
    here: Path, model: Sequence[str], break_it: object, message: str
) -> None:
    mine = write(here / "mine")
    assert callable(break_it)
    break_it(mine)
    line = error_of("prepare", "mine", "--output", "b", *model)
    assert message in line
    if break_it is _twice:
        assert "profile/p03.txt" in line and "reference/copy.txt" in line
    assert not (here / "b").exists()
    assert not list(here.glob(".b*"))


def test_copies_that_leave_four_documents_are_named(here: Path, model: Sequence[str]) -> None:
    mine = write(here / "mine", profile=4)
    text = (mine / "profile" / "p03.txt").read_text(encoding="utf-8")
    (mine / "profile" / "p04.txt").write_text(text.upper(), encoding="utf-8")
    line = error_of("prepare", "mine", "--output", "b", *model)
    assert "4 profile documents of 5" in line and "exact duplicate: profile/p04.txt" in line


def test_a_group_of_one_is_refused(here: Path, model: Sequence[str]) -> None:
    write(here / "mine")
    path = here / "params.yaml"
    text = path.read_text(encoding="utf-8").replace("group_size: 5", "group_size: 1")
    path.write_text(text, encoding="utf-8")
    assert "bundle.group_size" in error_of("prepare", "mine", "--output", "b", *model)


def test_no_model_of_that_name(here: Path) -> None:
    write(here / "mine")
    line = error_of("prepare", "mine", "--output", "b", "--model", "gpt-9")
    assert "'gpt-9'" in line and "smollm2-135m" in line
