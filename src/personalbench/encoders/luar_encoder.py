"""LUAR as an encoder: texts in, document vectors out, each document encoded once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tqdm import tqdm

from personalbench.encoders import mini
from personalbench.encoders.base import Vectors
from personalbench.encoders.luar import Luar
from personalbench.errors import UserError

# Tokens a batch, padding included: enough to keep the matrix products busy, few enough
# for the intermediate results to stay in the processor's cache, and for the lengths of a
# batch to be nearly equal: half of it halves the padding.
BATCH_TOKENS = 2048
_TEXTS = 1024
# Episodes aggregated at once: few enough for them to stay in the cache as well.
_EPISODES = 256


class LuarEncoder:
    """LUAR with its tokenizer; an :class:`~personalbench.encoders.base.Encoder`.

    Args:
        luar: The model.
        tokenizer: Its own; truncation and padding are switched off.
        name: Which LUAR it is.
        revision: Commit or content hash of the weights.
        max_length: Longest document in tokens, both ends included.

    Raises:
        UserError: ``max_length`` exceeds the model's positions.
    """

    family = "luar"

    def __init__(
        self, luar: Luar, tokenizer: Tokenizer, name: str, revision: str, max_length: int
    ) -> None:
        self.luar = luar
        self.name = name
        self.revision = revision
        self.max_length = max_length
        config = luar.transformer.config
        self._pad = int(config.pad_token_id or 0)
        room = config.max_position_embeddings
        if config.model_type == "roberta":  # counts positions from behind the padding's id
            room -= self._pad + 1
        if not 3 <= max_length <= room:
            raise UserError(
                f"weights.max_length: {max_length} is not possible with {name}; use 3 to {room}"
            )
        self._tokenizer = tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    @classmethod
    def load(
        cls, folder: Path, name: str, revision: str, max_length: int, *, bfloat16: bool = False
    ) -> Self:
        """Load ``config.json``, ``model.safetensors`` and ``tokenizer.json``.

        Raises:
            UserError: The checkpoint is refused; see :meth:`Luar.load`.
        """
        luar = Luar.load(folder, bfloat16=bfloat16)
        tokenizer = Tokenizer.from_str((folder / "tokenizer.json").read_text("utf-8"))
        return cls(luar, tokenizer, name, revision, max_length)

    def token_counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Length of every text in tokens before truncation, both ends included, (N,)."""
        return np.fromiter((len(ids) for ids in self.tokens(texts)), np.int64, len(texts))

    def document_vectors(self, texts: Sequence[str]) -> Vectors:
        """Encode every text once: (N, H), in the order of the texts.

        Texts are sorted by length, so that next to nothing is spent on padding.
        """
        tokens = [self.truncated(ids) for ids in self.tokens(texts)]
        vectors = np.empty((len(texts), self.luar.linear.in_features), dtype=np.float32)
        with tqdm(total=len(texts), desc=self.name, unit="document", disable=None) as progress:
            for batch in length_batches([len(ids) for ids in tokens], BATCH_TOKENS):
                vectors[batch] = self._encode([tokens[i] for i in batch])
                progress.update(len(batch))
        return vectors

    def aggregate(self, vectors: Vectors) -> Vectors:
        """Aggregate episodes of E documents: (B, E, H) to (B, D), not normalised."""
        made = np.empty((len(vectors), self.luar.linear.out_features), dtype=np.float32)
        with torch.inference_mode(), _one_thread():
            for start in range(0, len(vectors), _EPISODES):
                part = np.ascontiguousarray(vectors[start : start + _EPISODES])
                made[start : start + _EPISODES] = self.luar.aggregate(torch.from_numpy(part))
        return made

    def tokens(self, texts: Sequence[str]) -> Iterator[NDArray[np.int32]]:
        """Token ids of every text, both ends included, not truncated."""
        remaining = iter(texts)
        while part := list(islice(remaining, _TEXTS)):
            for encoding in self._tokenizer.encode_batch_fast(part):
                yield np.array(encoding.ids, dtype=np.int32)

    def truncated(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """The first ``max_length`` tokens, the closing one kept."""
        if len(ids) <= self.max_length:
            return ids
        return np.append(ids[: self.max_length - 1], ids[-1])

    def _encode(self, tokens: list[NDArray[np.int32]]) -> Vectors:
        lengths = np.array([len(ids) for ids in tokens])
        mask = np.arange(lengths.max()) < lengths[:, None]
        input_ids = np.full(mask.shape, self._pad, dtype=np.int64)
        input_ids[mask] = np.concatenate(tokens)
        with torch.inference_mode():
            vectors = self.luar.document_vectors(
                torch.from_numpy(input_ids), torch.from_numpy(mask.astype(np.int64))
            )
        return cast(Vectors, vectors.numpy())


class BackboneEncoder(LuarEncoder):
    """The plain backbone as a baseline: means over tokens, then over documents."""

    family = "backbone"

    @classmethod
    def installed(cls, max_length: int) -> Self:
        """luar-mini's backbone as its package has it, verified."""
        folder = mini.backbone_folder()
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        luar = mini.untrained(folder, seed=0).requires_grad_(False).eval()
        revision = mini.PINNED["model.safetensors"]
        return cls(luar, tokenizer, "all-MiniLM-L6-v2", revision, max_length)

    def aggregate(self, vectors: Vectors) -> Vectors:
        """Mean over the documents: (B, E, H) to (B, H)."""
        return cast(Vectors, vectors.mean(axis=1))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Steps of a few microseconds: threads would spend them on waiting for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def length_batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Numbers of documents in batches of similar length, the longest first.

    A batch of documents padded to its longest holds at most ``tokens`` tokens, or one
    document. The longest first: what does not fit in memory fails at once.
    """
    batch: list[int] = []
    width = 0
    for number in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if batch and (len(batch) + 1) * width > tokens:
            yield batch
            batch = []
        if not batch:
            width = lengths[number]
        batch.append(number)
    if batch:
        yield batch
