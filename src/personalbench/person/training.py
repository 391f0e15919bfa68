"""Training a twin of one person: an adapter, and its answers to the bundle's cases."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel as Model
from pydantic import ConfigDict, ValidationError

from personalbench.bundle import Bundle
from personalbench.errors import UserError
from personalbench.llm.types import Message, user
from personalbench.params import FinetunedParams, ModelParams, Params
from personalbench.person.answering import AnswerLine, answer_lines
from personalbench.stages.personalize import written
from personalbench.storage import new_folder, write_json, write_records
from personalbench.training.adapters import (
    RECORD,
    Adapter,
    copy_adapter,
    decisive,
    hash_of,
    load_adapter,
    saving,
    served,
)
from personalbench.training.examples import Example, TrainingSet
from personalbench.training.finetune import finetune, prepare, require_trainable
from personalbench.training.outcomes import PERPLEXITY
from personalbench.training.perplexity import Perplexity, reference_perplexity

ANSWERS = "answers.jsonl"


@dataclass(frozen=True)
class TrainedTwin:
    """What a training left.

    Attributes:
        adapter: The learnt weights.
        base: The model below.
        lines: The answers to every case.
        perplexity: Of the reference documents, before and after.
        warnings: Checks of the training set that say something, with ids.
    """

    adapter: Adapter
    base: ModelParams
    lines: list[AnswerLine]
    perplexity: Perplexity
    warnings: list[str]


def train_twin(
    bundle: Bundle,
    section: FinetunedParams,
    params: Params,
    folder: Path,
    tell: Callable[[str], None],
) -> TrainedTwin:
    """Train the generator on a bundle's profile and let it answer the cases.

    Args:
        bundle: The person's.
        section: How to train.
        params: The rest of params.yaml.
        folder: Where the twin will be written.
        tell: Takes lines about the progress.

    Raises:
        UserError: The folder holds something else, the generator can't be trained, the profile
            has too few documents, or the model that wrote the cases' topics is not in the
            registry.
    """
    if folder.exists() and not (folder / RECORD).is_file():
        raise UserError(f"{folder}: exists and is no trained twin; name another folder")
    params = _as_the_bundle(params, bundle)
    spec = params.models[section.generator or params.personalize.generator]
    require_trainable(spec, section)
    examples, warnings = _prepared(bundle, section, params)
    if folder.exists():
        there = load_adapter(folder, spec).record
        same = (there.training_set, there.seed) == (hash_of(examples), params.seed)
        if not same or decisive(there.params) != decisive(section):
            raise UserError(f"{folder}: holds a twin of another training; name another folder")
    adapter = finetune(spec, examples, section, params.seed, tell)
    answers, _ = written(params, "finetuned", section, [bundle], [adapter])
    perplexity = reference_perplexity(spec, adapter, bundle)
    return TrainedTwin(adapter, spec, answer_lines(answers), perplexity, warnings)


def training_data(
    bundle: Bundle, section: FinetunedParams, params: Params, folder: Path
) -> tuple[TrainingSet, list[str]]:
    """Write what a twin would be trained on, for somebody else's trainer.

    ``train.jsonl`` and ``valid.jsonl`` have one conversation a line, as mlx-lm, TRL and
    others read it.

    Args:
        bundle: The person's.
        section: How many documents; the generator's context bounds their length.
        params: The rest of params.yaml.
        folder: Where to write.

    Returns:
        What was written, and warnings of the checks.

    Raises:
        UserError: As :func:`train_twin`.
    """
    examples, warnings = _prepared(bundle, section, _as_the_bundle(params, bundle))
    for name, part in (("train", examples.trained), ("valid", examples.held_out)):
        write_records(folder / f"{name}.jsonl", map(_conversation, part))
    return examples, warnings


class Conversation(Model):
    """A document as the answer to its prompt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    messages: tuple[Message, ...]


def _conversation(example: Example) -> Conversation:
    answer = Message(role="assistant", content=example.text)
    return Conversation(messages=(*user(example.prompt), answer))


def _prepared(
    bundle: Bundle, section: FinetunedParams, params: Params
) -> tuple[TrainingSet, list[str]]:
    """The training set, checked, with what the checks warn of."""
    made = prepare("finetuned", [bundle], section, params)
    made.report.require_passed(Path(bundle.author))
    return made.sets[0], made.report.warnings()


def _as_the_bundle(params: Params, bundle: Bundle) -> Params:
    """Seed, genre and prompt model of the bundle, so that training and cases look alike."""
    made = bundle.manifest.prompt_model
    for name, spec in sorted(params.models.items()):
        if (spec.id, spec.revision) == (made.id, made.revision):
            topics = {"prompt_model": name, "genre": bundle.manifest.genre}
            return params.model_copy(
                update={
                    "seed": bundle.manifest.seed,
                    "bundle": params.bundle.model_copy(update=topics),
                }
            )
    raise UserError(
        f"models: no entry is {made.id} {made.revision[:12]}, which wrote the bundle's topics; "
        "add it, for the documents' topics must be made alike"
    )


def section_of(model: str, given: Mapping[str, float | str | None]) -> FinetunedParams:
    """The section of a twin: what is given, and the defaults.

    Raises:
        UserError: A value is out of its range.
    """
    values = {name: value for name, value in given.items() if value is not None}
    try:
        return FinetunedParams.model_validate({"method": "finetuned", "generator": model, **values})
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]).replace("_", "-")
        raise UserError(f"--{option}: {first['msg']} (found {first['input']!r})") from None


def write_twin(twin: TrainedTwin, folder: Path) -> None:
    """Write the adapter, for llama.cpp too if it can be, the answers, and the diagnostic.

    In the folder of the same training only the answers are new; what else lies there stays.
    """
    if folder.exists():
        with saving(folder):
            write_records(folder / ANSWERS, twin.lines)
        return
    with saving(folder), new_folder(folder) as made:
        copy_adapter(twin.adapter, made)
        if twin.base.kind == "embedded":
            shutil.copyfile(served(twin.adapter, twin.base).path, made / "adapter.gguf")
        write_json(made / PERPLEXITY, twin.perplexity.model_dump(mode="json"))
        write_records(made / ANSWERS, twin.lines)


def described(twin: TrainedTwin) -> dict[str, Any]:
    """A twin for programs."""
    return {
        "training": twin.adapter.record.model_dump(mode="json"),
        "perplexity": twin.perplexity.model_dump(mode="json"),
        "answers": len(twin.lines),
        "failed": {line.case_id: line.reason for line in twin.lines if line.reason is not None},
        "warnings": twin.warnings,
    }


def summary(twin: TrainedTwin) -> list[str]:
    """A twin in sentences."""
    record = twin.adapter.record
    first, best = record.curve[0], record.best_point
    notes = [flag.replace("_", " ") for flag in record.flags]
    if record.cut:
        notes.append(f"{record.cut} cut at {record.params.max_length} tokens")
    failed = [line for line in twin.lines if line.reason is not None]
    return [
        f"learnt from {len(record.trained)} documents" + (f" ({', '.join(notes)})" * bool(notes)),
        f"loss on {len(record.held_out)} held-out profile documents: {first.held_out:.3f} before, "
        f"{best.held_out:.3f} after step {best.step} of {record.steps}",
        f"perplexity of {twin.perplexity.documents} reference documents (a diagnostic): "
        f"{twin.perplexity.base:.1f} before, {twin.perplexity.trained:.1f} after",
        f"{len(twin.lines)} answers, {len(failed)} failed",
        *(f"failed: {line.case_id}: {line.reason}" for line in failed),
        *(f"warning: {warning}" for warning in twin.warnings),
    ]
