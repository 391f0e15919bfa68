"""All cases as data for the page's browser: texts with their marks, scores and verdicts."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ConfigDict

from personalbench.bundle import Bundle, Case
from personalbench.corpus.document import Document
from personalbench.judge.records import Judgement
from personalbench.metrics.copying import copying
from personalbench.report.run import Run
from personalbench.scores import UNRELIABLE_BELOW, AnswerScores
from personalbench.text.tokenise import word_spans
from personalbench.twins.answers import Answer

COPIED_WORDS = 8
"""Runs of so many words from what a twin has seen are marked."""

COPIED = "copied"

Key = tuple[str, str, str]
Piece = tuple[str, tuple[str, ...]]
"""A stretch of text and what it is marked as: ``copied``, or the number of a trait."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TraitView(_Record):
    """What the judge said of one trait."""

    present: bool
    evidence: str


class TextView(_Record):
    """One text of a case.

    Attributes:
        pieces: The text, cut where a mark begins or ends.
        reason: Why there is no text.
        flags: What is special about it.
        scores: One a metric of the browser; None where it could not be measured.
        traits: One a question of the author; empty where the judge gave none.
        verdict: Whether the judge takes it for the author's.
        explanation: The judge's sentence.
    """

    pieces: tuple[Piece, ...]
    reason: str | None
    flags: tuple[str, ...]
    scores: tuple[float | None, ...]
    traits: tuple[TraitView, ...]
    verdict: bool | None
    explanation: str | None


class CaseView(_Record):
    """One case: what was asked, what the person wrote, what the twins wrote."""

    author: str
    id: str
    topic: str
    human: TextView
    twins: tuple[TextView | None, ...]


class MetricView(_Record):
    """How a metric is shown."""

    key: str
    title: str
    help: str


class CaseBrowser(_Record):
    """Everything that the page's browser shows."""

    metrics: tuple[MetricView, ...]
    twins: tuple[str, ...]
    traits: dict[str, tuple[str, ...]]
    cases: tuple[CaseView, ...]


def case_browser(run: Run) -> CaseBrowser:
    """All cases of a run."""
    results = run.results
    metrics = [
        f"{results.encoder.family}_1v5",
        *results.metrics[1:],
        "copied_run",
        "sentence_length_diff",
        "mattr_diff",
    ]
    lines = {line: _Line(run, line, metrics) for line in ("ceiling", *results.twins)}
    return CaseBrowser(
        metrics=tuple(
            MetricView(
                key=key,
                title=results.catalogue[key].column,
                help=results.catalogue[key].meaning,
            )
            for key in metrics
        ),
        twins=tuple(results.twins),
        traits={each.author: each.questions or () for each in run.traits},
        cases=tuple(
            CaseView(
                author=bundle.author,
                id=case.id,
                topic=case.topic,
                human=lines["ceiling"].human(bundle, case, document),
                twins=tuple(lines[twin].of(bundle, case) for twin in results.twins),
            )
            for bundle in run.bundles
            for case, document in zip(bundle.cases, bundle.references, strict=True)
        ),
    )


class _Line:
    """One line's answers, scores and judgements by author, case and source."""

    def __init__(self, run: Run, line: str, metrics: Sequence[str]) -> None:
        self.metrics = metrics
        self.answers = {_key(answer): answer for answer in run.answers[line]}
        self.scores = {_key(case): case for case in run.results.lines[line].cases}
        self.judged = {_key(judgement): judgement for judgement in run.judgements[line]}
        self.by_case = {
            (author, case_id): (author, case_id, source) for author, case_id, source in self.answers
        }
        self.by_document = {
            (answer.author, answer.document): key for key, answer in self.answers.items()
        }

    def of(self, bundle: Bundle, case: Case) -> TextView | None:
        """The line's answer to a case."""
        key = self.by_case.get((bundle.author, case.id))
        return None if key is None else self._view(key, bundle)

    def human(self, bundle: Bundle, case: Case, document: Document) -> TextView:
        """What the person wrote, scored as the answer that it stands for in this line."""
        key = self.by_document.get((bundle.author, case.document))
        if key is not None:
            return self._view(key, bundle)
        return _view(document.text, (), (), None, None, self.metrics)

    def _view(self, key: Key, bundle: Bundle) -> TextView:
        answer, scores = self.answers[key], self.scores.get(key)
        profile = {document.id: document.text for document in bundle.profile}
        copied = _copied(answer.text, [profile[name] for name in answer.seen if name in profile])
        flags = [*answer.flags]
        if answer.status != "ok":
            flags.append(answer.status)
        if scores is not None and scores.copied:
            flags.append(COPIED)
        if scores is not None and scores.tokens is not None and scores.tokens < UNRELIABLE_BELOW:
            flags.append("under 50 tokens")
        view = _view(answer.text, copied, flags, scores, self.judged.get(key), self.metrics)
        return view if answer.status == "ok" else view.model_copy(update={"reason": answer.reason})


def _key(record: Answer | AnswerScores | Judgement) -> Key:
    return record.author, record.case_id, record.source


def _view(
    text: str,
    copied: Sequence[tuple[int, int]],
    flags: Sequence[str],
    scores: AnswerScores | None,
    judgement: Judgement | None,
    metrics: Sequence[str],
) -> TextView:
    findings = (judgement.findings if judgement else None) or ()
    marks = [(start, end, COPIED) for start, end in copied]
    for number, finding in enumerate(findings, start=1):
        if finding.present and (place := _find(finding.evidence, text)):
            marks.append((*place, str(number)))
    measured: Mapping[str, Any] = scores.metrics if scores else {}
    return TextView(
        pieces=tuple(_pieces(text, marks)),
        reason=None,
        flags=tuple(dict.fromkeys(flags)),
        scores=tuple(
            round(measured[key].value, 4)
            if key in measured and measured[key].value is not None
            else None
            for key in metrics
        ),
        traits=tuple(
            TraitView(present=finding.present, evidence=finding.evidence) for finding in findings
        ),
        verdict=judgement.same_author if judgement else None,
        explanation=judgement.explanation if judgement else None,
    )


def _copied(text: str, sources: Sequence[str]) -> list[tuple[int, int]]:
    """Where the text repeats its sources, in characters."""
    places = copying(text, sources, COPIED_WORDS).places if sources else ()
    spans = word_spans(text) if places else []
    return [(spans[first][0], spans[end - 1][1]) for first, end in places]


def _find(quote: str, text: str) -> tuple[int, int] | None:
    """Where a quote stands in a text, case and white space aside."""
    words = quote.split()
    if not words:
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE)
    return found.span() if found else None


def _pieces(text: str, marks: Iterable[tuple[int, int, str]]) -> list[Piece]:
    """Cut a text where any mark begins or ends."""
    marked = list(marks)
    edges = sorted({0, len(text), *(edge for start, end, _ in marked for edge in (start, end))})
    return [
        (
            text[start:end],
            tuple(name for first, last, name in marked if first <= start and end <= last),
        )
        for start, end in pairwise(edges)
    ]


def embedded(browser: CaseBrowser) -> str:
    """JSON that may stand inside a script element, whatever the texts hold."""
    text = json.dumps(
        browser.model_dump(mode="json"),
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    )
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
