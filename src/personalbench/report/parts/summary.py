"""The answer, in two sentences and one picture."""

import re

from personalbench.report.figures import headline_figure
from personalbench.report.findings import overlaps, with_authors
from personalbench.report.parts.differences import significant
from personalbench.report.parts.methods import over
from personalbench.report.run import Run
from personalbench.report.section import Section

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([mb])\b", re.IGNORECASE)
_SMALL = 3.0
"""Billions of parameters under which a generator is said to be small."""


def summary_section(run: Run) -> Section:
    """What this run says, before anything else."""
    return Section(
        id="answer",
        title="What this run says",
        basis=run.basis(over(run)),
        text=(" ".join((standing(run), caution(run))),),
        figures=(headline_figure(run.results),),
    )


def standing(run: Run) -> str:
    """One sentence: where the nearest twin stands on the primary metric."""
    results = run.results
    family = results.encoder.family
    ceiling, floor = (results.estimate(line, family) for line in ("ceiling", "floor"))
    known = {
        twin: likeness
        for twin in results.twins
        if (likeness := results.estimate(twin, family).value) is not None
    }
    if not known:
        return (
            "Not estimable: no twin has a complete group of answers, so none can be compared with "
            "its author."
        )
    best = max(known, key=lambda twin: known[twin])
    value = with_authors(results, best)
    if ceiling.value is None or floor.value is None:
        reason = ceiling.reason or floor.reason
        return f"{best} reaches {value}, but there is nothing to hold it against: {reason}."
    if ceiling.value <= floor.value:
        return (
            f"The encoder {results.encoder.name} does not tell these authors "
            f"({ceiling.value:.3f}) from unrelated writers ({floor.value:.3f}), so no twin's "
            "likeness can be read."
        )
    lines = (
        f"where unrelated writers reach {floor.value:.3f} and the authors themselves "
        f"{ceiling.value:.3f}"
    )
    if known[best] <= floor.value:
        return (
            "No twin writes more like its author than an unrelated person does: the nearest, "
            f"{best}, reaches {value} {lines}."
        )
    if known[best] >= ceiling.value:
        return (
            f"{best} is as much like the authors as their own writing, {value} {lines}: look for "
            "copied samples before you believe it."
        )
    share = (known[best] - floor.value) / (ceiling.value - floor.value)
    told = (
        ", which does not tell it from an unrelated person yet"
        if overlaps(results.estimate(best, family), floor)
        else ""
    )
    return (
        f"{best} ({value}) comes closest to the authors, {share:.0%} of the way from unrelated "
        f"writers ({floor.value:.3f}) to their own writing ({ceiling.value:.3f}){told}."
    )


def caution(run: Run) -> str:
    """One sentence: how twins differ, and what this run can't tell."""
    primary = [
        pair for pair in run.analysis.comparisons if pair.metric == run.results.encoder.family
    ]
    causes = []
    if _is_low(run) and (small := _small_generators(run)):
        causes.append(f"a generator as small as {', '.join(small)} is a likely cause of low values")
    if not primary:
        said = "With one twin there is nothing to compare it with"
    elif all(pair.comparison.difference.value is None for pair in primary):
        said = f"How twins differ is not estimable: {primary[0].comparison.difference.reason}"
    elif any(map(significant, primary)):
        count = sum(map(significant, primary))
        said = f"{count} of {len(primary)} pairs of twins differ beyond chance"
    elif any(pair.comparison.note for pair in primary):
        said = (
            f"Which twin is better can't be told with {len(run.bundles)} "
            f"author{'s' if len(run.bundles) > 1 else ''}: no difference could be significant"
        )
    else:
        said = "No two twins differ beyond chance"
    return f"{said}{''.join(f'; {cause}' for cause in causes)}."


def _is_low(run: Run) -> bool:
    """Whether no twin is half-way from the floor to the ceiling."""
    family = run.results.encoder.family
    ceiling, floor = (run.results.estimate(line, family).value for line in ("ceiling", "floor"))
    if ceiling is None or floor is None:
        return False
    values = [run.results.estimate(twin, family).value for twin in run.results.twins]
    known = [value for value in values if value is not None]
    return bool(known) and max(known) < (ceiling + floor) / 2


def _small_generators(run: Run) -> list[str]:
    """Generators whose name gives a size below three billion parameters."""
    return [
        name
        for name in dict.fromkeys(run.generators.values())
        if name is not None
        and (found := _SIZE.search(name))
        and float(found[1]) * (1 if found[2].lower() == "b" else 1e-3) < _SMALL
    ]
