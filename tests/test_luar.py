"""LUAR's module against outputs of the reference implementation."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from personalbench.encoders.luar import Luar, attend_and_pool, token_mean
from personalbench.errors import UserError

# Random weights in LUAR's layout, with outputs of the published implementation.
TINY = Path(__file__).parent / "data" / "luar_tiny"
CASES = json.loads((TINY / "cases.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def luar() -> Luar:
    return Luar.load(TINY)


def encode(luar: Luar, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Whole episodes: (B, E, L) to (B, D)."""
    batch, documents, length = ids.shape
    vectors = luar.document_vectors(ids.reshape(-1, length), mask.reshape(-1, length))
    return luar.aggregate(vectors.reshape(batch, documents, -1))


def tensors(case: dict) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return (
        torch.tensor(case["input_ids"]),
        torch.tensor(case["attention_mask"]),
        torch.tensor(case["embedding"]),
    )


@pytest.mark.parametrize("case", CASES)
def test_reproduces_the_reference_in_a_batch_and_alone(luar: Luar, case: dict) -> None:
    ids, mask, expected = tensors(case)
    torch.testing.assert_close(encode(luar, ids, mask), expected, atol=1e-5, rtol=0)
    alone = torch.cat([encode(luar, i[None], m[None]) for i, m in zip(ids, mask, strict=True)])
    torch.testing.assert_close(alone, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("case", CASES)
def test_neither_order_nor_padding_matters(luar: Luar, case: dict) -> None:
    ids, mask, expected = tensors(case)
    order = torch.randperm(ids.shape[1], generator=torch.Generator().manual_seed(1))
    padding = torch.zeros(*ids.shape[:2], 9, dtype=ids.dtype)
    ids = torch.cat([ids[:, order], padding + 1], dim=-1)
    mask = torch.cat([mask[:, order], padding], dim=-1)
    torch.testing.assert_close(encode(luar, ids, mask), expected, atol=1e-5, rtol=0)


def test_every_document_is_encoded_by_itself(luar: Luar) -> None:
    ids, mask, _ = tensors(CASES[0])
    together = luar.document_vectors(ids[0], mask[0])
    for vector, i, m in zip(together, ids[0], mask[0], strict=True):
        kept = int(m.sum())
        single = luar.document_vectors(i[None, :kept], m[None, :kept])[0]
        torch.testing.assert_close(single, vector, atol=1e-5, rtol=0)


def test_bfloat16_stays_close(luar: Luar) -> None:
    half = Luar.load(TINY, bfloat16=True)
    ids, mask, expected = tensors(CASES[0])
    assert torch.cosine_similarity(encode(half, ids, mask), expected).min() >= 0.9999


def test_token_mean_by_hand() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]]])
    assert token_mean(states, torch.tensor([[1, 1, 0]])).tolist() == [[2.0, 4.0]]


def test_one_document_pools_to_itself() -> None:
    vectors = torch.tensor([[[1.0, -2.0, 0.5]]])
    assert attend_and_pool(vectors).tolist() == [[1.0, -2.0, 0.5]]


def test_pooling_by_hand() -> None:
    # c = (2, 0), (0, 2): scores 4/sqrt(2) on the diagonal; a weight of
    # w = 1 / (1 + exp(-4 / sqrt(2))) = 0.944193 gives rows (2w, 2 - 2w) and its mirror.
    pooled = attend_and_pool(torch.tensor([[[2.0, 0.0], [0.0, 2.0]]]))
    torch.testing.assert_close(pooled, torch.tensor([[1.888386, 1.888386]]), atol=1e-5, rtol=0)


def copy_tiny(folder: Path, settings: dict | None = None, tensors: dict | None = None) -> Path:
    config = json.loads((TINY / "config.json").read_text()) | (settings or {})
    (folder / "config.json").write_text(json.dumps(config))
    save_file(load_file(TINY / "model.safetensors") | (tensors or {}), folder / "model.safetensors")
    return folder


def test_refuses_memory_efficient_attention(tmp_path: Path) -> None:
    folder = copy_tiny(tmp_path, {"use_memory_efficient_attention": True})
    with pytest.raises(UserError, match="use_memory_efficient_attention"):
        Luar.load(folder)


def test_refuses_other_shapes(tmp_path: Path) -> None:
    folder = copy_tiny(tmp_path, tensors={"linear.bias": torch.zeros(31)})
    with pytest.raises(UserError, match=r"linear\.bias has shape \(31,\), not \(32,\)"):
        Luar.load(folder)


def test_refuses_unknown_and_missing_tensors(tmp_path: Path) -> None:
    folder = copy_tiny(tmp_path, tensors={"classifier.weight": torch.zeros(2)})
    with pytest.raises(UserError, match=r"classifier\.weight is not LUAR's"):
        Luar.load(folder)
    kept = load_file(TINY / "model.safetensors")
    del kept["linear.weight"]
    save_file(kept, folder / "model.safetensors")
    with pytest.raises(UserError, match=r"linear\.weight is missing"):
        Luar.load(folder)


def test_accepts_stray_position_ids(tmp_path: Path) -> None:
    stray = {"transformer.embeddings.position_ids": torch.arange(130)[None]}
    Luar.load(copy_tiny(tmp_path, tensors=stray))


def test_refuses_a_damaged_or_missing_file(tmp_path: Path) -> None:
    folder = copy_tiny(tmp_path)
    (folder / "model.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(UserError, match="not a safetensors file"):
        Luar.load(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match="no such file"):
        Luar.load(folder)
