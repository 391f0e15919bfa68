"""Neutral topics: what a reference document is about, not how it is written."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from personalbench.bundle import Bundle, Case
from personalbench.corpus.document import Document
from personalbench.llm.types import Ask, Request, user
from personalbench.llm.usage import require_answers
from personalbench.metrics.copying import copying
from personalbench.params import BundleParams
from personalbench.seeds import derive
from personalbench.templates import SHIPPED, prompt_template
from personalbench.text.tokenise import sentences


def make_cases(
    references: Sequence[Sequence[Document]],
    params: BundleParams,
    seed: int,
    ask: Ask,
    templates: Path = SHIPPED,
) -> list[tuple[Case, ...]]:
    """Make the cases of several authors, one a reference document.

    A topic that shares a longer run of words with its document than allowed is asked for
    once more; the one that shares less is kept.

    Args:
        references: Each author's reference documents.
        params: The ``bundle`` section.
        seed: The run's seed.
        ask: Sends requests to the prompt model; replies come in their order.
        templates: Folder of the prompt templates.

    Raises:
        UserError: The prompt model gave no topic for a document.
    """
    documents = [document for group in references for document in group]
    topics = _topics(documents, params, seed, ask, templates, repeat=0)
    shared = {document.id: copying(topics[document.id], [document.text]) for document in documents}
    leaky = [
        document
        for document in documents
        if shared[document.id].longest_run_words > params.shared_ngram_limit
    ]
    again = _topics(leaky, params, seed, ask, templates, repeat=1)
    for document in leaky:
        second = copying(again[document.id], [document.text])
        if second.longest_run_words < shared[document.id].longest_run_words:
            topics[document.id], shared[document.id] = again[document.id], second
    prompt = prompt_template(templates, "topics/prompt")
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


def with_first_sentences(bundle: Bundle, templates: Path = SHIPPED) -> Bundle:
    """The bundle with each reference document's first sentence in the place of its topic.

    An ablation, and the only way in which anything of a reference document reaches a twin.
    """
    prompt = prompt_template(templates, "topics/prompt")
    cases = []
    for case, document in zip(bundle.cases, bundle.references, strict=True):
        first = sentences(document.text)[0]
        shared = copying(first, [document.text])
        cases.append(
            Case(
                id=case.id,
                document=case.document,
                topic=first,
                prompt=prompt.render(genre=bundle.manifest.genre, topic=first),
                longest_shared_ngram=shared.longest_run_words,
                shared_5grams=shared.ngram_share,
            )
        )
    return replace(bundle, cases=tuple(cases))


def _topics(
    documents: Sequence[Document],
    params: BundleParams,
    seed: int,
    ask: Ask,
    templates: Path,
    repeat: int,
) -> dict[str, str]:
    """Topic of every document, by document id."""
    template = prompt_template(templates, "topics/topic")
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
