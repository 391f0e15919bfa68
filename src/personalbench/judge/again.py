"""Asking the judge again: what it says twice, and what it says the other way round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from personalbench.bundle import Bundle
from personalbench.corpus.document import Document
from personalbench.judge import same_author, traits
from personalbench.judge.judge import judge
from personalbench.judge.records import AuthorTraits, Judgement
from personalbench.llm.client import Model
from personalbench.params import JudgeParams, TrustParams
from personalbench.seeds import draw
from personalbench.templates import SHIPPED
from personalbench.twins.answers import Answer


@dataclass(frozen=True)
class Again:
    """What the judge said when it was asked again.

    Attributes:
        extractions: Trait questions of some authors, anew each time.
        first: What the judge had said about a sample of real texts.
        second: What it said when asked the same again.
        swapped: What it said with the two texts of call 2b in the other order.
    """

    extractions: tuple[tuple[AuthorTraits, ...], ...]
    first: tuple[Judgement, ...]
    second: tuple[Judgement, ...]
    swapped: tuple[Judgement, ...]


def ask_again(
    bundles: Sequence[Bundle],
    real: Mapping[str, Sequence[Answer]],
    judgements: Mapping[str, Sequence[Judgement]],
    author_traits: Mapping[str, AuthorTraits],
    references: Mapping[tuple[str, str], Document],
    params: JudgeParams,
    effort: TrustParams,
    seed: int,
    model: Model,
    templates: Path = SHIPPED,
) -> Again:
    """Repeat a sample of the judge's calls on real text.

    Args:
        bundles: All authors.
        real: The texts of ``ceiling`` and ``floor`` that were judged.
        judgements: What was said about them, by line.
        author_traits: The questions in use, by author.
        references: The cases' documents by author and case id.
        params: The ``judge`` section.
        effort: The ``trust`` section: how much is asked.
        seed: The run's seed.
        model: The judge's model.
        templates: Folder of the prompt templates.
    """
    texts, first = _sample(real, judgements, effort.texts, seed)
    second = judge(texts, author_traits, references, params, seed, model, templates, repeat=1)
    turned = same_author.compare(texts, references, params, seed, model, templates, swapped=True)
    swapped = [
        judgement.model_copy(
            update={
                "same_author": verdict.record.same_author if verdict.record else None,
                "same_author_reason": verdict.reason,
                "reference_first": not judgement.reference_first,
            }
        )
        for judgement, verdict in zip(first, turned, strict=True)
    ]
    by_author = {bundle.author: bundle for bundle in bundles}
    chosen = [
        by_author[author] for author in sorted(draw(by_author, effort.authors, seed, "stability"))
    ]
    warm = params.model_copy(update={"temperature": effort.temperature})
    extractions = [
        tuple(traits.extract(chosen, warm, seed, model, templates, repeat))
        for repeat in range(1, effort.extractions + 1)
    ]
    return Again(tuple(extractions), tuple(first), tuple(second), tuple(swapped))


def _sample(
    real: Mapping[str, Sequence[Answer]],
    judgements: Mapping[str, Sequence[Judgement]],
    count: int,
    seed: int,
) -> tuple[list[Answer], list[Judgement]]:
    """Texts and what was said about them, half from each line; sorted by author."""
    texts: list[tuple[Answer, Judgement]] = []
    for line, answers in real.items():
        said = {_key(judgement): judgement for judgement in judgements[line]}
        by_key = {"\x1f".join(_key(answer)): answer for answer in answers}
        for name in draw(by_key, max(1, count // 2), seed, "again", line):
            texts.append((by_key[name], said[_key(by_key[name])]))
    texts.sort(key=lambda pair: _key(pair[0]))
    return [answer for answer, _ in texts], [judgement for _, judgement in texts]


def _key(record: Answer | Judgement) -> tuple[str, str, str]:
    return record.author, record.case_id, record.source
