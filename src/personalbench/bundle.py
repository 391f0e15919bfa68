"""One author's frozen evaluation: freeze it, load it, prove it unchanged."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from pydantic_core import from_json

from personalbench.archive import read_files, write_zip
from personalbench.corpus.document import Document
from personalbench.errors import UserError
from personalbench.params import MOVING_REVISIONS, GroupSize
from personalbench.storage import (
    Record,
    parse_records,
    sha256_bytes,
    sha256_file,
    write_json,
    write_records,
)

SCHEMA_VERSION: Literal[2] = 2
_MANIFEST = "manifest.json"
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

    @field_validator("revision")
    @classmethod
    def _immutable(cls, revision: str) -> str:
        if revision.strip().lower() in MOVING_REVISIONS:
            raise ValueError(f"{revision!r} moves; a bundle names an immutable revision")
        return revision


class Manifest(BaseModel):
    """What a bundle holds and what it was made from.

    Attributes:
        schema_version: Layout of the bundle.
        author: Whose writing is imitated.
        genre: What the prompts ask for.
        seed: The run's seed.
        group_size: Documents in one authorship vector.
        selected_profile: Ids of the profile documents in the author's vector.
        prompt_model: The model that wrote the topics, or the drafts of them.
        topics_file: SHA-256 of the file that a person's own topics were read from; None
            where the topics are the prompt model's.
        templates: SHA-256 of the wordings that the topics were asked with and that the
            prompts have, by name; empty where a bundle is older than this record.
        files: SHA-256 of every file beside the manifest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[2] = SCHEMA_VERSION
    author: str
    genre: str
    seed: int
    group_size: GroupSize
    selected_profile: tuple[str, ...]
    prompt_model: ModelIdentity
    topics_file: str | None = None
    templates: dict[str, str] = {}
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


def freeze(bundle: Bundle, path: Path) -> None:
    """Write a bundle as a folder, or as a zip where the name ends so.

    The manifest comes last, so an unfinished folder never loads.
    """
    if path.suffix.lower() == ".zip":
        with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as temporary:
            unpacked = Path(temporary, "bundle")
            freeze(bundle, unpacked)
            packed = Path(temporary, "packed")
            write_zip(packed, unpacked, (_MANIFEST, *_FILES))
            packed.replace(path)
        return
    contents: tuple[Sequence[BaseModel], ...] = (
        bundle.profile,
        bundle.references,
        bundle.contrast,
        bundle.cases,
    )
    for name, records in zip(_FILES, contents, strict=True):
        write_records(path / name, records)
    hashes = {name: sha256_file(path / name) for name in _FILES}
    manifest = bundle.manifest.model_copy(update={"files": hashes})
    # Without nulls: the bytes, and so the hash, are those of releases without the field.
    write_json(path / _MANIFEST, manifest.model_dump(mode="json", exclude_none=True))


def load_bundle(path: Path, *, links: bool = False) -> Bundle:
    """Load a bundle from its folder or zip, and verify every byte of it.

    Args:
        path: The folder or the zip.
        links: Follow links in the folder; DVC may put some there, a stranger too.

    Raises:
        UserError: A file is missing, changed, not of this schema or contradicts another;
            names the file.
    """
    data = read_files(path, (_MANIFEST, *_FILES), links=links)
    manifest = _manifest(data[_MANIFEST], path / _MANIFEST)
    for name in _FILES:
        if sha256_bytes(data[name]) != manifest.files.get(name):
            restore = "`dvc checkout`" if links else "put the file back as it was"
            raise UserError(
                f"{path / name}: changed since the bundle was frozen; {restore}, or make the "
                "bundle anew: runs on a changed one would not be of the same test"
            )

    def records(name: str, record_type: type[Record]) -> tuple[Record, ...]:
        return tuple(parse_records(BytesIO(data[name]), str(path / name), record_type))

    bundle = Bundle(
        manifest=manifest,
        profile=records("profile.jsonl", Document),
        references=records("reference.jsonl", Document),
        contrast=records("contrast.jsonl", Document),
        cases=records("cases.jsonl", Case),
        sha256=sha256_bytes(data[_MANIFEST]),
    )
    if fault := _contradiction(bundle):
        raise UserError(f"{path}: {fault}; make the bundle anew")
    return bundle


def _manifest(data: bytes, path: Path) -> Manifest:
    """Read a manifest, brought up to this release's layout."""
    try:
        values = from_json(data)
    except ValueError as error:
        raise UserError(f"{path}: not JSON: {error}") from None
    version = values.get("schema_version") if isinstance(values, dict) else None
    while isinstance(version, int) and version in _UPGRADES:
        values = _UPGRADES[version](values)
        version = values["schema_version"]
    if version != SCHEMA_VERSION:
        raise UserError(
            f"{path}: schema version {version!r}; this release reads 1 to {SCHEMA_VERSION}"
        )
    try:
        return Manifest.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        what = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {what}: {first['msg']}; make the bundle anew") from None


def _without_templates(values: dict[str, Any]) -> dict[str, Any]:
    """Version 1 did not record the wordings."""
    return {**values, "schema_version": 2, "templates": {}}


_UPGRADES: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _without_templates}
"""From each older version to the next one."""


def _contradiction(bundle: Bundle) -> str | None:
    """What in a bundle contradicts itself; its hashes only say that nothing changed since."""
    profile = [document.id for document in bundle.profile]
    selected = bundle.manifest.selected_profile
    if len(set(profile)) < len(profile):
        return "two profile documents have one id"
    if not set(selected) <= set(profile) or len(set(selected)) != bundle.manifest.group_size:
        return f"selected_profile is not {bundle.manifest.group_size} ids of profile.jsonl"
    if [case.document for case in bundle.cases] != [item.id for item in bundle.references]:
        return "cases.jsonl and reference.jsonl are not about the same documents"
    if len({case.id for case in bundle.cases}) < len(bundle.cases):
        return "two cases have one id"
    if {document.id for document in bundle.references} & set(profile):
        return "a document is in the profile and in the reference"
    return None


def load_bundles(folder: Path) -> list[Bundle]:
    """Load every bundle below a folder, sorted by author."""
    bundles = [
        load_bundle(path.parent, links=True) for path in sorted(folder.glob(f"*/{_MANIFEST}"))
    ]
    if not bundles:
        raise UserError(f"{folder}: no bundles; run `dvc repro bundle`")
    return sorted(bundles, key=lambda bundle: bundle.author)


def bundles_hash(bundles: Iterable[Bundle]) -> str:
    """One hash over several bundles, whatever their order."""
    return sha256_bytes("\n".join(sorted(bundle.sha256 for bundle in bundles)).encode())
