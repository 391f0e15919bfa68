"""Answers from a file."""

import json
import re
from pathlib import Path

import pytest

from people import bundle
from personalbench.errors import UserError
from personalbench.twins.outside import read_answers

FIVE = [{"case_id": f"case_000{n}", "output": f"text {n}"} for n in range(1, 6)]


def _file(folder: Path, lines: list[object]) -> Path:
    path = folder / "answers.jsonl"
    path.write_text(
        "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines),
        encoding="utf-8",
    )
    return path


def test_answers_come_in_the_order_of_the_cases(tmp_path: Path) -> None:
    path = _file(tmp_path, [{**line, "prompt": "ignored"} for line in reversed(FIVE)])
    answers = read_answers(path, [bundle()], "mine")
    assert [(answer.case_id, answer.text) for answer in answers] == [
        (f"case_000{n}", f"text {n}") for n in range(1, 6)
    ]
    assert {(answer.author, answer.source, answer.status) for answer in answers} == {
        ("ada", "mine", "ok")
    }


def test_several_authors_need_the_author(tmp_path: Path) -> None:
    both = [bundle("ada"), bundle("ben")]
    path = _file(tmp_path, [{**line, "author": name} for name in ("ben", "ada") for line in FIVE])
    answers = read_answers(path, both, "mine")
    assert [answer.author for answer in answers] == ["ada"] * 5 + ["ben"] * 5
    with pytest.raises(UserError, match="line 1: no author"):
        read_answers(_file(tmp_path, FIVE), both, "mine")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*FIVE, {"case_id": "case_0009", "output": "x"}], "line 6: unknown case case_0009"),
        ([*FIVE, FIVE[1]], "line 6: case_0002 was answered in line 2"),
        (FIVE[:3], "no answer to case_0004, case_0005"),
        ([*FIVE[:2], "{broken", *FIVE[2:]], "line 3"),
        ([{"case_id": "case_0001", "output": None}], "line 1: output"),
        ([{"case_id": "case_0001", "output": 7}], "line 1: output"),
        ([{"output": "x"}], "line 1: no key case_id"),
        ([{"id": "case_0001", "output": "x"}], r"no key case_id \(there are: id, output\)"),
        ([{"case_id": "case_0001", "prompt": "x"}], "line 1: a prompt and no output"),
        ([{"case_id": "case_0001", "output": None}], "line 1: output is null; .*--allow-missing"),
        ([["case_0001", "x"]], "line 1: not a JSON object"),
        (["[", *FIVE], "line 1: not JSON: .*one JSON object a line"),
        ([*FIVE, ""], "line 6: an empty line"),
        (['{"a": ' * 10_000], "line 1: not JSON"),
        ([], "empty; a line is"),
        (FIVE[:3], "no answer to case_0004, case_0005; answer them, or .*--allow-missing"),
        ([*FIVE[:4], {"case_id": "case_0005", "output": " \n"}], "case_0005 has an empty output"),
        ([*FIVE[:4], {**FIVE[4], "output": "\u200b\u2060"}], "case_0005 has an empty output"),
        ([*FIVE[:4], {**FIVE[4], "output": "..."}], "case_0005 has an empty output"),
        ([{**FIVE[0], "author": "ben"}], "line 1: unknown author ben; this bundle is of ada"),
    ],
)
def test_a_faulty_file_is_one_line_of_error(
    tmp_path: Path, lines: list[object], message: str
) -> None:
    path = _file(tmp_path, lines)
    with pytest.raises(UserError, match=re.escape(str(path)) + ".*" + message) as error:
        read_answers(path, [bundle()], "mine")
    assert "\n" not in error.value.message


@pytest.mark.parametrize("output", ["", "...", "\u200b", "\x00\x07", "\u200d \ufeff"])
def test_gaps_are_counted_where_they_are_allowed(tmp_path: Path, output: str) -> None:
    path = _file(tmp_path, [*FIVE[:3], {"case_id": "case_0005", "output": output}])
    answers = read_answers(path, [bundle()], "mine", allow_missing=True)
    assert [answer.status for answer in answers] == ["ok", "ok", "ok", "failed", "empty"]
    assert all(answer.reason for answer in answers[3:])


def test_a_line_separator_does_not_end_a_line(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    lines = [{**FIVE[0], "output": "one\u2028two\u0085three"}, *FIVE[1:]]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    assert read_answers(path, [bundle()], "mine")[0].text == "one\u2028two\u0085three"


@pytest.mark.parametrize(
    "text",
    ["I <think> therefore I am.", "<think>Hm.</think> Yes.", "Sure, here it is:\nGone.", "</s>"],
)
def test_what_somebody_else_wrote_is_taken_as_it_is(tmp_path: Path, text: str) -> None:
    """The rules for a model's own output are not for texts that may be a person's."""
    path = _file(tmp_path, [{**FIVE[0], "output": text}, *FIVE[1:]])
    (first, *_) = read_answers(path, [bundle()], "mine")
    assert (first.text, first.status, first.flags) == (text, "ok", ())


def test_copying_is_looked_for_in_the_whole_profile(tmp_path: Path) -> None:
    ada = bundle()
    for answer in read_answers(_file(tmp_path, list(FIVE)), [ada], "mine"):
        assert answer.seen == tuple(document.id for document in ada.profile)


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        ({"finish_reason": "length"}, ("cut_at_max_tokens",)),
        ({"finish_reason": "stop"}, ()),
        ({"finish_reason": {"of": "another kind"}}, ()),
        ({}, ("ends_mid_sentence",)),
        (
            {"output": "We walked along the river until it was dark and then"},
            ("ends_mid_sentence",),
        ),
        ({"output": "We walked along the river until it was dark and, "}, ("ends_mid_sentence",)),
        ({"output": "We walked along the river until it was dark.\n\nYours, Ada"}, ()),
        ({"output": "She said: “we walked along the river until it was dark.”"}, ()),
    ],
)
def test_an_answer_without_an_end_is_flagged(
    tmp_path: Path, line: dict[str, object], flags: tuple[str, ...]
) -> None:
    """As the writer says, or where that says nothing, by a long last line without an end."""
    cut = "We walked along the river until it was dark and the"
    path = _file(tmp_path, [{**FIVE[0], "output": cut, **line}, *FIVE[1:]])
    assert read_answers(path, [bundle()], "mine")[0].flags == flags
