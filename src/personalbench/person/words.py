"""What the numbers of a run say, in sentences for a reader without statistics."""

from personalbench.metrics.estimate import Estimate, missing
from personalbench.person.chart import Chart, Row
from personalbench.person.records import CaseScores, Run

NOT_MEANT = (
    "Facts: whether what the twin says is true, or true of the person.",
    "Preferences and opinions: whether the person would say it.",
    "Correctness or quality: whether the text is any good.",
    "Leaks: a twin that has seen the held-out documents scores high and proves nothing; long "
    "quotations from them are reported, a paraphrase is not found.",
    "Other people and other encoders: the values hold for this profile and this encoder; no "
    "threshold from anywhere else applies to them.",
)
"""What no number of the report says."""

_SHOWN = 0.0005  # less is 0.000 in print


def headline(run: Run) -> str:
    """The answer in one or two sentences."""
    twin, ceiling = run.twin.likeness, _ceiling_beside_twin(run)
    if twin.value is None:
        return f"The twin's likeness to {run.bundle.author} is not estimable: {twin.reason}."
    part = _part(run, twin)
    said = f"The twin's likeness to {run.bundle.author} is {twin.value:.3f}"
    said += f" over {part}" if part else ""
    lines = []
    if ceiling is not None:
        there = " in the same" if part else ""
        lines.append(f"{run.bundle.author}'s own held-out writing reaches {ceiling:.3f}{there}")
    if run.unrelated is not None:
        lines.append(f"unrelated writers are around {run.unrelated.mean:.3f}")
    return f"{said}; {' and '.join(lines)}." if lines else f"{said}."


def meaning(run: Run) -> list[str]:
    """What that means, point by point."""
    twin = run.twin.likeness
    if twin.value is None:
        return []
    said = [*_among_unrelated(run, twin.value), *_against_ceiling(run, twin)]
    if run.baseline is not None:
        said += _against_baseline(run)
    if run.twin.likeness.ci_low is None:
        said.append(
            f"How sure is {twin.value:.3f}? Not estimable: {twin.reason}. Another set of cases "
            "would give another value."
        )
    else:
        said.append(
            f"With other cases the value would probably lie between {twin.ci_low:.3f} and "
            f"{twin.ci_high:.3f} (95 % interval over {twin.n} groups)."
        )
    return said


def ruler(run: Run) -> Chart:
    """The run on a ruler from unrelated writers to the person."""
    unrelated = run.unrelated
    rows = [Row(partly("the twin", run, run.twin.likeness), run.twin.likeness, "twin")]
    if run.baseline is not None:
        base = run.baseline.likeness
        rows.insert(0, Row(partly("the model without the person", run, base), base, "baseline"))
    if unrelated is not None:
        rows.insert(
            0,
            Row(
                f"{unrelated.n} unrelated writers",
                Estimate(value=unrelated.mean, n=unrelated.n),
                "unrelated",
                unrelated.scores,
            ),
        )
    rows.append(Row(f"{run.bundle.author}, held-out writing", run.ceiling.likeness, "person"))
    return Chart(
        title=headline(run),
        rows=tuple(rows),
        floor=(unrelated.p5, unrelated.mean, unrelated.p95) if unrelated else None,
        ceiling=run.ceiling.likeness.value,
    )


def least_like(run: Run) -> CaseScores | None:
    """The case whose answer is least like the person; None where nothing was answered."""
    return min(
        (case for case in run.cases if single(run, case.twin).value is not None),
        key=lambda case: (single(run, case.twin).value, case.case_id),
        default=None,
    )


def single(run: Run, metrics: dict[str, Estimate]) -> Estimate:
    """Likeness of one text to the profile, out of the metrics of a case."""
    return metrics.get(f"{run.family}_1v5", missing("no answer"))


def _among_unrelated(run: Run, twin: float) -> list[str]:
    unrelated = run.unrelated
    if unrelated is None:
        return [f"How alike unrelated writers are is not known: {run.unrelated_reason}."]
    above = sum(score > twin for score in unrelated.scores)
    more = f"{above} of {unrelated.n} unrelated writers are more like the person than the twin is"
    if twin <= unrelated.p95:
        return [f"{more}: by this measure it can't be told from a stranger."]
    said = (
        f"The twin is more like the person than each of {unrelated.n} unrelated writers."
        if above == 0
        else f"The twin is more like the person than {unrelated.n - above} of {unrelated.n} "
        "unrelated writers."
    )
    base = run.baseline.likeness.value if run.baseline else None
    if base is None or base <= unrelated.p95:
        return [said]
    return [
        f"{said} But so is the model without the person: subject and kind of text set both apart "
        "from those writers, and only the improvement is the twin's own."
    ]


def _against_ceiling(run: Run, twin: Estimate) -> list[str]:
    ceiling, beside = run.ceiling.likeness.value, _ceiling_beside_twin(run)
    if ceiling is None or beside is None or twin.value is None:
        return []
    said = []
    unrelated = run.unrelated
    if unrelated is not None and ceiling <= unrelated.p95:
        said.append(
            "The person's own held-out writing is no more like the profile than some unrelated "
            "writers are: this profile can't tell the person from others, and nothing below is to "
            "be relied on. More, longer or more similar documents may help."
        )
    part = _part(run, twin)
    where = f", over {part}" if part else ""
    if twin.value > beside - _SHOWN:
        said.append(
            "It is as like the profile as the person's own held-out writing in the same "
            f"cases{where}."
        )
    else:
        said.append(
            f"It is {beside - twin.value:.3f} short of the person's own held-out writing{where}, "
            "which is the same person's value on this test and not a maximum."
        )
    return said


def _against_baseline(run: Run) -> list[str]:
    gain, gap = run.improvement, run.gap_closed
    if gain.value is None:
        return [f"Against the model without the person: not estimable, {gain.reason}."]
    if abs(gain.value) < _SHOWN:
        said = "It is no more and no less like the person"
    else:
        direction = "more" if gain.value > 0 else "less"
        said = f"It is {abs(gain.value):.3f} {direction} like the person"
    said += " than the same model without any knowledge of the person"
    part = _part(run, gain)
    said += f", over {part}" if part else ""
    if gap.value is None:
        return [f"{said}; the share of the gap that it closes is not estimable: {gap.reason}."]
    share = round(gap.value, 2) + 0.0  # no -0 %
    closed = f"{said}: it closes {share:.0%} of the gap to the person's own writing."
    if gain.ci_low is None or gain.ci_high is None:
        return [f"{closed} How sure that is, can't be said: {gain.reason}."]
    if gain.ci_low <= 0 <= gain.ci_high:
        return [
            f"{closed} That may be chance: with other cases it could lie between "
            f"{gain.ci_low:+.3f} and {gain.ci_high:+.3f}."
        ]
    return [closed]


def partly(label: str, run: Run, estimate: Estimate) -> str:
    """A label that says over how many groups a value is, where not over all."""
    part = _part(run, estimate)
    return f"{label}, {part}" if part else label


def _part(run: Run, estimate: Estimate) -> str | None:
    """Such as "1 of 2 groups", where a value is over some groups only."""
    if estimate.value is None or estimate.n == len(run.groups):
        return None
    return f"{estimate.n} of {len(run.groups)} groups"


def _ceiling_beside_twin(run: Run) -> float | None:
    """Likeness of the person's own writing over the groups that the twin answered."""
    own = [group.ceiling for group in run.groups if group.twin is not None]
    return sum(own) / len(own) if own else run.ceiling.likeness.value
