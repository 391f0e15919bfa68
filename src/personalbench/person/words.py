"""What the numbers of a run say, in sentences for a reader without statistics."""

from collections.abc import Sequence

from personalbench.metrics.estimate import Estimate, missing
from personalbench.person.chart import Chart, Mark, Row
from personalbench.person.records import CaseScores, Run, Unrelated

BEWARE = "Before you trust it"
"""Heading of everything that makes a value doubtful."""

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
    """The answer in a few sentences; what makes it worthless comes first."""
    return " ".join([*alarms(run), *verdict(run), values(run)])


def alarms(run: Run) -> list[str]:
    """What must be read before the value."""
    return [*_quotations(run), *given_away(run)]


def _quotations(run: Run) -> list[str]:
    """Texts of the person that came into the answers word for word."""
    total, leaked = run.bundle.cases, leak(run)
    said = [] if leaked is None else [leaked]
    if told := sorted(set(run.leaked) - set(_seen(run))):
        said.append(
            f"Leak through the prompt: {_of(told, total, 'answer')} {_verb(told, 'repeat')} "
            "held-out words that the prompt gives away."
        )
    if run.copied:
        said.append(
            f"Copied: {_of(run.copied, total, 'answer')} {_verb(run.copied, 'repeat')} the profile "
            f"word for word, and a quotation is no imitation{_without_copies(run)}."
        )
    return said


def leak(run: Run) -> str | None:
    """What a twin repeats of texts that it must never have seen; None where nothing."""
    if not (seen := _seen(run)):
        return None
    return (
        f"Leak: {_of(seen, run.bundle.cases, 'answer')} {_verb(seen, 'repeat')} {run.copied_run} "
        "or more words in a row of the held-out texts, which a twin must never have seen: the "
        "likeness is not to be relied on."
    )


def _seen(run: Run) -> list[str]:
    """Cases whose answer repeats held-out words that no prompt gives away."""
    return [case for case in run.leaked if case not in run.contaminated_cases]


def given_away(run: Run) -> list[str]:
    """Prompts that hold words of the text behind the case; the same for every twin."""
    cases = run.contaminated_cases
    if not cases:
        return []
    return [
        f"Prompts: {_of(cases, run.bundle.cases, 'prompt')} {_verb(cases, 'give')} away words of "
        "the held-out text, which brings any twin nearer to it."
    ]


def marks(run: Run) -> tuple[Mark, ...]:
    """What is to be seen of a run's faults beside its name."""
    found: list[Mark] = []
    if run.leaked or run.copied:
        found.append("copied")
    if run.answers.failed:
        found.append("incomplete")
    return tuple(found)


def cautions(run: Run) -> list[str]:
    """What the marks of a run mean, in its case."""
    said = _quotations(run)
    if run.answers.failed:
        said.append(f"{run.answers.failed} of {run.answers.answers} answers are missing or failed.")
    return said


def verdict(run: Run) -> list[str]:
    """Does it write like the person? In a sentence, where the value can say so."""
    twin, unrelated, ceiling = run.twin.likeness.value, run.unrelated, run.ceiling.likeness.value
    beside = _ceiling_beside_twin(run)
    if _seen(run) or twin is None or unrelated is None or ceiling is None or beside is None:
        return []
    author, gain = run.bundle.author, run.improvement
    unsure = " How sure that is, can't be said." if run.twin.likeness.ci_low is None else ""
    if ceiling <= unrelated.p95:
        return [f"This test can't tell: it does not know {author} from unrelated writers."]
    if twin <= unrelated.p95:
        return [f"No: an unrelated writer may come as near.{unsure}"]
    least = gain.value if gain.ci_low is None else gain.ci_low
    if least is not None and least < _SHOWN:
        return ["Not surely more than the same model without any knowledge of the person."]
    if twin > beside - _SHOWN:
        return [f"As much as {author}'s own held-out writing.{unsure}"]
    more, low = f"more than {_beaten(unrelated, twin)}", run.short_of_person.ci_low
    if low is not None and low > 0:
        return [f"In part: {more}, less than {author}'s own writing.{unsure}"]
    # No interval says that the person's own writing is more; so this is a figure, and no claim.
    chance = "" if low is None else ", which may be chance"
    above = f"{author}'s own writing is {beside - twin:z.3f} above{chance}"
    return [f"{more.capitalize()}; {above}.{unsure}"]


def values(run: Run) -> str:
    """The value, and between which others it lies."""
    twin, ceiling = run.twin.likeness, _ceiling_beside_twin(run)
    if twin.value is None:
        return f"The twin's likeness to {run.bundle.author} is not estimable: {twin.reason}."
    part = _part(run, twin)
    said = f"The twin's likeness to {run.bundle.author} is {twin.value:z.3f}"
    said += f" over {part}" if part else ""
    lines = []
    if ceiling is not None:
        there = " in the same" if part else ""
        lines.append(f"{run.bundle.author}'s own held-out writing reaches {ceiling:z.3f}{there}")
    if run.unrelated is not None:
        lines.append(f"unrelated writers are around {run.unrelated.mean:z.3f}")
    return f"{said}; {' and '.join(lines)}." if lines else f"{said}."


def meaning(run: Run) -> list[str]:
    """What that means, point by point."""
    twin = run.twin.likeness
    if twin.value is None:
        return [f"Nothing can be said of the twin: {twin.reason}."]
    said = [*_among_unrelated(run, twin.value), *_against_ceiling(run, twin)]
    if run.baseline is not None:
        said += _against_baseline(run)
    if run.twin.likeness.ci_low is None:
        said.append(
            f"How sure is {twin.value:z.3f}? That can't be said: {twin.reason}. Other cases would "
            "give another value."
        )
    else:
        said.append(
            f"With other cases the value would probably lie between {twin.ci_low:z.3f} and "
            f"{twin.ci_high:z.3f}: that is what the 95 % interval says, here over {twin.n} groups "
            "of cases."
        )
    return [*said, *_left_over(run)]


def _left_over(run: Run) -> list[str]:
    """Cases that fill no group of the bundle, and how to have none."""
    size, total = run.bundle.group_size, run.bundle.cases
    left = total % size
    if not left:
        return []
    counts = "is left over and counts" if left == 1 else "are left over and count"
    return [
        f"{left} of {total} cases {counts} in no likeness, for a group has {size}: prepare a "
        f"bundle with --cases {total - left}, or add {size - left} or more reference documents "
        f"first, to have {total - left + size} cases."
    ]


def ruler(run: Run) -> Chart:
    """The run on a ruler from unrelated writers to the person."""
    unrelated = run.unrelated
    label = partly("the twin", run, run.twin.likeness)
    rows = [Row(label, run.twin.likeness, "twin", marks=marks(run))]
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
        unrelated=unrelated,
        ceiling=run.ceiling.likeness.value,
    )


def least_like(run: Run) -> CaseScores | None:
    """The case whose answer falls furthest short of the person's own text; None without one."""
    short = {case.case_id: shortfall(run, case) for case in run.cases}
    return max(
        (case for case in run.cases if short[case.case_id].value is not None),
        key=lambda case: short[case.case_id].value or 0.0,
        default=None,
    )


def shortfall(run: Run, case: CaseScores) -> Estimate:
    """How much less like the profile the answer is than what the person wrote."""
    twin, person = single(run, case.twin), single(run, case.person)
    if twin.value is None or person.value is None:
        return missing("no answer")
    return Estimate(value=person.value - twin.value)


def noticed(run: Run, case: CaseScores) -> str:
    """What is wrong with a case, in a few words each."""
    found: dict[str, Sequence[str]] = {
        "repeats held-out text": run.leaked,
        "copied from the profile": run.copied,
        "prompt gives words away": run.contaminated_cases,
        "same as another answer": run.repeated_answers,
        "repeats its prompt": run.prompt_copies,
        "cut off": run.cut_off,
    }
    said = [what for what, cases in found.items() if case.case_id in cases]
    return ", ".join(said if case.twin else ["no answer", *said])


def single(run: Run, metrics: dict[str, Estimate]) -> Estimate:
    """Likeness of one text to the profile, out of the metrics of a case."""
    return metrics.get(f"{run.family}_1v5", missing("no answer"))


def _among_unrelated(run: Run, twin: float) -> list[str]:
    unrelated = run.unrelated
    if unrelated is None:
        return [f"How alike unrelated writers are is not known: {run.unrelated_reason}."]
    above = _above(unrelated, twin)
    more = f"{above} of {unrelated.n} unrelated writers are more like the person than the twin is"
    if twin <= unrelated.p95:
        return [f"{more}: by this measure it can't be told from a stranger."]
    said = f"The twin is more like the person than {_beaten(unrelated, twin)}."
    base = run.baseline.likeness.value if run.baseline else None
    if base is None or base <= unrelated.p95:
        return [said]
    return [
        f"{said} But so is the model without the person: subject and kind of text set both apart "
        "from those writers, and only the improvement is the twin's own."
    ]


def _above(unrelated: Unrelated, twin: float) -> int:
    return sum(score > twin for score in unrelated.scores)


def _beaten(unrelated: Unrelated, twin: float) -> str:
    """How many unrelated writers are less like the person than the twin."""
    above = _above(unrelated, twin)
    return f"{unrelated.n - above if above else 'each'} of {unrelated.n} unrelated writers"


def _against_ceiling(run: Run, twin: Estimate) -> list[str]:
    ceiling, beside = run.ceiling.likeness.value, _ceiling_beside_twin(run)
    if ceiling is None or beside is None or twin.value is None:
        return []
    said = []
    unrelated, short = run.unrelated, run.short_of_person
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
            f"It is {beside - twin.value:z.3f} short of the person's own held-out writing{where}, "
            f"which is the same person's value on this test and not a maximum.{_by_chance(short)}"
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
        said = f"It is {abs(gain.value):z.3f} {direction} like the person"
    said += " than the same model without any knowledge of the person"
    part = _part(run, gain)
    said += f", over {part}" if part else ""
    if gap.value is None:
        return [f"{said}; the share of the gap that it closes is not estimable: {gap.reason}."]
    share = round(gap.value, 2) + 0.0  # no -0 %
    closed = f"{said}: it closes {share:.0%} of the gap to the person's own writing."
    if gain.ci_low is None or gain.ci_high is None:
        return [f"{closed} How sure that is, can't be said: {gain.reason}."]
    return [f"{closed}{_by_chance(gain)}"]


def _by_chance(difference: Estimate) -> str:
    """A sentence where the interval of a difference holds zero."""
    low, high = difference.ci_low, difference.ci_high
    if low is None or high is None or not low <= 0 <= high:
        return ""
    return (
        f" That may be chance: with other cases it could lie between {low:+z.3f} and {high:+z.3f}."
    )


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


def _without_copies(run: Run) -> str:
    """What is left of the likeness without the copied answers."""
    rest = run.twin.metrics.get(f"{run.family}_uncopied")
    if rest is None:
        return ""
    if rest.value is None:
        return "; no group of cases is without them"
    part = _part(run, rest)
    return f"; without them the likeness is {rest.value:z.3f}" + (f" over {part}" if part else "")


def _of(some: Sequence[str], total: int, what: str) -> str:
    return f"{len(some)} of {total} {what}s"


def _verb(some: Sequence[str], verb: str) -> str:
    return f"{verb}s" if len(some) == 1 else verb
