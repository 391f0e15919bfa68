"""Figures of the report."""

from collections.abc import Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from personalbench.analysis.records import SizedLikeness
from personalbench.metrics.estimate import Estimate
from personalbench.report.drawing import CEILING, FLOOR, QUIET, TWIN, drawn, look, twin_looks
from personalbench.report.results import Results
from personalbench.report.run import Run
from personalbench.report.section import Figure, written

_LEGEND = [
    (
        (Patch(color=CEILING, alpha=0.15, lw=0), Line2D([], [], color=CEILING)),
        "ceiling: the authors' own writing, with 95 % interval",
    ),
    (
        (Patch(color=FLOOR, alpha=0.15, lw=0), Line2D([], [], color=FLOOR, linestyle="--")),
        "floor: unrelated writers, with 95 % interval",
    ),
    (Line2D([], [], color=TWIN, marker="o"), "twin, with 95 % interval"),
]


def headline_figure(results: Results) -> Figure:
    """The primary metric alone: each twin between floor and ceiling."""
    metric = results.catalogue[results.encoder.family]
    with look():
        drawing, axis = plt.subplots(
            figsize=(5.6, 1.6 + 0.36 * len(results.twins)), layout="constrained"
        )
        _panel(axis, results.encoder.family, results)
        axis.set_yticks(range(len(results.twins)), [*results.twins][::-1])
        axis.set_title("")
        axis.set_xlabel(f"{metric.column} (higher is more like the person)")
        _legend(drawing, columns=1)
    return drawn(
        "headline",
        f"{metric.title}: {metric.meaning}",
        _words(results, results.encoder.family),
        drawing,
    )


def methods_figure(results: Results) -> Figure:
    """One panel a metric: each twin with its interval between floor and ceiling."""
    metrics, columns = results.metrics, 2
    rows = -(-len(metrics) // columns)
    with look():
        drawing, axes = plt.subplots(
            rows,
            columns,
            figsize=(3.8 * columns, 1.0 + rows * (0.7 + 0.27 * len(results.twins))),
            squeeze=False,
            layout="constrained",
        )
        for axis, metric in zip(axes.flat, metrics, strict=False):
            _panel(axis, metric, results)
        for axis in list(axes.flat)[len(metrics) :]:
            axis.axis("off")
        for row in axes:
            row[0].set_yticks(range(len(results.twins)), [*results.twins][::-1])
        _legend(drawing, columns=2)
    return drawn(
        "methods",
        "Every twin by every metric, between the floor and the ceiling of the same measurement.",
        " ".join(_words(results, metric) for metric in metrics),
        drawing,
    )


def _legend(drawing: Drawing, columns: int) -> None:
    handles, labels = zip(*_LEGEND, strict=True)
    drawing.legend(
        handles, labels, loc="outside lower center", ncols=columns, fontsize=9, handlelength=2.4
    )


def _words(results: Results, metric: str) -> str:
    """The values of a panel, for those who can't see it."""
    values = ", ".join(
        f"{line} {written(results.estimate(line, metric))}" for line in results.lines
    )
    return f"{results.catalogue[metric].column}: {values}."


def _panel(axis: Axes, metric: str, results: Results) -> None:
    _line(axis, results.estimate("ceiling", metric), CEILING, "-")
    _line(axis, results.estimate("floor", metric), FLOOR, "--")
    for height, twin in enumerate([*results.twins][::-1]):
        estimate = results.estimate(twin, metric)
        if estimate.value is None:
            axis.text(
                0.5,
                height,
                "not estimable",
                transform=axis.get_yaxis_transform(),
                ha="center",
                va="center",
                fontsize=8,
                color=QUIET,
            )
            continue
        if estimate.ci_low is not None and estimate.ci_high is not None:
            axis.plot([estimate.ci_low, estimate.ci_high], [height, height], color=TWIN, lw=1.8)
        axis.plot(estimate.value, height, "o", color=TWIN)
    axis.set_ylim(-0.6, len(results.twins) - 0.4)
    axis.set_yticks(range(len(results.twins)), [""] * len(results.twins))
    axis.set_title(results.catalogue[metric].column)
    axis.grid(axis="x")
    axis.xaxis.set_major_locator(MaxNLocator(5))


def _line(axis: Axes, estimate: Estimate, color: str, style: str) -> None:
    if estimate.value is None:
        return
    axis.axvline(estimate.value, color=color, linestyle=style, lw=1.6)
    if estimate.ci_low is not None and estimate.ci_high is not None:
        axis.axvspan(estimate.ci_low, estimate.ci_high, color=color, alpha=0.15, lw=0)


def distribution_figure(results: Results) -> Figure:
    """The likeness of single texts, line by line, from the ceiling to the floor."""
    metric = f"{results.encoder.family}_1v5"
    values = {line: results.values(line, metric) for line in results.lines}
    shown = {line: found for line, found in values.items() if found}
    with look():
        drawing, axis = plt.subplots(figsize=(6.4, 0.9 + 0.5 * len(shown)), layout="constrained")
        for height, (line, found) in enumerate(reversed(shown.items())):
            _distribution(axis, height, found, {"ceiling": CEILING, "floor": FLOOR}.get(line, TWIN))
        axis.set_yticks(
            range(len(shown)), [f"{line} (n = {len(found)})" for line, found in shown.items()][::-1]
        )
        axis.set_xlabel(results.catalogue[metric].column)
        axis.grid(axis="x")
    said = ", ".join(f"{line} {np.median(found):.3f}" for line, found in shown.items())
    return drawn(
        "distributions",
        f"{results.catalogue[metric].meaning} Each dot is a text, the box holds the middle half, "
        "the bar is the median.",
        f"Medians: {said}.",
        drawing,
    )


def _distribution(axis: Axes, height: int, values: Sequence[float], color: str) -> None:
    low, median, high = np.percentile(values, [25, 50, 75])
    axis.barh(height, high - low, left=low, height=0.62, color=color, alpha=0.18, lw=0)
    # Every so many texts of many, spread by a pattern and not by chance.
    dots = np.sort(values)[:: max(1, len(values) // 300)]
    spread = (np.arange(dots.size) * 0.618034) % 1 * 0.5 - 0.25
    axis.plot(dots, height + spread, ".", color=color, ms=4, alpha=0.65, mew=0)
    axis.plot([median, median], [height - 0.31, height + 0.31], color=color, lw=2.4)


def aggregation_figure(run: Run) -> Figure:
    """Likeness against the number of documents on either side."""
    results, points = run.results, run.analysis.aggregation
    looks = {
        "ceiling": (CEILING, ""),
        **twin_looks([*results.twins]),
        "floor": (FLOOR, ""),
    }
    with look():
        drawing, axis = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        for line, (color, marker) in looks.items():
            own = [point for point in points if point.line == line]
            curve = [(p.documents, p.likeness.value) for p in own if p.likeness.value is not None]
            axis.plot(
                [documents for documents, _ in curve],
                [value for _, value in curve],
                color=color,
                marker=marker,
                linestyle="--" if line == "floor" else "-",
                label=line,
            )
            if line in ("ceiling", "floor"):
                _band(axis, own, color)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlabel("documents on either side")
        axis.set_ylabel(f"{results.encoder.name} likeness")
        axis.grid(axis="y")
        drawing.legend(loc="outside right center", fontsize=9)
    return drawn(
        "aggregation",
        "Likeness by the number of documents that each vector is made of; bands are 95 % "
        "intervals of ceiling and floor.",
        "A line for every twin, the ceiling and the floor; the table below has the values.",
        drawing,
    )


def _band(axis: Axes, points: Sequence[SizedLikeness], color: str) -> None:
    band = [
        (point.documents, point.likeness.ci_low, point.likeness.ci_high)
        for point in points
        if point.likeness.ci_low is not None and point.likeness.ci_high is not None
    ]
    if band:
        documents, low, high = zip(*band, strict=True)
        axis.fill_between(documents, low, high, color=color, alpha=0.12, lw=0)


def scatter_figure(run: Run) -> Figure:
    """Likeness against trait match, a point a group of answers."""
    results = run.results
    looks = {"ceiling": (CEILING, "*"), **twin_looks([*results.twins])}
    with look():
        drawing, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
        for line, (color, marker) in looks.items():
            points = results.group_points(line, "tmr")
            axis.plot(
                [likeness for likeness, _ in points],
                [match for _, match in points],
                marker,
                color=color,
                alpha=0.8,
                ms=6,
                mew=0,
                label=line,
            )
        axis.set_xlabel(results.catalogue[results.encoder.family].column)
        axis.set_ylabel(f"{results.catalogue['tmr'].column}, mean of the group")
        axis.set_ylim(-0.04, 1.04)
        axis.grid()
        drawing.legend(loc="outside right center", fontsize=9)
    return drawn(
        "scatter",
        "Each point is one group of answers: its authorship likeness against the judge's trait "
        "match. Where both measured the same, the points would lie on a rising line.",
        "A point for every author and twin; the table of correlations has the coefficients.",
        drawing,
    )
