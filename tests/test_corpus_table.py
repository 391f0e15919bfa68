"""Tables: JSON Lines, CSV, Parquet."""

import csv
import json

import pytest

from personalbench.corpus.document import Document
from personalbench.corpus.intake import Intake
from personalbench.corpus.table import TableReader
from personalbench.errors import UserError
from personalbench.params import ColumnParams
from personalbench.storage import read_records, write_records

KAGGLE = ["id", "gender", "age", "topic", "sign", "date", "text"]


def read(path, **columns):
    reader = TableReader(path, ColumnParams(**columns))
    return [document for part in reader.parts() for document in reader.parse(part).documents]


def write_csv(path, rows, header=KAGGLE):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def kaggle(author: str, text: str) -> list[str]:
    return [author, "male", "15", "Student", "Leo", "14,May,2004", text]


def test_kaggle_file_works_without_configuration(tmp_path):
    path = write_csv(
        tmp_path / "blogtext.csv",
        [kaggle("7", " Info, with \n two lines urlLink "), kaggle("8", "b"), kaggle("7", "c")],
    )
    assert [(d.id, d.author, d.text, d.date) for d in read(path)] == [
        ("7-1", "7", "Info, with\ntwo lines", "2004-05-14"),
        ("8-1", "8", "b", "2004-05-14"),
        ("7-2", "7", "c", "2004-05-14"),
    ]


def test_long_fields_are_whole(tmp_path):
    path = write_csv(tmp_path / "long.csv", [kaggle("7", "abcd " * 40_000)])
    assert len(read(path)[0].text) == 5 * 40_000 - 1


def test_nul_bytes_go_and_are_counted(tmp_path):
    path = write_csv(tmp_path / "nul.csv", [kaggle("7", "He\x00llo there")])
    with Intake(TableReader(path, ColumnParams())) as intake:
        assert intake.document(intake.entries[0], "profile").text == "Hello there"
        assert intake.notes == [("nul_bytes_removed", "7-1: 1")]


def test_a_document_of_a_million_characters_is_read_whole(tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"id": 7, "text": "word " * 240_000}), encoding="utf-8")
    with Intake(TableReader(path, ColumnParams(date=None))) as intake:
        assert [entry.words for entry in intake.entries] == [240_000]


def test_one_line_written_is_one_record_read(tmp_path):
    text = "one\u2028two\u0085three"
    path = tmp_path / "posts.jsonl"
    path.write_text(json.dumps({"id": "7", "text": text}, ensure_ascii=False) + "\n", "utf-8")
    assert [d.text for d in read(path, date=None)] == ["one\ntwo\nthree"]
    record = Document(id="7-1", author="7", source="7-1", text=text, words=3)
    write_records(tmp_path / "documents.jsonl", [record])
    assert read_records(tmp_path / "documents.jsonl", Document) == [record]


def test_parquet_and_configured_columns(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"key": ["a", "b"], "who": [1, 2], "body": ["Hello <b>there</b>", None]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "posts.parquet")
    names = {"author": "who", "text": "body", "document": "key", "date": None}
    assert [
        (d.id, d.author, d.text, d.date) for d in read(tmp_path / "posts.parquet", **names)
    ] == [
        ("a", "1", "Hello there", None),
        ("b", "2", "", None),
    ]


def test_rows_of_one_id_are_an_error(tmp_path):
    path = tmp_path / "posts.jsonl"
    rows = [{"n": "7-3", "id": "7", "text": "yes"}, {"n": "7-3", "id": "7", "text": "no"}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(UserError, match="7-3"):
        Intake(TableReader(path, ColumnParams(document="n", date=None)))


def test_hub_copy_is_refused_with_the_reason(tmp_path):
    path = write_csv(
        tmp_path / "train.csv",
        [["Info has been found", "14,May,2004", "male", "15", "Leo", "Student"]],
        ["text", "date", "gender", "age", "horoscope", "job"],
    )
    with pytest.raises(UserError, match=r"one row a line.*without the bloggers' ids"):
        read(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("posts.txt", "", r"ends in \.jsonl, \.csv or \.parquet"),
        ("posts.jsonl", "{", r"line 1: not JSON"),
        ("posts.jsonl", "[1]", r"line 1: not a JSON object"),
        ("posts.jsonl", '{"id": 1}', r"line 1: no column 'text' among 'id'"),
        ("posts.jsonl", '{"id": 1, "text": "a"}', r"no column 'date'.*corpus\.columns"),
        ("posts.jsonl", '{"id": "", "text": "a", "date": ""}', r"line 1: no author"),
        ("posts.jsonl", '{"id": 1, "text": 5, "date": ""}', r"holds no text"),
        ("posts.csv", "id,text,date\n1,a\n", r"line 2: not as many fields"),
        ("posts.csv", "id,text,date\n1,a,b,c\n", r"line 2: not as many fields"),
        ("posts.csv", 'id,text,date\n1,"a,b\n', r"after line 1: unexpected end"),
        ("posts.parquet", "text", r"not Parquet"),
    ],
)
def test_tables_that_a_user_can_mend(tmp_path, name, content, message):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read(tmp_path / name)


def test_missing_file_and_other_encodings(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read(tmp_path / "posts.csv")
    (tmp_path / "posts.csv").write_bytes(b"id,text,date\n1,caf\xe9,\n")
    with pytest.raises(UserError, match="not UTF-8"):
        read(tmp_path / "posts.csv")
