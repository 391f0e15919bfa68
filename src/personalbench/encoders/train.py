"""Contrastive training of luar-mini's adapter on any corpus of many authors.

A step encodes a few snippets of different documents by every author of the batch once,
and asks for each author back at several episode sizes, since an aggregation costs next
to nothing.

The learning rate warms up and stays; what a checkpoint holds is never decayed, so that
training can go on from it at any time. A cut takes the checkpoint, decays the rate to
zero over some further steps, and writes the adapter.
"""

import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import save
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.nn.utils import parametrize

from personalbench.encoders import mini
from personalbench.encoders.adapter import Adapted
from personalbench.encoders.token_store import TokenStore
from personalbench.errors import UserError
from personalbench.seeds import derive

_CLS, _SEP, _PAD = 101, 102, 0
SHORTEST = 24  # tokens: shorter documents say next to nothing
VALIDATION_DOCUMENTS = 10  # of an author: five against five


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what comes out, apart from data and number of steps.

    Attributes:
        seed: Of the new weights and of every batch.
        rank: Of the low-rank updates.
        learning_rate: After warm-up.
        warmup: Steps until the learning rate is reached.
        tokens: Tokens a step.
        snippet_lengths: Longest snippet of a step in tokens, drawn with these weights.
        decay_snippet_lengths: The same while the rate falls: nearer to whole documents,
            with fewer authors a step.
        documents: Documents an author in a step, drawn with these weights.
    """

    seed: int = 42
    rank: int = 32
    learning_rate: float = 1e-3
    warmup: int = 40
    tokens: int = 12_288
    snippet_lengths: tuple[tuple[int, float], ...] = ((64, 0.6), (128, 0.4))
    decay_snippet_lengths: tuple[tuple[int, float], ...] = ((64, 0.3), (128, 0.4), (256, 0.3))
    documents: tuple[tuple[int, float], ...] = ((4, 1.0),)

    def learning_rate_at(self, step: int, stop: int | None, decay: int) -> float:
        """The rate of a step; with ``stop``, it falls to zero over the last ``decay``."""
        rate = self.learning_rate * min(1.0, (step + 1) / self.warmup)
        if stop is not None and step >= stop - decay:
            rate *= (stop - step) / (decay + 1)
        return rate


@dataclass(frozen=True)
class Batch:
    """Snippets of one step: ``per_author`` in a row for every author."""

    snippets: list[NDArray[np.uint16]]
    authors: NDArray[np.int64]
    per_author: int
    offsets: NDArray[np.int64]


def _draw(rng: np.random.Generator, choices: Sequence[tuple[int, float]]) -> int:
    values, weights = zip(*choices, strict=True)
    return int(rng.choice(values, p=weights))


def draw_batch(store: TokenStore, recipe: Recipe, step: int, *, decaying: bool) -> Batch:
    """Snippets of a step: a function of the recipe, the step and its phase alone."""
    rng = np.random.default_rng(derive(recipe.seed, "train-encoder", "batch", step))
    lengths = recipe.decay_snippet_lengths if decaying else recipe.snippet_lengths
    longest = _draw(rng, lengths) - 2
    per_author = _draw(rng, recipe.documents)
    snippets: list[NDArray[np.uint16]] = []
    authors: list[int] = []
    used = 0
    for author in rng.permutation(len(store.members)):
        if len(store.members[author]) < per_author:
            continue
        for number in rng.choice(store.members[author], per_author, replace=False):
            ids = store.document(number)
            start = rng.integers(max(1, len(ids) - longest + 1))
            snippets.append(ids[start : start + longest])
            used += len(snippets[-1]) + 2
        authors.append(int(author))
        if used >= recipe.tokens:
            break
    room = np.array([510 - len(snippet) for snippet in snippets])
    # Snippets come from anywhere in a document, so they use all of the positions.
    offsets = rng.integers(room + 1) * rng.integers(2, size=len(room))
    return Batch(snippets, np.array(authors), per_author, offsets)


def encode_snippets(
    model: Adapted,
    snippets: Sequence[NDArray[np.uint16]],
    offsets: NDArray[np.int64],
    tokens: int = 6144,
) -> Tensor:
    """Document vectors of snippets, (N, H), in micro-batches of similar length."""
    order = sorted(range(len(snippets)), key=lambda i: len(snippets[i]))
    vectors: list[Tensor] = []
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * _width(snippets[order[stop]]) <= tokens:
            stop += 1
        chosen = order[start:stop]
        width = _width(snippets[chosen[-1]])
        ids = np.full((len(chosen), width), _PAD, dtype=np.int64)
        for row, number in enumerate(chosen):
            snippet = snippets[number]
            ids[row, 0] = _CLS
            ids[row, 1 : len(snippet) + 1] = snippet
            ids[row, len(snippet) + 1] = _SEP
        positions = np.arange(width) + np.where(np.arange(width) > 0, offsets[chosen, None], 0)
        vectors.append(
            model.document_vectors(
                torch.from_numpy(ids),
                torch.from_numpy((ids != _PAD).astype(np.int64)),
                torch.from_numpy(positions.clip(max=511)),
            )
        )
        start = stop
    return torch.cat(vectors)[torch.from_numpy(np.argsort(order))]


def _width(snippet: NDArray[np.uint16]) -> int:
    """Length with both ends, rounded up: few different shapes compute faster."""
    return -(-(len(snippet) + 2) // 16) * 16


class Contrast(nn.Module):
    """The loss: which of many episodes is by the same author?

    Attributes:
        log_scale: Logarithm of 1 / temperature for every episode size, learnt.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.log_scale = nn.ParameterDict(
            {str(size): nn.Parameter(torch.tensor(math.log(1 / 0.07))) for size in sizes}
        )

    def forward(self, episodes: Tensor, authors: Tensor, size: int) -> Tensor:
        """Mean over pairs of one author of ``-log`` of the pair's share.

        Args:
            episodes: Authorship vectors, (B, D).
            authors: Whose they are, (B,).
            size: Documents an episode.
        """
        unit = F.normalize(episodes, dim=-1)
        scale = self.log_scale[str(size)].exp()
        own = scale * unit @ unit.T
        same = authors[:, None] == authors
        negatives = own.masked_fill(same, -torch.inf)
        positive = same & ~torch.eye(len(authors), dtype=torch.bool)
        against = negatives.logsumexp(1, keepdim=True).expand_as(own)
        loss: Tensor = F.softplus(against - own)[positive].mean()
        return loss


def batch_losses(model: Adapted, contrast: Contrast, batch: Batch) -> dict[int, Tensor]:
    """The loss at every episode size that the batch allows: 1, 2, 4, ..., half of it."""
    with torch.autocast("cpu", torch.bfloat16):
        vectors = encode_snippets(model, batch.snippets, batch.offsets)
    authors = torch.from_numpy(batch.authors)
    losses = {}
    size = 1
    while 2 * size <= batch.per_author:
        episodes = vectors.reshape(-1, size, vectors.shape[-1])
        owners = authors.repeat_interleave(batch.per_author // size)
        losses[size] = contrast(model.luar.aggregate(episodes), owners, size)
        size *= 2
    return losses


@torch.no_grad()
def validation_auc(model: Adapted, store: TokenStore, max_length: int = 256) -> dict[str, float]:
    """AUC on authors that training never sees, for monitoring.

    Every author's first documents against the next ones, and against all other
    authors' next ones: at one and at five documents.
    """
    numbers = [
        members[:VALIDATION_DOCUMENTS]
        for members in store.members
        if len(members) >= VALIDATION_DOCUMENTS
    ][:100]
    snippets = [store.document(n)[: max_length - 2] for row in numbers for n in row]
    with parametrize.cached(), torch.autocast("cpu", torch.bfloat16):
        vectors = encode_snippets(model, snippets, np.zeros(len(snippets), dtype=np.int64))
    vectors = vectors.reshape(len(numbers), VALIDATION_DOCUMENTS, -1)
    result = {}
    for size in (1, 5):
        first = F.normalize(model.luar.aggregate(vectors[:, :size]), dim=-1)
        second = F.normalize(model.luar.aggregate(vectors[:, 5 : 5 + size]), dim=-1)
        same = np.eye(len(numbers), dtype=bool)
        result[f"auc_{size}"] = float(
            roc_auc_score(same.ravel(), (first @ second.T).numpy().ravel())
        )
    return result


class Trainer:
    """One run of training, resumable.

    Args:
        store: Training documents.
        validation: Documents of other authors.
        folder: Where the checkpoint and the log are.
        recipe: How to train.

    Raises:
        UserError: An author is in both, validation has too few documents, or the
            checkpoint is of another recipe or of other documents.
    """

    def __init__(
        self, store: TokenStore, validation: TokenStore, folder: Path, recipe: Recipe
    ) -> None:
        shared = set(store.authors) & set(validation.authors)
        if shared:
            raise UserError(
                f"author {min(shared)!r} is in the training and in the validation documents; "
                "validation needs authors that training never sees"
            )
        if sum(len(own) >= VALIDATION_DOCUMENTS for own in validation.members) < 2:
            raise UserError("validation needs at least two authors of ten documents each")
        self._store, self._validation = store, validation
        self._folder, self._recipe = folder, recipe
        backbone = mini.untrained(mini.backbone_folder(), recipe.seed)
        self.model = Adapted(backbone, recipe.rank, recipe.seed)
        largest = max(count for count, _ in recipe.documents) // 2
        sizes = [2**power for power in range(largest.bit_length())]
        self._contrast = Contrast(sizes)
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self._parameters = [*trained, *self._contrast.parameters()]
        self._optimizer = torch.optim.AdamW(
            [
                {"params": [p for p in self._parameters if p.dim() > 1], "weight_decay": 0.01},
                {"params": [p for p in self._parameters if p.dim() <= 1], "weight_decay": 0.0},
            ],
            lr=recipe.learning_rate,
            betas=(0.9, 0.98),
        )
        self.step = 0
        self._checkpoint = folder / "checkpoint.pt"
        folder.mkdir(parents=True, exist_ok=True)
        if self._checkpoint.exists():
            self._resume()

    def train(self, steps: int, *, save_seconds: float = 180, validate_every: int = 100) -> None:
        """Go on until ``steps`` steps are done, at a constant rate."""
        saved = time.monotonic()
        while self.step < steps:
            self._advance(stop=None, decay=0)
            if self.step % validate_every == 0:
                self._log(validation_auc(self.model, self._validation))
            if time.monotonic() - saved > save_seconds or self.step == steps:
                self._save()
                saved = time.monotonic()

    def cut(self, decay: int, path: Path) -> None:
        """Decay the rate to zero over ``decay`` steps and write the adapter.

        The checkpoint stays as it was.
        """
        stop = self.step + decay
        while self.step < stop:
            self._advance(stop=stop, decay=decay)
        self._log(validation_auc(self.model, self._validation))
        tensors = {k: v.to(torch.float16) for k, v in self.model.adapter().items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(save(tensors, {"recipe": json.dumps(asdict(self._recipe))}))

    def _advance(self, stop: int | None, decay: int) -> None:
        started = time.monotonic()
        rate = self._recipe.learning_rate_at(self.step, stop, decay)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        batch = draw_batch(self._store, self._recipe, self.step, decaying=stop is not None)
        with parametrize.cached():
            losses = batch_losses(self.model, self._contrast, batch)
            torch.stack(list(losses.values())).mean().backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self._parameters, 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad()
        self.step += 1
        tokens = sum(map(len, batch.snippets))
        self._log(
            {
                **{f"loss_{size}": loss.item() for size, loss in losses.items()},
                "authors": len(batch.authors),
                "gradient_norm": float(norm),
                "learning_rate": rate,
                "tokens_per_second": tokens / (time.monotonic() - started),
            }
        )

    def _log(self, values: dict[str, float]) -> None:
        with open(self._folder / "log.jsonl", "a", encoding="utf-8", newline="\n") as file:
            file.write(
                json.dumps({"time": round(time.time() * 1000), "step": self.step, **values}) + "\n"
            )

    def _state(self) -> dict[str, Any]:
        return {
            "recipe": json.dumps(asdict(self._recipe)),
            "documents": self._store.sha256,
            "step": self.step,
            "adapter": self.model.adapter(),
            "contrast": self._contrast.state_dict(),
            "optimizer": self._optimizer.state_dict(),
        }

    def _save(self) -> None:
        temporary = self._checkpoint.with_suffix(".tmp")
        torch.save(self._state(), temporary)
        os.replace(temporary, self._checkpoint)

    def _resume(self) -> None:
        state = torch.load(self._checkpoint, weights_only=True)
        if state["recipe"] != json.dumps(asdict(self._recipe)):
            raise UserError(f"{self._checkpoint}: of another recipe; use another folder")
        if state["documents"] != self._store.sha256:
            raise UserError(f"{self._checkpoint}: of other documents; use another folder")
        self.step = state["step"]
        self.model.load_adapter(state["adapter"])
        self._contrast.load_state_dict(state["contrast"])
        self._optimizer.load_state_dict(state["optimizer"])
