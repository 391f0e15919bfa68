"""A written style profile in place of samples."""

from collections.abc import Sequence

from personalbench.bundle import Bundle
from personalbench.corpus.document import Document
from personalbench.llm.types import Reply, Request, user
from personalbench.params import ProfileParams
from personalbench.seeds import derive
from personalbench.templates import prompt_template
from personalbench.twins.prompts import NOTHING_FITS, Generator, Prompt, fit, numbered, room, sample


def prompts(bundles: Sequence[Bundle], params: ProfileParams, generator: Generator) -> list[Prompt]:
    """Extract each author's profile once, then ask with the profile and no sample."""
    extract = prompt_template(generator.templates, "twins/profile_extract")
    write = prompt_template(generator.templates, "twins/profile_write")
    shown: list[tuple[Bundle, list[Document], list[str]]] = []
    for bundle in bundles:
        available = len(bundle.profile) - bundle.manifest.group_size
        drawn, flags = sample(
            bundle, min(params.posts, max(available, 1)), generator.seed, "profile"
        )
        documents, cut = fit(drawn, room(generator.context, params.profile_tokens, extract))
        shown.append((bundle, documents, [*flags, *cut]))
    requests = [
        Request(
            messages=user(extract.render(samples=numbered(documents, "Text"))),
            temperature=generator.temperature,
            max_tokens=params.profile_tokens,
            seed=derive(generator.seed, bundle.author, "profile"),
        )
        for bundle, documents, _ in shown
        if documents
    ]
    replies = iter(generator.ask(requests, "style profiles"))
    made: list[Prompt] = []
    for bundle, documents, flags in shown:
        text, failure = _profile(next(replies)) if documents else ("", NOTHING_FITS)
        made += [
            Prompt(
                bundle.author,
                case.id,
                user(write.render(profile=text, prompt=case.prompt)) if not failure else (),
                seen=tuple(document.id for document in documents),
                flags=tuple(flags),
                failure=failure,
            )
            for case in bundle.cases
        ]
    return made


def _profile(reply: Reply) -> tuple[str, str | None]:
    """The profile, or why there is none; one that ran out of tokens is shorter, not wrong."""
    if reply.status in ("ok", "truncated") and reply.text:
        return reply.text, None
    return "", f"no style profile: {reply.status}: {reply.reason}"
