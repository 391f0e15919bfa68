"""Scores of one line of answers: a twin's, the ceiling's or the floor's."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from personalbench.bundle import Bundle, reference_documents
from personalbench.encoders.base import Encoder
from personalbench.groups import complete_groups
from personalbench.judge.records import Judgement
from personalbench.metrics.copying import LIMITS, CopyingLimits, copying
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.rouge import rouge_l
from personalbench.metrics.similarity import one_v_five
from personalbench.metrics.statistics import (
    Floats,
    bootstrap_likeness,
    bootstrap_mean,
    bootstrap_share,
    episode_likeness,
    with_width,
)
from personalbench.metrics.stylometry import Style, compare, style_of
from personalbench.twins.answers import Answer

_JUDGED = ("tmr", "same_author")
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
    """All metrics of one answer; ``copied`` where it repeats what its twin saw."""

    author: str
    case_id: str
    source: str
    words: int
    tokens: int | None
    metrics: dict[str, Estimate]
    copied: bool = False


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
        copied: How many answers are flagged as copied; where there are any, the summary
            has the likeness without them (``…_uncopied``) beside the likeness.
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
    copied: int = 0
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
    limits: CopyingLimits = LIMITS,
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
        limits: From where on an answer is flagged as copied.
    """
    usable = [answer for answer in answers if answer.status == "ok"]
    texts = [answer.text for answer in usable]
    tokens = encoder.token_counts(texts)
    vectors = encoder.document_vectors(texts)
    profiles = {
        bundle.author: encoder.document_vectors([document.text for document in bundle.selected])
        for bundle in bundles
    }
    groups, leftover = complete_groups(usable, bundles)
    tables = {
        author: episode_likeness(encoder, profiles[author], vectors[np.array(members)])
        for author, members in groups.items()
    }
    singles = [
        float(one_v_five(encoder, profiles[answer.author], vector[None])[0])
        for answer, vector in zip(usable, vectors, strict=True)
    ]
    cases = _cases(usable, bundles, judgements, tokens.tolist(), singles, encoder.family, limits)
    size = bundles[0].manifest.group_size
    summary = {
        encoder.family: _likeness(tables, size, replicates, seed),
        **_means(cases, replicates, seed),
    }
    if any(case.copied for case in cases):
        kept = {
            author: tables[author][
                [not any(cases[member].copied for member in members) for members in rows]
            ]
            for author, rows in groups.items()
        }
        own = [case for case in cases if not case.copied]
        single = f"{encoder.family}_1v5"
        summary[f"{encoder.family}_uncopied"] = _likeness(kept, size, replicates, seed)
        summary[f"{single}_uncopied"] = (
            _means(own, replicates, seed)[single] if own else missing("every answer is copied")
        )
    texts_judged = {(answer.author, answer.case_id, answer.source) for answer in usable}
    asked = [
        verdict
        for judgement in judgements
        if (judgement.author, judgement.case_id, judgement.source) in texts_judged
        for verdict in _verdicts(judgement)
    ]
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
        copied=sum(case.copied for case in cases),
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
            for members, value in zip(rows, tables[author][:, 0], strict=True)
        ),
        cases=tuple(cases),
    )


def _likeness(
    tables: Mapping[str, Floats], group_size: int, replicates: int, seed: int
) -> Estimate:
    """Mean likeness over the groups of all authors that have one."""
    complete = {author: table for author, table in tables.items() if len(table)}
    if not complete:
        return missing("no author has a complete group of answers")
    return bootstrap_likeness(complete, group_size, replicates, seed)


def _cases(
    answers: Sequence[Answer],
    bundles: Sequence[Bundle],
    judgements: Sequence[Judgement],
    tokens: Sequence[int],
    singles: Sequence[float],
    family: str,
    limits: CopyingLimits,
) -> list[AnswerScores]:
    by_author = {bundle.author: bundle for bundle in bundles}
    styles: dict[str, Style] = {
        bundle.author: style_of([document.text for document in bundle.profile])
        for bundle in bundles
    }
    references = reference_documents(bundles)
    judged = {
        (judgement.author, judgement.case_id, judgement.source): judgement
        for judgement in judgements
    }
    scored = []
    for answer, length, single in zip(answers, tokens, singles, strict=True):
        style = style_of([answer.text])
        metrics = {
            f"{family}_1v5": Estimate(value=single),
            **compare(style, styles[answer.author]),
            "rouge_l": rouge_l(answer.text, references[answer.author, answer.case_id].text),
        }
        flagged = False
        if answer.seen:
            profile = {document.id: document.text for document in by_author[answer.author].profile}
            copied = copying(answer.text, [profile[name] for name in answer.seen])
            flagged = limits.reached(copied)
            metrics["copied_run"] = Estimate(value=copied.longest_run_words)
            metrics["copied_share"] = (
                Estimate(value=copied.ngram_share)
                if copied.ngram_share is not None
                else missing("fewer than five words")
            )
        judgement = judged.get((answer.author, answer.case_id, answer.source))
        if judgement is not None:
            metrics |= _judge_metrics(judgement, answer.text)
        scored.append(
            AnswerScores(
                author=answer.author,
                case_id=answer.case_id,
                source=answer.source,
                words=style.words,
                tokens=length,
                metrics=metrics,
                copied=flagged,
            )
        )
    return scored


def _judge_metrics(judgement: Judgement, text: str) -> dict[str, Estimate]:
    match = judgement.trait_match
    quoted = judgement.evidence_quoted(text)
    return {
        "evidence_quoted": Estimate(value=quoted)
        if quoted is not None
        else missing("no evidence was quoted"),
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


def _means(cases: Sequence[AnswerScores], replicates: int, seed: int) -> dict[str, Estimate]:
    """Mean of every metric over all answers, with the hierarchical bootstrap's interval."""
    names = dict.fromkeys(name for case in cases for name in case.metrics)
    means = {}
    for name in names:
        measured = [(case.author, case.metrics[name]) for case in cases if name in case.metrics]
        values: dict[str, list[float | None]] = defaultdict(list)
        for author, estimate in measured:
            values[author].append(estimate.value)
        mean = (
            bootstrap_share(
                {
                    author: [None if value is None else bool(value) for value in verdicts]
                    for author, verdicts in values.items()
                },
                replicates,
                seed,
            )
            if name == "same_author"
            else bootstrap_mean(values, replicates, seed)
        )
        means[name] = _noting_gaps(with_width(mean), [estimate for _, estimate in measured])
        if name in _JUDGED:
            means[name] = _noting_bounds(means[name], len(measured))
    return means


def _noting_bounds(mean: Estimate, planned: int) -> Estimate:
    """Say between which values the mean lies, whatever the judge's failed calls would have said."""
    if mean.value is None or mean.n == planned:
        return mean
    low = mean.value * mean.n / planned
    high = low + (planned - mean.n) / planned
    bounds = f"with the missing ones it lies between {low:.3f} and {high:.3f}"
    return mean.model_copy(update={"note": "; ".join(filter(None, [mean.note, bounds]))})


def _noting_gaps(mean: Estimate, estimates: Sequence[Estimate]) -> Estimate:
    """Say how many values a mean could not be taken over, and why."""
    absent = [estimate.reason for estimate in estimates if estimate.value is None]
    if not absent:
        return mean
    note = f"{len(absent)} of {len(estimates)} not measured, for example: {absent[0]}"
    if mean.value is None:
        return missing(note)
    return mean.model_copy(update={"note": "; ".join(filter(None, [mean.note, note]))})
