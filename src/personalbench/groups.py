"""Which answers make a group: one authorship vector, compared as a whole."""

from collections.abc import Sequence

from personalbench.bundle import Bundle
from personalbench.metrics.similarity import group
from personalbench.twins.answers import Answer


def planned_groups(bundle: Bundle) -> list[tuple[str, ...]]:
    """The case ids of each group that an author's cases make, in the cases' order."""
    blocks, _ = group([case.id for case in bundle.cases], bundle.manifest.group_size)
    return [tuple(block) for block in blocks]


def complete_groups(
    answers: Sequence[Answer], bundles: Sequence[Bundle]
) -> tuple[dict[str, list[list[int]]], dict[str, tuple[str, ...]]]:
    """Positions of the answers of each complete group, and the cases left over.

    A group has answers of one source to ``group_size`` cases that follow each other. A
    failed answer leaves its group incomplete: the group is out, not filled up.

    Args:
        answers: Those with a text to score.
        bundles: All authors.
    """
    position = {
        (answer.author, answer.source, answer.case_id): number
        for number, answer in enumerate(answers)
    }
    groups: dict[str, list[list[int]]] = {}
    leftover: dict[str, tuple[str, ...]] = {}
    for bundle in bundles:
        sources = dict.fromkeys(
            answer.source for answer in answers if answer.author == bundle.author
        )
        complete = [
            [position[bundle.author, source, case_id] for case_id in block]
            for source in sources
            for block in planned_groups(bundle)
            if all((bundle.author, source, case_id) in position for case_id in block)
        ]
        if complete:
            groups[bundle.author] = complete
        grouped = {answers[number].case_id for rows in complete for number in rows}
        if rest := tuple(case.id for case in bundle.cases if case.id not in grouped):
            leftover[bundle.author] = rest
    return groups, leftover
