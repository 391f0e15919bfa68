"""The stages corpus and check, and the command inspect, as a user runs them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from people import shipped_params
from personalbench import paths
from personalbench.cli import main
from personalbench.corpus import inspection
from personalbench.corpus.document import Document
from personalbench.errors import UserError
from personalbench.params import CheckParams, CorpusParams, Params, load_params
from personalbench.stages import bundle, check, corpus
from personalbench.storage import read_json, read_records, sha256_file

RULE = {"min_profile": 3, "min_reference": 2, "min_mean_words": 5}
NOUNS = "boat house river stone garden letter winter brother kitchen bread road window".split()  # noqa: SIM905
VERBS = "took lost found carried opened painted mended bought forgot kept".split()  # noqa: SIM905


@pytest.fixture(autouse=True)
def _workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def params(**changes) -> Params:
    fields = {"reader": "folder", "path": "ada"} | RULE | changes
    return Params.model_construct(seed=42, corpus=CorpusParams(**fields), check=CheckParams())


def write_params(path: str) -> None:
    """Write the repository's params.yaml with a folder as its corpus."""
    rule = "".join(f"  {key}: {value}\n" for key, value in RULE.items())
    text = shipped_params()
    text = re.sub(
        r"(?s)\ncorpus:.*?\n\n", f"\ncorpus:\n  reader: folder\n  path: {path}\n{rule}\n", text
    )
    for old, new in {
        "language: en": "language: de",
        "authors: 2": "authors: 1",
        "cases: 5": "cases: 2",
        "group_size: 5": "group_size: 3",
    }.items():
        text = text.replace(old, new)
    Path("params.yaml").write_text(text, encoding="utf-8")


def essay(seed: int) -> str:
    random = Random(seed)
    said = [
        f"We {random.choice(VERBS)} the {random.choice(NOUNS)} by the {random.choice(NOUNS)} "
        f"before she {random.choice(VERBS)} her {random.choice(NOUNS)}."
        for _ in range(12)
    ]
    return " ".join(said)


def make(root: str = "ada", **changes: str) -> None:
    names = [f"profile/p{n}.txt" for n in range(3)] + [f"reference/r{n}.txt" for n in range(2)]
    for seed, name in enumerate(names):
        path = Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changes.get(path.stem, essay(seed)), encoding="utf-8")


def test_a_folder_goes_through_both_stages():
    make()
    assert corpus.run(params()).startswith("corpus: 1 authors, 3 profile and 2 reference documents")
    documents = read_records(paths.DOCUMENTS, Document)
    assert [(d.id, d.split) for d in documents] == [
        ("profile/p0.txt", "profile"), ("profile/p1.txt", "profile"),
        ("profile/p2.txt", "profile"), ("reference/r0.txt", "reference"),
        ("reference/r1.txt", "reference"),
    ]  # fmt: skip
    report = read_json(paths.CORPUS)
    assert report["kept"] == {
        "authors": 1, "documents": 5, "words": sum(d.words for d in documents),
        "profile": 3, "reference": 2,
    }  # fmt: skip
    assert "checks passed" in check.run(params())
    assert read_json(paths.QUALITY)["passed"] is True
    assert paths.QUALITY_PAGE.read_text(encoding="utf-8").startswith("<!doctype html>")


def three_words_changed(text: str) -> str:
    tokens = text.split()
    for position in (20, 70, 120):
        tokens[position] = "zebra"
    return " ".join(tokens)


@pytest.mark.parametrize("copy", [str, str.upper, three_words_changed])
def test_reference_copied_into_the_profile_stops_the_pipeline_with_both_ids(copy):
    make(p1=copy(essay(4)))  # r1 is the essay of seed 4
    corpus.run(params())
    with pytest.raises(UserError) as error:
        check.run(params())
    assert "reference/r1.txt with profile/p1.txt" in error.value.message
    assert read_json(paths.QUALITY)["passed"] is False


def test_a_check_that_fails_leaves_no_older_verdict_and_no_stage_goes_on():
    write_params("ada")
    make()
    corpus.run(params())
    with pytest.raises(UserError, match=r"quality\.json: no such file; `dvc repro`"):
        bundle.run(load_params())
    check.run(params())
    paths.DOCUMENTS.write_text("no documents", encoding="utf-8")
    with pytest.raises(UserError, match=r"documents\.jsonl, line 1"):
        check.run(params())
    assert not paths.QUALITY.exists()
    make(p1=essay(4))
    corpus.run(params())
    with pytest.raises(UserError, match=r"reports.quality\.html"):
        check.run(params())
    with pytest.raises(UserError, match=r"reports.quality\.html.*reference/r1\.txt"):
        bundle.run(load_params())


def test_twice_the_same_bytes_and_no_carriage_returns():
    make(p0="Zoë runs. \U0001f3c3 " + essay(0))
    corpus.run(params())
    first = sha256_file(paths.DOCUMENTS), sha256_file(paths.CORPUS)
    corpus.run(params())
    assert (sha256_file(paths.DOCUMENTS), sha256_file(paths.CORPUS)) == first
    assert b"\r" not in paths.DOCUMENTS.read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"path": "nothing"}, "nothing: no such folder"),
        ({"path": None}, "corpus.path: the reader folder needs the path"),
        ({"min_profile": 9}, "none of 1 authors"),
        ({"reader": "blogs"}, "holds no file like"),
        ({"reader": "table"}, r"ends in \.jsonl"),
    ],
)
def test_what_cannot_be_read_leaves_nothing_behind(changes, message):
    make()
    with pytest.raises(UserError, match=message):
        corpus.run(params(**changes))
    assert not Path("data").exists()


def test_inspect_shows_what_would_become_of_a_source():
    make(p1=essay(0), p2="")
    shown = CliRunner().invoke(main, ["inspect", "ada", "--min-mean-words", "5"])
    assert shown.exit_code == 0
    assert shown.output == (
        "ada (reader folder)\n"
        "  found    4 documents, 576 words, 1 author\n"
        "           split made: 2 profile, 2 reference\n"
        "  encoding UTF-8; mail as it says itself\n"
        "  noted    1 document without words, left out\n"
        "           profile/p2.txt\n"
        "  dropped  3 documents by authors who do not meet the rule\n"
        "           profile/p0.txt, reference/r0.txt, reference/r1.txt\n"
        "  dropped  1 exact duplicate\n"
        "           profile/p1.txt\n"
        "  rule     at least 5 profile and 5 reference documents, 5 words on average\n"
        "  kept     0 of 1 author by the rule, with 0 profile and 0 reference documents, 0 words\n"
        "           ada: 1 profile, 2 reference, 144.0 words on average; "
        "left out: 1 profile documents of 5, 2 reference documents of 5\n"
    )
    as_json = CliRunner().invoke(main, ["inspect", "ada", "--min-profile", "1", "--json"])
    report = json.loads(as_json.output)["report"]
    assert report["dropped"]["exact_duplicate"] == ["profile/p1.txt"]
    assert report["notes"]["no_words"] == ["profile/p2.txt"]


def test_inspect_asks_of_a_person_what_prepare_asks():
    """Five documents on either side are enough, whatever the rule for a corpus is."""
    make()
    for seed, name in enumerate(("profile/p3", "profile/p4", *(f"reference/r{n}" for n in (2, 3)))):
        Path("ada", f"{name}.txt").write_text(essay(100 + seed), encoding="utf-8")
    shown = CliRunner().invoke(main, ["inspect", "ada"]).output
    assert "4 reference documents of 5" in shown
    Path("ada", "reference", "r4.txt").write_text(essay(200), encoding="utf-8")
    shown = CliRunner().invoke(main, ["inspect", "ada"]).output
    assert "at least 5 profile and 5 reference documents, 1 word on average" in shown
    assert "kept     1 of 1 author" in shown and "left out" not in shown


def test_inspect_says_where_the_check_would_stop():
    make(p1=essay(4).upper())
    shown = CliRunner().invoke(main, ["inspect", "ada"])
    assert (
        "  noted    2 texts on both sides, or nearly: the check stage stops at it\n"
        "           profile/p1.txt, reference/r1.txt\n"
    ) in shown.output


def test_inspect_has_words_for_every_reason_there_is():
    package = Path(inspection.__file__).parent
    paths = set(package.glob("*.py")) - {Path(inspection.__file__)}
    source = "".join(path.read_text(encoding="utf-8") for path in paths)
    assert set(re.findall(r'Note\(\s*"(\w+)"', source)) == set(inspection._NOTED)
    dropped = re.findall(r'dropped\["(\w+)"\]|"(\w+_duplicate)"', source)
    assert {a or b for a, b in dropped} == set(inspection._DROPPED)


@pytest.mark.parametrize(
    ("side", "message"),
    [("profile", "reference/ is missing beside profile/"),
     ("reference", "profile/ is missing beside reference/")],
)  # fmt: skip
def test_inspect_says_which_folder_is_missing(side, message):
    Path("ada", side).mkdir(parents=True)
    result = CliRunner().invoke(main, ["inspect", "ada"])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: ada: {message}: put texts")


@pytest.mark.parametrize("source", ["flat", "flat/a.txt"])
def test_inspect_says_what_a_corpus_looks_like(source):
    Path("flat").mkdir()
    Path("flat/a.txt").write_text("text", encoding="utf-8")
    result = CliRunner().invoke(main, ["inspect", source])
    assert result.exit_code == 2
    assert (
        "looks like no corpus: a folder has profile/ and reference/, or authors/" in result.stderr
    )


def test_inspect_names_what_is_missing():
    result = CliRunner().invoke(main, ["inspect", "nothing"])
    assert result.exit_code == 2
    assert result.stderr == "Error: nothing: no such file or folder, and not `sotu`\n"


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"PYTHONIOENCODING": "ascii"}, "Zoë \U0001f3c3".encode()),  # click writes UTF-8 there
        ({"LC_ALL": "C"}, "Zoë \U0001f3c3".encode()),
        ({"PYTHONIOENCODING": "cp1252"}, b"Zo\xeb \\U0001f3c3"),
    ],
)
def test_the_console_need_not_know_the_characters(settings, shown):
    name = "Zoë \U0001f3c3"
    make(name, p0="Zoë runs. \U0001f3c3 " + essay(0))
    write_params(name)
    environment = {**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = b""
    for command in (["inspect", name], ["stage", "corpus"]):
        done = subprocess.run(
            [sys.executable, "-c", "from personalbench.cli import main; main()", *command],
            env=environment,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said += done.stdout
    assert b"found    5 documents, 722 words, 1 author" in said
    assert shown + b" (reader folder)" in said
    assert "Zoë runs. \U0001f3c3" in read_records(paths.DOCUMENTS, Document)[0].text
