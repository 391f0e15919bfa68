"""The reference lines as answers: real documents in the place of a twin's.

The ceiling is the author's own reference documents, the floor those of other authors;
both go through the same measurement as any twin.
"""

from collections import defaultdict
from collections.abc import Sequence

from personalbench.bundle import Bundle
from personalbench.corpus.document import Document
from personalbench.seeds import draw
from personalbench.twins.answers import Answer

REAL_TEXT = "real text"
"""Purpose of the draw of an author's documents; the validation draws alike."""


def ceiling(bundle: Bundle) -> list[Answer]:
    """The author's own documents, each as the answer to the case before it.

    Rotated by one, so that no document is compared with itself (same-author verdicts,
    ROUGE-L); as a set they are the documents h1..h5 of the cases.
    """
    turned = (*bundle.references[1:], *bundle.references[:1])
    return [
        _real(bundle, case.id, document)
        for case, document in zip(bundle.cases, turned, strict=True)
    ]


def floor(bundle: Bundle, corpus: Sequence[Document], seed: int) -> list[Answer]:
    """Reference documents of every other author, as many an author as there are cases.

    Authors with fewer reference documents are left out. The authors come in an order of
    their own for every bundle; which documents of theirs are drawn does not depend on it,
    so that every bundle is held against the same unrelated writing.
    """
    others: dict[str, dict[str, Document]] = defaultdict(dict)
    for document in corpus:
        if document.split == "reference" and document.author != bundle.author:
            others[document.author][document.id] = document
    count = len(bundle.cases)
    enough = [author for author, documents in others.items() if len(documents) >= count]
    return [
        _real(bundle, case.id, others[author][name])
        for author in draw(enough, len(enough), seed, bundle.author, "floor")
        for case, name in zip(
            bundle.cases, draw(others[author], count, seed, author, REAL_TEXT), strict=True
        )
    ]


def one_per_case(answers: Sequence[Answer]) -> list[Answer]:
    """One answer for every case of every author, each of another source where there are several.

    What costs a model call is not asked of every unrelated author.
    """
    by_case: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    for answer in answers:
        by_case[answer.author, answer.case_id].append(answer)
    seen: dict[str, int] = defaultdict(int)
    chosen = []
    for (author, _), candidates in by_case.items():
        chosen.append(candidates[seen[author] % len(candidates)])
        seen[author] += 1
    return chosen


def _real(bundle: Bundle, case_id: str, document: Document) -> Answer:
    return Answer(
        author=bundle.author,
        case_id=case_id,
        source=document.author,
        text=document.text,
        document=document.id,
    )
