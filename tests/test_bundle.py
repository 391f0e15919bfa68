"""A frozen bundle comes back as it was, or not at all."""

import hashlib
import json
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from people import bundle
from personalbench import archive
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
    with pytest.raises(UserError, match="schema version 99; this release reads 1 to 2"):
        load_bundle(tmp_path)


def test_an_unfinished_bundle_does_not_load(tmp_path: Path) -> None:
    freeze(bundle(), tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(UserError, match=r"no bundle, for manifest\.json is missing; .*prepare"):
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


def test_a_zip_is_the_same_bundle_in_the_same_bytes(tmp_path: Path) -> None:
    freeze(bundle(), tmp_path / "a")
    freeze(bundle(), tmp_path / "a.zip")
    freeze(bundle(), tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert load_bundle(tmp_path / "a.zip") == load_bundle(tmp_path / "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.zip", "b.zip"]


def test_a_folder_zipped_by_hand_loads_too(tmp_path: Path) -> None:
    freeze(bundle(), tmp_path / "my.bundle")
    _zip(tmp_path / "made.zip", _files(tmp_path / "my.bundle", "my.bundle/"))
    assert load_bundle(tmp_path / "made.zip") == load_bundle(tmp_path / "my.bundle")


def test_a_bundle_of_the_first_layout_is_read_as_one_of_this(tmp_path: Path) -> None:
    freeze(bundle(), tmp_path)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    del manifest["templates"]
    path.write_text(json.dumps({**manifest, "schema_version": 1}), encoding="utf-8")
    loaded = load_bundle(tmp_path)
    assert loaded.manifest.schema_version == 2
    assert loaded.cases == bundle().cases
    assert loaded.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group_size": 1}, "manifest.json: group_size"),
        ({"group_size": 9}, "manifest.json: group_size: .* less than or equal to 8"),
        ({"schema_version": [2]}, r"schema version \[2\]; this release reads 1 to 2"),
        ({"schema_version": {}}, r"schema version \{\}; this release reads 1 to 2"),
        ({"prompt_model": {"id": "m", "revision": "main"}}, "prompt_model.revision.*moves"),
        ({"selected_profile": ["../../etc/passwd"] * 5}, "selected_profile is not 5 ids"),
        ({"files": {"../x": "0"}}, "profile.jsonl: changed since"),
        ({"surprise": 1}, "manifest.json: surprise"),
        ({"author": None}, "manifest.json: author"),
    ],
)
def test_a_manifest_that_lies_is_one_line(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    freeze(bundle(), tmp_path)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, **change}), encoding="utf-8")
    with pytest.raises(UserError, match=message) as error:
        load_bundle(tmp_path)
    assert "\n" not in error.value.message


def test_brackets_without_end_are_no_manifest(tmp_path: Path) -> None:
    freeze(bundle(), tmp_path)
    (tmp_path / "manifest.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(UserError, match=r"manifest\.json: not JSON"):
        load_bundle(tmp_path)


def _files(folder: Path, prefix: str = "") -> dict[str, bytes]:
    return {prefix + path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _zip(path: Path, files: dict[str, bytes], mode: int = stat.S_IFREG | 0o644) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, data)


@pytest.mark.parametrize(
    "name", ["../evil.txt", "a/../../evil", "/etc/evil", "\\evil", "C:\\evil", "..\\evil"]
)
def test_a_zip_with_a_path_out_of_it_is_refused(tmp_path: Path, name: str) -> None:
    freeze(bundle(), tmp_path / "b")
    _zip(tmp_path / "b.zip", {**_files(tmp_path / "b"), name: b"x"})
    with pytest.raises(UserError, match="leads out of the zip"):
        load_bundle(tmp_path / "b.zip")


def test_links_are_refused_in_a_zip_and_in_a_folder(tmp_path: Path) -> None:
    freeze(bundle(), tmp_path / "b")
    _zip(tmp_path / "b.zip", _files(tmp_path / "b"), stat.S_IFLNK | 0o777)
    with pytest.raises(UserError, match=r"manifest\.json: a link"):
        load_bundle(tmp_path / "b.zip")
    (tmp_path / "b" / "cases.jsonl").rename(tmp_path / "elsewhere")
    (tmp_path / "b" / "cases.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"cases\.jsonl: a link"):
        load_bundle(tmp_path / "b")
    # DVC may link the pipeline's own outputs to its cache.
    assert load_bundle(tmp_path / "b", links=True).cases == bundle().cases


def test_what_grows_without_bound_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1 << 20)
    freeze(bundle(), tmp_path / "b")
    with open(tmp_path / "b" / "profile.jsonl", "ab") as file:
        file.truncate(2 << 20)
    _zip(tmp_path / "b.zip", _files(tmp_path / "b"))
    assert (tmp_path / "b.zip").stat().st_size < 100_000
    for path in (tmp_path / "b", tmp_path / "b.zip"):
        with pytest.raises(UserError, match=r"profile\.jsonl: more than 1 MiB"):
            load_bundle(path)


@pytest.mark.parametrize("damage", ["text", "cut", "byte", "empty", "two", "twice", "lacks"])
def test_a_damaged_zip_is_one_line(tmp_path: Path, damage: str) -> None:
    freeze(bundle(), tmp_path / "b")
    path = tmp_path / "b.zip"
    files = _files(tmp_path / "b")
    if damage == "two":
        files |= _files(tmp_path / "b", "other/")
    if damage == "lacks":
        del files["cases.jsonl"]
    _zip(path, {} if damage == "empty" else files)
    if damage == "twice":
        with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as file:
            file.writestr("cases.jsonl", b"")
    data = bytearray(path.read_bytes())
    if damage == "text":
        data = bytearray(b"hello")
    if damage == "cut":
        data = data[: len(data) // 2]
    if damage == "byte":
        data[data.index(b"profile.jsonl") + 60] ^= 255
    path.write_bytes(data)
    with pytest.raises(UserError) as error:
        load_bundle(path)
    assert error.value.message.startswith(str(path))
    assert "\n" not in error.value.message


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_flipped_bit_is_one_line_whatever_packed_the_zip(tmp_path: Path, method: int) -> None:
    freeze(bundle(), tmp_path / "b")
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, data in _files(tmp_path / "b").items():
            packed.writestr(name, data)
    whole = path.read_bytes()
    start = whole.index(b"cases.jsonl") + len("cases.jsonl")
    said = []
    for place in range(start, start + 60):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        try:  # a few bits are of no account to an unpacker
            assert load_bundle(path) == load_bundle(tmp_path / "b")
        except UserError as error:
            said.append(error.message)
    assert len(said) > 50
    assert all(line.startswith(str(path)) and "\n" not in line for line in said)
