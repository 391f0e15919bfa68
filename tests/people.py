"""Invented people for tests: short documents whose every word is known."""

from pathlib import Path

from personalbench.bundle import Bundle, Case, Manifest, ModelIdentity
from personalbench.corpus.document import Document, Split
from personalbench.text.tokenise import words


def document(author: str, number: int, split: Split, text: str | None = None) -> Document:
    """A document that says which one it is, in words that no other document has."""
    if text is None:
        mark = f"{author}{split}{number}"
        text = f"I saw the {mark} today. It was {mark} again, and we {mark} until dark!"
    return Document(
        id=f"{author}/{split}/{number:03}",
        author=author,
        source=f"{author}/{split}",
        split=split,
        text=text,
        words=len(words(text)),
    )


def corpus(
    authors: tuple[str, ...] = ("ada", "ben", "cleo", "dan", "eve"),
    profile: int = 16,
    reference: int = 6,
) -> list[Document]:
    """A corpus of several authors."""
    return [
        document(author, number, split)
        for author in authors
        for split, count in (("profile", profile), ("reference", reference))
        for number in range(count)
    ]


def bundle(author: str = "ada", cases: int = 5, profile: int = 16) -> Bundle:
    """One author's bundle, with a topic that says which case it is."""
    own = [item for item in corpus((author,), profile, cases)]
    references = tuple(item for item in own if item.split == "reference")
    return Bundle(
        manifest=Manifest(
            author=author,
            genre="letter",
            seed=7,
            group_size=5,
            selected_profile=tuple(f"{author}/profile/{number:03}" for number in (3, 1, 4, 0, 5)),
            prompt_model=ModelIdentity(id="prompter", revision="1234abcd"),
        ),
        profile=tuple(item for item in own if item.split == "profile"),
        references=references,
        contrast=tuple(document(other, 0, "profile") for other in ("fay", "gus", "hal", "ida")),
        cases=tuple(
            Case(
                id=f"case_{number:04}",
                document=item.id,
                topic=f"matter {number}",
                prompt=f"Write a short letter on matter {number}.",
                longest_shared_ngram=0,
                shared_5grams=None,
            )
            for number, item in enumerate(references, start=1)
        ),
    )


def shipped_params() -> str:
    """The repository's params.yaml for another folder, where the shipped templates are taken."""
    root = Path(__file__).parent.parent
    text = (root / "params.yaml").read_text(encoding="utf-8")
    return text.replace("templates: src/personalbench/prompts\n", "")
