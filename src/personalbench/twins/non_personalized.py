"""The baseline: the generator sees the topic only."""

from collections.abc import Sequence

from personalbench.bundle import Bundle
from personalbench.llm.types import user
from personalbench.params import NonPersonalizedParams
from personalbench.twins.prompts import Generator, Prompt


def prompts(
    bundles: Sequence[Bundle], params: NonPersonalizedParams, generator: Generator
) -> list[Prompt]:
    """The cases' own prompts, as they are."""
    return [
        Prompt(bundle.author, case.id, user(case.prompt))
        for bundle in bundles
        for case in bundle.cases
    ]
