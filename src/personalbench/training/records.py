"""What is kept of a training: the adapter's record beside its weights."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from personalbench.bundle import ModelIdentity
from personalbench.params import TrainingParams


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CurvePoint(_Record):
    """The loss after some steps, in nats a token of the documents.

    Attributes:
        step: Steps done; 0 is the base model.
        train: Mean over the documents that were learnt from since the point before; None at
            step 0.
        held_out: Mean over the held-out documents.
    """

    step: int
    train: float | None
    held_out: float


def lowest(curve: Sequence[CurvePoint]) -> CurvePoint:
    """The point with the lowest held-out loss, the first of equal ones."""
    return min(curve, key=lambda point: point.held_out)


class AdapterRecord(_Record):
    """What an adapter was made from and how it came out.

    Attributes:
        format: Of this record and of the way adapters are trained.
        author: Whose documents.
        base: The model that was trained; the adapter fits no other.
        training_set: SHA-256 of all examples.
        params: How it was trained.
        seed: The run's seed.
        trained: Ids of the documents that were learnt from.
        held_out: Ids of those that told when to stop.
        flags: See :class:`~personalbench.training.examples.Chosen`.
        cut: Number of documents that were longer than ``max_length`` and end there.
        tokens: Tokens of the documents that were learnt from, prompts included.
        steps: Steps that were planned.
        best: The step whose weights these are: the lowest held-out loss.
        curve: The loss on the way.
        precision: In which the base model computed.
        weights: SHA-256 of ``adapter_model.safetensors``.
    """

    format: Literal[2] = 2
    author: str
    base: ModelIdentity
    training_set: str
    params: TrainingParams
    seed: int
    trained: tuple[str, ...]
    held_out: tuple[str, ...]
    flags: tuple[str, ...]
    cut: int
    tokens: int
    steps: int
    best: int
    curve: tuple[CurvePoint, ...]
    precision: str
    weights: str

    @property
    def best_point(self) -> CurvePoint:
        """Where these weights are from."""
        return lowest(self.curve)
