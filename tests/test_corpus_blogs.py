"""The Blog Authorship Corpus in its original layout, malformations and all."""

import zipfile
from pathlib import Path

import pytest

from personalbench.corpus.blogs import BlogsReader
from personalbench.corpus.dates import iso_date
from personalbench.corpus.intake import Intake
from personalbench.corpus.select import select
from personalbench.errors import UserError
from personalbench.params import CorpusParams

RULE = CorpusParams(reader="blogs", min_profile=1, min_reference=1, min_mean_words=1)

FRENCH = (
    b"<Blog>\r\n<date>03,May,2004</date>\r\n<post>\r\n\tun gar\xe7on, it\x92s late\r\n"
    b"</post>\r\n</Blog>"
)


def name(author: str) -> str:
    return f"{author}.female.17.Student.Libra.xml"


def blog(*posts: str) -> bytes:
    entries = [f"<date>0{n},May,2004</date>\n<post>{p}</post>\n" for n, p in enumerate(posts, 1)]
    return f"<Blog>\n\n{''.join(entries)}\n</Blog>".encode()


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as target:
        for author, data in files.items():
            target.writestr(f"blogs/{name(author)}", data)
    return path


def read(path: Path):
    """All documents as (id, text, date), and the notes."""
    documents, notes = [], []
    reader = BlogsReader(path)
    for part in reader.parts():
        parsed = reader.parse(part)
        documents += [(d.id, d.text, d.date) for d in parsed.documents]
        notes += [tuple(note) for note in parsed.notes]
    return documents, notes


def read_one(tmp_path: Path, data: bytes):
    return read(archive(tmp_path / "blogs.zip", {"7": data}))


def test_bytes_that_are_not_utf8_are_cp1252_and_counted(tmp_path):
    documents, notes = read_one(tmp_path, FRENCH)
    assert documents == [("7-1", "un garçon, it’s late", "2004-05-03")]
    assert notes == [("bytes_read_as_cp1252", f"{name('7')}: 2")]


def test_one_bad_byte_does_not_spoil_the_rest_of_its_file(tmp_path):
    data = "<post>naïve “quote”</post>".encode() + b"<post>caf\xe9\x85 \x81.</post><post>end</post>"
    documents, notes = read_one(tmp_path, data)
    assert [text for _, text, _ in documents] == ["naïve “quote”", "café… .", "end"]
    assert ("bytes_read_as_cp1252", f"{name('7')}: 3") in notes


def test_nul_bytes_go_and_are_counted(tmp_path):
    documents, notes = read_one(tmp_path, blog("He\x00llo there"))
    assert documents == [("7-1", "Hello there", "2004-05-01")]
    assert notes == [("nul_bytes_removed", f"{name('7')}: 1")]


def test_nul_bytes_inside_of_tags_hide_no_post(tmp_path):
    data = blog("one", "two").decode().encode("utf-16-le")
    documents, _ = read_one(tmp_path, data)
    assert [text for _, text, _ in documents] == ["one", "two"]


def test_what_looks_like_xml_and_is_not(tmp_path):
    data = (
        b"<Blog>\n<date>01,May,2004</date>\n<post>\nAT&T > me & you <3 <br>\n</post>\n"
        b"<date>02,May,2004</date>\n<post>\nnever closed\n"
        b"<date>03,May,2004</date>\n<post>closed by the end of the file's tag\n</Blog>\n"
    )
    documents, notes = read_one(tmp_path, data)
    assert documents == [
        ("7-1", "AT&T > me & you <3", "2004-05-01"),
        ("7-2", "never closed", "2004-05-02"),
        ("7-3", "closed by the end of the file's tag", "2004-05-03"),
    ]
    assert notes == [("unclosed_post", "7-2"), ("unclosed_post", "7-3")]


def test_a_date_belongs_to_the_post_that_follows_it(tmp_path):
    data = (
        b"<Blog><date>01,May,2004</date><date>02,May,2004</date><post>text on same line</post>"
        b"<post>no date of its own</post><date>04,May,2004</date><post>third</post></Blog>"
    )
    documents, notes = read_one(tmp_path, data)
    assert documents == [
        ("7-1", "text on same line", "2004-05-02"),
        ("7-2", "no date of its own", None),
        ("7-3", "third", "2004-05-04"),
    ]
    assert notes == [("several_dates", "7-1"), ("no_date", "7-2")]


def test_text_between_posts_is_noted(tmp_path):
    _, notes = read_one(tmp_path, b"<Blog>lost<date>01,May,2004</date><post>a</post></Blog>")
    assert notes == [("text_outside_posts", f"{name('7')}: 1")]


def test_a_post_is_a_document_however_many_lines_it_has(tmp_path):
    path = archive(
        tmp_path / "blogs.zip", {"111": blog("\none\ntwo\nthree\n"), "222": blog("\n1\n2\n3\n")}
    )
    documents, _ = read(path)
    assert documents == [
        ("111-1", "one\ntwo\nthree", "2004-05-01"),
        ("222-1", "1\n2\n3", "2004-05-01"),
    ]


def test_numbers_count_empty_posts_and_nothing_is_lost_but_them(tmp_path):
    path = archive(tmp_path / "blogs.zip", {"7": blog("a", "", " urlLink \n", "b")})
    with Intake(BlogsReader(path)) as intake:
        assert [entry.id for entry in intake.entries] == ["7-1", "7-4"]
        assert intake.notes == [("no_words", "7-2"), ("no_words", "7-3")]


def test_links_and_markup_go(tmp_path):
    documents, _ = read_one(tmp_path, blog("see urlLink this&nbsp;page, <b>urlLinkhere</b>"))
    assert documents[0][1] == "see this page, here"


def test_what_the_file_name_says_is_kept(tmp_path):
    path = archive(tmp_path / "blogs.zip", {"7": blog("one", "two")})
    _, report = select(BlogsReader(path), RULE, seed=1)
    assert report.authors[0].attributes == {
        "gender": "female", "age": "17", "industry": "Student", "sign": "Libra",
    }  # fmt: skip


def test_a_folder_and_other_orders_of_files_give_the_same(tmp_path, monkeypatch):
    files = {str(n): blog(*(f"post {k} of {n}" for k in range(9))) for n in range(3)}
    files["1"] = files["1"].replace(b"post 4 of 1", b"post 4 of on\xe9")  # undecodable half-way
    forward = select(BlogsReader(archive(tmp_path / "a.zip", files)), RULE, seed=1)
    backward = archive(tmp_path / "b.zip", dict(reversed(files.items())))
    assert read(backward) == read(tmp_path / "a.zip")
    assert select(BlogsReader(backward), RULE, seed=1) == forward
    assert forward[1].notes == {"bytes_read_as_cp1252": [f"{name('1')}: 1"]}

    folder = tmp_path / "blogs"
    folder.mkdir()
    for author, data in files.items():
        (folder / name(author)).write_bytes(data)
    (folder / "readme.txt").write_text("not a blog")
    assert select(BlogsReader(folder), RULE, seed=1) == forward
    found = Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda self, glob: sorted(found(self, glob), reverse=True))
    assert select(BlogsReader(folder), RULE, seed=1) == forward


def test_many_files_are_read_by_several_processes_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("personalbench.corpus.blogs._PART_BYTES", 1)
    files = {str(n): blog(f"post of {n}", f"another by {n}") for n in range(6)}
    with Intake(BlogsReader(archive(tmp_path / "blogs.zip", files))) as intake:
        assert [entry.id for entry in intake.entries] == [
            f"{n}-{k}" for n in range(6) for k in (1, 2)
        ]


@pytest.mark.parametrize(
    ("date", "iso"),
    [
        ("31,May,2004", "2004-05-31"),
        ("01,julio,2004", "2004-07-01"),
        ("1,Août,2003", "2003-08-01"),
        ("05,lipiec,2004", "2004-07-05"),
        ("05,desember,2003", "2003-12-05"),
        ("05,Maio,2004", "2004-05-05"),
        ("2004-05-31", "2004-05-31"),
        ("2004-05-31T10:00:00Z", "2004-05-31"),
        (",,", None),
        ("31,June,2004", None),
        ("31,Nevermber,2004", None),
        ("1,listopad,2004", None),  # November in Polish and Czech, October in Croatian
        ("2004-13-01", None),
        ("", None),
    ],
)
def test_dates(date, iso):
    assert iso_date(date) == iso


def test_sources_that_are_no_blog_corpus(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read(tmp_path / "blogs.zip")
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(UserError, match="no sound zip archive"):
        read(tmp_path / "text.zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("a.txt", "text")
    with pytest.raises(UserError, match="holds no file like"):
        read(tmp_path / "other.zip")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no file like"):
        read(tmp_path / "empty")
