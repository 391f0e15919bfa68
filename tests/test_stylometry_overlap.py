"""ROUGE-L and verbatim copying."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from personalbench.metrics.copying import copying
from personalbench.metrics.rouge import MAX_WORDS, rouge_l

TEXTS = st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "ij"]), max_size=25).map(" ".join)


def test_rouge_l_by_hand() -> None:
    # Longest common subsequence "the cat the mat": 4 of 6 and 4 of 5 words.
    score = rouge_l("The cat sat on the mat.", "the cat under the mat")
    assert score.value == pytest.approx(2 * 4 / (6 + 5))


@given(TEXTS, TEXTS.filter(bool))
def test_rouge_l_is_that_of_rouge_score(text: str, reference: str) -> None:
    expected = RougeScorer(["rougeL"]).score(reference, text)["rougeL"].fmeasure
    assert rouge_l(text, reference).value == pytest.approx(expected)


def test_rouge_l_knows_more_than_ascii() -> None:
    assert rouge_l("Ünder Москва", "ünder москва").value == 1


@pytest.mark.parametrize("text", ["...", "", " \n", "🏃"])
def test_rouge_l_of_no_words_is_zero_or_missing(text: str) -> None:
    assert rouge_l(text, "a b").value == 0
    assert rouge_l(text, "").value is None
    assert rouge_l("a b", text).reason == "the reference has no words"


def test_rouge_l_of_long_texts_is_cut_and_says_so() -> None:
    text = " ".join(f"w{i % 2000}" for i in range(10_000))
    score = rouge_l(text, text)
    assert score.value == 1
    assert score.note == f"first {MAX_WORDS} words"
    assert rouge_l("a b", "a b").note is None


def test_the_longest_run_and_its_source() -> None:
    found = copying(
        "I saw: the cat sat on the mat, again.",
        ["saw the cat", "The cat sat\non the mat; so", "the cat sat on the mat"],
    )
    assert found.longest_run == "the cat sat on the mat"
    assert found.longest_run_words == 6
    assert found.source == 1
    # 9 words have 5 five-grams; two of them start in the run.
    assert found.ngram_share == pytest.approx(2 / 5)
    assert found.runs == ("the cat sat on the mat",)


def test_a_run_never_joins_two_sources() -> None:
    found = copying("one two three four five six", ["one two three", "four five six"])
    assert found.longest_run_words == 3
    assert found.ngram_share == 0
    assert found.runs == ()


def test_the_source_holds_the_run_that_is_reported() -> None:
    found = copying("a b x c d", ["c d", "a b"])
    assert (found.longest_run, found.source) == ("a b", 1)


def test_several_runs_are_all_found() -> None:
    found = copying(
        "a b c d e f new words g h i j k l m", ["a b c d e f", "g h i j k", "h i j k l m"]
    )
    assert found.runs == ("a b c d e f", "g h i j k", "h i j k l m")


def test_nothing_shared_and_nothing_to_share() -> None:
    apart = copying("a b c d e", ["v w x y z"])
    assert (apart.longest_run, apart.longest_run_words, apart.source) == ("", 0, None)
    assert apart.ngram_share == 0
    assert copying("too short", ["too short"]).ngram_share is None
    assert copying("", []).longest_run_words == 0
    assert copying("a b c d e", []).ngram_share == 0


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_copying_agrees_with_a_search_by_brute_force(text: str, sources: list[str]) -> None:
    found = copying(text, sources)
    tokens = text.split()
    runs = {
        (start, end)
        for start in range(len(tokens))
        for end in range(start + 1, len(tokens) + 1)
        if any(f" {' '.join(tokens[start:end])} " in f" {source} " for source in sources)
    }
    assert found.longest_run_words == max((end - start for start, end in runs), default=0)
    if len(tokens) >= 5:
        shared = sum((start, start + 5) in runs for start in range(len(tokens) - 4))
        assert found.ngram_share == pytest.approx(shared / (len(tokens) - 4))
