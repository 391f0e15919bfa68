"""What every stage that asks a model does when it has its answers."""

from collections.abc import Sequence

from personalbench import paths
from personalbench.llm.client import Model
from personalbench.llm.usage import Usage, require_answers, summarise
from personalbench.storage import write_records

_SEEDS = {
    "not sent": "{} gets no seed: only the cache repeats its answers",
    "ignored": "{} ignores the seed: only the cache repeats its answers",
}


def hold_to_limit(
    stage: str,
    item: str | None,
    model: Model,
    results: Sequence[str | None],
    limit: float,
    section: str,
) -> None:
    """Stop the stage if too many of its questions have no usable answer.

    Args:
        stage: The stage.
        item: Its item, None if it has none.
        model: The model that was asked.
        results: For every question None, or why it has no usable answer.
        limit: Largest share of failures that is let pass.
        section: Section of params.yaml that sets it.

    Raises:
        UserError: The share is larger.
    """
    name = model.spec.name
    require_answers(
        stage if item is None else f"{stage}: {item}",
        results,
        limit,
        f"see to {name} (personalbench models check {name}) and run again, "
        f"or raise {section}.max_failure_rate",
    )


def write_usage(
    stage: str,
    item: str | None,
    model: Model | None,
    results: Sequence[str | None],
    before: Sequence[Usage] = (),
) -> str:
    """Write down what the stage's calls took; nothing where no model was asked.

    Args:
        stage: The stage.
        item: Its item, None if it has none.
        model: The model that was asked.
        results: For every question None, or why it has no usable answer.
        before: What calls to other models in the same stage took.

    Returns:
        What the stage's line should add: how the model deals with seeds.
    """
    used = [*before]
    if model is not None:
        used.append(summarise(stage, item, model.spec, model.replies, results))
    folder = paths.USAGE / stage if item is not None else paths.USAGE
    write_records(folder / f"{item or stage}.jsonl", used)
    return "".join(
        f"; {_SEEDS[each.seeds].format(each.model)}" for each in used if each.seeds != "sent"
    )
