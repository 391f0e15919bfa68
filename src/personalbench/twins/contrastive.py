"""The author's documents beside those of other authors, with measured features of both."""

from collections.abc import Sequence

from personalbench.bundle import Bundle
from personalbench.corpus.document import Document
from personalbench.llm.types import user
from personalbench.metrics.stylometry import style_of
from personalbench.params import ContrastiveParams
from personalbench.seeds import draw
from personalbench.templates import prompt_template
from personalbench.twins.prompts import NOTHING_FITS, Generator, Prompt, fit, numbered, room, sample

_FEATURES = 200  # characters, of either side's measured features


def prompts(
    bundles: Sequence[Bundle], params: ContrastiveParams, generator: Generator
) -> list[Prompt]:
    """Samples of the author, samples of others to keep away from, measured features."""
    template = prompt_template(generator.templates, "twins/contrastive")
    made: list[Prompt] = []
    for bundle in bundles:
        drawn, flags = sample(bundle, params.samples, generator.seed, "contrastive")
        avoided = _others(bundle, params.authors, generator.seed)
        longest = max((case.prompt for case in bundle.cases), key=len)
        space = room(generator.context, generator.max_tokens, template, longest) // 2 - _FEATURES
        own, own_cut = fit(drawn, space)
        others, others_cut = fit(avoided, space)
        failure = None
        if not avoided:
            failure = "no other author to contrast with"
        elif not own or not others:
            failure = NOTHING_FITS
        elif len(avoided) < params.authors:
            flags.append("fewer_authors")
        shared = {
            "samples": numbered(own, "Sample"),
            "others": numbered(others, "Other"),
            "features": _features(own),
            "other_features": _features(others),
        }
        made += [
            Prompt(
                bundle.author,
                case.id,
                user(template.render(**shared, prompt=case.prompt)),
                seen=tuple(document.id for document in own),
                flags=tuple(dict.fromkeys([*flags, *own_cut, *others_cut])),
                failure=failure,
            )
            for case in bundle.cases
        ]
    return made


def _others(bundle: Bundle, count: int, seed: int) -> list[Document]:
    by_author = {document.author: document for document in bundle.contrast}
    return [by_author[name] for name in draw(by_author, count, seed, bundle.author, "contrast")]


def _features(documents: Sequence[Document]) -> str:
    """Measured features in words, by the same code that scores the answers."""
    style = style_of([document.text for document in documents])
    features = []
    if style.mean_sentence_length is not None:
        features.append(f"{style.mean_sentence_length:.0f} words a sentence")
    if style.mattr is not None:
        features.append(f"{style.mattr:.0%} different words in any 50")
    if style.top_function_words:
        features.append(f"most frequent small words: {', '.join(style.top_function_words[:5])}")
    return "; ".join(features) or "nothing"
