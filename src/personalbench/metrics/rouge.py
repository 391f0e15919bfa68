"""ROUGE-L: overlap of content with the case's own reference document, never style."""

from collections.abc import Sequence

from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import Tokenizer

from personalbench.metrics.estimate import Estimate, missing
from personalbench.text.tokenise import words

MAX_WORDS = 1000
"""Only so many words of either text are compared: the time grows with their product."""


class _SplitAtSpaces(Tokenizer):  # type: ignore[misc]
    """Gives back the words that :func:`rouge_l` joined; rouge-score's own are ASCII only."""

    def tokenize(self, text: str) -> list[str]:
        return text.split()


_SCORER = RougeScorer(["rougeL"], tokenizer=_SplitAtSpaces())


def rouge_l(text: str, reference: str) -> Estimate:
    """F-measure of the longest common subsequence of words (Lin 2004), in [0, 1].

    0 for a text without a word; missing where the reference has none. Where a text was
    cut to :data:`MAX_WORDS`, a note says so.
    """
    text_words, reference_words = words(text), words(reference)
    if not reference_words:
        return missing("the reference has no words")
    is_cut = max(len(text_words), len(reference_words)) > MAX_WORDS
    text_words, reference_words = text_words[:MAX_WORDS], reference_words[:MAX_WORDS]
    common = _longest_common_subsequence(text_words, reference_words)
    return Estimate(
        value=2 * common / (len(text_words) + len(reference_words)),
        note=f"first {MAX_WORDS} words" if is_cut else None,
    )


def _longest_common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Its length, from rouge-score's recall.

    Words of one text alone can't be in it; without them rouge-score is several times faster.
    """
    shared = set(first) & set(second)
    if not shared:
        return 0
    target = [word for word in first if word in shared]
    prediction = [word for word in second if word in shared]
    recall: float = _SCORER.score(" ".join(target), " ".join(prediction))["rougeL"].recall
    return round(recall * len(target))
