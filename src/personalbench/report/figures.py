"""Figures of the report."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from personalbench.metrics.estimate import Estimate
from personalbench.report.results import Results
from personalbench.report.table import column_title

# Okabe and Ito's colours, told apart by the colour-blind.
CEILING, FLOOR, TWIN = "#009E73", "#D55E00", "#0072B2"


def draw_methods(results: Results, path: Path) -> None:
    """One panel a metric: each twin with its interval between floor and ceiling."""
    metrics = results.metrics
    columns = 3
    rows = -(-len(metrics) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(4.0 * columns, 0.9 + rows * (0.9 + 0.36 * len(results.twins))),
        squeeze=False,
        layout="constrained",
    )
    for axis, metric in zip(axes.flat, metrics, strict=False):
        _panel(axis, metric, results)
    for axis in list(axes.flat)[len(metrics) :]:
        axis.axis("off")
    for row in axes:
        row[0].set_yticks(range(len(results.twins)), [*results.twins][::-1])
    handles = [
        Line2D([], [], color=CEILING, label="ceiling: the authors' own writing"),
        Line2D([], [], color=FLOOR, linestyle="--", label="floor: unrelated writers"),
        Line2D([], [], color=TWIN, marker="o", label="twin, with 95 % interval"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


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
                color="#555555",
            )
            continue
        if estimate.ci_low is not None and estimate.ci_high is not None:
            axis.plot([estimate.ci_low, estimate.ci_high], [height, height], color=TWIN, lw=1.5)
        axis.plot(estimate.value, height, "o", color=TWIN)
    axis.set_ylim(-0.6, len(results.twins) - 0.4)
    axis.set_yticks(range(len(results.twins)), [""] * len(results.twins))
    axis.set_title(column_title(metric, results), fontsize=10)
    axis.grid(axis="x", color="#dddddd", lw=0.6)
    axis.spines[["top", "right"]].set_visible(False)


def _line(axis: Axes, estimate: Estimate, color: str, style: str) -> None:
    if estimate.value is None:
        return
    axis.axvline(estimate.value, color=color, linestyle=style, lw=1.6)
    if estimate.ci_low is not None and estimate.ci_high is not None:
        axis.axvspan(estimate.ci_low, estimate.ci_high, color=color, alpha=0.12, lw=0)
