"""What the judge says."""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

QUESTIONS = 5

_OFF_STYLE = re.compile(
    r"\b(?:topics?|subject matter|themes?|mention(?:s|ed|ing)?|discuss(?:es|ed|ing)?"
    r"|(?:text|post|passage|letter|document|author|writer|article|story|it) (?:is|are) about"
    r"|is (?:the|this) (?:text|post|passage|letter|document|article|story) about"
    r"|talk(?:s|ed|ing)? about|deal(?:s|t|ing)? with"
    r"|html|mark-?up|url(?:s|link)?|hyperlinks?|tags?)\b",
    re.IGNORECASE,
)

_QUOTES = str.maketrans("‘’“”", "''\"\"")

Line = Annotated[str, StringConstraints(min_length=15, max_length=140)]


class _Answer(BaseModel):
    """What the judge's JSON must look like; its schema goes with the request."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TraitQuestions(_Answer):
    """Call 1: five yes/no questions about an author's style."""

    questions: Annotated[list[Line], Field(min_length=QUESTIONS, max_length=QUESTIONS)]

    @field_validator("questions")
    @classmethod
    def _distinct(cls, questions: list[str]) -> list[str]:
        """One question asked twice would count its trait twice."""
        if len({question.strip().casefold() for question in questions}) < len(questions):
            raise ValueError("a question stands twice")
        return questions


class TraitFinding(_Answer):
    """Whether a text shows one trait, and where."""

    evidence: Annotated[str, StringConstraints(max_length=40)]
    present: bool


class TraitFindings(_Answer):
    """Call 2a: one finding a question, in the questions' order."""

    findings: Annotated[list[TraitFinding], Field(min_length=QUESTIONS, max_length=QUESTIONS)]


class SameAuthorVerdict(_Answer):
    """Call 2b: whether two texts are by one author."""

    reason: Annotated[str, StringConstraints(max_length=120)]
    same_author: bool


class AuthorTraits(BaseModel):
    """The questions for one author, or why there are none.

    Attributes:
        author: Whose style they ask about.
        questions: Five of them, or None with ``reason``.
        reason: Why there are none.
        documents: Ids of the profile documents that the judge saw.
        flags: ``samples_cut`` where fewer were shown than asked for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    author: str
    questions: tuple[str, ...] | None
    reason: str | None = None
    documents: tuple[str, ...]
    flags: tuple[str, ...] = ()

    @property
    def off_style(self) -> tuple[str, ...]:
        """Questions that ask what a text is about, or about its markup, by their words."""
        return tuple(question for question in self.questions or () if _OFF_STYLE.search(question))


class Judgement(BaseModel):
    """All that the judge said about one answer.

    Attributes:
        author: Whose case it is.
        case_id: Which case.
        source: Whose answer: the twin's name or the author of a real text.
        findings: One a question, or None with ``findings_reason``.
        same_author: The verdict, or None with ``same_author_reason``.
        explanation: The judge's sentence on the verdict.
        reference_first: Whether the case's own document was shown before the text.
        probability: Of "same author" against "different authors", where the endpoint gives
            log-probabilities.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    author: str
    case_id: str
    source: str
    findings: tuple[TraitFinding, ...] | None
    findings_reason: str | None = None
    same_author: bool | None
    same_author_reason: str | None = None
    explanation: str | None = None
    reference_first: bool | None = None
    probability: Annotated[float, Field(ge=0, le=1)] | None = None

    @property
    def trait_match(self) -> float | None:
        """TMR of this answer: traits present / 5."""
        if self.findings is None:
            return None
        return sum(finding.present for finding in self.findings) / len(self.findings)

    def evidence_quoted(self, text: str) -> float | None:
        """Share of the quotes that stand in the text, case and white space aside.

        None where nothing was quoted.
        """
        quotes = [_plain(finding.evidence) for finding in self.findings or ()]
        quotes = [quote for quote in quotes if quote]
        if not quotes:
            return None
        return sum(quote in _plain(text) for quote in quotes) / len(quotes)


def fenced(text: str) -> str:
    """A text as data: nothing in it can close the fence around it."""
    return f"<text>\n{_unfenceable(text)}\n</text>"


def _unfenceable(text: str) -> str:
    return text.replace("<", "‹").replace(">", "›")


def _plain(text: str) -> str:
    """What a quote and its text have in common where the judge quoted what it was shown."""
    return " ".join(_unfenceable(text).translate(_QUOTES).casefold().split())
