"""The training loop: dense batches, early stop, and a checkpoint from which it goes on."""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save
from tqdm import tqdm

from personalbench.errors import UserError
from personalbench.params import TrainingParams
from personalbench.seeds import derive
from personalbench.storage import write_bytes
from personalbench.training.adapters import saving
from personalbench.training.learner import Learner, Tokens, Weights
from personalbench.training.records import CurvePoint, lowest

TOKENS_A_BATCH = 1024
"""Padding included: with 135 million parameters in float32 this takes less than 4 GiB."""

_SIMILAR = 32  # tokens; documents whose lengths differ by less may share a batch
_LOOKS_AN_EPOCH = 2  # at the held-out documents
_PATIENCE = 2  # looks without a lower loss until training ends
_WARM_UP = 0.1  # share of the steps
_SAVE_SECONDS = 60.0
# Parts of a checkpoint.
_BEST, _WEIGHTS, _OPTIMIZER, _PROGRESS = "best", "weights", "optimizer", "progress"
_WITH_LOOKS = 1.1  # a tenth of the documents, twice an epoch, at a third of a step's price


Array = NDArray[Any]


@dataclass(frozen=True)
class Trained:
    """What came out.

    Attributes:
        weights: Those with the lowest held-out loss.
        best: The step they are from.
        steps: Steps that were planned.
        curve: The loss on the way.
    """

    weights: Weights
    best: int
    steps: int
    curve: tuple[CurvePoint, ...]


def batches(examples: Sequence[Tokens], seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch, as positions: a function of seed and epoch alone.

    Documents of similar length go together, so that little is padding; which ones, and in
    which order the batches come, is drawn anew for every epoch.
    """
    rng = np.random.default_rng(derive(seed, "training", "batches", epoch))
    order = sorted(
        rng.permutation(len(examples)).tolist(),
        key=lambda position: len(examples[position].ids) // _SIMILAR,
    )
    made: list[list[int]] = []
    width = 0
    for position in order:
        width = max(width, len(examples[position].ids))
        if not made or width * (len(made[-1]) + 1) > TOKENS_A_BATCH:
            made.append([])
            width = len(examples[position].ids)
        made[-1].append(position)
    return [made[number] for number in rng.permutation(len(made))]


def train(
    model: Learner,
    trained: Sequence[Tokens],
    held_out: Sequence[Tokens],
    params: TrainingParams,
    seed: int,
    checkpoint: Path,
    name: str,
    save_seconds: float = _SAVE_SECONDS,
    tell: Callable[[str], None] | None = None,
) -> Trained:
    """Train new LoRA weights, or go on from the checkpoint.

    After each half epoch the loss on the held-out documents is taken. Training ends early
    once it has not fallen twice in a row; the weights with the lowest are the result. A
    training that was killed and goes on ends with the same weights as one that was not.

    Args:
        model: With fresh LoRA weights.
        trained: What is learnt.
        held_out: What tells when to stop.
        params: How to train.
        seed: Of the batches.
        checkpoint: Written now and then; the caller deletes it in the end.
        name: What the progress bar shows.
        save_seconds: Time between two checkpoints.
        tell: Takes a line that says how long it will take.

    Raises:
        UserError: The loss is not finite, or the checkpoint is damaged.
    """
    plan = [group for epoch in range(params.epochs) for group in batches(trained, seed, epoch)]
    looks = _looks(len(plan), params.epochs)
    run = _Run(model, params.learning_rate, len(plan), checkpoint, name)
    held = [[held_out[position] for position in group] for group in batches(held_out, seed, 0)]
    if tell is not None:
        minutes = _seconds(model, trained, plan[run.step :]) / 60
        tell(
            f"training {name}: {len(trained)} documents, step {run.step} of {len(plan)}, "
            f"up to {max(1, math.ceil(minutes))} minutes to go"
        )
    if not run.curve:
        run.look(held)
    saved = time.monotonic()
    with tqdm(total=len(plan), initial=run.step, desc=f"training {name}", disable=None) as bar:
        while run.step < len(plan) and not run.over():
            run.advance([trained[position] for position in plan[run.step]])
            bar.update()
            if run.step in looks:
                run.look(held)
                bar.set_postfix(held_out=f"{run.curve[-1].held_out:.3f}")
            if time.monotonic() - saved >= save_seconds:
                run.save()
                saved = time.monotonic()
    return Trained(run.best_weights, lowest(run.curve).step, len(plan), tuple(run.curve))


def _seconds(model: Learner, trained: Sequence[Tokens], plan: Sequence[list[int]]) -> float:
    """Time that steps will take, looks included, from trying one of them out."""
    if not plan:
        return 0.0
    sizes = [len(group) * max(len(trained[position].ids) for position in group) for group in plan]
    batch = [trained[position] for position in plan[0]]
    for _ in range(2):  # the first time also sets things up
        started = time.perf_counter()
        model.learn(batch)
        seconds = time.perf_counter() - started
    return seconds * sum(sizes) / sizes[0] * _WITH_LOOKS


def _looks(steps: int, epochs: int) -> set[int]:
    """The steps after which the held-out documents are looked at."""
    count = epochs * _LOOKS_AN_EPOCH
    return {max(1, round(steps * number / count)) for number in range(1, count + 1)}


def learning_rate(highest: float, step: int, steps: int) -> float:
    """Up to the highest over the first steps, then down to zero, both in a straight line."""
    warm_up = max(1, round(_WARM_UP * steps))
    return highest * min((step + 1) / warm_up, (steps - step) / max(1, steps - warm_up))


class _Run:
    """Weights, optimizer and position of a training."""

    def __init__(
        self, model: Learner, rate: float, steps: int, checkpoint: Path, name: str
    ) -> None:
        self._model = model
        self._name = name
        self._checkpoint = checkpoint
        self._rate = rate
        self._steps = steps
        self.step = 0
        self.curve: list[CurvePoint] = []
        self.best_weights = model.weights()
        self._loss, self._tokens = 0.0, 0
        if checkpoint.exists():
            self._load()

    def over(self) -> bool:
        """Whether the held-out loss has stopped falling."""
        return len(self.curve) - 1 - self.curve.index(lowest(self.curve)) >= _PATIENCE

    def _require_finite(self, *values: float) -> None:
        if all(map(math.isfinite, values)):
            return
        self._checkpoint.unlink(missing_ok=True)
        if not self.curve:
            raise UserError(
                f"training {self._name}: the loss is not finite before the first step; the model "
                "can't be used as it is: name another generator"
            )
        raise UserError(
            f"training {self._name}: the loss is not finite at step {self.step + 1}; "
            "try a smaller learning_rate"
        )

    def advance(self, batch: Sequence[Tokens]) -> None:
        """One step."""
        loss, norm = self._model.learn(batch)
        self._require_finite(loss, norm)
        self._model.update(learning_rate(self._rate, self.step, self._steps))
        self.step += 1
        self._loss += loss
        self._tokens += sum(each.targets for each in batch)

    def look(self, held: Sequence[Sequence[Tokens]]) -> None:
        """Take the loss on the held-out documents; keep the weights if it is the lowest."""
        total = sum(map(self._model.evaluate, held))
        self._require_finite(total)
        self.curve.append(
            CurvePoint(
                step=self.step,
                train=self._loss / self._tokens if self._tokens else None,
                held_out=total / sum(each.targets for batch in held for each in batch),
            )
        )
        self._loss, self._tokens = 0.0, 0
        if lowest(self.curve) is self.curve[-1]:
            self.best_weights = self._model.weights()

    def save(self) -> None:
        """Write everything from which the training can go on."""
        arrays = {
            **_under(_BEST, self.best_weights),
            **_under(_WEIGHTS, self._model.weights()),
            **_under(_OPTIMIZER, self._model.optimizer()),
        }
        progress = {
            "step": self.step,
            "curve": [point.model_dump() for point in self.curve],
            "loss": self._loss,
            "tokens": self._tokens,
        }
        with saving(self._checkpoint):
            write_bytes(self._checkpoint, save(arrays, metadata={_PROGRESS: json.dumps(progress)}))

    def _load(self) -> None:
        try:
            with safe_open(self._checkpoint, "numpy") as file:
                progress = json.loads(file.metadata()[_PROGRESS])
            arrays = load_file(self._checkpoint)
        except SafetensorError as error:
            raise UserError(
                f"{self._checkpoint}: damaged: {error}; delete it, and this training starts anew"
            ) from None
        self.step = progress["step"]
        self.curve = [CurvePoint.model_validate(point) for point in progress["curve"]]
        self._loss, self._tokens = progress["loss"], progress["tokens"]
        self.best_weights = _part(_BEST, arrays)
        self._model.load(_part(_WEIGHTS, arrays))
        self._model.load_optimizer(_part(_OPTIMIZER, arrays))


def _under(part: str, arrays: dict[str, Array]) -> dict[str, Array]:
    return {f"{part}/{name}": value for name, value in arrays.items()}


def _part(part: str, arrays: dict[str, Array]) -> dict[str, Array]:
    prefix = f"{part}/"
    return {
        name.removeprefix(prefix): value
        for name, value in arrays.items()
        if name.startswith(prefix)
    }
