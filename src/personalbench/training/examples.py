"""What a twin is trained on: an author's documents, each under a prompt like a case's."""

from collections.abc import Sequence
from dataclasses import dataclass

from personalbench.bundle import Bundle, Case
from personalbench.corpus.document import Document
from personalbench.errors import UserError
from personalbench.seeds import draw
from personalbench.twins.prompts import CHARACTERS_PER_TOKEN

FEWEST = 20
"""Profile documents below which nothing is trained."""

_TRAINED_PER_HELD_OUT = 10
_LEAST_HELD_OUT = 2
_PROMPT = 200  # tokens around a document when it is asked for or summarized


@dataclass(frozen=True)
class Chosen:
    """Profile documents of one author.

    Attributes:
        trained: What the twin learns from, in the order of the draw: a smaller training
            set is the beginning of a larger one.
        held_out: What only tells when to stop.
        flags: ``sees_compared_documents`` where the documents that the twin is compared
            with afterwards had to be used, ``fewer_documents`` where the author has not
            as many as asked for, ``long_documents_left_out``.
    """

    trained: tuple[Document, ...]
    held_out: tuple[Document, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """A document and the request that it answers.

    Attributes:
        document: The document's id.
        prompt: What the twin is asked.
        text: What it should write.
    """

    document: str
    prompt: str
    text: str


@dataclass(frozen=True)
class TrainingSet:
    """Everything of one author that training sees."""

    author: str
    trained: tuple[Example, ...]
    held_out: tuple[Example, ...]
    flags: tuple[str, ...]


def choose(bundle: Bundle, count: int, seed: int, context: int) -> Chosen:
    """Draw the documents of an author's training set from the profile split.

    The documents of the author's vector stay out, so that learning a text by heart is not
    learning the yardstick; where too few would remain, they are used too. For every ten
    documents one more is held out.

    Args:
        bundle: The author's.
        count: Most documents to learn from.
        seed: The run's seed.
        context: Tokens of the shortest context in use; a document that does not fit into
            it, by estimate, is left out.

    Raises:
        UserError: The profile split has fewer than :data:`FEWEST` such documents.
    """
    longest = int((context - _PROMPT) * CHARACTERS_PER_TOKEN)
    fitting = {
        document.id: document for document in bundle.profile if len(document.text) <= longest
    }
    flags = [] if len(fitting) == len(bundle.profile) else ["long_documents_left_out"]
    if len(fitting) < FEWEST:
        raise UserError(
            f"{bundle.author}: {len(fitting)} profile documents that fit into {context} tokens; "
            f"training needs at least {FEWEST}"
        )
    names = set(fitting) - set(bundle.manifest.selected_profile)
    if len(names) < FEWEST:
        names = set(fitting)
        flags.append("sees_compared_documents")
    wanted = count + max(_LEAST_HELD_OUT, count // _TRAINED_PER_HELD_OUT)
    drawn = draw(names, wanted, seed, bundle.author, "training")
    if len(drawn) < wanted:
        flags.append("fewer_documents")
    held_out = max(_LEAST_HELD_OUT, len(drawn) // (_TRAINED_PER_HELD_OUT + 1))
    documents = [fitting[name] for name in drawn]
    return Chosen(tuple(documents[:-held_out]), tuple(documents[-held_out:]), tuple(flags))


def training_set(author: str, chosen: Chosen, cases: Sequence[Case]) -> TrainingSet:
    """Put documents and their prompts together.

    Args:
        author: Whose they are.
        chosen: The documents.
        cases: One for each of them, in any order.
    """
    prompts = {case.document: case.prompt for case in cases}

    def examples(documents: Sequence[Document]) -> tuple[Example, ...]:
        return tuple(Example(each.id, prompts[each.id], each.text) for each in documents)

    return TrainingSet(author, examples(chosen.trained), examples(chosen.held_out), chosen.flags)
