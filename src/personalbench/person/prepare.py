"""From a person's folder to a frozen bundle."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from personalbench.bundle import Bundle, freeze, load_bundle
from personalbench.corpus.document import Document
from personalbench.corpus.folder import SPLITS, FolderReader
from personalbench.corpus.select import AuthorRow, CorpusReport, select
from personalbench.errors import UserError, some
from personalbench.llm.types import Ask
from personalbench.params import CorpusParams, Params
from personalbench.quality import QualityReport, check_bundles, check_documents
from personalbench.stages.bundle import draft, facts
from personalbench.storage import (
    empty_folder,
    iterate_records,
    keep_records,
    read_records,
    sha256_file,
)
from personalbench.text.normalise import normalise
from personalbench.text.tokenise import words
from personalbench.topics import cases_about, make_cases

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

    @property
    def references(self) -> list[Document]:
        """The person's held-out documents."""
        return [
            document
            for document in self.documents
            if document.author == self.author and document.split == "reference"
        ]


class TopicLine(BaseModel):
    """One line of a file of topics.

    Attributes:
        document: Id of the reference document.
        topic: What it is about, in neutral words and none of the document's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    document: str
    topic: str


@dataclass(frozen=True)
class OwnTopics:
    """A file of topics that somebody wrote or corrected.

    Attributes:
        path: The file.
        sha256: Of its bytes.
        topics: By document id.
    """

    path: Path
    sha256: str
    topics: Mapping[str, str]


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
    corpus = corpus_of(source, params)
    if not source.is_dir():
        raise UserError(
            f"{source}: no such folder; name the one that has profile/ and reference/ in it"
        )
    documents, report = select(FolderReader(source), corpus, params.seed)
    _require_words(source, report)
    person = _the_person(source, author, report)
    if person.unmet is not None:
        raise UserError(
            f"{source}: {person.author} has {person.unmet} at least"
            f"{_because(report.dropped | report.notes)}; add some"
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


def corpus_of(source: Path, params: Params) -> CorpusParams:
    """How a person's folder is read: a group of documents on either side is enough."""
    return CorpusParams(
        reader="folder",
        path=str(source),
        min_profile=params.bundle.group_size,
        min_reference=params.bundle.group_size,
        min_mean_words=1,
        near_duplicate=params.corpus.near_duplicate,
    )


def is_one_person(source: Path) -> bool:
    """Whether a folder is one person's: profile/ and reference/, and no authors/."""
    return not (source / "authors").is_dir() and all((source / each).is_dir() for each in SPLITS)


def read_topics(path: Path, writing: Writing) -> OwnTopics:
    """Read the topics of a person's reference documents.

    Raises:
        UserError: A line is no topic, or of a document that is not there or was before.
    """
    known = {document.id for document in writing.references}
    topics: dict[str, str] = {}
    for number, line in enumerate(iterate_records(path, TopicLine), start=1):
        where = f"{path}, line {number}"
        if line.document not in known:
            raise UserError(
                f"{where}: no reference document {line.document} in {writing.source}; "
                f"there are: {some(sorted(known), 3)}"
            )
        if line.document in topics:
            raise UserError(f"{where}: {line.document} has a topic already; keep one")
        topics[line.document] = " ".join(normalise(line.topic).split())
        if not words(topics[line.document]):
            raise UserError(f"{where}: no words in the topic; say what {line.document} is about")
    return OwnTopics(path, sha256_file(path), topics)


def make_bundle(
    writing: Writing,
    params: Params,
    genre: str,
    cases: int | None,
    topics: Ask | OwnTopics,
    name: str | None = None,
) -> tuple[Bundle, QualityReport]:
    """Select the profile documents and write the cases of a person's bundle.

    Args:
        writing: The person's documents.
        params: ``seed``, ``bundle``, ``check``, and the registry of models.
        genre: What the prompts ask for.
        cases: How many reference documents to draw; None takes all.
        topics: Sends requests to the prompt model, or the topics themselves.
        name: What the person is called; None takes the folder's name. It changes neither
            what is drawn nor the topics.

    Returns:
        The bundle, and what was checked of it.

    Raises:
        UserError: There are too few reference documents, the prompt model gave no topic or
            the file has none for a case, the name is another's, or a check fails.
    """
    count = _count_cases(writing, params, cases)
    bundle_params = params.bundle.model_copy(
        update={"authors": [writing.author], "genre": genre, "cases": count}
    )
    own = params.model_copy(update={"bundle": bundle_params})
    made = draft(writing.author, writing.documents, own)
    references, templates = [made.references], params.template_folder
    if isinstance(topics, OwnTopics):
        _require_topics(topics, made.references)
        [own_cases] = cases_about(references, topics.topics, genre, templates)
        manifest = made.manifest.model_copy(update={"topics_file": topics.sha256})
        made = replace(made, manifest=manifest)
    else:
        [own_cases] = make_cases(references, bundle_params, params.seed, topics, templates)
    bundle = _called(replace(made, cases=own_cases), name)
    quality = check_bundles([facts(bundle)], params.check)
    quality.require_passed(writing.source)
    return bundle, quality


def require_bundle_or_nothing(output: Path) -> None:
    """Make sure, before any work, that a bundle could be kept there.

    Raises:
        UserError: There is something else of that name, or a bundle that is not whole.
    """
    if output.exists():
        try:
            load_bundle(output)
        except UserError as error:
            raise UserError(
                f"{output}: is there and is no whole bundle; choose another --output or remove it "
                f"({error.message})"
            ) from None


def topics_beside(output: Path) -> Path:
    """Where the prompt model's topics are written, to be read and corrected."""
    return output.with_name(f"{output.name}.topics.jsonl")


def keep(bundle: Bundle, output: Path) -> Bundle:
    """Freeze a bundle; one that is already there stays, if it is the same.

    The prompt model's topics are written beside it.

    Raises:
        UserError: There is another bundle, or there are other topics.
    """
    unfinished = output.with_name(f".{output.name}.incomplete")
    empty_folder(unfinished)
    try:
        made = unfinished / output.name
        freeze(bundle, made)
        frozen = load_bundle(made)
        if output.exists() and load_bundle(output).sha256 != frozen.sha256:
            raise UserError(
                f"{output}: holds another bundle, and bundles are never overwritten; "
                "choose another --output or remove it"
            )
        if frozen.manifest.topics_file is None:
            _keep_topics(frozen, topics_beside(output))
        if not output.exists():
            made.rename(output)
    finally:
        shutil.rmtree(unfinished)
    return frozen


def warnings_of(*reports: QualityReport) -> list[str]:
    """What the checks warn of, but for contaminated prompts, which have cases and a remedy."""
    return [
        check.violation()
        for report in reports
        for check in report.checks
        if check.severity == "warning" and not check.passed and check.name != "prompt_contamination"
    ]


def _keep_topics(bundle: Bundle, path: Path) -> None:
    lines = [TopicLine(document=case.document, topic=case.topic) for case in bundle.cases]
    if path.exists() and read_records(path, TopicLine) != lines:
        raise UserError(
            f"{path}: holds other topics than the model's; use them with --topics {path}, or "
            "remove the file"
        )
    keep_records(path, lines)


def _count_cases(writing: Writing, params: Params, asked: int | None) -> int:
    available = len(writing.references)
    least = max(params.check.min_cases, params.bundle.group_size)
    there = (
        f"{writing.source}: {writing.author} has {available} reference documents"
        f"{_because(writing.noticed)}"
    )
    if asked is not None and asked > available:
        raise UserError(f"{there}, and --cases is {asked}; add some, or take {available} at most")
    if asked is not None and asked < least:
        raise UserError(f"--cases is {asked}; a bundle has {least} cases at least")
    if available < least:
        raise UserError(f"{there}, and a bundle has {least} cases at least; add some")
    return asked or available


def _require_topics(topics: OwnTopics, references: Iterable[Document]) -> None:
    absent = [document.id for document in references if document.id not in topics.topics]
    if absent:
        raise UserError(f"{topics.path}: no topic for {some(absent, 5)}; add a line for each")


def _called(bundle: Bundle, name: str | None) -> Bundle:
    """The bundle of the same person under another name."""
    if name is None:
        return bundle
    name = " ".join(normalise(name).split())
    if not words(name):
        raise UserError("--name has no letters; say what the person is called")
    if name in {document.author for document in bundle.contrast}:
        raise UserError(f"--name {name}: is another person of this corpus; choose another name")
    own = {"author": name}
    return replace(
        bundle,
        manifest=bundle.manifest.model_copy(update=own),
        profile=tuple(document.model_copy(update=own) for document in bundle.profile),
        references=tuple(document.model_copy(update=own) for document in bundle.references),
    )


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


def _because(noticed: Mapping[str, Sequence[str]]) -> str:
    """What was left out, where that may be the reason for too few documents."""
    said = "; ".join(
        f"{reason.replace('_', ' ')}: {some(ids, 3)}"
        for reason, ids in noticed.items()
        if reason != "author_below_minimum"
    )
    return f" (left out: {said})" if said else ""
