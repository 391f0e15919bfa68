"""Is one run better than another? Paired by case and group, or not at all."""

from collections.abc import Sequence
from math import ceil, log2
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from personalbench.errors import UserError
from personalbench.metrics.comparison import Comparison, compare_likeness
from personalbench.metrics.comparison import compare as compare_scores
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.power import LEVEL, POWER
from personalbench.metrics.similarity import gap_closed
from personalbench.metrics.statistics import Floats, episodes
from personalbench.person.chart import Chart, Mark, Row
from personalbench.person.records import Run
from personalbench.person.scoring import with_spread
from personalbench.person.words import cautions, given_away, leak, marks, partly, single

Verdict = Literal["better", "worse", "cannot tell"]

_Z = NormalDist().inv_cdf(1 - LEVEL / 2) + NormalDist().inv_cdf(POWER)

FEWEST_GROUPS = ceil(log2(2 / LEVEL))
"""With fewer, no difference is significant: the sign-flip p of n groups is at least 2 / 2^n."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Compared(_Record):
    """One run against the first.

    Attributes:
        name: The run.
        likeness: Its own likeness, over all of its groups.
        verdict: What the interval and the p of the difference say.
        sentence: The verdict in words.
        difference: Its likeness less the first's, group by group.
        one_v_five: The same for single answers, case by case: a diagnostic.
        groups: How many groups both answered.
        groups_needed: About how many would show a difference of this size; None where
            the verdict needs none or the difference is zero.
        gap_closed: Of the run itself, where it was scored with the first's baseline answers.
        notes: Which groups were left out, and whether the baselines differ.
        marks: What makes the run's value doubtful.
        leak: What it repeats of the held-out texts, in a sentence; None where nothing.
        copied: How many of its answers repeat the profile.
        gap_closed_uncopied: The share of the gap closed over the groups without such an
            answer; None where no answer is copied or the gap is another.
    """

    name: str
    likeness: Estimate
    verdict: Verdict
    sentence: str
    difference: Comparison
    one_v_five: Comparison
    groups: int
    groups_needed: int | None
    gap_closed: Estimate
    notes: tuple[str, ...]
    marks: tuple[Mark, ...] = ()
    leak: str | None = None
    copied: int = 0
    gap_closed_uncopied: Estimate | None = None


class Comparisons(_Record):
    """Several runs against the first of them.

    Attributes:
        schema_version: Layout of this record.
        bundle: SHA-256 of the bundle that all answered.
        author: Whose writing is imitated.
        first: Name of the run that the others are compared with.
        first_likeness: Its likeness.
        first_marks: What makes it doubtful.
        first_leak: What it repeats of the held-out texts; None where nothing.
        first_copied: How many of its answers repeat the profile.
        warnings: What must be read before any verdict: leaks, copies, missing answers.
        runs: The others, in the order they were given.
    """

    schema_version: Literal[1] = 1
    bundle: str
    author: str
    first: str
    first_likeness: Estimate
    first_marks: tuple[Mark, ...] = ()
    first_leak: str | None = None
    first_copied: int = 0
    warnings: tuple[str, ...] = ()
    runs: tuple[Compared, ...]


def compare_runs(runs: Sequence[Run], tables: Sequence[Floats]) -> Comparisons:
    """Compare every run with the first.

    Args:
        runs: At least two, scored on the same bundle with the same settings.
        tables: The likeness table of each run, in the same order.

    Raises:
        UserError: Two runs differ in their bundle, encoder or settings; names in what.
    """
    first = runs[0]
    for run in runs[1:]:
        _require_comparable(first, run)
    return Comparisons(
        bundle=first.bundle.sha256,
        author=first.bundle.author,
        first=first.name,
        first_likeness=first.twin.likeness,
        first_marks=marks(first),
        first_leak=leak(first),
        first_copied=len(first.copied),
        warnings=(
            *(f"{run.name}: {said}" for run in runs for said in cautions(run)),
            *given_away(first),
        ),
        runs=tuple(
            _compared(run, first, table, tables[0])
            for run, table in zip(runs[1:], tables[1:], strict=True)
        ),
    )


def require_one_baseline(runs: Sequence[Run]) -> None:
    """Make sure that the shares of the gap closed are of one gap.

    Raises:
        UserError: Two runs were scored with different baseline answers.
    """
    for run in runs[1:]:
        if _other_baseline(run, runs[0]):
            raise UserError(
                f"{runs[0].name} and {run.name} were scored with different baseline answers, and "
                "so close different gaps; score both with the same --baseline-answers"
            )


def chart(runs: Sequence[Run], title: str) -> Chart:
    """Every run between unrelated writers and the person."""
    return Chart(
        title=title,
        rows=tuple(
            Row(
                partly(run.name, run, run.twin.likeness),
                run.twin.likeness,
                "twin",
                marks=marks(run),
            )
            for run in runs
        ),
        unrelated=runs[0].unrelated,
        ceiling=runs[0].ceiling.likeness.value,
    )


def _require_comparable(first: Run, second: Run) -> None:
    mine, other = _shared(first), _shared(second)
    for what, value in mine.items():
        if value != other[what]:
            raise UserError(
                f"{first.name} and {second.name} can't be compared: {what} is {value} and "
                f"{other[what]}; score both on one bundle with the same settings"
            )


def _shared(run: Run) -> dict[str, Any]:
    """What two runs must have in common, the most telling first."""
    settings = run.settings.model_dump()
    encoder = settings.pop("encoder")
    return {
        "author": run.bundle.author,
        "bundle": run.bundle.sha256,
        **{f"encoder {name}": value for name, value in encoder.items()},
        **settings,
    }


def _compared(run: Run, first: Run, own: Floats, others: Floats) -> Compared:
    size, settings = run.bundle.group_size, run.settings
    mine, theirs = _rows(run, own), _rows(first, others)
    differences = [
        a - b for ids, a in mine.items() if a is not None and (b := theirs[ids]) is not None
    ]
    if not differences:
        raise UserError(f"{first.name} and {run.name} have no complete group of cases in common")
    person = run.bundle.author
    difference = _with_spread(
        compare_likeness({person: mine}, {person: theirs}, size, settings.replicates, settings.seed)
    )
    verdict = verdict_of(difference)
    needed = groups_needed(np.array(differences), size) if verdict == "cannot tell" else None
    gap, uncopied, notes = run.gap_closed, _gap_uncopied(run), _left_out(run, first)
    if _same_answers(run, first):
        notes.insert(0, f"{run.name} and {first.name} gave the same answers: nothing differs.")
    if _other_baseline(run, first):
        gap, uncopied = missing("other baseline answers"), None
        notes.append(
            f"{run.name} was scored with other baseline answers than {first.name}: improvement "
            "and share of the gap closed are not compared."
        )
    return Compared(
        name=run.name,
        likeness=run.twin.likeness,
        verdict=verdict,
        sentence=_sentence(verdict, run.name, first.name, difference.difference, needed),
        difference=difference,
        one_v_five=_with_spread(
            compare_scores(
                {person: _singles(run)},
                {person: _singles(first)},
                settings.replicates,
                settings.seed,
            )
        ),
        groups=len(differences),
        groups_needed=needed,
        gap_closed=gap,
        notes=tuple(notes),
        marks=marks(run),
        leak=leak(run),
        copied=len(run.copied),
        gap_closed_uncopied=uncopied,
    )


def _gap_uncopied(run: Run) -> Estimate | None:
    """The share of the gap closed without the groups that hold a copied answer."""
    if not run.copied:
        return None
    kept = [
        (group.twin, group.baseline, group.ceiling)
        for group in run.groups
        if group.twin is not None
        and group.baseline is not None
        and set(run.copied).isdisjoint(group.case_ids)
    ]
    if not kept:
        return missing("no group of cases is without them")
    twin, baseline, ceiling = (sum(line) / len(kept) for line in zip(*kept, strict=True))
    return gap_closed(twin, baseline, ceiling).model_copy(update={"n": len(kept)})


def _same_answers(run: Run, first: Run) -> bool:
    """One file, or one with other spaces between its keys: no two texts measure alike in all."""
    return run.answers.sha256 == first.answers.sha256 or [case.twin for case in run.cases] == [
        case.twin for case in first.cases
    ]


def _other_baseline(run: Run, first: Run) -> bool:
    mine, theirs = run.baseline_answers, first.baseline_answers
    return mine is not None and theirs is not None and mine.sha256 != theirs.sha256


def _left_out(run: Run, first: Run) -> list[str]:
    """Over how many groups the difference is, where not all were answered."""
    told = []
    for mine, theirs in zip(run.groups, first.groups, strict=True):
        silent = [
            name for name, group in ((first.name, theirs), (run.name, mine)) if group.twin is None
        ]
        if silent:
            cases = f"{mine.case_ids[0]} to {mine.case_ids[-1]}"
            told.append(f"group of {cases} left out: no answer by {' and '.join(silent)}")
    if not told:
        return []
    total = len(run.groups)
    return [
        f"{run.name} against {first.name}: {total - len(told)} of {total} groups; "
        f"{'; '.join(told)}."
    ]


def _with_spread(comparison: Comparison) -> Comparison:
    return comparison.model_copy(update={"difference": with_spread(comparison.difference)})


def groups_needed(difference: Floats, size: int) -> int | None:
    """About how many groups would show a difference of the size found.

    At level 5 % and power 80 %, by the normal approximation. How much a group's difference
    varies is taken from resampling the cases within each group, which one group allows too,
    and from the spread between groups where there are several: the larger of both. Never
    fewer than can be significant at all.

    Args:
        difference: Likeness table of one run less that of the other, (G, M).
        size: Documents in a group.

    Returns:
        None where the difference is zero.
    """
    found = float(difference[:, 0].mean())
    if not found:
        return None
    _, weights = episodes(size)
    means = difference @ weights
    variance = float(np.mean((difference - means[:, None]) ** 2 @ weights))
    if len(difference) > 1:
        variance = max(variance, float(np.var(difference[:, 0], ddof=1)))
    return max(FEWEST_GROUPS, len(difference) + 1, ceil(variance * (_Z / found) ** 2))


def verdict_of(comparison: Comparison) -> Verdict:
    """What a comparison says: its interval leaves out zero, and its p is at most 0.05.

    The interval alone is too narrow where groups are few: it holds two of them apart from
    zero in up to every fourth comparison of equal runs.
    """
    low, high = comparison.difference.ci_low, comparison.difference.ci_high
    if low is None or high is None or comparison.p is None or comparison.p > LEVEL:
        return "cannot tell"
    if low > 0:
        return "better"
    return "worse" if high < 0 else "cannot tell"


def _sentence(
    verdict: Verdict, name: str, first: str, difference: Estimate, needed: int | None
) -> str:
    value = difference.value or 0.0
    found = f"difference {value:+z.3f}"
    if difference.ci_low is not None:
        found += f", 95 % interval {difference.ci_low:+z.3f} to {difference.ci_high:+z.3f}"
    if verdict != "cannot tell":
        return f"{name} is {verdict} than {first} ({found})."
    groups = f"{difference.n} group{'s' if difference.n != 1 else ''}"
    # One group does not show how much groups vary, and the fewest are a bound, no estimate.
    bound = "at least" if difference.n == 1 or needed == FEWEST_GROUPS else "about"
    more = "" if needed is None else f": you would need {bound} {needed}"
    return f"{name} against {first}: cannot tell with {groups}{more} ({found})."


def _rows(run: Run, table: Floats) -> dict[str, Floats | None]:
    """Rows of a likeness table by the first case of their group; None where there is none."""
    rows = iter(table)
    return {each.case_ids[0]: None if each.twin is None else next(rows) for each in run.groups}


def _singles(run: Run) -> dict[str, float | None]:
    return {case.case_id: single(run, case.twin).value for case in run.cases}


def below_gap(run: Compared, least: float) -> str | None:
    """Why a run does not close at least that share of the gap, or None where it does."""
    gap = run.gap_closed
    unknown = f"{run.name}: the share of the gap closed is not estimable"
    if gap.value is None:
        return f"{unknown}: {gap.reason}"
    if gap.ci_low is None:  # other cases might give any value
        return f"{unknown} from {gap.value:z.3f} alone: {gap.reason}"
    if gap.value < least:
        return f"{run.name}: closes {gap.value:.3f} of the gap, less than {least}"
    rest = run.gap_closed_uncopied
    if rest is None or (rest.value is not None and rest.value >= least):
        return None
    left = f"not estimable: {rest.reason}" if rest.value is None else f"{rest.value:z.3f}"
    return (
        f"{run.name}: closes {gap.value:.3f} of the gap; without the answers copied from the "
        f"profile the share is {left}"
    )


def copies_more(run: Compared, compared: Comparisons) -> str | None:
    """Why a run can't be said to be no worse than the first, or None: quotations look alike."""
    if run.copied <= compared.first_copied:
        return None
    return (
        f"{run.name}: answers copied from the profile: {run.copied}, in {compared.first}: "
        f"{compared.first_copied}; quotations may hide that the twin's own words are worse"
    )
