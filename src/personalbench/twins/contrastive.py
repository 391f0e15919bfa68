"""The author's documents beside those of other authors, with measured features of both."""

from collections.abc import Sequence

from personalbench.bundle import Bundle
from personalbench.corpus.document import Document
from personalbench.llm.types import user
from personalbench.metrics.stylometry import style_of
from personalbench.params import ContrastiveParams
from personalbench.seeds import draw
from personalbench.templates import load_template
from personalbench.twins.prompts import TEMPLATES, Generator, Prompt, fit, numbered, sample


def prompts(
    bundles: Sequence[Bundle], params: ContrastiveParams, generator: Generator
) -> list[Prompt]:
    """Samples of the author, samples of others to keep away from, measured features."""
    template = load_template(
        TEMPLATES / "contrastive.txt",
        {"samples", "others", "features", "other_features", "prompt"},
    )
    made: list[Prompt] = []
    for bundle in bundles:
        drawn, flags = sample(bundle, params.samples, generator.seed, "contrastive")
        room = (generator.context - generator.max_tokens - 500) // 2
        own, own_cut = fit(drawn, room)
        others, others_cut = fit(_others(bundle, params.authors, generator.seed), room)
        if not others:
            made += [
                Prompt(bundle.author, case.id, (), failure="no other author to contrast with")
                for case in bundle.cases
            ]
            continue
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
