"""Weights: built or fetched, verified, recorded; every fault has its own line."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import constants
from ruamel.yaml import YAML
from safetensors.torch import load_file, save_file

from hub_stub import REVISION, Hub, git_hash, serving
from personalbench.encoders import hub, mini
from personalbench.encoders.adapter import Adapted
from personalbench.encoders.load import load_encoder
from personalbench.encoders.luar import Luar
from personalbench.encoders.weights import prepare_weights, read_verified
from personalbench.errors import UserError
from personalbench.params import WeightsParams
from personalbench.storage import sha256_bytes, sha256_file

TINY = Path(__file__).parent / "data" / "luar_tiny"
TOKENIZER = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"<unk>": 3, "a": 4, "b": 5}, "unk_token": "<unk>"},
}


@pytest.fixture
def loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A loopback hub with the tiny checkpoint."""
    with serving(monkeypatch, tmp_path / "cache") as server:
        server.files = {
            "config.json": (TINY / "config.json").read_bytes(),
            "model.safetensors": (TINY / "model.safetensors").read_bytes(),
            "tokenizer.json": json.dumps(TOKENIZER).encode(),
        }
        yield server


def test_command_reads_the_environment(loopback: Hub, tmp_path: Path) -> None:
    values = YAML(typ="safe").load(Path(__file__).parents[1] / "params.yaml")
    values["weights"] = {"encoder": "luar-mud", "max_length": 100}
    YAML(typ="safe").dump(values, tmp_path / "params.yaml")
    command = [sys.executable, "-c", "from personalbench.cli import main; main()", "weights"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    source = str(Path(__file__).parents[1] / "src")
    environment = {**kept, "PYTHONPATH": source, "HF_HOME": str(tmp_path / "home")}

    def weights(**more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env=environment | more, capture_output=True, text=True
        )

    done = weights(HF_ENDPOINT=loopback.url)
    assert done.returncode == 0, done.stderr
    assert read_verified(tmp_path / "models" / "encoder").revision == REVISION
    again = weights(HF_HUB_OFFLINE="1")
    assert again.returncode == 0, again.stderr
    shutil.rmtree(tmp_path / "home")
    failed = weights(HF_HUB_OFFLINE="1")
    assert failed.returncode == 2
    assert "Traceback" not in failed.stderr and "is not in the cache" in failed.stderr


MUD = WeightsParams(encoder="luar-mud", max_length=100)


def test_fetches_verifies_and_records(loopback: Hub, tmp_path: Path) -> None:
    made = prepare_weights(MUD, tmp_path / "encoder")
    assert (made.encoder, made.revision) == ("luar-mud", REVISION)
    assert {file.name: (file.sha256, file.checked) for file in made.files} == {
        name: (hashlib.sha256(content).hexdigest(), "hub")
        for name, content in loopback.files.items()
    }
    assert read_verified(tmp_path / "encoder") == made
    encoder = load_encoder("luar-mud", tmp_path / "encoder", 100)
    assert encoder.revision == REVISION
    assert encoder.document_vectors(["a b", "b"]).shape == (2, 48)


def test_resumes_a_broken_transfer(
    loopback: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1000)
    loopback.broken.add("model.safetensors")
    prepare_weights(MUD, tmp_path / "encoder")
    half = len(loopback.files["model.safetensors"]) // 2
    assert loopback.ranges == [f"bytes={half // 1000 * 1000}-"]


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_refuses_a_wrong_byte(loopback: Hub, tmp_path: Path, name: str) -> None:
    content = loopback.files[name]
    loopback.announced[name] = (
        hashlib.sha256(content).hexdigest() if "safe" in name else git_hash(content)
    )
    loopback.files[name] = content[:-1] + bytes([content[-1] ^ 1])
    with pytest.raises(UserError, match=f"{name}: not the bytes that the hub announced"):
        prepare_weights(MUD, tmp_path / "encoder")
    assert not (tmp_path / "encoder").exists()


def test_names_a_file_that_the_hub_lacks(loopback: Hub, tmp_path: Path) -> None:
    del loopback.files["tokenizer.json"]
    with pytest.raises(UserError, match=r"tokenizer\.json: the hub has no such file"):
        prepare_weights(MUD, tmp_path / "encoder")


def test_without_network_says_so_unless_everything_is_cached(
    loopback: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="cannot be reached and is not in the cache"):
        prepare_weights(MUD, tmp_path / "encoder")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    online = prepare_weights(MUD, tmp_path / "encoder")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert prepare_weights(MUD, tmp_path / "again") == online


def test_what_the_hub_announced_holds_for_every_later_fetch(
    loopback: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = prepare_weights(MUD, tmp_path / "encoder")
    recorded = json.loads((tmp_path / "pins.json").read_text())
    assert recorded == {
        f"rrivera1849/LUAR-MUD@{REVISION}": [
            {
                "name": name,
                "size": len(content),
                "sha256": sha256_bytes(content),
                "known_from": "hub",
            }
            for name, content in loopback.files.items()
        ]
    }
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert prepare_weights(MUD, tmp_path / "encoder") == made
    # A cache in which both the file and the hash in its name were changed.
    path = next((tmp_path / "cache").rglob("snapshots/*/tokenizer.json"))
    changed = path.read_bytes().replace(b", ", b" ,", 1)
    blob = path.resolve().with_name(git_hash(changed))
    blob.write_bytes(changed)
    path.unlink()
    path.symlink_to(blob)
    with pytest.raises(UserError, match=r"tokenizer\.json: sha256 \w+, not the recorded"):
        prepare_weights(MUD, tmp_path / "encoder")


def test_the_hub_may_not_serve_anything_else_later(
    loopback: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_weights(MUD, tmp_path / "encoder")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "other"))
    loopback.files["config.json"] = loopback.files["config.json"].replace(b"\n", b" ", 1)
    with pytest.raises(UserError, match=r"config\.json: sha256 \w+, not the recorded"):
        prepare_weights(MUD, tmp_path / "encoder")


def test_refuses_another_function(loopback: Hub, tmp_path: Path) -> None:
    settings = json.loads(loopback.files["config.json"]) | {"use_memory_efficient_attention": True}
    loopback.files["config.json"] = json.dumps(settings).encode()
    with pytest.raises(UserError, match="use_memory_efficient_attention"):
        prepare_weights(MUD, tmp_path / "encoder")


def test_refuses_other_shapes(loopback: Hub, tmp_path: Path) -> None:
    settings = json.loads(loopback.files["config.json"]) | {"embedding_size": 31}
    loopback.files["config.json"] = json.dumps(settings).encode()
    with pytest.raises(UserError, match=r"linear\.\w+ has shape"):
        prepare_weights(MUD, tmp_path / "encoder")


def local_folder(folder: Path) -> Path:
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(TINY / name, folder / name)
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    return folder


def test_takes_files_from_a_local_folder(tmp_path: Path) -> None:
    params = WeightsParams(encoder="luar-crud", folder=str(local_folder(tmp_path / "mine")))
    made = prepare_weights(params, tmp_path / "encoder")
    assert {file.checked for file in made.files} == {"local"}
    assert re.fullmatch("[0-9a-f]{64}", made.revision)
    (tmp_path / "mine" / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"tokenizer\.json: no such file; weights\.folder"):
        prepare_weights(params, tmp_path / "encoder")


def test_compares_with_the_pin(tmp_path: Path) -> None:
    folder = local_folder(tmp_path / "mine")
    params = WeightsParams(encoder="luar-mud", folder=str(folder))
    path = folder / "config.json"
    pinned = hub.PinnedFile(name=path.name, size=path.stat().st_size, sha256=sha256_file(path))
    pin = hub.Pin(repository="some/where", revision=REVISION, files=(pinned,))
    (tmp_path / "out").mkdir()
    made = hub.fetch(params, tmp_path / "out", pin)
    assert (made.revision, made.files[0].checked) == (REVISION, "pin")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\n")
    with pytest.raises(UserError, match=r"config\.json: sha256 \w+, not the pinned"):
        hub.fetch(params, tmp_path / "out", pin)
    path.write_bytes(content + b" ")
    with pytest.raises(UserError, match=r"config\.json: \d+ bytes, not the pinned"):
        hub.fetch(params, tmp_path / "out", pin)


def test_asks_for_a_revision_that_is_not_pinned(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"weights\.revision: luar-crud has no pinned revision"):
        prepare_weights(WeightsParams(encoder="luar-crud"), tmp_path / "encoder")


def test_every_load_verifies(tmp_path: Path) -> None:
    params = WeightsParams(encoder="luar-mud", folder=str(local_folder(tmp_path / "mine")))
    encoder = tmp_path / "encoder"
    with pytest.raises(UserError, match=r"weights\.json: no such file; run `personalbench weights"):
        load_encoder("luar-mud", encoder, 100)
    prepare_weights(params, encoder)
    with pytest.raises(UserError, match="holds luar-mud, not luar-mini"):
        load_encoder("luar-mini", encoder, 100)
    (encoder / "tokenizer.json").write_text(json.dumps(TOKENIZER) + "\n")
    with pytest.raises(UserError, match=r"tokenizer\.json: changed since it was verified"):
        load_encoder("luar-mud", encoder, 100)
    (encoder / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"tokenizer\.json: no such file"):
        load_encoder("luar-mud", encoder, 100)


def test_builds_luar_mini_the_same_every_time(tmp_path: Path) -> None:
    first, second = (prepare_weights(WeightsParams(), tmp_path / name) for name in "ab")
    assert first == second
    encoder = load_encoder("luar-mini", tmp_path / "a", 512)
    vectors = encoder.document_vectors(["I went home.", "i went home"])
    assert vectors.shape == (2, 384)
    assert encoder.aggregate(vectors[None]).shape == (1, 512)
    assert not np.allclose(vectors[0], vectors[1])


def test_refuses_a_backbone_that_is_not_the_pinned_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(mini.PINNED, "tokenizer.json", "0" * 64)
    with pytest.raises(UserError, match=r"tokenizer\.json: not the pinned file; reinstall"):
        prepare_weights(WeightsParams(), tmp_path / "encoder")
    monkeypatch.setattr(mini, "PACKAGE", "gt_no_such_package")
    with pytest.raises(UserError, match="gt_no_such_package: not installed"):
        prepare_weights(WeightsParams(), tmp_path / "encoder")


def test_merged_weights_compute_what_was_trained(tmp_path: Path) -> None:
    folder = mini.backbone_folder()
    trained = Adapted(mini.untrained(folder, seed=3), rank=4, seed=3)
    generator = torch.Generator().manual_seed(5)
    for parameter in trained.parameters():
        if parameter.requires_grad:
            parameter.data += 0.05 * torch.randn(parameter.shape, generator=generator)
    trained.markers.weight.data[0] = 0  # every other token's: never trained
    save_file(trained.adapter(), tmp_path / "adapter.safetensors")
    assert sum("lora_b" in name for name in trained.adapter()) == 36
    mini.build(tmp_path / "adapter.safetensors", tmp_path)
    ids = torch.tensor([[101, 2, 7632, 4, 3, 2088, 102, 0]])
    mask = (ids != 0).long()
    positions = torch.arange(8)[None]
    with torch.no_grad():
        expected = trained.document_vectors(ids, mask, positions)
        found = Luar.load(tmp_path).document_vectors(ids, mask)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    restored = Adapted(mini.untrained(folder, seed=3), rank=4, seed=4)
    restored.load_adapter(load_file(tmp_path / "adapter.safetensors"))
    torch.testing.assert_close(restored.document_vectors(ids, mask, positions), expected)


def test_markers_stand_for_capitals_and_breaks() -> None:
    tokenizer = mini.tokenizer(mini.backbone_folder())
    found = [t.strip() for t in tokenizer.encode('I "Like" NASA.\n\nok  go McDonald').tokens]
    first, several, gap = mini.CAPITAL, mini.CAPITALS, mini.BREAK
    assert found == (
        f'[CLS] {first} i " {first} like " {several} nasa . {gap} ok {gap} go '
        f"{first} mcdonald [SEP]"
    ).split(" ")
