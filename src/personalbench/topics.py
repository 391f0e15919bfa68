"""Neutral topics: what a reference document is about, not how it is written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from personalbench.bundle import Bundle, Case
from personalbench.corpus.document import Document
from personalbench.llm.types import Ask, Request, user
from personalbench.llm.usage import require_answers
from personalbench.metrics.copying import copying
from personalbench.params import BundleParams
from personalbench.seeds import derive
from personalbench.templates import SHIPPED, Template, prompt_template
from personalbench.text.tokenise import sentences


def make_cases(
    references: Sequence[Sequence[Document]],
    params: BundleParams,
    seed: int,
    ask: Ask,
    templates: Path = SHIPPED,
) -> list[tuple[Case, ...]]:
    """Have a model write the topics of several authors' cases, one a reference document.

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
    runs = {document.id: _shared_run(topics[document.id], document) for document in documents}
    leaky = [document for document in documents if runs[document.id] > params.shared_ngram_limit]
    again = _topics(leaky, params, seed, ask, templates, repeat=1)
    for document in leaky:
        if _shared_run(again[document.id], document) < runs[document.id]:
            topics[document.id] = again[document.id]
    return cases_about(references, topics, params.genre, templates)


def cases_about(
    references: Sequence[Sequence[Document]],
    topics: Mapping[str, str],
    genre: str,
    templates: Path = SHIPPED,
) -> list[tuple[Case, ...]]:
    """Make the cases of several authors from topics that are there.

    Args:
        references: Each author's reference documents.
        topics: By document id.
        genre: What the prompts ask for.
        templates: Folder of the prompt templates.
    """
    prompt = prompt_template(templates, "topics/prompt")
    return [
        tuple(
            _case(f"case_{number:04}", document, topics[document.id], prompt, genre)
            for number, document in enumerate(group, start=1)
        )
        for group in references
    ]


def with_first_sentences(bundle: Bundle, templates: Path = SHIPPED) -> Bundle:
    """The bundle with each reference document's first sentence in the place of its topic.

    An ablation, and the only way in which anything of a reference document reaches a twin.
    """
    prompt = prompt_template(templates, "topics/prompt")
    cases = tuple(
        _case(case.id, document, sentences(document.text)[0], prompt, bundle.manifest.genre)
        for case, document in zip(bundle.cases, bundle.references, strict=True)
    )
    return replace(bundle, cases=cases)


def _case(id: str, document: Document, topic: str, prompt: Template, genre: str) -> Case:
    shared = copying(topic, [document.text])
    return Case(
        id=id,
        document=document.id,
        topic=topic,
        prompt=prompt.render(genre=genre, topic=topic),
        longest_shared_ngram=shared.longest_run_words,
        shared_5grams=shared.ngram_share,
    )


def _shared_run(topic: str, document: Document) -> int:
    return copying(topic, [document.text]).longest_run_words


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
