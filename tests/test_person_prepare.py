"""From a folder to a bundle: what is taken, and what is refused in one line."""

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from llm_stub import Says, Stub
from personalbench.bundle import load_bundle
from personalbench.cli import main
from personalbench.storage import sha256_file

ROOT = Path(__file__).parent.parent


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside of any repository, with a model that answers at once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path


@pytest.fixture
def stub() -> Iterator[Stub]:
    """The server behind the model."""
    with Stub(lambda body, number: Says(f"The text is about matter {number}.")) as server:
        yield server


@pytest.fixture
def model(here: Path, stub: Stub) -> Sequence[str]:
    """Options that name the stub; params.yaml is the shipped one with another entry."""
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    text = text.replace("templates: src/personalbench/prompts\n", "")
    entry = (
        "  stub:\n    kind: server\n    family: stub\n    id: stub-1b\n    revision: 0123abc\n"
        f"    endpoints: ['{stub.endpoint}']\n    concurrency: 1\n"
    )
    (here / "params.yaml").write_text(text + entry, encoding="utf-8")
    return ("--model", "stub")


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


def test_one_mailbox_is_split_by_prepare(here: Path, model: Sequence[str]) -> None:
    """Of 30 messages 24 go to the profile; two of one thread stay together."""
    mails = [
        f"From ann Mon May  1 10:00:00 2006\nFrom: ann@example.org\nMessage-ID: <{n}@x>\n"
        + ("In-Reply-To: <0@x>\n" if n == 1 else "")
        + f"Subject: {'Re: matter 0' if n == 1 else f'matter {n}'}\n\nDear {n}, "
        + " ".join(f"mail{n}word{k}" for k in range(30))
        + ".\n\n"
        for n in range(30)
    ]
    folder = here / "people" / "authors" / "ann"
    folder.mkdir(parents=True)
    (folder / "sent.mbox").write_text("".join(mails), encoding="utf-8")
    result = run("prepare", "people", "--output", "b", *model)
    assert result.exit_code == 0, result.output
    bundle = load_bundle(here / "b")
    assert bundle.author == "ann"
    assert (len(bundle.profile), len(bundle.cases)) == (24, 6)
    held_out = {document.id for document in bundle.references}
    thread = {"authors/ann/sent.mbox#1", "authors/ann/sent.mbox#2"}
    assert thread <= held_out or not thread & held_out


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


def corrected(here: Path, **topics: str) -> Path:
    """The model's topics with some changed, by the number of the reference document."""
    lines = [
        json.loads(line)
        for line in (here / "b.topics.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for line in lines:
        line["topic"] = topics.get(Path(line["document"]).stem, line["topic"])
    path = here / "corrected.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_the_models_topics_are_read_corrected_and_prepared_again(
    here: Path, model: Sequence[str]
) -> None:
    write(here / "mine")
    first = run("prepare", "mine", "--output", "b", *model)
    assert "b.topics.jsonl: the topics, which a model wrote" in first.output
    assert "prepare again with --topics b.topics.jsonl" in first.output
    corrected(here, r03="  The text is about\n the garden. ")
    again = run("prepare", "mine", "--output", "c", "--topics", "corrected.jsonl")
    assert again.exit_code == 0, again.output
    assert "topics of corrected.jsonl" in again.output
    models, own = load_bundle(here / "b"), load_bundle(here / "c")
    assert own.references == models.references
    assert own.manifest.selected_profile == models.manifest.selected_profile
    for mine, theirs in zip(own.cases, models.cases, strict=True):
        if mine.document == "reference/r03.txt":
            assert mine.topic == "The text is about the garden."
            assert "the garden" in mine.prompt and mine.prompt != theirs.prompt
        else:
            assert mine == theirs
    assert models.manifest.topics_file is None
    assert own.manifest.topics_file == sha256_file(here / "corrected.jsonl")
    assert "read from a file, sha256 " in run("bundle", "info", "c").output
    assert "written by stub-1b at 0123abc" in run("bundle", "info", "b").output
    assert not (here / "c.topics.jsonl").exists()


def test_topics_of_a_file_ask_no_model_and_give_the_same_bytes(
    here: Path, model: Sequence[str]
) -> None:
    write(here / "mine")
    run("prepare", "mine", "--output", "b", *model)
    topics = ("--topics", str(corrected(here)))
    gone = ("--model", "gpt-4.1-mini")  # hosted, and there is no key
    for output in ("c", "d.zip", "c"):
        assert run("prepare", "mine", "--output", output, *topics, *gone).exit_code == 0
    assert load_bundle(here / "c") == load_bundle(here / "d.zip")


def test_a_manifest_without_own_topics_is_as_it_was(here: Path, model: Sequence[str]) -> None:
    """Its hash names the bundle in every run that was scored before there were such files."""
    write(here / "mine")
    run("prepare", "mine", "--output", "b", *model)
    assert "topics_file" not in json.loads((here / "b" / "manifest.json").read_text("utf-8"))


def test_changed_topics_are_not_lost_and_not_passed_over(here: Path, model: Sequence[str]) -> None:
    write(here / "mine")
    run("prepare", "mine", "--output", "b", *model)
    corrected(here, r03="The garden.").replace(here / "b.topics.jsonl")
    shutil.rmtree(here / "b")
    line = error_of("prepare", "mine", "--output", "b", *model)
    assert "b.topics.jsonl: holds other topics than the model's" in line
    assert "--topics b.topics.jsonl" in line
    assert not (here / "b").exists() and not list(here.glob(".b*"))
    assert "The garden." in (here / "b.topics.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "t.jsonl: no topic for reference/r"),
        (["{}"], "t.jsonl, line 1: document: Field required"),
        (
            ['{"document": "reference/r00.txt", "topic": "A day."}', "{"],
            "t.jsonl, line 2: not JSON",
        ),
        (
            ['{"document": "profile/p00.txt", "topic": "A."}'],
            "line 1: no reference document profile",
        ),
        (['{"document": "reference/r00.txt", "topic": " . "}'], "line 1: no words in the topic"),
        (
            ['{"document": "reference/r00.txt", "topic": "A day."}'] * 2,
            "line 2: reference/r00.txt has",
        ),
    ],
)
def test_faulty_topics_are_one_line(
    here: Path, model: Sequence[str], lines: list[str], message: str
) -> None:
    write(here / "mine")
    (here / "t.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert message in error_of("prepare", "mine", "--output", "b", "--topics", "t.jsonl")


def test_contaminated_prompts_are_named(here: Path, model: Sequence[str]) -> None:
    """Eight words in a row of the source; seven are none."""
    write(here / "mine")
    run("prepare", "mine", "--output", "b", *model)
    eight, seven = (
        " ".join(f"reference{n}word{k}" for k in range(count)) for n, count in ((1, 8), (2, 7))
    )
    topics = str(corrected(here, r01=f"It says {eight} today.", r02=f"It says {seven} today."))
    [case] = [each.id for each in load_bundle(here / "b").cases if "r01" in each.document]
    said = f"warning: Contaminated prompts: {case} (reference/r01.txt): 8 or more words in a row"
    prepared = run("prepare", "mine", "--output", "c", "--topics", topics)
    exported = run("prompts", "c", "--output", "p.jsonl")
    for result in (prepared, exported):
        [line] = [line for line in result.output.splitlines() if "words in a row" in line]
        assert line.startswith(said) and "--topics" in line
    told = run("bundle", "info", "c").output
    assert f"contaminated  {case} (reference/r01.txt), by 8 or more words" in told
    assert "contaminated  no prompt, by 8" in run("bundle", "info", "b").output
    assert "ontaminated" not in run("prompts", "b", "--output", "q.jsonl").output


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ("3", "--cases is 3; a bundle has 5 cases at least"),
        ("0", "--cases is 0; a bundle has 5 cases at least"),
        ("30", "mine has 6 reference documents, and --cases is 30; add some, or take 6 at most"),
    ],
)
def test_a_number_of_cases_that_can_not_be_had_is_refused(
    here: Path, model: Sequence[str], cases: str, message: str
) -> None:
    write(here / "mine", reference=6)
    assert message in error_of("prepare", "mine", "--output", "b", "--cases", cases, *model)
    assert run("prepare", "mine", "--output", "b", "--cases", "5", *model).exit_code == 0
    assert len(load_bundle(here / "b").cases) == 5


def test_ranges_are_said_in_words(here: Path) -> None:
    assert "[x" not in run("prepare", "--help").output
    line = error_of("prepare", "mine", "--output", "b", "--seed", "-3")
    assert line == "Error: --seed is -3; give 0 or more"


def test_the_person_is_called_by_name(here: Path, model: Sequence[str]) -> None:
    write(here / "mine")
    run("prepare", "mine", "--output", "a", *model)
    run("prepare", "mine", "--output", "b", "--name", " Zoë  Q. ", *model)
    plain, named = load_bundle(here / "a"), load_bundle(here / "b")
    assert named.author == "Zoë Q." and {each.author for each in named.profile} == {"Zoë Q."}
    assert named.cases == plain.cases
    assert named.manifest.selected_profile == plain.manifest.selected_profile
    assert "does a twin write like Zoë Q.?" in run("bundle", "info", "b").output
    assert "no letters" in error_of("prepare", "mine", "--output", "c", "--name", " .", *model)


def test_the_folder_that_was_typed_is_named(here: Path, model: Sequence[str]) -> None:
    (here / "file.txt").write_text("text", encoding="utf-8")
    for name in ("nowhere", "file.txt"):
        line = error_of("prepare", name, "--output", "b", *model)
        assert line.startswith(f"Error: {name}: no such folder") and "corpus" not in line


def test_what_is_no_bundle_is_said_before_any_work(here: Path, model: Sequence[str]) -> None:
    mine = write(here / "mine")
    line = error_of("prepare", "mine", "--output", "mine/profile", *model)
    assert "mine/profile: is there and is no whole bundle; choose another --output" in line
    assert run("prepare", "mine", "--output", "b", *model).exit_code == 0
    with open(here / "b" / "profile.jsonl", "a", encoding="utf-8") as file:
        file.write(" ")
    assert "b: is there and is no whole bundle" in error_of(
        "prepare", "mine", "--output", "b", *model
    )
    line = error_of("prompts", "b", "--output", "p.jsonl")
    assert "b/profile.jsonl: changed since the bundle was frozen; put the file back" in line
    assert "dvc" not in line
    assert mine.exists()


def test_prompts_replace_nothing(here: Path, model: Sequence[str]) -> None:
    write(here / "mine")
    run("prepare", "mine", "--output", "b", *model)
    for _ in range(2):
        assert run("prompts", "b", "--output", "p.jsonl").exit_code == 0
    (here / "twin.jsonl").write_text("{}\n", encoding="utf-8")
    line = error_of("prompts", "b", "--output", "twin.jsonl")
    assert "twin.jsonl: is there and holds something else" in line
    assert (here / "twin.jsonl").read_text(encoding="utf-8") == "{}\n"


ANSWER = ("answer", "b", "--method", "non_personalized", "--output", "base.jsonl")


def test_answers_are_never_replaced_and_say_how_they_ended(
    here: Path, model: Sequence[str], stub: Stub
) -> None:
    write(here / "mine")
    run("prepare", "mine", "--output", "b", *model)
    stub.script = lambda body, number: Says(
        f"The answer, number {number}.", finish_reason="length" if number == 7 else "stop"
    )
    assert run(*ANSWER, *model).exit_code == 0
    written = (here / "base.jsonl").read_bytes()
    lines = [json.loads(line) for line in written.splitlines()]
    assert [line["finish_reason"] for line in lines].count("length") == 1
    asked = len(stub.bodies)
    line = error_of(*ANSWER, *model)
    assert "base.jsonl: is there, and answers are never overwritten; choose another" in line
    assert (here / "base.jsonl").read_bytes() == written
    assert len(stub.bodies) == asked
    (here / "base.jsonl").unlink()
    assert run(*ANSWER, *model).exit_code == 0
    assert len(stub.bodies) == asked, "what was answered before is not asked again"
    assert (here / "base.jsonl").read_bytes() == written


def test_a_method_without_what_it_needs_asks_nothing(
    here: Path, model: Sequence[str], stub: Stub
) -> None:
    write(here / "mine")
    run("prepare", "mine", "--output", "b", *model)
    asked = len(stub.bodies)
    line = error_of("answer", "b", "--method", "contrastive", "--output", "c.jsonl", *model)
    assert "contrastive needs other people's writing" in line and "--author" in line
    assert len(stub.bodies) == asked and not (here / "c.jsonl").exists()


def test_no_answer_at_all_is_no_file(here: Path, model: Sequence[str], stub: Stub) -> None:
    write(here / "mine")
    run("prepare", "mine", "--output", "b", *model)
    stub.script = lambda body, number: Says("")
    line = error_of(*ANSWER, *model)
    assert "base.jsonl: not written, for none of 5 prompts was answered; case_0001: empty" in line
    assert not (here / "base.jsonl").exists()
