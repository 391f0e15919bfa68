"""Which documents and authors are kept, and on which side of the split.

All of it is a function of the documents' contents, the parameters and the seed: neither
the order of reading nor another author's documents move anything, but for texts that two
authors share.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict

from personalbench.corpus.document import Document, Split
from personalbench.corpus.intake import Entry, Intake
from personalbench.corpus.reading import Note, Reader
from personalbench.errors import UserError
from personalbench.params import CorpusParams
from personalbench.seeds import derive
from personalbench.text.duplicates import Clusters


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Totals(_Record):
    """Sizes of a set of documents."""

    authors: int
    documents: int
    words: int
    profile: int
    reference: int


class AuthorRow(_Record):
    """One author after duplicates are dropped and before ``max_documents``.

    Attributes:
        unmet: Why the author is left out, or None.
        attributes: What the source says about the author (age, gender, ...).
    """

    author: str
    profile: int
    reference: int
    words: int
    mean_words: float
    unmet: str | None
    attributes: dict[str, str]


class CorpusReport(_Record):
    """What became of everything in the source.

    Attributes:
        reader: Name of the reader.
        seed: Seed of the split and of the choice among too many documents.
        content_sha256: Hash over author, id, split, source and text of what is kept.
        found: All documents of the source (``profile`` and ``reference`` count those
            that come with a split).
        kept: What is left.
        notes: What was left out on reading, repaired or noticed: ids or paths by reason.
        dropped: Ids of the documents left out by the selection, by reason.
        counts: Lengths of the lists in ``notes`` and ``dropped``.
        authors: Every author, with the reason for leaving it out.
    """

    reader: str
    seed: int
    content_sha256: str
    found: Totals
    kept: Totals
    counts: dict[str, int]
    authors: list[AuthorRow]
    notes: dict[str, list[str]]
    dropped: dict[str, list[str]]


def select(reader: Reader, params: CorpusParams, seed: int) -> tuple[list[Document], CorpusReport]:
    """Read a corpus, drop duplicates, split, and keep the authors that meet the rule.

    Args:
        reader: The source.
        params: Thresholds: ``min_profile``, ``min_reference``, ``min_mean_words``,
            ``max_documents``, ``near_duplicate``.
        seed: The run's seed.

    Returns:
        The kept documents, sorted by author and id, and the report. No author may be left.

    Raises:
        UserError: The source cannot be read.
    """
    with Intake(reader) as intake:
        dropped: dict[str, list[Entry]] = defaultdict(list)
        unique, on_both_sides = _drop_duplicates(
            intake.entries, intake.near_duplicates(params.near_duplicate), dropped
        )
        kept: list[tuple[Entry, Split]] = []
        rows = []
        for author, entries in sorted(_by_author(unique).items()):
            sides = _split(entries, reader.alternating, seed)
            row = _judge(author, sides, params, intake.attributes.get(author, {}))
            rows.append(row)
            if row.unmet:
                dropped["author_below_minimum"] += entries
                continue
            for side, quota in quotas(params.max_documents).items():
                chosen = sides[side]
                if quota is not None and len(chosen) > quota:
                    order = sorted(chosen, key=lambda entry: _draw(entry, seed, "keep"))
                    chosen = order[:quota]
                    dropped["over_max_documents"] += order[quota:]
                kept += [(entry, side) for entry in chosen]
        kept.sort(key=lambda pair: (pair[0].author, pair[0].id))
        documents = [intake.document(entry, side) for entry, side in kept]
        notes = _places([*intake.notes, *on_both_sides, *_divided_sources(unique)])
        ids = _places((reason, entry.id) for reason in dropped for entry in dropped[reason])
        report = CorpusReport(
            reader=params.reader,
            seed=seed,
            content_sha256=_content_hash(documents),
            found=_totals(intake.entries),
            kept=_totals(documents),
            counts={reason: len(places) for reason, places in (notes | ids).items()},
            authors=rows,
            notes=notes,
            dropped=ids,
        )
    return documents, report


def require_authors(report: CorpusReport) -> None:
    """Stop when the thresholds leave nobody.

    Raises:
        UserError: No author is kept; says who came nearest and why that was too little.
    """
    if report.kept.authors:
        return
    if not report.authors:
        raise UserError("corpus: the source holds no documents; `personalbench inspect` it")
    nearest = max(report.authors, key=lambda row: (row.profile + row.reference, row.author))
    raise UserError(
        f"corpus: none of {len(report.authors)} authors meets the thresholds; the largest, "
        f"{nearest.author}, has {nearest.unmet}; lower them in params.yaml or add documents"
    )


def _drop_duplicates(
    entries: Sequence[Entry],
    near: Iterable[Sequence[Entry]],
    dropped: dict[str, list[Entry]],
) -> tuple[list[Entry], list[Note]]:
    """Keep the first document of every cluster; none of a cluster that has two authors.

    Where documents come with a split, the first of each side stays and is noted: which of
    them is out of place is for the user to say, and the data-quality check stops at it.
    """
    position = {entry.id: index for index, entry in enumerate(entries)}
    clusters = Clusters(len(entries))
    first_of_key: dict[bytes, int] = {}
    for index, entry in enumerate(entries):
        clusters.join(first_of_key.setdefault(entry.key, index), index)
    for cluster in near:
        for entry in cluster[1:]:
            clusters.join(position[cluster[0].id], position[entry.id])

    gone: set[int] = set()
    on_both_sides: list[Note] = []
    for group in clusters.groups():
        members = [entries[index] for index in group]
        if len({entry.author for entry in members}) > 1:
            dropped["shared_between_authors"] += members
            gone.update(group)
            continue
        kept_sides: set[Split | None] = set()
        kept_keys: set[bytes] = set()
        for index, entry in zip(group, members, strict=True):
            if entry.split not in kept_sides:
                kept_sides.add(entry.split)
                kept_keys.add(entry.key)
                continue
            reason = "exact_duplicate" if entry.key in kept_keys else "near_duplicate"
            dropped[reason].append(entry)
            gone.add(index)
        if len(kept_sides) > 1:
            on_both_sides += [
                Note("text_on_both_sides", entries[index].id)
                for index in group
                if index not in gone
            ]
    return [entry for index, entry in enumerate(entries) if index not in gone], on_both_sides


def _divided_sources(entries: Iterable[Entry]) -> list[Note]:
    """Note the documents of an author's source that was put on both sides by hand."""
    sources: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.split is not None:
            sources[entry.author, entry.source].append(entry)
    return [
        Note("source_on_both_sides", entry.id)
        for source in sources.values()
        if len({entry.split for entry in source}) > 1
        for entry in source
    ]


def _by_author(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    authors: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        authors[entry.author].append(entry)
    return authors


def _split(entries: Sequence[Entry], alternating: bool, seed: int) -> dict[Split, list[Entry]]:
    """Divide one author's documents; all of one source go to one side.

    With ``alternating`` the sources go to the sides by turns, in order of time. Otherwise
    they are drawn: of n documents, n*4//5 go to the profile (fewer, where a source of
    several documents does not fit in).
    """
    sides: dict[Split, list[Entry]] = {"profile": [], "reference": []}
    sources: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.split is None:
            sources[entry.source].append(entry)
        else:
            sides[entry.split].append(entry)
    if alternating:
        groups = sorted(sources.values(), key=lambda group: (group[0].date or "", group[0].source))
        for turn, group in enumerate(groups):
            sides["reference" if turn % 2 else "profile"] += group
        return sides
    quota = sum(map(len, sources.values())) * 4 // 5
    for group in sorted(sources.values(), key=lambda group: _draw(group[0], seed, "split")):
        fits = len(group) <= quota
        sides["profile" if fits else "reference"] += group
        quota -= len(group) if fits else 0
    return sides


def _draw(entry: Entry, seed: int, purpose: str) -> tuple[int, str]:
    """Return a key that sorts an author's documents or sources into a random order."""
    name = entry.source if purpose == "split" else entry.id
    return derive(seed, "corpus", purpose, entry.author, name), name


def _judge(
    author: str,
    sides: dict[Split, list[Entry]],
    params: CorpusParams,
    attributes: dict[str, str],
) -> AuthorRow:
    """Apply the author rule; every bound is inclusive."""
    profile, reference = len(sides["profile"]), len(sides["reference"])
    total = sum(entry.words for side in sides.values() for entry in side)
    unmet = []
    if profile < params.min_profile:
        unmet.append(f"{profile} profile documents of {params.min_profile}")
    if reference < params.min_reference:
        unmet.append(f"{reference} reference documents of {params.min_reference}")
    if total < params.min_mean_words * (profile + reference):
        mean = total / (profile + reference)
        unmet.append(f"{mean:.1f} words a document on average of {params.min_mean_words}")
    return AuthorRow(
        author=author,
        profile=profile,
        reference=reference,
        words=total,
        mean_words=total / (profile + reference),
        unmet=", ".join(unmet) or None,
        attributes=attributes,
    )


def quotas(max_documents: int | None) -> dict[Split, int | None]:
    """Return the most documents of either side that an author keeps; None is all."""
    if max_documents is None:
        return {"profile": None, "reference": None}
    profile = max_documents * 4 // 5
    return {"profile": profile, "reference": max_documents - profile}


def _places(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Group places by reason, both in order."""
    places: dict[str, list[str]] = defaultdict(list)
    for reason, place in sorted(pairs):
        places[reason].append(place)
    return dict(places)


def _totals(documents: Sequence[Entry] | Sequence[Document]) -> Totals:
    sides = Counter(document.split for document in documents)
    return Totals(
        authors=len({document.author for document in documents}),
        documents=len(documents),
        words=sum(document.words for document in documents),
        profile=sides["profile"],
        reference=sides["reference"],
    )


def _content_hash(documents: Iterable[Document]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        # Normalised texts hold no control but the line feed.
        fields = (document.author, document.id, document.split, document.source, document.text)
        digest.update(("\x1f".join(map(str, fields)) + "\x1e").encode())
    return digest.hexdigest()
