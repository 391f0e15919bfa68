"""From a person's folder to a frozen bundle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from personalbench.bundle import Bundle, freeze, load_bundle
from personalbench.corpus.document import Document
from personalbench.corpus.folder import FolderReader
from personalbench.corpus.select import AuthorRow, CorpusReport, select
from personalbench.errors import UserError
from personalbench.llm.types import Ask
from personalbench.params import CorpusParams, Params
from personalbench.quality import QualityReport, check_bundles, check_documents
from personalbench.stages.bundle import draft, facts
from personalbench.topics import make_cases

_MAIL = (".eml", ".mbox")


@dataclass(frozen=True)
class Writing:
    """A person's documents, read and checked.

    Attributes:
        source: The folder.
        author: Whose they are.
        documents: Theirs, and those of others where the folder has some.
        noticed: Ids or paths of what was left out, repaired or only noticed, by reason.
        quality: What was checked of the documents.
    """

    source: Path
    author: str
    documents: tuple[Document, ...]
    noticed: Mapping[str, Sequence[str]]
    quality: QualityReport


def read_writing(source: Path, author: str | None, params: Params) -> Writing:
    """Read and check a person's folder.

    Args:
        source: Has ``profile/`` and ``reference/``, or ``authors/`` with one folder a
            person.
        author: Which of several persons; None where there is one.
        params: ``seed``, ``bundle``, ``check``.

    Raises:
        UserError: The folder has not what it needs, a file is empty or no UTF-8 text, two
            have one stem, or a check of the data quality fails; names the file.
    """
    size = params.bundle.group_size
    corpus = CorpusParams(
        reader="folder",
        path=str(source),
        min_profile=size,
        min_reference=size,
        min_mean_words=1,
        near_duplicate=params.corpus.near_duplicate,
    )
    documents, report = select(FolderReader(source), corpus, params.seed)
    _require_words(source, report)
    person = _the_person(source, author, report)
    if person.unmet is not None:
        raise UserError(
            f"{source}: {person.author} has {person.unmet} at least{_because(report)}; add some"
        )
    quality = check_documents(documents, corpus, params.check)
    quality.require_passed(source)
    return Writing(
        source=source,
        author=person.author,
        documents=tuple(documents),
        noticed=report.notes | report.dropped,
        quality=quality,
    )


def make_bundle(
    writing: Writing, params: Params, genre: str, cases: int | None, ask: Ask
) -> tuple[Bundle, QualityReport]:
    """Select the profile documents and write the cases of a person's bundle.

    Args:
        writing: The person's documents.
        params: ``seed``, ``bundle``, ``check``, and the registry of models.
        genre: What the prompts ask for.
        cases: How many reference documents to draw; None takes all.
        ask: Sends requests to the prompt model.

    Returns:
        The bundle, and what was checked of it.

    Raises:
        UserError: The prompt model gave no topic, or a check fails.
    """
    available = sum(
        document.author == writing.author and document.split == "reference"
        for document in writing.documents
    )
    bundle_params = params.bundle.model_copy(
        update={"authors": [writing.author], "genre": genre, "cases": cases or available}
    )
    own = params.model_copy(update={"bundle": bundle_params})
    made = draft(writing.author, writing.documents, own)
    [own_cases] = make_cases(
        [made.references], bundle_params, params.seed, ask, params.template_folder
    )
    bundle = replace(made, cases=own_cases)
    quality = check_bundles([facts(bundle)], params.check)
    quality.require_passed(writing.source)
    return bundle, quality


def keep(bundle: Bundle, output: Path) -> Bundle:
    """Freeze a bundle; one that is already there stays, if it is the same.

    Raises:
        UserError: There is another bundle, or anything else, of that name.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as temporary:
        made = Path(temporary, output.name)
        freeze(bundle, made)
        frozen = load_bundle(made)
        if not output.exists():
            made.rename(output)
        elif load_bundle(output).sha256 != frozen.sha256:
            raise UserError(
                f"{output}: holds another bundle, and bundles are never overwritten; "
                "choose another --output or remove it"
            )
    return frozen


def _require_words(source: Path, report: CorpusReport) -> None:
    """A file without a word is a mistake; a message of nothing but quotations is none."""
    for name in report.notes.get("no_words", []):
        if Path(name.partition("#")[0]).suffix.lower() not in _MAIL:
            raise UserError(f"{source / name}: no words in it; fill it or take it away")


def _the_person(source: Path, author: str | None, report: CorpusReport) -> AuthorRow:
    rows = {row.author: row for row in report.authors}
    if not rows:
        raise UserError(
            f"{source}: no documents in profile/ and reference/ (.txt, .md, .eml, .mbox)"
        )
    if author is None and len(rows) == 1:
        return next(iter(rows.values()))
    if author not in rows:
        named = f"there is no {author}" if author else "there are several people"
        raise UserError(f"{source}: {named}; choose one with --author: {', '.join(sorted(rows))}")
    return rows[author]


def _because(report: CorpusReport) -> str:
    """What was left out, where that may be the reason for too few documents."""
    left = report.dropped | report.notes
    left.pop("author_below_minimum", None)
    if not left:
        return ""
    said = (f"{reason.replace('_', ' ')}: {', '.join(ids[:3])}" for reason, ids in left.items())
    return f" (left out: {'; '.join(said)})"
