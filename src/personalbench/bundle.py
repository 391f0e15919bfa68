"""One author's frozen evaluation: freeze it, load it, prove it unchanged."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from personalbench.corpus.document import Document
from personalbench.errors import UserError
from personalbench.storage import (
    read_json,
    read_records,
    sha256_bytes,
    sha256_file,
    write_json,
    write_records,
)

SCHEMA_VERSION: Literal[1] = 1
_FILES = ("profile.jsonl", "reference.jsonl", "contrast.jsonl", "cases.jsonl")


class Case(BaseModel):
    """One question to every twin, made from one reference document.

    Attributes:
        id: ``case_0001`` and so on.
        document: Id of the reference document.
        topic: What the document is about, in neutral words.
        prompt: The request that every twin gets.
        longest_shared_ngram: Longest run of words that the topic shares with its
            document, in words: how much the prompt gives away.
        shared_5grams: Share of the topic's 5-grams of words that stand in the document;
            None for a topic of fewer than five words.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    document: str
    topic: str
    prompt: str
    longest_shared_ngram: int
    shared_5grams: float | None


class ModelIdentity(BaseModel):
    """Which model made something; a moving name is no identity."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    revision: str


class Manifest(BaseModel):
    """What a bundle holds and what it was made from.

    Attributes:
        schema_version: Layout of the bundle.
        author: Whose writing is imitated.
        genre: What the prompts ask for.
        seed: The run's seed.
        group_size: Documents in one authorship vector.
        selected_profile: Ids of the profile documents in the author's vector.
        prompt_model: The model that wrote the topics.
        files: SHA-256 of every file beside the manifest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = SCHEMA_VERSION
    author: str
    genre: str
    seed: int
    group_size: int
    selected_profile: tuple[str, ...]
    prompt_model: ModelIdentity
    files: dict[str, str] = {}


@dataclass(frozen=True)
class Bundle:
    """A verified bundle in memory.

    Attributes:
        manifest: See :class:`Manifest`.
        profile: Documents that a twin may see.
        references: The cases' documents, never shown to a twin; in the cases' order.
        contrast: Profile documents of other authors, one an author.
        cases: What every twin is asked.
        sha256: Hash of the manifest and so of everything in the bundle.
    """

    manifest: Manifest
    profile: tuple[Document, ...]
    references: tuple[Document, ...]
    contrast: tuple[Document, ...]
    cases: tuple[Case, ...]
    sha256: str = ""

    @property
    def author(self) -> str:
        """Whose writing is imitated."""
        return self.manifest.author

    @property
    def selected(self) -> tuple[Document, ...]:
        """The profile documents p1..p5 of the author's vector, in the manifest's order."""
        by_id = {document.id: document for document in self.profile}
        return tuple(by_id[name] for name in self.manifest.selected_profile)


def reference_documents(bundles: Iterable[Bundle]) -> dict[tuple[str, str], Document]:
    """The document behind every case, by author and case id."""
    return {
        (bundle.author, case.id): document
        for bundle in bundles
        for case, document in zip(bundle.cases, bundle.references, strict=True)
    }


def folder_name(author: str) -> str:
    """A name for an author's folder: readable, safe on every file system, unique."""
    readable = re.sub(r"[^a-z0-9]+", "-", author.lower()).strip("-")[:40]
    if readable and readable == author:
        return readable
    return f"{readable or 'author'}-{sha256_bytes(author.encode())[:8]}"


def freeze(bundle: Bundle, folder: Path) -> None:
    """Write a bundle; the manifest comes last, so an unfinished one never loads."""
    contents: tuple[Sequence[BaseModel], ...] = (
        bundle.profile,
        bundle.references,
        bundle.contrast,
        bundle.cases,
    )
    for name, records in zip(_FILES, contents, strict=True):
        write_records(folder / name, records)
    hashes = {name: sha256_file(folder / name) for name in _FILES}
    manifest = bundle.manifest.model_copy(update={"files": hashes})
    write_json(folder / "manifest.json", manifest.model_dump(mode="json"))


def load_bundle(folder: Path) -> Bundle:
    """Load a bundle and verify every byte of it.

    Raises:
        UserError: A file is missing, changed or not of this schema; names the file.
    """
    path = folder / "manifest.json"
    manifest = _manifest(path)
    for name in _FILES:
        if not (folder / name).is_file():
            raise UserError(f"{folder / name}: missing; restore the bundle or make it anew")
        if sha256_file(folder / name) != manifest.files.get(name):
            raise UserError(
                f"{folder / name}: changed since the bundle was frozen; restore it "
                "(dvc checkout) or make the bundle anew"
            )
    return Bundle(
        manifest=manifest,
        profile=tuple(read_records(folder / "profile.jsonl", Document)),
        references=tuple(read_records(folder / "reference.jsonl", Document)),
        contrast=tuple(read_records(folder / "contrast.jsonl", Document)),
        cases=tuple(read_records(folder / "cases.jsonl", Case)),
        sha256=sha256_file(path),
    )


def _manifest(path: Path) -> Manifest:
    values = read_json(path)
    version = values.get("schema_version") if isinstance(values, dict) else None
    if version != SCHEMA_VERSION:
        raise UserError(f"{path}: schema version {version!r}; this release reads {SCHEMA_VERSION}")
    return Manifest.model_validate(values)


def load_bundles(folder: Path) -> list[Bundle]:
    """Load every bundle below a folder, sorted by author."""
    bundles = [load_bundle(path.parent) for path in sorted(folder.glob("*/manifest.json"))]
    if not bundles:
        raise UserError(f"{folder}: no bundles; run `dvc repro bundle`")
    return sorted(bundles, key=lambda bundle: bundle.author)


def bundles_hash(bundles: Iterable[Bundle]) -> str:
    """One hash over several bundles, whatever their order."""
    return sha256_bytes("\n".join(sorted(bundle.sha256 for bundle in bundles)).encode())
