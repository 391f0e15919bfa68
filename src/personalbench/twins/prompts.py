"""What a method makes of a case, and what all methods share."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from personalbench.bundle import Bundle
from personalbench.corpus.document import Document
from personalbench.llm.types import Ask, Message
from personalbench.seeds import draw
from personalbench.templates import SHIPPED, Template
from personalbench.training.records import AdapterRecord

# A cautious estimate for English under the tokenizers in use: more is cut than must be.
CHARACTERS_PER_TOKEN = 3.5
_LABEL = 20  # characters around a document
_CHAT = 50  # tokens that a chat template adds


NOTHING_FITS = "no document fits into the generator's context"
"""Why a method that shows documents has nothing to send."""


@dataclass(frozen=True)
class Prompt:
    """The messages for one case.

    Attributes:
        author: Whose case it is.
        case_id: Which case.
        messages: What the generator gets; empty where there is nothing to send.
        seen: Ids of the profile documents behind the messages.
        flags: What a reader should know, for example ``samples_cut``.
        failure: Why nothing can be sent, or None.
    """

    author: str
    case_id: str
    messages: tuple[Message, ...]
    seen: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    failure: str | None = None


@dataclass(frozen=True)
class Generator:
    """What a method may use of the generator.

    Attributes:
        ask: Sends requests; replies come in their order.
        context: Tokens that prompt and answer may take together.
        max_tokens: Tokens of an answer.
        temperature: Of the answers.
        seed: The run's seed.
        templates: Folder of the prompt templates.
        training: How it was trained for the author; None for an untrained one.
    """

    ask: Ask
    context: int
    max_tokens: int
    temperature: float
    seed: int
    templates: Path = SHIPPED
    training: AdapterRecord | None = None


def sample(bundle: Bundle, count: int, seed: int, purpose: str) -> tuple[list[Document], list[str]]:
    """Draw profile documents for a twin to see.

    The documents that the twin is compared with afterwards are left out, so that copying
    a sample is not copying the yardstick; where too few would remain, all are drawn from
    and the flag ``sees_compared_documents`` says so. An author with fewer documents than
    asked for shows them all, flagged ``fewer_samples``.

    Returns:
        The documents and the flags.
    """
    compared = set(bundle.manifest.selected_profile)
    unseen = [document for document in bundle.profile if document.id not in compared]
    flags: list[str] = []
    if len(unseen) < count:
        unseen, flags = list(bundle.profile), ["sees_compared_documents"]
    if len(unseen) < count:
        flags.append("fewer_samples")
    by_id = {document.id: document for document in unseen}
    return [by_id[name] for name in draw(by_id, count, seed, bundle.author, purpose)], flags


def room(context: int, answer: int, template: Template, *texts: str) -> int:
    """Characters, by estimate, that are left for documents beside all else.

    Args:
        context: Tokens that prompt and answer may take together.
        answer: Tokens of the answer.
        template: What the documents are put into.
        texts: What else is put into it.
    """
    prompt = len(template.text) + sum(map(len, texts))
    return int((context - answer - _CHAT) * CHARACTERS_PER_TOKEN) - prompt


def fit(documents: Sequence[Document], space: int) -> tuple[list[Document], list[str]]:
    """Keep whole documents, in their order, while they and their labels fit.

    Args:
        documents: What should be shown.
        space: Characters; see :func:`room`.

    Returns:
        The documents that fit, and the flag ``samples_cut`` where some did not.
    """
    kept: list[Document] = []
    for document in documents:
        space -= len(document.text) + _LABEL
        if space < 0:
            return kept, ["samples_cut"]
        kept.append(document)
    return kept, []


def numbered(documents: Sequence[Document], label: str) -> str:
    """Documents one under another, each under a numbered label."""
    return "\n\n".join(
        f"{label} {number}:\n{document.text}" for number, document in enumerate(documents, 1)
    )
