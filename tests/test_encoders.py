"""Encoders: texts in, vectors out, whatever the order and the batches."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from personalbench.encoders.luar import Luar
from personalbench.encoders.luar_encoder import BackboneEncoder, LuarEncoder, length_batches
from personalbench.encoders.tfidf import CharNgramEncoder, WordTfidfEncoder
from personalbench.errors import UserError

TINY = Path(__file__).parent / "data" / "luar_tiny"
TEXTS = ["w5 w9 w7", "", "w20 " * 300, "w3", "w8 w8 w9 " * 9, "w5 w9 w7"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny checkpoint with a tokenizer of the words w4 to w119."""
    folder = tmp_path_factory.mktemp("tiny")
    for name in ("config.json", "model.safetensors"):
        shutil.copy(TINY / name, folder / name)
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | {f"w{i}": i for i in range(4, 120)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    # Published tokenizers come with settings of their own, which must not apply.
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module")
def encoder(folder: Path) -> LuarEncoder:
    return LuarEncoder.load(folder, "tiny", "r1", max_length=50)


def test_vectors_are_those_of_each_document_alone(encoder: LuarEncoder) -> None:
    vectors = encoder.document_vectors(TEXTS)
    luar = Luar.load(TINY)
    for text, vector in zip(TEXTS, vectors, strict=True):
        ids = [0, *(int(word[1:]) for word in text.split()), 2]
        if len(ids) > 50:
            ids = [*ids[:49], 2]
        tokens = torch.tensor([ids])
        alone = luar.document_vectors(tokens, torch.ones_like(tokens))[0].numpy()
        np.testing.assert_allclose(vector, alone, atol=1e-5)


def test_token_counts_are_before_truncation(encoder: LuarEncoder) -> None:
    assert encoder.token_counts(TEXTS).tolist() == [5, 2, 302, 3, 29, 5]


def test_aggregation_is_the_modules_own(encoder: LuarEncoder) -> None:
    vectors = encoder.document_vectors(TEXTS).reshape(2, 3, -1)
    expected = Luar.load(TINY).aggregate(torch.from_numpy(vectors)).numpy()
    np.testing.assert_allclose(encoder.aggregate(vectors), expected, atol=1e-6)


def test_nothing_in_nothing_out(encoder: LuarEncoder) -> None:
    assert encoder.document_vectors([]).shape == (0, 48)
    assert encoder.token_counts([]).shape == (0,)
    assert encoder.aggregate(np.empty((0, 5, 48), dtype=np.float32)).shape == (0, 32)


def test_length_beyond_the_positions_is_refused(folder: Path) -> None:
    assert LuarEncoder.load(folder, "tiny", "r1", max_length=128).max_length == 128
    with pytest.raises(UserError, match="129 is not possible with tiny; use 3 to 128"):
        LuarEncoder.load(folder, "tiny", "r1", max_length=129)


@given(st.lists(st.integers(1, 60)), st.integers(1, 100))
def test_batches_hold_every_document_once_within_the_budget(
    lengths: list[int], tokens: int
) -> None:
    batches = list(length_batches(lengths, tokens))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= tokens


def test_character_ngrams_survive_saving(tmp_path: Path) -> None:
    texts = ["The cat sat on the mat.", "Dogs do not sit; they run!", "The cat ran to the dogs."]
    made = CharNgramEncoder.fit(texts)
    made.save(tmp_path / "ngrams.json")
    loaded = CharNgramEncoder.load(tmp_path / "ngrams.json")
    assert loaded.revision == made.revision
    np.testing.assert_array_equal(loaded.document_vectors(texts), made.document_vectors(texts))
    with pytest.raises(UserError, match="of characters, not of words"):
        WordTfidfEncoder.load(tmp_path / "ngrams.json")
    json.loads((tmp_path / "ngrams.json").read_text())


def test_tfidf_by_hand() -> None:
    # idf = ln((1 + 2) / (1 + df)) + 1: "b" is in both texts, "a" and "c" in one.
    made = WordTfidfEncoder.fit(["a b b", "b c"])
    rare, twice = np.log(3 / 2) + 1, 1 + np.log(2)
    expected = np.array([rare, twice, 0]) / np.hypot(rare, twice)
    np.testing.assert_allclose(made.document_vectors(["a b b"])[0], expected, rtol=1e-6)
    np.testing.assert_array_equal(made.document_vectors(["unknown", ""]), np.zeros((2, 3)))


def test_tfidf_cuts_and_counts_in_its_own_units() -> None:
    characters = CharNgramEncoder.fit(["abcdefgh", "xyz abcd"], max_length=5)
    assert characters.token_counts(["abcdefgh", ""]).tolist() == [8, 0]
    np.testing.assert_array_equal(*characters.document_vectors(["abcdefgh", "abcdeXXX"]))
    words = WordTfidfEncoder.fit(["a b c", "d e"], max_length=2)
    assert words.token_counts(["a b c"]).tolist() == [3]
    np.testing.assert_array_equal(*words.document_vectors(["a b c", "a b d"]))


def test_tfidf_groups_are_means() -> None:
    made = WordTfidfEncoder.fit(["a b", "c"])
    vectors = made.document_vectors(["a", "c"])
    np.testing.assert_allclose(made.aggregate(vectors[None]), [[0.5, 0, 0.5]])


def test_plain_backbone_is_a_mean_of_means() -> None:
    backbone = BackboneEncoder.installed(max_length=64)
    vectors = backbone.document_vectors(["Hello there.", "hello THERE."])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)  # it knows no capitals
    np.testing.assert_allclose(backbone.aggregate(vectors[None])[0], vectors.mean(0), atol=1e-6)
    # The package's own usage: the mean over the tokens of its last layer.
    from transformers import AutoModel, AutoTokenizer

    from personalbench.encoders.mini import backbone_folder

    batch = AutoTokenizer.from_pretrained(backbone_folder())("Hello there.", return_tensors="pt")
    with torch.no_grad():
        states = AutoModel.from_pretrained(backbone_folder())(**batch).last_hidden_state
    np.testing.assert_allclose(vectors[0], states[0].mean(0).numpy(), atol=1e-5)
