"""What makes a case say little: prompts that give the text away, answers that are none.

The rules are simple, and what they find is a question to the reader and no verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from personalbench.bundle import Bundle, Case
from personalbench.metrics.copying import CopyingLimits, copying
from personalbench.params import CheckParams
from personalbench.text.duplicates import near_duplicate_clusters, shingles
from personalbench.twins.answers import CUT_OFF, Answer

PROMPT_NGRAM = CheckParams().prompt_ngram
"""Words in a row, of params.yaml as shipped."""

ALIKE = 0.5
"""Jaccard index of three-word shingles from which two answers are one answer, repeated."""


@dataclass(frozen=True)
class Doubts:
    """Case ids by what was found.

    Attributes:
        contaminated_cases: The prompt shares a long run of words with its source.
        repeated_answers: The answer is that of another case, or nearly.
        prompt_copies: The answer repeats its prompt.
        cut_off: The answer was stopped before its end, or reads so.
    """

    contaminated_cases: tuple[str, ...]
    repeated_answers: tuple[str, ...]
    prompt_copies: tuple[str, ...]
    cut_off: tuple[str, ...]

    def sentences(self, limits: CopyingLimits) -> list[str]:
        """One for each kind that was found in answers."""
        said = {
            "Repeated answers: {}: each is the answer to another case too, or nearly; the twin "
            "did not write about the subject.": self.repeated_answers,
            f"Copied prompts: {{}}: {limits.run_words} or more words in a row, or "
            f"{limits.share:.0%} of all runs of five words, are the prompt's.": self.prompt_copies,
            "Cut off: {}: stopped at the most tokens, or in the middle of a sentence; let the twin "
            "write on.": self.cut_off,
        }
        return [sentence.format(", ".join(ids)) for sentence, ids in said.items() if ids]


def doubts_about(
    bundle: Bundle, answers: Sequence[Answer], limits: CopyingLimits, prompt_ngram: int
) -> Doubts:
    """Look for all of them.

    Args:
        bundle: Whose cases were answered.
        answers: One a case, in the cases' order.
        limits: From where on an answer counts as copied, here from its prompt.
        prompt_ngram: See :func:`contaminated`.
    """
    there = [
        (case, one) for case, one in zip(bundle.cases, answers, strict=True) if one.status == "ok"
    ]
    clusters = near_duplicate_clusters(shingles(one.text for _, one in there), ALIKE)
    repeated = sorted(place for cluster in clusters for place in cluster)
    return Doubts(
        contaminated_cases=contaminated(bundle.cases, prompt_ngram),
        repeated_answers=tuple(there[place][0].id for place in repeated),
        prompt_copies=tuple(
            case.id for case, one in there if limits.reached(copying(one.text, [case.prompt]))
        ),
        cut_off=tuple(case.id for case, one in there if not CUT_OFF.isdisjoint(one.flags)),
    )


def contaminated_sentences(cases: Sequence[Case], prompt_ngram: int) -> list[str]:
    """A sentence on contaminated prompts, where there are some."""
    found = contaminated(cases, prompt_ngram)
    if not found:
        return []
    return [
        f"Contaminated prompts: {with_documents(cases, found)}: {prompt_ngram} or more words in a "
        "row are those of the text behind the case, which gives any twin the person's words; "
        "change their topics and prepare the bundle anew with --topics."
    ]


def with_documents(cases: Sequence[Case], found: Sequence[str]) -> str:
    """Case ids, each with the document by which a file of topics names the case."""
    return ", ".join(f"{case.id} ({case.document})" for case in cases if case.id in found)


def contaminated(cases: Sequence[Case], prompt_ngram: int) -> tuple[str, ...]:
    """Cases whose topic shares so many words in a row with its document."""
    return tuple(case.id for case in cases if case.longest_shared_ngram >= prompt_ngram)
