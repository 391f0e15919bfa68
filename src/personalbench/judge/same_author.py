"""Call 2b: are two texts by the same author?"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from personalbench.corpus.document import Document
from personalbench.judge.records import SameAuthorVerdict
from personalbench.judge.traits import fenced
from personalbench.llm.client import Model
from personalbench.llm.structured import Answer as Structured
from personalbench.llm.structured import ask
from personalbench.llm.types import Request, user
from personalbench.params import JudgeParams
from personalbench.seeds import derive
from personalbench.templates import load_template
from personalbench.twins.answers import Answer


def compare(
    answers: Sequence[Answer],
    references: Mapping[tuple[str, str], Document],
    params: JudgeParams,
    seed: int,
    judge: Model,
) -> list[Structured[SameAuthorVerdict]]:
    """Ask for every answer whether the case's own document is by the same author.

    The judge sees the two texts and nothing else: no name, no file, no method.

    Args:
        answers: The texts under judgement.
        references: The cases' documents by author and case id.
        params: The ``judge`` section.
        seed: The run's seed.
        judge: The judge's model.

    Returns:
        The verdicts in the order of the answers.
    """
    template = load_template(Path(__file__).parent / "same_author.txt", {"reference", "text"})
    requests = [
        Request(
            messages=user(
                template.render(
                    reference=fenced(references[answer.author, answer.case_id].text),
                    text=fenced(answer.text),
                )
            ),
            temperature=params.temperature,
            max_tokens=120,
            seed=derive(seed, answer.author, answer.case_id, answer.source, "same_author"),
        )
        for answer in answers
    ]
    return ask(judge, requests, SameAuthorVerdict, "same author")
