"""Documents per second of the encoder against the model card's recipe.

    python bench/encode_documents.py documents.jsonl [--documents 2000] [--recipe 100]

A model of LUAR-MUD's size with random weights encodes real documents at most 512 tokens
long, in float32 on two threads, three ways: as the encoder does it; as the model card
does it, every document padded to 512 in episodes of five, over the first documents; and
full batches without any padding, which is the limit. Prints the ratios, and the lowest
cosine between the two ways' document vectors.
"""

import argparse
import time
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from transformers import RobertaConfig

from personalbench.corpus.document import Document
from personalbench.encoders import mini
from personalbench.encoders.luar import DISTILROBERTA, Luar
from personalbench.encoders.luar_encoder import BATCH_TOKENS, LuarEncoder, length_batches
from personalbench.storage import iterate_records

LENGTH = 512


def mud_sized(*, bfloat16: bool = False) -> LuarEncoder:
    """LUAR-MUD's size, random weights. Only lengths matter, so any tokenizer does."""
    torch.manual_seed(0)
    settings = {name: value for name, value in DISTILROBERTA.items() if name != "model_type"}
    luar = Luar(RobertaConfig(**settings), 512, bfloat16=bfloat16).eval()
    return LuarEncoder(luar, mini.tokenizer(mini.backbone_folder()), "mud-sized", "-", LENGTH)


def recipe(luar: Luar, tokens: list[np.ndarray]) -> np.ndarray:
    """Episodes of five, every document padded to the longest length."""
    vectors = []
    for start in range(0, len(tokens), 5):
        part = tokens[start : start + 5]
        ids = torch.ones(len(part), LENGTH, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, document in enumerate(part):
            ids[row, : len(document)] = torch.from_numpy(document.astype(np.int64))
            mask[row, : len(document)] = 1
        with torch.inference_mode():
            vectors.append(luar.document_vectors(ids, mask).numpy())
    return np.concatenate(vectors)


def limit(luar: Luar, lengths: list[int]) -> float:
    """Tokens per second of the same lengths when every batch is full.

    For each of the encoder's batches, one of as many documents that are all as long as
    its mean: as many tokens in attention of the same length, and none of them padding.
    Nothing is tokenised, sorted or collected.
    """
    total, seconds = 0, 0.0
    for batch in length_batches(lengths, BATCH_TOKENS):
        width = round(float(np.mean([lengths[i] for i in batch])))
        ids = torch.randint(4, 50000, (len(batch), width))
        mask = torch.ones_like(ids)
        started = time.perf_counter()
        with torch.inference_mode():
            luar.document_vectors(ids, mask)
        seconds += time.perf_counter() - started
        total += ids.numel()
    return total / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--recipe", type=int, default=100)
    parser.add_argument("--bfloat16", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(2)
    documents = islice(iterate_records(options.path, Document), options.documents)
    texts = [document.text for document in documents]
    encoder = mud_sized(bfloat16=options.bfloat16)
    tokens = [encoder.truncated(ids) for ids in encoder.tokens(texts)]

    started = time.perf_counter()
    vectors = encoder.document_vectors(texts)
    seconds = time.perf_counter() - started
    ours, tokens_per_second = len(texts) / seconds, sum(map(len, tokens)) / seconds

    sample = np.random.default_rng(0).permutation(len(texts))[: options.recipe]
    started = time.perf_counter()
    expected = recipe(encoder.luar, [tokens[i] for i in sample])
    theirs = len(sample) / (time.perf_counter() - started)
    lengths = [len(ids) for ids in tokens]
    full = limit(encoder.luar, lengths)
    batches = length_batches(lengths, BATCH_TOKENS)
    padded = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    a, b = vectors[sample], expected
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)

    print(f"documents            {len(texts)}, {np.mean([len(t) for t in tokens]):.0f} tokens each")
    print(f"padding              {padded / sum(lengths) - 1:.1%}")
    print(f"encoder              {ours:.2f} documents/s, {tokens_per_second:.0f} tokens/s")
    print(f"recipe               {theirs:.2f} documents/s")
    print(f"ratio to recipe      {ours / theirs:.2f}")
    print(f"full batches         {full:.0f} tokens/s")
    print(f"ratio to the limit   {tokens_per_second / full:.2f}")
    print(f"lowest cosine        {cosine.min():.7f}")


if __name__ == "__main__":
    main()
