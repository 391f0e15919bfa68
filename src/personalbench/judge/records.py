"""What the judge says."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

QUESTIONS = 5

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
    """The questions for one author, or why there are none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    author: str
    questions: tuple[str, ...] | None
    reason: str | None = None
    documents: tuple[str, ...]


class Judgement(BaseModel):
    """All that the judge said about one answer.

    Attributes:
        author: Whose case it is.
        case_id: Which case.
        source: Whose answer: the twin's name or the author of a real text.
        findings: One a question, or None with ``findings_reason``.
        same_author: The verdict, or None with ``same_author_reason``.
        explanation: The judge's sentence on the verdict.
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


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
