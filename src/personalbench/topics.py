"""Neutral topics: what a reference document is about, not how it is written."""

from collections.abc import Sequence
from pathlib import Path

from personalbench.bundle import Case
from personalbench.corpus.document import Document
from personalbench.llm.types import Ask, Request, user
from personalbench.llm.usage import require_answers
from personalbench.metrics.copying import copying
from personalbench.params import BundleParams
from personalbench.seeds import derive
from personalbench.templates import load_template

_TEMPLATES = Path(__file__).parent / "twins"


def make_cases(
    references: Sequence[Sequence[Document]],
    params: BundleParams,
    seed: int,
    ask: Ask,
) -> list[tuple[Case, ...]]:
    """Make the cases of several authors, one a reference document.

    A topic that shares a longer run of words with its document than allowed is asked for
    once more; the one that shares less is kept.

    Args:
        references: Each author's reference documents.
        params: The ``bundle`` section.
        seed: The run's seed.
        ask: Sends requests to the prompt model; replies come in their order.

    Raises:
        UserError: The prompt model gave no topic for a document.
    """
    documents = [document for group in references for document in group]
    topics = _topics(documents, params, seed, ask, repeat=0)
    shared = {document.id: copying(topics[document.id], [document.text]) for document in documents}
    leaky = [
        document
        for document in documents
        if shared[document.id].longest_run_words > params.shared_ngram_limit
    ]
    again = _topics(leaky, params, seed, ask, repeat=1)
    for document in leaky:
        second = copying(again[document.id], [document.text])
        if second.longest_run_words < shared[document.id].longest_run_words:
            topics[document.id], shared[document.id] = again[document.id], second
    prompt = load_template(_TEMPLATES / "prompt.txt", {"genre", "topic"})
    return [
        tuple(
            Case(
                id=f"case_{number:04}",
                document=document.id,
                topic=topics[document.id],
                prompt=prompt.render(genre=params.genre, topic=topics[document.id]),
                longest_shared_ngram=shared[document.id].longest_run_words,
                shared_5grams=shared[document.id].ngram_share,
            )
            for number, document in enumerate(group, start=1)
        )
        for group in references
    ]


def template_hashes() -> dict[str, str]:
    """SHA-256 of the wordings that topics are asked with and that prompts have."""
    return {
        name: load_template(_TEMPLATES / f"{name}.txt", variables).sha256
        for name, variables in (("topic", {"document"}), ("prompt", {"genre", "topic"}))
    }


def _topics(
    documents: Sequence[Document],
    params: BundleParams,
    seed: int,
    ask: Ask,
    repeat: int,
) -> dict[str, str]:
    """Topic of every document, by document id."""
    template = load_template(_TEMPLATES / "topic.txt", {"document"})
    requests = [
        Request(
            messages=user(template.render(document=document.text)),
            temperature=params.temperature,
            max_tokens=params.max_tokens,
            seed=derive(seed, document.author, document.id, "topic", repeat),
            repeat=repeat,
        )
        for document in documents
    ]
    replies = ask(requests, "topics")
    require_answers(
        "bundle: topics",
        [None if reply.text else f"{reply.status}: {reply.reason}" for reply in replies],
        0.0,  # a case can't be without one
        f"see to {params.prompt_model} (personalbench models check {params.prompt_model}) and "
        "run again, or try another bundle.prompt_model or a larger bundle.max_tokens",
    )
    return {
        document.id: " ".join(reply.text.split())
        for document, reply in zip(documents, replies, strict=True)
    }
