"""Calls 1 and 2a: five questions about an author's style, and whether a text shows them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from personalbench.bundle import Bundle
from personalbench.judge.records import AuthorTraits, TraitFindings, TraitQuestions
from personalbench.llm.client import Model
from personalbench.llm.structured import Answer as Structured
from personalbench.llm.structured import ask
from personalbench.llm.types import Request, user
from personalbench.params import JudgeParams
from personalbench.seeds import derive, draw
from personalbench.templates import load_template
from personalbench.twins.answers import Answer

_TEMPLATES = Path(__file__).parent


def extract(
    bundles: Sequence[Bundle], params: JudgeParams, seed: int, judge: Model
) -> list[AuthorTraits]:
    """Call 1, once an author, from profile documents alone."""
    template = load_template(_TEMPLATES / "traits.txt", {"documents"})
    shown: list[tuple[str, ...]] = []
    requests: list[Request] = []
    for bundle in bundles:
        by_id = {document.id: document for document in bundle.profile}
        ids = draw(by_id, params.trait_posts, seed, bundle.author, "traits")
        shown.append(tuple(ids))
        documents = "\n\n".join(f"<text>\n{by_id[name].text}\n</text>" for name in ids)
        requests.append(
            Request(
                messages=user(template.render(documents=documents)),
                temperature=params.temperature,
                max_tokens=400,
                seed=derive(seed, bundle.author, "traits"),
            )
        )
    return [
        AuthorTraits(
            author=bundle.author,
            questions=None if found.record is None else tuple(found.record.questions),
            reason=found.reason,
            documents=ids,
        )
        for bundle, ids, found in zip(
            bundles, shown, ask(judge, requests, TraitQuestions, "trait questions"), strict=True
        )
    ]


def score(
    answers: Sequence[Answer],
    traits: Mapping[str, AuthorTraits],
    params: JudgeParams,
    seed: int,
    judge: Model,
) -> list[Structured[TraitFindings]]:
    """Call 2a for every answer: the judge sees the text and the five questions only.

    Args:
        answers: Texts of authors that have questions.
        traits: Questions by author.
        params: The ``judge`` section.
        seed: The run's seed.
        judge: The judge's model.

    Returns:
        The findings in the order of the answers.
    """
    template = load_template(_TEMPLATES / "trait_score.txt", {"questions", "text"})
    requests = []
    for answer in answers:
        questions = traits[answer.author].questions or ()
        listed = "\n".join(f"{number}. {text}" for number, text in enumerate(questions, 1))
        content = template.render(questions=listed, text=fenced(answer.text))
        requests.append(
            Request(
                messages=user(content),
                temperature=params.temperature,
                max_tokens=300,
                seed=derive(seed, answer.author, answer.case_id, answer.source, "traits"),
            )
        )
    return ask(judge, requests, TraitFindings, "trait scoring")


def fenced(text: str) -> str:
    """A text as data: nothing in it can close the fence around it."""
    return f"<text>\n{text.replace('<', '‹').replace('>', '›')}\n</text>"
