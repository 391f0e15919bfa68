"""Calls 1 and 2a: five questions about an author's style, and whether a text shows them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from personalbench.bundle import Bundle
from personalbench.corpus.document import Document
from personalbench.judge.records import AuthorTraits, TraitFindings, TraitQuestions, fenced
from personalbench.llm.client import Model
from personalbench.llm.structured import Answer as Structured
from personalbench.llm.structured import ask
from personalbench.llm.types import Request, user
from personalbench.params import JudgeParams
from personalbench.seeds import derive, draw
from personalbench.templates import SHIPPED, prompt_template
from personalbench.twins.answers import Answer
from personalbench.twins.prompts import fit, room

_QUESTION_TOKENS = 400


def extract(
    bundles: Sequence[Bundle],
    params: JudgeParams,
    seed: int,
    judge: Model,
    templates: Path = SHIPPED,
    repeat: int = 0,
) -> list[AuthorTraits]:
    """Call 1, once an author, from profile documents alone.

    Documents that do not fit into the judge's context are left out whole, flagged.

    Args:
        bundles: All authors.
        params: The ``judge`` section.
        seed: The run's seed.
        judge: The judge's model.
        templates: Folder of the prompt templates.
        repeat: Number of this extraction of the same authors.
    """
    template = prompt_template(templates, "judge/traits")
    space = room(judge.spec.max_context, _QUESTION_TOKENS, template)
    shown: list[tuple[Bundle, list[Document], list[str]]] = []
    for bundle in bundles:
        by_id = {document.id: document for document in bundle.profile}
        drawn = draw(by_id, params.trait_posts, seed, bundle.author, "traits")
        shown.append((bundle, *fit([by_id[name] for name in drawn], space)))
    requests = [
        Request(
            messages=user(
                template.render(
                    documents="\n\n".join(fenced(document.text) for document in documents)
                )
            ),
            temperature=params.temperature,
            max_tokens=_QUESTION_TOKENS,
            seed=derive(seed, bundle.author, "traits", repeat),
            repeat=repeat,
        )
        for bundle, documents, _ in shown
        if documents
    ]
    answers = iter(ask(judge, requests, TraitQuestions, "trait questions"))
    extracted = []
    for bundle, documents, flags in shown:
        found = next(answers) if documents else None
        extracted.append(
            AuthorTraits(
                author=bundle.author,
                questions=tuple(found.record.questions) if found and found.record else None,
                reason=found.reason if found else "no document fits into the judge's context",
                documents=tuple(document.id for document in documents),
                flags=tuple(flags),
            )
        )
    return extracted


def score(
    answers: Sequence[Answer],
    traits: Mapping[str, AuthorTraits],
    params: JudgeParams,
    seed: int,
    judge: Model,
    templates: Path = SHIPPED,
    repeat: int = 0,
) -> list[Structured[TraitFindings]]:
    """Call 2a for every answer: the judge sees the text and the five questions only.

    Args:
        answers: Texts of authors that have questions.
        traits: Questions by author.
        params: The ``judge`` section.
        seed: The run's seed.
        judge: The judge's model.
        templates: Folder of the prompt templates.
        repeat: Number of this asking of the same questions.

    Returns:
        The findings in the order of the answers.
    """
    template = prompt_template(templates, "judge/trait_score")
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
                seed=derive(seed, answer.author, answer.case_id, answer.source, "traits", repeat),
                repeat=repeat,
            )
        )
    return ask(judge, requests, TraitFindings, "trait scoring")
