"""How far to trust the judge: the first thing to read before any of its numbers."""

from collections.abc import Sequence

from personalbench.judge.records import AuthorTraits
from personalbench.judge.trust import Separation, Trust
from personalbench.metrics.agreement import Agreement
from personalbench.metrics.estimate import Estimate
from personalbench.report.results import Results
from personalbench.report.section import Cell, Column, Section, Table, columns, written

_LENSES = {"tmr": "TMR", "same_author": "SA"}


def trust_section(results: Results, trust: Trust, traits: Sequence[AuthorTraits]) -> Section:
    """What trying the judge showed, in words first.

    Args:
        results: The scores of all lines.
        trust: What the trust stage measured.
        traits: The questions in use.
    """
    return Section(
        id="trust",
        title="How far to trust the judge",
        basis=f"Judge: {trust.judge}. Real text: {trust.separations[0].ceiling.n} documents by the "
        f"authors, {trust.separations[0].floor.n} by others; twins: {', '.join(results.twins)}.",
        text=tuple(_separation(trust.judge, lens) for lens in trust.separations),
        points=tuple(_warnings(trust)),
        tables=(_real_text(trust), _trials(trust), _failures(trust), _questions(traits)),
        notes=(
            "A difference whose interval holds zero is no evidence that the judge sees style. "
            "Kappa is agreement beyond chance: 0 is chance, 1 is always. Questions that are no "
            "more alike within an author than between two authors are not about the author.",
        ),
    )


def _separation(judge: str, lens: Separation) -> str:
    name, difference = _LENSES[lens.metric], lens.difference
    if difference.value is None:
        return f"{name}: whether {judge} tells the authors from others can't be said: " + (
            f"{difference.reason}."
        )
    numbers = (
        f"{written(lens.ceiling)} on the authors' own writing, {written(lens.floor)} on that of "
        f"others, difference {written(difference)}"
    )
    if lens.separates is None:
        return f"{name}: {numbers}; there is no interval: {difference.reason}."
    if lens.separates:
        return f"{name}: {judge} tells the authors from others here: {numbers}."
    return (
        f"{name}: this judge does not separate them here: {numbers}. "
        f"Its {name} of a twin carries no evidence."
    )


def _warnings(trust: Trust) -> list[str]:
    said = []
    for item in trust.circular:
        said.append(
            f"Circularity: {item.twin} shows more of the authors' traits (TMR {item.tmr:.3f}) than "
            f"the authors themselves (ceiling {item.ceiling:.3f}): there, TMR does not measure "
            "likeness to the person. A twin that was told the traits, or overdoes them, can win; "
            "so can chance."
        )
    for preference in trust.self_preference:
        kin = "the judge's own model" if preference.same_model else "of the judge's family"
        said.append(
            f"Self-preference: {preference.twin} is written by {preference.generator}, {kin}; "
            "judges tend to prefer texts of their own kind. Take a judge of another family."
        )
    if trust.yes_rate.value in (0.0, 1.0):
        word = "the same author" if trust.yes_rate.value else "different authors"
        said.append(f"The judge said {word} of every text, the authors' own and everyone else's.")
    if trust.off_style:
        said.append(
            f"{len(trust.off_style)} trait questions ask what a text is about, or about its "
            f"markup, not how it is written: {' '.join(trust.off_style)}"
        )
    if trust.stability.failed:
        said.append(
            f"{trust.stability.failed} of {trust.stability.asked} repeated extractions gave no "
            "five questions."
        )
    return said


def _real_text(trust: Trust) -> Table:
    return Table(
        caption="The judge on real text",
        columns=columns(
            "lens",
            Column("ceiling", "Over the authors' own held-out documents."),
            Column("floor", "Over documents by others."),
            Column("difference", "Case by case; the interval resamples authors."),
        ),
        rows=tuple(
            (_LENSES[lens.metric], lens.ceiling, lens.floor, lens.difference)
            for lens in trust.separations
        ),
    )


def _trials(trust: Trust) -> Table:
    stability = trust.stability
    rows: list[tuple[str, Estimate]] = [
        ("AUC of the verdict's probability on real text", trust.verdict_auc),
        ("yes among all same-author verdicts", trust.yes_rate),
        ("yes on texts by others (each is wrong)", trust.yes_rate_floor),
        ("traits found present, over all texts", trust.trait_yes_rate),
        *_agreement("same-author verdicts asked twice", trust.repeat_verdicts),
        *_agreement("trait findings asked twice", trust.repeat_traits),
        *_agreement("same-author verdicts in either order", trust.order),
        ("trait questions of two extractions: equal (Jaccard)", stability.exact),
        ("the same: alike in words (TF-IDF cosine of best matches)", stability.soft),
        ("for comparison: alike between two authors", stability.soft_others),
    ]
    return Table(
        caption="The judge tried",
        columns=columns("what", "value", Column("n", "Pairs, verdicts or texts.")),
        rows=tuple((title, estimate, estimate.n) for title, estimate in rows),
    )


def _agreement(title: str, found: Agreement) -> list[tuple[str, Estimate]]:
    return [(f"{title}: equal", found.share), (f"{title}: Cohen's kappa", found.kappa)]


def _failures(trust: Trust) -> Table:
    return Table(
        caption="Calls without a usable answer",
        columns=columns("call", Column("share", form=".1%"), "calls"),
        rows=tuple((call, share, share.n) for call, share in trust.failures.items()),
    )


def _questions(traits: Sequence[AuthorTraits]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (record.author, question)
        for record in traits
        for question in record.questions or (f"none: {record.reason}",)
    ]
    return Table(
        caption="The questions, from each author's profile alone",
        columns=columns("author", "question"),
        rows=tuple(rows),
    )
