"""The topic only, to a generator that was trained on the author's documents."""

from collections.abc import Sequence

from personalbench.bundle import Bundle
from personalbench.llm.types import user
from personalbench.params import FinetunedParams
from personalbench.twins.prompts import Generator, Prompt


def prompts(
    bundles: Sequence[Bundle], params: FinetunedParams, generator: Generator
) -> list[Prompt]:
    """The cases' own prompts; every document that was learnt from may be copied from.

    Args:
        bundles: One, that of the author for whom the generator was trained.
        params: The twin's section of params.yaml.
        generator: With its training.
    """
    (bundle,) = bundles
    training = generator.training
    assert training is not None and training.author == bundle.author
    return [
        Prompt(
            bundle.author, case.id, user(case.prompt), seen=training.trained, flags=training.flags
        )
        for case in bundle.cases
    ]
