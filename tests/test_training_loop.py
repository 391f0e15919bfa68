"""The training loop on a tiny model: loss, batches, early stop, checkpoints."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file

from personalbench.errors import UserError
from personalbench.params import TrainingParams
from personalbench.training import trainer
from personalbench.training.learner import Tokens
from personalbench.training.loss import Batch
from personalbench.training.torch_model import TorchLearner
from personalbench.training.trainer import (
    TOKENS_A_BATCH,
    Trained,
    batches,
    learning_rate,
    train,
)
from tiny_model import tiny_examples, tiny_model

PARAMS = TrainingParams(epochs=3, rank=2, learning_rate=0.02)


def trained(folder: Path, params: TrainingParams = PARAMS, held: int = 4) -> Trained:
    model = tiny_model().adapted(params.rank, seed=5)
    examples = tiny_examples(30), tiny_examples(held, first=30)
    return train(model, *examples, params, 5, folder / "checkpoint", "ada")


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "TOKENS_A_BATCH", 48)


def test_loss_and_gradient_are_those_of_the_whole_logits_over_document_tokens() -> None:
    examples = tiny_examples(7)
    base = tiny_model()
    model = base.adapted(4, seed=1)
    with torch.no_grad():  # B is zero at first, and so would be half of the gradients
        for each in model.parameters:
            each.normal_(0, 0.1)
    total, norm = model.learn(examples)
    found = [each.grad.clone() for each in model.parameters if each.grad is not None]
    for each in model.parameters:
        each.grad = None
    summed = torch.zeros(())
    for example in examples:  # one by one: no padding
        ids = torch.tensor([example.ids])
        logits = base.network(input_ids=ids).logits[0, example.start - 1 : -1]
        target = ids[0, example.start :]
        summed = summed + torch.nn.functional.cross_entropy(logits, target, reduction="sum")
    assert sum(example.targets for example in examples) == sum(
        len(example.ids) - example.start for example in examples
    )
    (summed / sum(example.targets for example in examples)).backward()
    assert total == pytest.approx(summed.item(), rel=1e-5)
    assert model.evaluate(examples) == pytest.approx(total, rel=1e-6)
    assert len(found) == 2 * 7 * 2
    wanted = [each.grad for each in model.parameters if each.grad is not None]
    whole = torch.cat([each.flatten() for each in wanted]).norm().item()
    assert norm == pytest.approx(whole, rel=1e-4) and whole > 1
    for own, each in zip(found, wanted, strict=True):  # shortened to a length of 1
        assert own.abs().max() > 0
        torch.testing.assert_close(own, each / whole, rtol=1e-4, atol=1e-6)


def test_batches_have_few_widths_and_no_token_or_target_moves() -> None:
    examples = [Tokens(tuple(range(length)), length - 3, True) for length in (33, 40)]
    batch = Batch.of(examples, torch.device("cpu"))
    assert batch.ids.shape == (2, 64)
    for row, each in zip(batch.ids.tolist(), examples, strict=True):
        assert tuple(row[: len(each.ids)]) == each.ids and not any(row[len(each.ids) :])
    # The last three tokens of each, foreseen from the positions before them.
    assert batch.target.tolist() == [30, 31, 32, 37, 38, 39]
    assert batch.source.tolist() == [29, 30, 31, 64 + 36, 64 + 37, 64 + 38]
    assert Batch.of(examples[:1], torch.device("cpu")).ids.shape == (1, 64)
    assert Batch.of([Tokens((1,) * 32, 1, True)], torch.device("cpu")).ids.shape == (1, 32)


def test_the_learning_rate_rises_for_a_tenth_of_the_steps_and_falls_to_zero() -> None:
    rates = [learning_rate(0.5, step, 40) for step in range(40)]
    assert rates[:4] == pytest.approx([0.125, 0.25, 0.375, 0.5])
    assert rates[4] == 0.5 and rates[22] == pytest.approx(0.25)
    assert rates[39] == pytest.approx(0.5 / 36)


@given(
    lengths=st.lists(st.integers(4, 600), min_size=1, max_size=60),
    seed=st.integers(0, 9),
    epoch=st.integers(0, 3),
)
@settings(max_examples=50, deadline=None)
def test_every_document_comes_once_an_epoch_in_batches_that_fit(
    lengths: list[int], seed: int, epoch: int
) -> None:
    trainer.TOKENS_A_BATCH = TOKENS_A_BATCH
    examples = [Tokens(tuple(range(length)), 2, True) for length in lengths]
    made = batches(examples, seed, epoch)
    assert sorted(position for group in made for position in group) == list(range(len(lengths)))
    for group in made:
        widest = max(lengths[position] for position in group)
        assert widest * len(group) <= TOKENS_A_BATCH
        assert max(lengths[p] // 32 for p in group) >= min(lengths[p] // 32 for p in group)
    assert made == batches(examples, seed, epoch)


def test_little_of_a_batch_is_padding_and_epochs_differ() -> None:
    trainer.TOKENS_A_BATCH = TOKENS_A_BATCH
    examples = [Tokens(tuple(range(150 + 7 * n % 350)), 2, True) for n in range(200)]
    made = batches(examples, 1, 0)
    filled = sum(len(example.ids) for example in examples)
    room = sum(max(len(examples[p].ids) for p in group) * len(group) for group in made)
    assert filled / room > 0.9
    assert made != batches(examples, 1, 1)
    assert len(made) < 1.5 * filled / TOKENS_A_BATCH


def test_training_lowers_the_held_out_loss_and_keeps_the_best_weights(tmp_path: Path) -> None:
    result = trained(tmp_path)
    first, *later = result.curve
    assert (first.step, first.train) == (0, None)
    assert len(later) == 6 and later[-1].step == result.steps
    lowest = min(result.curve, key=lambda point: point.held_out)
    assert result.best == lowest.step > 0
    assert lowest.held_out < 0.8 * first.held_out
    model = tiny_model().adapted(PARAMS.rank, seed=9)
    model.load(result.weights)
    held = tiny_examples(4, first=30)
    loss = model.evaluate(held) / sum(example.targets for example in held)
    assert loss == pytest.approx(lowest.held_out, rel=1e-4)


def test_training_stops_when_the_held_out_loss_rises(tmp_path: Path) -> None:
    model = tiny_model().adapted(PARAMS.rank, seed=5)
    # Tokens that no document has: whatever is learnt makes them less likely.
    unlike = [Tokens((1, 2, 3, *(55 + n % 9 for n in range(12))), 3, True)]
    params = PARAMS.model_copy(update={"epochs": 8})
    result = train(model, tiny_examples(30), unlike, params, 5, tmp_path / "checkpoint", "ada")
    assert result.best == 0 and len(result.curve) == 3
    assert all(not value.any() for name, value in result.weights.items() if "lora_B" in name)


def test_a_loss_that_is_not_finite_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter([1.0, float("nan")])

    def diverge(model: object, batch: object) -> tuple[float, float]:
        return next(steps), 1.0

    monkeypatch.setattr(TorchLearner, "learn", diverge)
    with pytest.raises(UserError, match=r"training ada: the loss is not finite at step 2; try a"):
        trained(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_computes_nothing_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TorchLearner, "evaluate", lambda *_: float("nan"))
    with pytest.raises(UserError, match=r"not finite before the first step; .* another generator"):
        trained(tmp_path)


def test_a_damaged_checkpoint_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(b"\x08" + bytes(20))
    with pytest.raises(UserError, match=r"checkpoint: damaged: .*; delete it, and this training"):
        trained(tmp_path)


SCRIPT = """
import sys
from pathlib import Path
from safetensors.numpy import save_file
from personalbench.training import trainer
from test_training_loop import PARAMS
from tiny_model import tiny_examples, tiny_model
trainer.TOKENS_A_BATCH = 48
folder = Path(sys.argv[1])
result = trainer.train(
    tiny_model().adapted(PARAMS.rank, 5), tiny_examples(30), tiny_examples(4, first=30),
    PARAMS, 5, folder / "checkpoint", "ada", save_seconds=0,
)
save_file(result.weights, folder / "weights.safetensors")
print(result.curve)
"""


def test_a_killed_training_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    undisturbed = trained(tmp_path / "whole")
    checkpoint = tmp_path / "checkpoint"
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        while not checkpoint.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert checkpoint.exists() and not (tmp_path / "weights.safetensors").exists()
    with safe_open(checkpoint, "numpy") as file:
        step = json.loads(file.metadata()["progress"])["step"]
    assert 0 < step < undisturbed.steps
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert again.stdout.strip() == str(undisturbed.curve)
    weights = load_file(tmp_path / "weights.safetensors")
    assert weights.keys() == undisturbed.weights.keys()
    assert all(np.array_equal(weights[name], undisturbed.weights[name]) for name in weights)
