"""Call 2b: are two texts by the same author?"""

import re
from collections.abc import Mapping, Sequence
from math import exp
from pathlib import Path

from personalbench.corpus.document import Document
from personalbench.judge.records import SameAuthorVerdict, fenced
from personalbench.llm.client import Model
from personalbench.llm.structured import Answer as Structured
from personalbench.llm.structured import ask
from personalbench.llm.types import Reply, Request, user
from personalbench.params import JudgeParams
from personalbench.seeds import derive
from personalbench.templates import SHIPPED, prompt_template
from personalbench.twins.answers import Answer

_VERDICT = re.compile(r'"same_author"\s*:\s*\Z')


def compare(
    answers: Sequence[Answer],
    references: Mapping[tuple[str, str], Document],
    params: JudgeParams,
    seed: int,
    judge: Model,
    templates: Path = SHIPPED,
    repeat: int = 0,
    swapped: bool = False,
) -> list[Structured[SameAuthorVerdict]]:
    """Ask for every answer whether the case's own document is by the same author.

    The judge sees the two texts and nothing else: no name, no file, no method.

    Args:
        answers: The texts under judgement.
        references: The cases' documents by author and case id.
        params: The ``judge`` section.
        seed: The run's seed.
        judge: The judge's model.
        templates: Folder of the prompt templates.
        repeat: Number of this asking about the same texts.
        swapped: Show the two texts of each pair the other way round.

    Returns:
        The verdicts in the order of the answers.
    """
    template = prompt_template(templates, "judge/same_author")
    requests = []
    for answer in answers:
        texts = (references[answer.author, answer.case_id].text, answer.text)
        own_first = reference_first(answer, seed) != swapped
        first, second = texts if own_first else reversed(texts)
        requests.append(
            Request(
                messages=user(template.render(first=fenced(first), second=fenced(second))),
                temperature=params.temperature,
                max_tokens=120,
                seed=derive(
                    seed, answer.author, answer.case_id, answer.source, "same_author", repeat
                ),
                repeat=repeat,
                watch=("true", "false"),
            )
        )
    return ask(judge, requests, SameAuthorVerdict, "same author")


def reference_first(answer: Answer, seed: int) -> bool:
    """Whether the case's own document comes first: drawn for each case, alike for all twins."""
    return derive(seed, answer.author, answer.case_id, "order") % 2 == 0


def probability(reply: Reply) -> float | None:
    """Probability of "same author", given that the verdict is one or the other.

    None where the endpoint gave no log-probabilities of the verdict. One of the two words
    that is not among the likeliest counts as impossible.
    """
    for word in reply.weighed:
        if _VERDICT.search(word.before):
            weights = {name: exp(value) for name, value in word.log_probabilities.items()}
            total = weights.get("true", 0.0) + weights.get("false", 0.0)
            return weights.get("true", 0.0) / total if total else None
    return None
