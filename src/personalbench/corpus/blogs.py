"""Reader of the Blog Authorship Corpus in its original layout: ``blogs.zip`` or its folder.

The files look like XML and are not (bare ampersands and angle brackets, several encodings
in one file, NUL bytes), so the tags of the layout are looked for and nothing else is parsed.
"""

import codecs
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from personalbench.corpus.dates import iso_date
from personalbench.corpus.posts import clean_post
from personalbench.corpus.reading import Note, Parsed, RawDocument
from personalbench.errors import UserError

_FILE_NAME = re.compile(
    r"(\d+)\.(?P<gender>[^.]+)\.(?P<age>\d+)\.(?P<industry>[^.]+)\.(?P<sign>[^.]+)\.xml"
)
_LAYOUT = re.compile(r"(</?Blog>|</?post>|<date>[^<\n]*</date>)")
_PART_BYTES = 1 << 22


class BlogFile(NamedTuple):
    """One blogger's file, unread."""

    name: str
    data: bytes


@dataclass(frozen=True)
class BlogsReader:
    """Gives every post as a document ``<blogger>-<n>``, n counted from 1 in the file.

    Bytes that are not UTF-8 are read as cp1252, which is what they are; the rest of their
    file is not touched by it.
    """

    path: Path
    alternating: bool = False

    def parts(self) -> Iterator[list[BlogFile]]:
        """Give the bloggers' files by name, some megabytes at a time.

        Raises:
            UserError: There is no such file or folder, it is no archive, or it holds no
                file of the corpus.
        """
        part: list[BlogFile] = []
        size = 0
        for file in self._files():
            part.append(file)
            size += len(file.data)
            if size >= _PART_BYTES:
                yield part
                part, size = [], 0
        if part:
            yield part

    def parse(self, part: Iterable[BlogFile]) -> Parsed:
        """Parse some bloggers' files."""
        parsed = Parsed()
        for file in part:
            _parse_file(file, parsed)
        return parsed

    def _files(self) -> Iterator[BlogFile]:
        if self.path.is_dir():
            paths = {path.relative_to(self.path).as_posix(): path for path in self.path.rglob("*")}
            for name in self._blogs(paths):
                yield BlogFile(PurePosixPath(name).name, paths[name].read_bytes())
            return
        try:
            with zipfile.ZipFile(self.path) as archive:
                for name in self._blogs(archive.namelist()):
                    yield BlogFile(PurePosixPath(name).name, archive.read(name))
        except FileNotFoundError:
            raise UserError(f"{self.path}: no such file or folder (corpus.path)") from None
        except zipfile.BadZipFile as error:
            raise UserError(f"{self.path}: no sound zip archive: {error}") from None

    def _blogs(self, names: Iterable[str]) -> list[str]:
        blogs = sorted(n for n in names if _FILE_NAME.fullmatch(PurePosixPath(n).name))
        if not blogs:
            raise UserError(
                f"{self.path}: holds no file like 11253.male.26.Technology.Aquarius.xml; "
                "corpus.reader blogs reads blogs.zip or its folder"
            )
        return blogs


@dataclass
class _Post:
    """A post as it stands in the file.

    Attributes:
        dates: What stands in the date tags since the post before.
        text: What stands between its tags.
        closed: Whether it has an end tag; otherwise the next tag of the layout ends it.
    """

    dates: list[str]
    text: str = ""
    closed: bool = False


def _parse_file(file: BlogFile, parsed: Parsed) -> None:
    blogger = _FILE_NAME.fullmatch(file.name)
    assert blogger is not None  # parts() gives no other names
    author = blogger[1]
    parsed.attributes[author] = blogger.groupdict()
    text, repaired = _decode(file.data)
    if repaired:
        parsed.notes.append(Note("bytes_read_as_cp1252", f"{file.name}: {repaired}"))
    if "\x00" in text:
        parsed.notes.append(Note("nul_bytes_removed", f"{file.name}: {text.count(chr(0))}"))
        text = text.replace("\x00", "")  # also from inside of tags
    posts, strays = _scan(text)
    if strays:
        parsed.notes.append(Note("text_outside_posts", f"{file.name}: {strays}"))
    for number, post in enumerate(posts, start=1):
        id = f"{author}-{number}"
        written = iso_date(post.dates[-1]) if post.dates else None
        if not post.closed:
            parsed.notes.append(Note("unclosed_post", id))
        if len(post.dates) > 1:
            parsed.notes.append(Note("several_dates", id))
        if written is None:
            parsed.notes.append(Note("no_date", id))
        parsed.documents.append(
            RawDocument(id=id, author=author, source=id, text=clean_post(post.text), date=written)
        )


def _decode(data: bytes) -> tuple[str, int]:
    """Decode UTF-8; return the text and how many bytes had to be read as cp1252."""
    repaired = 0

    def as_cp1252(error: UnicodeError) -> tuple[str, int]:
        nonlocal repaired
        assert isinstance(error, UnicodeDecodeError)
        repaired += error.end - error.start
        # The five bytes that cp1252 leaves open become controls and are normalised away.
        characters = [
            bytes([byte]).decode("cp1252", errors="ignore") or chr(byte)
            for byte in error.object[error.start : error.end]
        ]
        return "".join(characters), error.end

    codecs.register_error("personalbench.cp1252", as_cp1252)
    return data.decode("utf-8-sig", errors="personalbench.cp1252"), repaired


def _scan(text: str) -> tuple[list[_Post], int]:
    """Find the posts; return them and the number of texts between them."""
    posts: list[_Post] = []
    dates: list[str] = []
    strays = 0
    inside = False
    for piece in _LAYOUT.split(text):
        if piece == "<post>":
            posts.append(_Post(dates))
            dates, inside = [], True
        elif piece == "</post>":
            if inside:
                posts[-1].closed = True
            inside = False
        elif piece.startswith("<date>"):
            dates.append(piece.removeprefix("<date>").removesuffix("</date>"))
            inside = False
        elif piece in ("<Blog>", "</Blog>"):
            inside = False
        elif inside:
            posts[-1].text = piece
        elif piece.strip():
            strays += 1
    return posts, strays
