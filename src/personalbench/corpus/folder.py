"""Reader of a person's folder, or of one folder a person.

my-writing/profile/**  my-writing/reference/**      one person, the split made by hand
corpus/authors/<name>/profile/**  .../reference/**  many persons, the split made by hand
corpus/authors/<name>/**                            many persons, to be split
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

from personalbench.corpus.document import Split
from personalbench.corpus.mail import Mail, read_eml, read_mbox
from personalbench.corpus.reading import Note, Parsed, RawDocument
from personalbench.errors import UserError
from personalbench.text.normalise import normalise

SPLITS = ("profile", "reference")
_SUFFIXES = (".txt", ".md", ".eml", ".mbox")
_PART_FILES = 200
_MISSING = {
    "profile": "reference/ is missing beside profile/: put texts of the same person there that no "
    "twin may see; topics and human answers are taken from them",
    "reference": "profile/ is missing beside reference/: put texts of the same person there that "
    "a twin may see",
}


class Writing(NamedTuple):
    """One file of a person.

    Attributes:
        id: Its path below the folder of the corpus, with ``/``.
        skipped: It is hidden, is of another kind, or lies outside the layout.
    """

    path: Path
    id: str
    author: str
    split: Split | None
    skipped: bool


@dataclass(frozen=True)
class FolderReader:
    """Gives every ``.txt``, ``.md`` and ``.eml`` file and every message of a ``.mbox``.

    Files lie at any depth, the case of the suffix is free, and the document's id is the
    file's path below the folder (for a message of a mailbox with ``#`` and its number).
    Hidden files and other suffixes are skipped and noted. Texts are UTF-8. The source of a
    message is its thread, that of any other document the document itself. Messages from
    another address than most of their author's are noted: people have several, but a whole
    mailbox also holds what others wrote.
    """

    path: Path
    alternating: bool = False

    def parts(self) -> Iterator[list[Writing]]:
        """Give the files in the order of their ids.

        Raises:
            UserError: There is no such folder, it has neither layout, or two files of one
                person have one stem, which makes answers about them ambiguous.
        """
        writings = sorted(self._writings(), key=lambda writing: writing.id.encode())
        stems: dict[tuple[str, str], str] = {}
        for writing in writings:
            key = writing.author, writing.path.stem
            if writing.split and not writing.skipped:
                other = stems.setdefault(key, writing.id)
                if other != writing.id:
                    raise UserError(
                        f"{self.path}: {other} and {writing.id} have one stem; stems are unique "
                        "across profile and reference: rename one"
                    )
        for start in range(0, len(writings), _PART_FILES):
            yield writings[start : start + _PART_FILES]

    def parse(self, part: Iterable[Writing]) -> Parsed:
        """Read some files.

        Raises:
            UserError: A text is not UTF-8; names the file and the byte.
        """
        parsed = Parsed()
        senders: dict[str, dict[str, str]] = defaultdict(dict)
        for writing in part:
            if writing.skipped:
                parsed.notes.append(Note("skipped_file", writing.id))
            elif not writing.path.is_file():
                parsed.notes.append(Note("unreadable_file", writing.id))
            elif writing.path.suffix.lower() == ".mbox":
                for number, mail in enumerate(read_mbox(writing.path), start=1):
                    id = f"{writing.id}#{number}"
                    senders[writing.author][id] = mail.sender
                    _add_mail(mail, id, writing, parsed)
            elif writing.path.suffix.lower() == ".eml":
                mail = read_eml(writing.path)
                senders[writing.author][writing.id] = mail.sender
                _add_mail(mail, writing.id, writing, parsed)
            else:
                text = normalise(_read_text(writing.path))
                parsed.documents.append(
                    RawDocument(writing.id, writing.author, writing.id, text, None, writing.split)
                )
        for sender in senders.values():
            ((usual, _),) = Counter(sender.values()).most_common(1)
            parsed.notes.extend(
                Note("mail_from_another_address", f"{id}: {address}")
                for id, address in sender.items()
                if address != usual
            )
        return parsed

    def _writings(self) -> Iterator[Writing]:
        if not self.path.is_dir():
            raise UserError(f"{self.path}: no such folder (corpus.path)")
        if (self.path / "authors").is_dir():
            for person in (self.path / "authors").iterdir():
                if person.is_dir() and not person.name.startswith("."):
                    yield from self._of_person(person, person.name)
        elif any((self.path / split).is_dir() for split in SPLITS):
            yield from self._of_person(self.path, self.path.resolve().name)
        else:
            raise UserError(
                f"{self.path}: has neither profile/ and reference/ of one person nor authors/ "
                "with one folder a person"
            )

    def _of_person(self, folder: Path, author: str) -> Iterator[Writing]:
        sides = [split for split in SPLITS if (folder / split).is_dir()]
        if len(sides) == 1:
            raise UserError(f"{folder}: {_MISSING[sides[0]]}")
        for directory, _, names in os.walk(folder):
            for name in names:
                path = Path(directory, name)
                inside = path.relative_to(folder).parts
                hidden = any(part.startswith(".") for part in inside)
                outside = bool(sides) and inside[0] not in sides
                yield Writing(
                    path,
                    path.relative_to(self.path).as_posix(),
                    author,
                    cast(Split, inside[0]) if sides and not outside else None,
                    hidden or outside or path.suffix.lower() not in _SUFFIXES,
                )


def _read_text(path: Path) -> str:
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{_place(path, data, error.start)}; save the file as UTF-8") from None
    if "\0" in text:  # UTF-16 of plain English is valid UTF-8
        place = _place(path, data, data.index(0))
        raise UserError(f"{place} but binary or UTF-16; save the file as UTF-8 text")
    return text


def _place(path: Path, data: bytes, byte: int) -> str:
    line = data.count(b"\n", 0, byte) + 1
    return f"{path}: not UTF-8 at byte {byte}, line {line}"


def _add_mail(mail: Mail, id: str, writing: Writing, parsed: Parsed) -> None:
    if mail.text is None:
        parsed.notes.append(Note("undecodable_mail", id))
        return
    parsed.documents.append(
        RawDocument(id, writing.author, mail.thread or id, mail.text, mail.date, writing.split)
    )
