"""Training: batches, the loss, and going on from a checkpoint."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from personalbench.corpus.document import Document
from personalbench.encoders import mini
from personalbench.encoders.token_store import TokenStore
from personalbench.encoders.train import Contrast, Recipe, Trainer, draw_batch, encode_snippets
from personalbench.errors import UserError

RECIPE = Recipe(rank=2, warmup=2, tokens=200, snippet_lengths=((16, 1.0),), documents=((4, 1.0),))


@pytest.fixture(scope="module")
def store() -> TokenStore:
    return made_store("ann", "bo", "cleo", "dora", "ed")


def made_store(*authors: str, count: int = 6) -> TokenStore:
    """Invented documents of some 30 tokens, as many by every author."""
    documents = [
        Document(
            id=f"{author}-{i}",
            author=author,
            source=author,
            text=f"{author} went out on day {i}. " * 3 + "Then nothing more was heard of it.",
            words=25,
        )
        for author in authors
        for i in range(count)
    ]
    return TokenStore.build(documents, mini.tokenizer(mini.backbone_folder()), shortest=5)


def test_store_keeps_whose_document_is_whose(store: TokenStore) -> None:
    assert store.authors == ["ann", "bo", "cleo", "dora", "ed"]
    tokenizer = mini.tokenizer(mini.backbone_folder())
    for author, members in zip(store.authors, store.members, strict=True):
        assert len(members) == 6
        for number in members:
            assert tokenizer.decode(store.document(number).tolist()).startswith(author)


def test_batches_depend_on_seed_and_step_alone(store: TokenStore) -> None:
    first, again, later = (draw_batch(store, RECIPE, step, decaying=False) for step in (3, 3, 4))
    assert [s.tolist() for s in first.snippets] == [s.tolist() for s in again.snippets]
    assert [s.tolist() for s in first.snippets] != [s.tolist() for s in later.snippets]
    assert len(first.snippets) == 4 * len(first.authors)
    assert len(set(first.authors.tolist())) == len(first.authors)
    assert max(map(len, first.snippets)) == 14


def test_snippets_are_longer_while_the_rate_falls(store: TokenStore) -> None:
    recipe = replace(RECIPE, decay_snippet_lengths=((32, 1.0),))
    usual, last = (draw_batch(store, recipe, 3, decaying=decaying) for decaying in (False, True))
    assert max(map(len, usual.snippets)) == 14
    assert 14 < max(map(len, last.snippets)) <= 30


def test_micro_batches_keep_the_order() -> None:
    class Sums:
        def document_vectors(self, ids, mask, positions):
            return torch.stack([(ids * mask).sum(1), positions.amax(1)], dim=1)

    snippets = [np.full(n, n, dtype=np.uint16) for n in (9, 2, 40, 2, 17)]
    offsets = np.array([0, 3, 0, 0, 7])
    vectors = encode_snippets(Sums(), snippets, offsets, tokens=64)  # type: ignore[arg-type]
    assert vectors[:, 0].tolist() == [203 + n * n for n in (9, 2, 40, 2, 17)]


def test_loss_by_hand() -> None:
    # Two authors with two episodes each, along two axes: a pair of one author has cosine
    # 1, any other 0. At scale s every pair's loss is log(1 + 2 exp(-s)).
    contrast = Contrast([1])
    scale = contrast.log_scale["1"].exp()
    episodes = torch.tensor([[1.0, 0], [2, 0], [0, 1], [0, 3]])
    loss = contrast(episodes, torch.tensor([0, 0, 1, 1]), 1)
    torch.testing.assert_close(loss, torch.log1p(2 * torch.exp(-scale)))


def test_the_rate_warms_up_stays_and_decays() -> None:
    recipe = Recipe(learning_rate=1.0, warmup=4)
    assert [recipe.learning_rate_at(step, None, 0) for step in range(5)] == [0.25, 0.5, 0.75, 1, 1]
    decay = [recipe.learning_rate_at(step, 103, 3) for step in range(99, 103)]
    assert decay == [1, 0.75, 0.5, 0.25]


def test_training_resumes_and_a_cut_leaves_the_checkpoint(
    store: TokenStore, tmp_path: Path
) -> None:
    validation = made_store("fay", "gus", count=10)
    Trainer(store, validation, tmp_path, RECIPE).train(2, validate_every=100)
    resumed = Trainer(store, validation, tmp_path, RECIPE)
    assert resumed.step == 2
    resumed.train(3, validate_every=100)
    checkpoint = (tmp_path / "checkpoint.pt").read_bytes()
    straight = Trainer(store, validation, tmp_path / "straight", RECIPE)
    straight.train(3, validate_every=100)
    for name, value in straight.model.adapter().items():
        torch.testing.assert_close(resumed.model.adapter()[name], value, atol=1e-4, rtol=1e-3)
    steps = [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").open()]
    assert steps == [1, 2, 3]
    resumed.cut(2, tmp_path / "adapter.safetensors")
    assert (tmp_path / "checkpoint.pt").read_bytes() == checkpoint
    assert load_file(tmp_path / "adapter.safetensors").keys() == straight.model.adapter().keys()
    last = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])
    assert last["step"] == 5 and 0 <= last["auc_5"] <= 1


def test_only_the_adapter_learns(store: TokenStore, tmp_path: Path) -> None:
    trainer = Trainer(store, made_store("fay", "gus", count=10), tmp_path, RECIPE)
    before = {n: p.detach().clone() for n, p in trainer.model.luar.named_parameters()}
    start = trainer.model.adapter()
    trainer.train(2, validate_every=100)
    changed = {n for n, p in trainer.model.luar.named_parameters() if not torch.equal(p, before[n])}
    assert not any("original" in name or "word_embeddings" in name for name in changed)
    learnt = trainer.model.adapter()
    assert all(
        not torch.equal(learnt[name], start[name]) for name in start if name.endswith("lora_b")
    )


def test_refuses_shared_authors_and_a_checkpoint_of_something_else(
    store: TokenStore, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="'ed' is in the training and in the validation"):
        Trainer(store, made_store("ed", "gus", count=10), tmp_path, RECIPE)
    with pytest.raises(UserError, match="two authors of ten documents"):
        Trainer(store, made_store("gus"), tmp_path, RECIPE)
    validation = made_store("fay", "gus", count=10)
    Trainer(store, validation, tmp_path, RECIPE).train(1, validate_every=100)
    with pytest.raises(UserError, match="of another recipe"):
        Trainer(store, validation, tmp_path, Recipe(rank=3))
    with pytest.raises(UserError, match="of other documents"):
        Trainer(made_store("hal", "ida"), validation, tmp_path, RECIPE)
