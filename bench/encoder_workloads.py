"""What encoding each document once is worth, and how fast episodes are aggregated.

    python bench/encoder_workloads.py documents.jsonl [--sample 100]

Two workloads with a model of LUAR-MUD's size and random weights, float32, two threads:

- The validate stage: 5,000 pairs of five documents against five, over 10,000 different
  documents. The model card's recipe encodes all 50,000 of the pairs' documents, padded;
  the encoder, each document once. The rates of both are measured on a sample, the
  aggregation in full, and the times computed from them.
- 1,000,000 random episodes of five out of 10,000 kept document vectors, in full, with
  the most memory that it took beyond the vectors.
"""

import argparse
import resource
import time
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from encode_documents import LENGTH, mud_sized, recipe

from personalbench.corpus.document import Document
from personalbench.storage import iterate_records

DOCUMENTS, PAIRS, EPISODES, SIZE, CHUNK = 10_000, 5_000, 1_000_000, 5, 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--sample", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(2)
    records = islice(iterate_records(options.path, Document), options.sample)
    texts = [document.text for document in records]
    encoder = mud_sized()
    tokens = [encoder.truncated(ids) for ids in encoder.tokens(texts)]

    started = time.perf_counter()
    recipe(encoder.luar, tokens)
    theirs = (time.perf_counter() - started) / len(texts) * PAIRS * 2 * SIZE
    started = time.perf_counter()
    encoder.document_vectors(texts)
    ours = (time.perf_counter() - started) / len(texts) * DOCUMENTS

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(DOCUMENTS, encoder.luar.linear.in_features)).astype(np.float32)

    def aggregate(count: int) -> float:
        started = time.perf_counter()
        for start in range(0, count, CHUNK):
            size = (min(CHUNK, count - start), SIZE)
            encoder.aggregate(vectors[rng.integers(DOCUMENTS, size=size)])
        return time.perf_counter() - started

    pairs = aggregate(2 * PAIRS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = aggregate(EPISODES)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024

    print(f"longest document       {LENGTH} tokens")
    print(f"validate, recipe       {theirs:.0f} s")
    print(f"validate, encoder      {ours:.0f} s and {pairs:.1f} s of aggregation")
    print(f"ratio                  {theirs / (ours + pairs):.1f}")
    print(f"1,000,000 episodes     {seconds:.1f} s, {grown:.0f} MB more memory")


if __name__ == "__main__":
    main()
