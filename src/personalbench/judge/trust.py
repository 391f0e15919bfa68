"""How far the judge can be trusted, measured on its own calls."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from statistics import fmean

from pydantic import BaseModel, ConfigDict

from personalbench.judge.again import Again
from personalbench.judge.records import QUESTIONS, AuthorTraits, Judgement
from personalbench.metrics.agreement import (
    Agreement,
    Labels,
    SoftOverlap,
    agreement,
    jaccard,
    overlap_between,
    overlap_within,
)
from personalbench.metrics.comparison import compare
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.statistics import bootstrap_mean, bootstrap_share, with_width
from personalbench.metrics.verification import auc
from personalbench.params import REFERENCE_LINES, ModelParams

NO_FLOOR = "the corpus has nobody else's writing"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Separation(_Record):
    """One lens of the judge on real text: the authors' own against that of others.

    Attributes:
        metric: ``tmr`` or ``same_author``.
        ceiling: Mean over the authors' own documents.
        floor: Mean over other authors' documents.
        difference: Ceiling less floor, case by case, with an interval that resamples
            authors.
        separates: Whether that interval lies above zero; None where there is none.
    """

    metric: str
    ceiling: Estimate
    floor: Estimate
    difference: Estimate
    separates: bool | None


class Stability(_Record):
    """How alike the trait questions of repeated extractions are.

    Attributes:
        exact: Mean Jaccard index of an author's questions as normalised texts, over pairs
            of extractions.
        soft: The same with each question's best match in TF-IDF cosine.
        soft_others: The soft measure between extractions for different authors: what the
            questions have in common whoever they are about.
        failed: Extractions that gave no questions.
        asked: All extractions.
    """

    exact: Estimate
    soft: Estimate
    soft_others: Estimate
    failed: int
    asked: int


class Circularity(_Record):
    """A twin that shows more of the author's traits than the author does."""

    twin: str
    tmr: float
    ceiling: float


class SelfPreference(_Record):
    """A twin whose texts are by the judge's own model, or by one of its family."""

    twin: str
    generator: str
    same_model: bool


class Trust(_Record):
    """What trying the judge showed; what could not be tried is missing with a reason.

    Attributes:
        judge: The judge's name in the registry.
        separations: TMR, then SA.
        stability: Of the trait questions.
        repeat_traits: Call 2a asked twice, question by question.
        repeat_verdicts: Call 2b asked twice.
        order: Call 2b with the two texts in either order.
        yes_rate: Share of yes among all verdicts of call 2b.
        yes_rate_floor: The same among pairs of different authors, where each yes is wrong.
        trait_yes_rate: Share of traits found present, over all texts.
        failures: Share of calls without a usable answer, by call: ``questions``,
            ``findings``, ``verdicts``.
        verdict_auc: AUC of the verdict's probability, the authors' own documents against
            those of others.
        off_style: Trait questions that ask about content or markup, by their words.
        circular: Twins whose TMR exceeds the ceiling's.
        self_preference: Twins that the judge may prefer as its own writing.
    """

    judge: str
    separations: tuple[Separation, ...]
    stability: Stability
    repeat_traits: Agreement
    repeat_verdicts: Agreement
    order: Agreement
    yes_rate: Estimate
    yes_rate_floor: Estimate
    trait_yes_rate: Estimate
    failures: dict[str, Estimate]
    verdict_auc: Estimate
    off_style: tuple[str, ...]
    circular: tuple[Circularity, ...]
    self_preference: tuple[SelfPreference, ...]


def trust(
    name: str,
    judgements: Mapping[str, Sequence[Judgement]],
    author_traits: Sequence[AuthorTraits],
    again: Again,
    writers: Mapping[str, tuple[str, ModelParams]],
    judge: ModelParams,
    replicates: int,
    seed: int,
) -> Trust:
    """Measure the judge.

    Args:
        name: The judge's name in the registry.
        judgements: By line: ``ceiling``, ``floor`` and every twin; on texts only, so that
            what is missing in them is the judge's failure.
        author_traits: The questions in use.
        again: What the judge said when it was asked again.
        writers: Each prompted twin's generator: its name in the registry, and its entry.
        judge: The judge's entry.
        replicates: Number of bootstrap replicates.
        seed: Seed of the resampling.
    """
    ceiling, floor = judgements["ceiling"], judgements["floor"]
    everything = list(chain.from_iterable(judgements.values()))
    asked = {record.author for record in author_traits if record.questions is not None}

    def share(values: Mapping[str, Sequence[bool | None]], nothing: str) -> Estimate:
        if not any(value is not None for answers in values.values() for value in answers):
            return missing(nothing)
        return bootstrap_share(values, replicates, seed)

    return Trust(
        judge=name,
        separations=tuple(
            _separation(metric, value, ceiling, floor, replicates, seed)
            for metric, value in _LENSES.items()
        ),
        stability=_stability(again.extractions, replicates, seed),
        repeat_traits=agreement(
            _by_author(again.first, _traits), _by_author(again.second, _traits), replicates, seed
        ),
        repeat_verdicts=agreement(
            _by_author(again.first, _verdict), _by_author(again.second, _verdict), replicates, seed
        ),
        order=agreement(
            _by_author(again.first, _verdict),
            _by_author(again.swapped, _verdict),
            replicates,
            seed,
        ),
        yes_rate=share(_by_author(everything, _verdict), "the judge gave no verdict"),
        yes_rate_floor=share(
            _by_author(floor, _verdict),
            "the judge gave no verdict on others' writing" if floor else NO_FLOOR,
        ),
        trait_yes_rate=share(_by_author(everything, _traits), "the judge scored no text on traits"),
        failures={
            "questions": _failures(record.questions for record in author_traits),
            "findings": _failures(
                judgement.findings for judgement in everything if judgement.author in asked
            ),
            "verdicts": _failures(judgement.same_author for judgement in everything),
        },
        verdict_auc=_verdict_auc(ceiling, floor, judge, replicates, seed),
        off_style=tuple(question for record in author_traits for question in record.off_style),
        circular=_circular(judgements),
        self_preference=tuple(
            SelfPreference(twin=twin, generator=writer, same_model=spec.id == judge.id)
            for twin, (writer, spec) in writers.items()
            if judge.family == spec.family
        ),
    )


def _verdict(judgement: Judgement) -> list[bool | None]:
    return [judgement.same_author]


def _traits(judgement: Judgement) -> list[bool | None]:
    if judgement.findings is None:
        return [None] * QUESTIONS
    return [finding.present for finding in judgement.findings]


def _match(judgement: Judgement) -> float | None:
    return judgement.trait_match


def _same(judgement: Judgement) -> float | None:
    return None if judgement.same_author is None else float(judgement.same_author)


_LENSES: dict[str, Callable[[Judgement], float | None]] = {"tmr": _match, "same_author": _same}


def _by_author(
    judgements: Sequence[Judgement], answers: Callable[[Judgement], list[bool | None]]
) -> dict[str, list[bool | None]]:
    found: dict[str, list[bool | None]] = defaultdict(list)
    for judgement in judgements:
        found[judgement.author] += answers(judgement)
    return found


def _separation(
    metric: str,
    value: Callable[[Judgement], float | None],
    ceiling: Sequence[Judgement],
    floor: Sequence[Judgement],
    replicates: int,
    seed: int,
) -> Separation:
    own, others = (_by_case(line, value) for line in (ceiling, floor))
    difference = compare(own, others, replicates, seed).difference if others else missing(NO_FLOOR)
    return Separation(
        metric=metric,
        ceiling=_mean(own, replicates, seed),
        floor=_mean(others, replicates, seed) if others else missing(NO_FLOOR),
        difference=with_width(difference),
        separates=None if difference.ci_low is None else difference.ci_low > 0,
    )


def _by_case(
    judgements: Sequence[Judgement], value: Callable[[Judgement], float | None]
) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = defaultdict(dict)
    for judgement in judgements:
        found[judgement.author][judgement.case_id] = value(judgement)
    return found


def _mean(values: Mapping[str, Mapping[str, float | None]], replicates: int, seed: int) -> Estimate:
    return with_width(
        bootstrap_mean(
            {author: list(cases.values()) for author, cases in values.items()}, replicates, seed
        )
    )


def _stability(
    extractions: Sequence[Sequence[AuthorTraits]], replicates: int, seed: int
) -> Stability:
    records = list(chain.from_iterable(extractions))
    lists: dict[str, list[Labels]] = defaultdict(list)
    for record in records:
        if record.questions is not None:
            lists[record.author].append(record.questions)
    labels = [label for record in records for label in record.questions or ()]
    soft = SoftOverlap(labels) if labels else jaccard
    return Stability(
        exact=overlap_within(lists, jaccard, replicates, seed),
        soft=overlap_within(lists, soft, replicates, seed),
        soft_others=overlap_between(lists, soft, replicates, seed),
        failed=sum(record.questions is None for record in records),
        asked=len(records),
    )


def _failures(answers: Iterable[object]) -> Estimate:
    absent = [answer is None for answer in answers]
    if not absent:
        return missing("the judge was not asked")
    return Estimate(value=sum(absent) / len(absent), n=len(absent))


def _verdict_auc(
    ceiling: Sequence[Judgement],
    floor: Sequence[Judgement],
    judge: ModelParams,
    replicates: int,
    seed: int,
) -> Estimate:
    if not floor:
        return missing(NO_FLOOR)
    if not judge.logprobs:
        return missing("the judge's entry in params.yaml has no logprobs")
    pairs = [
        (judgement.probability, line is ceiling, judgement.author)
        for line in (ceiling, floor)
        for judgement in line
        if judgement.probability is not None
    ]
    if not pairs:
        return missing("the endpoint gave no log-probabilities of the verdicts")
    scores, truth, authors = zip(*pairs, strict=True)
    return auc(scores, truth, authors, replicates, seed)


def _circular(judgements: Mapping[str, Sequence[Judgement]]) -> tuple[Circularity, ...]:
    means = {line: _trait_match(found) for line, found in judgements.items()}
    ceiling = means["ceiling"]
    return tuple(
        Circularity(twin=line, tmr=value, ceiling=ceiling)
        for line, value in means.items()
        if line not in REFERENCE_LINES
        and value is not None
        and ceiling is not None
        and value > ceiling
    )


def _trait_match(judgements: Sequence[Judgement]) -> float | None:
    values = [value for judgement in judgements if (value := judgement.trait_match) is not None]
    return fmean(values) if values else None
