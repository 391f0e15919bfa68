"""Profile documents as examples of the style, then the topic."""

from collections.abc import Sequence

from personalbench.bundle import Bundle
from personalbench.llm.types import user
from personalbench.params import FewShotParams
from personalbench.templates import load_template
from personalbench.twins.prompts import TEMPLATES, Generator, Prompt, fit, numbered, sample


def prompts(bundles: Sequence[Bundle], params: FewShotParams, generator: Generator) -> list[Prompt]:
    """The same samples for all cases of an author: they come first and are shared."""
    template = load_template(TEMPLATES / "few_shot.txt", {"samples", "prompt"})
    made: list[Prompt] = []
    for bundle in bundles:
        drawn, flags = sample(bundle, params.samples, generator.seed, "few_shot")
        room = generator.context - generator.max_tokens - 300
        seen, cut = fit(drawn, room)
        samples = numbered(seen, "Sample")
        made += [
            Prompt(
                bundle.author,
                case.id,
                user(template.render(samples=samples, prompt=case.prompt)),
                seen=tuple(document.id for document in seen),
                flags=(*flags, *cut),
            )
            for case in bundle.cases
        ]
    return made
