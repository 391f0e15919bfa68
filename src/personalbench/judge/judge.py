"""All that the judge says about a set of answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from personalbench.corpus.document import Document
from personalbench.judge import same_author, traits
from personalbench.judge.records import AuthorTraits, Judgement, SameAuthorVerdict, TraitFindings
from personalbench.llm.client import Model
from personalbench.llm.structured import Answer as Structured
from personalbench.params import JudgeParams
from personalbench.templates import SHIPPED
from personalbench.twins.answers import Answer


def judge(
    answers: Sequence[Answer],
    author_traits: Mapping[str, AuthorTraits],
    references: Mapping[tuple[str, str], Document],
    params: JudgeParams,
    seed: int,
    model: Model,
    templates: Path = SHIPPED,
    repeat: int = 0,
) -> list[Judgement]:
    """Put calls 2a and 2b to every answer; a failed answer gets no verdict, with the reason.

    Args:
        answers: Sorted by author, so that calls that share a prefix follow each other.
        author_traits: Call 1, by author.
        references: The cases' documents by author and case id.
        params: The ``judge`` section.
        seed: The run's seed.
        model: The judge's model.
        templates: Folder of the prompt templates.
        repeat: Number of this asking about the same answers.

    Returns:
        One judgement an answer, in the answers' order.
    """
    whole = [answer for answer in answers if answer.status == "ok"]
    asked = [answer for answer in whole if author_traits[answer.author].questions is not None]
    # Joined by position within this function alone: replies come in the requests' order.
    findings = dict(
        zip(
            map(_key, asked),
            traits.score(asked, author_traits, params, seed, model, templates, repeat),
            strict=True,
        )
    )
    verdicts = dict(
        zip(
            map(_key, whole),
            same_author.compare(whole, references, params, seed, model, templates, repeat),
            strict=True,
        )
    )
    return [
        _judgement(
            answer,
            author_traits[answer.author],
            findings.get(_key(answer)),
            verdicts.get(_key(answer)),
            seed,
        )
        for answer in answers
    ]


def _key(answer: Answer) -> tuple[str, str, str]:
    return answer.author, answer.case_id, answer.source


def _judgement(
    answer: Answer,
    author_traits: AuthorTraits,
    findings: Structured[TraitFindings] | None,
    verdict: Structured[SameAuthorVerdict] | None,
    seed: int,
) -> Judgement:
    unscored = f"no text to judge: {answer.status}"
    if findings is not None:
        findings_reason = findings.reason
    elif answer.status != "ok":
        findings_reason = unscored
    else:
        findings_reason = f"no trait questions for this author: {author_traits.reason}"
    return Judgement(
        author=answer.author,
        case_id=answer.case_id,
        source=answer.source,
        findings=tuple(findings.record.findings) if findings and findings.record else None,
        findings_reason=findings_reason,
        same_author=verdict.record.same_author if verdict and verdict.record else None,
        same_author_reason=verdict.reason if verdict else unscored,
        explanation=verdict.record.reason if verdict and verdict.record else None,
        reference_first=same_author.reference_first(answer, seed) if verdict else None,
        probability=same_author.probability(verdict.reply) if verdict and verdict.record else None,
    )
