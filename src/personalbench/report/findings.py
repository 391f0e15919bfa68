"""What the numbers of a run say, and what they do not, in words."""

from personalbench.metrics.estimate import Estimate
from personalbench.report.results import Results
from personalbench.report.section import written
from personalbench.report.validation import Validation


def overlaps(first: Estimate, second: Estimate) -> bool | None:
    """Whether two intervals overlap; None where one is missing."""
    if (
        first.ci_low is None
        or first.ci_high is None
        or second.ci_low is None
        or second.ci_high is None
    ):
        return None
    return first.ci_low <= second.ci_high and second.ci_low <= first.ci_high


def findings(results: Results) -> list[str]:
    """Where each twin stands on the primary metric."""
    metric = results.encoder.family
    title = results.catalogue[metric].column
    ceiling, floor = (results.estimate(line, metric) for line in ("ceiling", "floor"))
    if ceiling.value is None or floor.value is None:
        return [f"{title} has no reference lines here: {ceiling.reason or floor.reason}."]
    said = []
    if ceiling.value <= floor.value:
        said.append(
            f"{title} does not tell the authors (ceiling {written(ceiling)}) from unrelated "
            f"writers (floor {written(floor)}) on this corpus: no twin's value can be read."
        )
    for twin in results.twins:
        estimate = results.estimate(twin, metric)
        if estimate.value is None:
            said.append(f"{twin}: not estimable: {estimate.reason}.")
            continue
        place = _place(estimate.value, floor.value, ceiling.value)
        if overlaps(estimate, floor):
            place += "; the intervals overlap, so it is not told apart from unrelated writers"
        said.append(f"{twin}: {with_authors(results, twin)}, {place}.")
    return said


def with_authors(results: Results, twin: str) -> str:
    """A twin's value of the primary metric; over how many authors, where others have more."""
    metric = results.encoder.family
    estimate = results.estimate(twin, metric)
    most = max(results.estimate(line, metric).authors for line in results.lines)
    few = f" over {estimate.authors} of {most} authors" if estimate.authors < most else ""
    return written(estimate) + few


def _place(value: float, floor: float, ceiling: float) -> str:
    if value < floor:
        return f"below unrelated writers ({floor:.3f})"
    if value >= ceiling:
        return f"at or above the authors' own writing ({ceiling:.3f}): look for copied samples"
    share = (value - floor) / (ceiling - floor)
    return (
        f"{share:.0%} of the way from unrelated writers ({floor:.3f}) to the authors "
        f"({ceiling:.3f})"
    )


def omissions(results: Results) -> list[str]:
    """Everything that is not in the numbers."""
    said = []
    for line, scores in results.lines.items():
        if scores.failed:
            said.append(
                f"{line}: {scores.failed} of {scores.answers} answers have no text to score."
            )
        if scores.truncated:
            said.append(
                f"{line}: {scores.truncated} texts are longer than the encoder reads; their "
                "ends are not in the authorship vectors."
            )
        if scores.unreliable:
            said.append(
                f"{line}: {scores.unreliable} of {scores.answers} texts have fewer than 50 tokens: "
                "authorship vectors of so short texts are unreliable."
            )
        for author, case_ids in scores.leftover.items():
            said.append(
                f"{line}: {', '.join(case_ids)} of {author} make no complete group and are not in "
                f"{results.catalogue[results.encoder.family].column}."
            )
    return said or ["Nothing: every text is in every number."]


def encoder_rank(validation: Validation) -> str | None:
    """Say it where a plain count tells the authors apart as well as the encoder does."""
    size = max(result.verification.size for result in validation.results)
    name = validation.results[0].encoder
    own = validation.of(name, size).auc
    if own is None:
        return None
    better = [
        f"{result.encoder} {result.verification.auc:.3f}"
        for result in validation.results
        if result.encoder != name
        and result.verification.size == size
        and result.verification.auc is not None
        and result.verification.auc >= own
    ]
    if not better:
        return None
    return (
        f"On this corpus {name} ({own:.3f}) tells the authors apart no better than "
        f"{', '.join(better)}: what they write about gives them away, and a twin that is asked "
        "for the same subjects can profit from that."
    )
