"""A frozen bundle comes back as it was, or not at all."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from people import bundle
from personalbench.bundle import (
    bundles_hash,
    folder_name,
    freeze,
    load_bundle,
    load_bundles,
)
from personalbench.errors import UserError


def test_round_trip_and_same_bytes(tmp_path: Path) -> None:
    freeze(bundle(), tmp_path / "a")
    freeze(bundle(), tmp_path / "b")
    for name in ("manifest.json", "profile.jsonl", "reference.jsonl", "cases.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    loaded = load_bundle(tmp_path / "a")
    assert loaded.profile == bundle().profile
    assert loaded.cases == bundle().cases
    assert loaded.references == bundle().references
    assert loaded.sha256 == load_bundle(tmp_path / "b").sha256


def test_selected_documents_keep_the_manifests_order(tmp_path: Path) -> None:
    freeze(bundle(), tmp_path)
    assert [item.id[-3:] for item in load_bundle(tmp_path).selected] == [
        "003",
        "001",
        "004",
        "000",
        "005",
    ]


@pytest.mark.parametrize(
    "name", ["profile.jsonl", "reference.jsonl", "contrast.jsonl", "cases.jsonl"]
)
def test_one_changed_byte_names_the_file(tmp_path: Path, name: str) -> None:
    freeze(bundle(), tmp_path)
    data = bytearray((tmp_path / name).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=rf"{name}: changed since the bundle was frozen"):
        load_bundle(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    freeze(bundle(), tmp_path)
    (tmp_path / "cases.jsonl").unlink()
    with pytest.raises(UserError, match=r"cases\.jsonl: missing"):
        load_bundle(tmp_path)


def test_a_bundle_of_another_schema_is_refused(tmp_path: Path) -> None:
    freeze(bundle(), tmp_path)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, "schema_version": 99}), encoding="utf-8")
    with pytest.raises(UserError, match="schema version 99; this release reads 1"):
        load_bundle(tmp_path)


def test_an_unfinished_bundle_does_not_load(tmp_path: Path) -> None:
    freeze(bundle(), tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(UserError, match=r"manifest\.json: no such file"):
        load_bundle(tmp_path)
    with pytest.raises(UserError, match="no bundles"):
        load_bundles(tmp_path)


def test_the_hash_of_several_bundles_ignores_order_and_sees_content(tmp_path: Path) -> None:
    one, two = bundle("ada"), bundle("ben")
    other = replace(one, profile=one.profile[:-1])
    loaded = []
    for number, item in enumerate((one, two, other)):
        freeze(item, tmp_path / str(number))
        loaded.append(load_bundle(tmp_path / str(number)))
    assert bundles_hash(loaded[:2]) == bundles_hash(loaded[1::-1])
    assert bundles_hash(loaded[:2]) != bundles_hash([loaded[2], loaded[1]])


@given(st.lists(st.text(max_size=60), unique=True, min_size=2, max_size=2))
def test_folder_names_are_safe_and_distinct(authors: list[str]) -> None:
    first, second = map(folder_name, authors)
    assert first != second
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for name in (first, second)
    )


@pytest.mark.parametrize("author", ["../../etc/passwd", "CON", "", ".", "Ünal", "a/b"])
def test_folder_names_of_awkward_authors(author: str) -> None:
    assert "/" not in folder_name(author)
    assert folder_name(author) not in ("", ".", "..", "con")
