"""Neutral topics: how much of the source they give away, and one more try."""

from collections.abc import Sequence

import pytest

from people import document
from personalbench.corpus.document import Document
from personalbench.errors import UserError
from personalbench.llm.types import Reply, Request
from personalbench.params import BundleParams
from personalbench.topics import make_cases

SOURCE = "We shall pay what we owe and keep what we promised to the people of this land."
PARAMS = BundleParams(
    authors=1, cases=1, genre="letter", prompt_model="prompter", shared_ngram_limit=4
)
NEUTRAL = "The text is about debts."
LEAKY = "The text is about how we shall pay what we owe and keep promises."
WORSE = "We shall pay what we owe and keep what we promised."


class Prompter:
    """Gives its answers in turn, and keeps what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.requests: list[Request] = []

    def __call__(self, requests: Sequence[Request], description: str) -> list[Reply]:
        self.requests += requests
        return [Reply(status="ok", text=self.texts.pop(0)) for _ in requests]


def reference(author: str = "ada", number: int = 0, text: str = SOURCE) -> Document:
    return document(author, number, "reference", text)


def test_a_neutral_topic_is_asked_for_once_and_wrapped() -> None:
    ask = Prompter(f"  {NEUTRAL}\n")
    ((case,),) = make_cases([[reference()]], PARAMS, 1, ask)
    assert len(ask.requests) == 1
    assert (case.id, case.document, case.topic) == ("case_0001", "ada/reference/000", NEUTRAL)
    assert NEUTRAL in case.prompt and "short letter" in case.prompt
    assert (case.longest_shared_ngram, case.shared_5grams) == (1, 0)  # the


@pytest.mark.parametrize(
    ("second", "kept", "longest"),
    [(NEUTRAL, NEUTRAL, 1), (WORSE, LEAKY, 8), (LEAKY, LEAKY, 8)],
)
def test_a_topic_over_the_limit_is_asked_for_once_more_and_the_better_one_kept(
    second: str, kept: str, longest: int
) -> None:
    ask = Prompter(LEAKY, second)
    ((case,),) = make_cases([[reference()]], PARAMS, 1, ask)
    assert len(ask.requests) == 2
    assert [request.repeat for request in ask.requests] == [0, 1]
    assert len({request.seed for request in ask.requests}) == 2
    assert (case.topic, case.longest_shared_ngram) == (kept, longest)


def test_at_the_limit_is_not_over_it() -> None:
    ask = Prompter("We shall pay what is due.")  # four words of the source
    ((case,),) = make_cases([[reference()]], PARAMS, 1, ask)
    assert (len(ask.requests), case.longest_shared_ngram) == (1, 4)


def test_every_author_is_numbered_from_one_and_only_leaky_topics_are_asked_again() -> None:
    ask = Prompter(NEUTRAL, LEAKY, NEUTRAL, "The text is about honour.")
    references = [[reference("ada"), reference("ada", 1)], [reference("ben")]]
    first, second = make_cases(references, PARAMS, 1, ask)
    assert [case.id for case in first] == ["case_0001", "case_0002"]
    assert [case.topic for case in first] == [NEUTRAL, "The text is about honour."]
    assert [(case.id, case.document) for case in second] == [("case_0001", "ben/reference/000")]


def test_without_a_topic_there_is_no_case() -> None:
    with pytest.raises(UserError, match="prompter"):
        make_cases([[reference()]], PARAMS, 1, Prompter(""))
