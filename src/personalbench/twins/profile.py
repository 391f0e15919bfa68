"""A written style profile in place of samples."""

from collections.abc import Sequence

from personalbench.bundle import Bundle
from personalbench.llm.types import Request, user
from personalbench.params import ProfileParams
from personalbench.seeds import derive
from personalbench.templates import load_template
from personalbench.twins.prompts import TEMPLATES, Generator, Prompt, fit, numbered, sample


def prompts(bundles: Sequence[Bundle], params: ProfileParams, generator: Generator) -> list[Prompt]:
    """Extract each author's profile once, then ask with the profile and no sample."""
    extract = load_template(TEMPLATES / "profile_extract.txt", {"samples"})
    write = load_template(TEMPLATES / "profile_write.txt", {"profile", "prompt"})
    requests: list[Request] = []
    seen: list[tuple[str, ...]] = []
    flags: list[tuple[str, ...]] = []
    for bundle in bundles:
        available = len(bundle.profile) - bundle.manifest.group_size
        drawn, notes = sample(
            bundle, min(params.posts, max(available, 1)), generator.seed, "profile"
        )
        documents, cut = fit(drawn, generator.context - params.profile_tokens - 300)
        seen.append(tuple(document.id for document in documents))
        flags.append((*notes, *cut))
        requests.append(
            Request(
                messages=user(extract.render(samples=numbered(documents, "Text"))),
                temperature=generator.temperature,
                max_tokens=params.profile_tokens,
                seed=derive(generator.seed, bundle.author, "profile"),
            )
        )
    made: list[Prompt] = []
    for bundle, reply, ids, notes_ in zip(
        bundles, generator.ask(requests, "style profiles"), seen, flags, strict=True
    ):
        # A profile that ran out of tokens is shorter, not wrong.
        usable = reply.status in ("ok", "truncated") and reply.text != ""
        made += [
            Prompt(
                bundle.author,
                case.id,
                user(write.render(profile=reply.text, prompt=case.prompt)) if usable else (),
                seen=ids,
                flags=notes_,
                failure=None if usable else f"no style profile: {reply.status}: {reply.reason}",
            )
            for case in bundle.cases
        ]
    return made
