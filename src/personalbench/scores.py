"""Scores of one line of answers: a twin's, the ceiling's or the floor's."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from personalbench.bundle import Bundle
from personalbench.encoders.base import Encoder, Vectors
from personalbench.judge.records import Judgement
from personalbench.metrics.copying import copying
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.rouge import rouge_l
from personalbench.metrics.similarity import likeness
from personalbench.metrics.statistics import bootstrap_likeness, bootstrap_mean
from personalbench.metrics.stylometry import Style, compare, style_of
from personalbench.twins.answers import Answer

UNRELIABLE_BELOW = 50
"""Tokens under which an authorship vector says little (protocol)."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EncoderIdentity(_Record):
    """Which encoder made the numbers; numbers of two encoders are never compared."""

    family: str
    name: str
    revision: str
    max_length: int


class AnswerScores(_Record):
    """All metrics of one answer."""

    author: str
    case_id: str
    source: str
    words: int
    tokens: int | None
    metrics: dict[str, Estimate]


class GroupScores(_Record):
    """One 5v5 comparison: a complete group of answers against the author's vector."""

    author: str
    source: str
    case_ids: tuple[str, ...]
    likeness: float


class Scores(_Record):
    """Everything measured about one line.

    Attributes:
        line: The twin's name, ``ceiling`` or ``floor``.
        encoder: What made the authorship vectors.
        answers: How many there are.
        failed: How many of them have no text to score.
        judge_failures: Share of the judge's calls that gave no usable answer.
        truncated: How many texts are longer than the encoder reads.
        unreliable: How many texts have fewer than 50 tokens.
        leftover: Case ids that make no complete group, by author.
        summary: Every metric over all authors, with its interval.
        groups: The 5v5 comparisons.
        cases: One entry an answer.
    """

    line: str
    encoder: EncoderIdentity
    answers: int
    failed: int
    judge_failures: Estimate
    truncated: int
    unreliable: int
    leftover: dict[str, tuple[str, ...]]
    summary: dict[str, Estimate]
    groups: tuple[GroupScores, ...]
    cases: tuple[AnswerScores, ...]


def score(
    line: str,
    bundles: Sequence[Bundle],
    answers: Sequence[Answer],
    judgements: Sequence[Judgement],
    encoder: Encoder,
    replicates: int,
    seed: int,
) -> Scores:
    """Measure every answer, every group, and the whole line.

    Args:
        line: The line's name.
        bundles: All authors.
        answers: The line's answers; several sources an author for the floor.
        judgements: The judge's word on answers; on one a case for the floor.
        encoder: Makes the authorship vectors.
        replicates: Of the bootstrap.
        seed: Of the bootstrap; the same for all lines, so that they resample alike.
    """
    usable = [answer for answer in answers if answer.status == "ok"]
    texts = [answer.text for answer in usable]
    tokens = encoder.token_counts(texts)
    vectors = encoder.document_vectors(texts)
    profiles = {
        bundle.author: encoder.document_vectors([document.text for document in bundle.selected])
        for bundle in bundles
    }
    groups, leftover = _groups(usable, bundles)
    likenesses = {
        author: likeness(encoder, profiles[author], vectors[np.array(members)])
        for author, members in groups.items()
    }
    one_v_five = [
        float(likeness(encoder, profiles[answer.author], vector[None, None, :])[0])
        for answer, vector in zip(usable, vectors, strict=True)
    ]
    cases = _cases(usable, bundles, judgements, tokens.tolist(), one_v_five, encoder.family)
    summary = {
        encoder.family: _likeness_estimate(encoder, profiles, vectors, groups, replicates, seed),
        **_means(cases, bundles, replicates, seed),
    }
    asked = [verdict for judgement in judgements for verdict in _verdicts(judgement)]
    return Scores(
        line=line,
        encoder=EncoderIdentity(
            family=encoder.family,
            name=encoder.name,
            revision=encoder.revision,
            max_length=encoder.max_length,
        ),
        answers=len(answers),
        failed=len(answers) - len(usable),
        judge_failures=Estimate(value=1 - sum(asked) / len(asked), n=len(asked))
        if asked
        else missing("the judge was not asked"),
        truncated=int((tokens > encoder.max_length).sum()),
        unreliable=int((tokens < UNRELIABLE_BELOW).sum()),
        leftover=leftover,
        summary=summary,
        groups=tuple(
            GroupScores(
                author=author,
                source=usable[members[0]].source,
                case_ids=tuple(usable[member].case_id for member in members),
                likeness=float(value),
            )
            for author, rows in groups.items()
            for members, value in zip(rows, likenesses[author], strict=True)
        ),
        cases=tuple(cases),
    )


def _groups(
    answers: Sequence[Answer], bundles: Sequence[Bundle]
) -> tuple[dict[str, list[list[int]]], dict[str, tuple[str, ...]]]:
    """Positions of the answers of each complete group, and the cases left over.

    A group has answers of one source to ``group_size`` cases that follow each other. A
    failed answer leaves its group incomplete: the group is out, not filled up.
    """
    position = {
        (answer.author, answer.source, answer.case_id): number
        for number, answer in enumerate(answers)
    }
    groups: dict[str, list[list[int]]] = {}
    leftover: dict[str, tuple[str, ...]] = {}
    for bundle in bundles:
        size = bundle.manifest.group_size
        case_ids = [case.id for case in bundle.cases]
        sources = dict.fromkeys(
            answer.source for answer in answers if answer.author == bundle.author
        )
        blocks = [
            case_ids[start : start + size] for start in range(0, len(case_ids) - size + 1, size)
        ]
        complete = [
            [position[bundle.author, source, case_id] for case_id in block]
            for source in sources
            for block in blocks
            if all((bundle.author, source, case_id) in position for case_id in block)
        ]
        if complete:
            groups[bundle.author] = complete
        grouped = {answers[number].case_id for rows in complete for number in rows}
        if rest := tuple(case_id for case_id in case_ids if case_id not in grouped):
            leftover[bundle.author] = rest
    return groups, leftover


def _likeness_estimate(
    encoder: Encoder,
    profiles: Mapping[str, Vectors],
    vectors: Vectors,
    groups: Mapping[str, list[list[int]]],
    replicates: int,
    seed: int,
) -> Estimate:
    if not groups:
        return missing("no author has a complete group of answers")
    return bootstrap_likeness(
        encoder,
        {author: profiles[author] for author in groups},
        {author: vectors[np.array(members)] for author, members in groups.items()},
        replicates,
        seed,
    )


def _cases(
    answers: Sequence[Answer],
    bundles: Sequence[Bundle],
    judgements: Sequence[Judgement],
    tokens: Sequence[int],
    one_v_five: Sequence[float],
    family: str,
) -> list[AnswerScores]:
    by_author = {bundle.author: bundle for bundle in bundles}
    styles: dict[str, Style] = {
        bundle.author: style_of([document.text for document in bundle.profile])
        for bundle in bundles
    }
    references = {
        (bundle.author, case.id): document.text
        for bundle in bundles
        for case, document in zip(bundle.cases, bundle.references, strict=True)
    }
    judged = {
        (judgement.author, judgement.case_id, judgement.source): judgement
        for judgement in judgements
    }
    scored = []
    for answer, length, single in zip(answers, tokens, one_v_five, strict=True):
        style = style_of([answer.text])
        metrics = {
            f"{family}_1v5": Estimate(value=single),
            **compare(style, styles[answer.author]),
            "rouge_l": rouge_l(answer.text, references[answer.author, answer.case_id]),
        }
        if answer.seen:
            profile = {document.id: document.text for document in by_author[answer.author].profile}
            copied = copying(answer.text, [profile[name] for name in answer.seen])
            metrics["copied_run"] = Estimate(value=copied.longest_run_words)
        judgement = judged.get((answer.author, answer.case_id, answer.source))
        if judgement is not None:
            metrics |= _judge_metrics(judgement)
        scored.append(
            AnswerScores(
                author=answer.author,
                case_id=answer.case_id,
                source=answer.source,
                words=style.words,
                tokens=length,
                metrics=metrics,
            )
        )
    return scored


def _judge_metrics(judgement: Judgement) -> dict[str, Estimate]:
    match = judgement.trait_match
    return {
        "tmr": Estimate(value=match)
        if match is not None
        else missing(judgement.findings_reason or "no findings"),
        "same_author": Estimate(value=float(judgement.same_author))
        if judgement.same_author is not None
        else missing(judgement.same_author_reason or "no verdict"),
    }


def _verdicts(judgement: Judgement) -> list[bool]:
    """For each call on this answer: did the judge give a usable answer?"""
    return [judgement.findings is not None, judgement.same_author is not None]


def _means(
    cases: Sequence[AnswerScores], bundles: Sequence[Bundle], replicates: int, seed: int
) -> dict[str, Estimate]:
    """Mean of every metric over authors, with the hierarchical bootstrap's interval."""
    names = dict.fromkeys(name for case in cases for name in case.metrics)
    means = {}
    for name in names:
        values: dict[str, list[float]] = defaultdict(list)
        absent = 0
        for case in cases:
            estimate = case.metrics.get(name)
            if estimate is None:
                continue
            if estimate.value is None:
                absent += 1
            else:
                values[case.author].append(estimate.value)
        if not values:
            reasons = {case.metrics[name].reason for case in cases if name in case.metrics}
            means[name] = missing("; ".join(sorted(filter(None, reasons)))[:300], n=0)
            continue
        mean = bootstrap_mean(values, replicates, seed)
        if absent:
            note = f"{absent} of {absent + mean.n} could not be measured"
            mean = mean.model_copy(
                update={"note": note if mean.note is None else f"{mean.note}; {note}"}
            )
        means[name] = mean
    return means
