"""Profile documents as examples of the style, then the topic."""

from collections.abc import Sequence

from personalbench.bundle import Bundle
from personalbench.llm.types import user
from personalbench.params import FewShotParams
from personalbench.templates import prompt_template
from personalbench.twins.prompts import NOTHING_FITS, Generator, Prompt, fit, numbered, room, sample


def prompts(bundles: Sequence[Bundle], params: FewShotParams, generator: Generator) -> list[Prompt]:
    """The same samples for all cases of an author: they come first and are shared."""
    template = prompt_template(generator.templates, "twins/few_shot")
    made: list[Prompt] = []
    for bundle in bundles:
        drawn, flags = sample(bundle, params.samples, generator.seed, "few_shot")
        longest = max((case.prompt for case in bundle.cases), key=len)
        seen, cut = fit(drawn, room(generator.context, generator.max_tokens, template, longest))
        samples = numbered(seen, "Sample")
        made += [
            Prompt(
                bundle.author,
                case.id,
                user(template.render(samples=samples, prompt=case.prompt)),
                seen=tuple(document.id for document in seen),
                flags=(*flags, *cut),
                failure=None if seen else NOTHING_FITS,
            )
            for case in bundle.cases
        ]
    return made
