"""What the encoder can tell on real text: the calibration of everything above it."""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from personalbench.metrics.validation import Verification
from personalbench.report.drawing import CEILING, FLOOR, QUIET, drawn, look, twin_looks
from personalbench.report.findings import encoder_rank
from personalbench.report.run import Run
from personalbench.report.section import Figure, Section
from personalbench.report.validation import Validation, auc_table, details, notes


def encoder_section(run: Run) -> Section:
    """The encoder on pairs of real texts."""
    validation = run.validation
    rank = encoder_rank(validation)
    pairs = validation.of(validation.encoders[0], validation.sizes[0])
    encoder = run.results.encoder
    return Section(
        id="encoder",
        title="The encoder on real text",
        basis=(
            f"n = {validation.documents} real texts by {validation.authors} authors, up to "
            f"{pairs.same_pairs:,} same-author and {pairs.cross_pairs:,} cross-author pairs; "
            f"encoder {encoder.name} ({encoder.revision[:12]}, {encoder.max_length} tokens a "
            "document); no judge, no generator."
        ),
        text=(
            "Before a twin is measured: can the encoder tell people apart on this corpus at all? "
            "0.5 is guessing, 1 is certain. What texts are about helps every encoder.",
        ),
        points=(rank,) if rank else (),
        figures=(calibration_figure(validation),),
        tables=(auc_table(validation), details(validation)),
        notes=tuple(notes(validation)),
    )


def calibration_figure(validation: Validation) -> Figure:
    """Three panels: how the scores lie, how well they tell, and how they grow."""
    own = validation.encoders[0]
    found = [validation.of(own, size) for size in validation.sizes]
    with look():
        drawing, (scores, told, grown) = plt.subplots(
            1, 3, figsize=(9.6, 3.3), layout="constrained"
        )
        _scores(scores, found[-1])
        _told(told, validation)
        _grown(grown, found)
        drawing.legend(loc="outside lower center", ncols=4, fontsize=9)
    last = found[-1]
    return drawn(
        "calibration",
        f"Left: likeness of pairs of real groups of {last.size} documents. Middle: how well each "
        f"encoder tells same from different authors. Right: mean likeness of {own} by the number "
        "of documents.",
        f"At {last.size} documents the same author's groups average "
        f"{_said(last.ceiling)}, different authors' {_said(last.floor)}, AUC {_said(last.auc)}.",
        drawing,
    )


def _said(value: float | None) -> str:
    return "not estimable" if value is None else f"{value:.3f}"


def _scores(axis: Axes, found: Verification) -> None:
    kinds = (
        ("same author", found.same_percentiles, CEILING, "-"),
        ("different authors", found.cross_percentiles, FLOOR, "--"),
    )
    ends = [value for _, percentiles, _, _ in kinds for value in percentiles]
    if ends:
        edges = np.linspace(min(ends), max(ends), 26).tolist()
        for label, percentiles, color, style in kinds:
            if percentiles:
                axis.hist(percentiles, edges, density=True, color=color, alpha=0.18)
                axis.hist(
                    percentiles,
                    edges,
                    density=True,
                    histtype="step",
                    color=color,
                    linestyle=style,
                    lw=1.6,
                    label=label,
                )
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.set_xlabel(f"likeness, {found.size} v {found.size}")


def _told(axis: Axes, validation: Validation) -> None:
    axis.axhline(0.5, color=QUIET, lw=1, ls=":")
    encoders = validation.encoders
    for place, (encoder, (color, marker)) in enumerate(twin_looks(encoders).items()):
        # A little beside each other, so that no interval covers another.
        shift = (place - (len(encoders) - 1) / 2) * 0.07
        found = [validation.of(encoder, size) for size in validation.sizes]
        known = [(one.size + shift, one.auc) for one in found if one.auc is not None]
        axis.plot(
            [size for size, _ in known],
            [value for _, value in known],
            color=color,
            marker=marker,
            ms=4,
            lw=2.2 if place == 0 else 1.1,
            label=encoder,
        )
        for one in found:
            if one.auc_low is not None and one.auc_high is not None:
                axis.vlines(one.size + shift, one.auc_low, one.auc_high, color=color, lw=1)
    _documents(axis)
    axis.set_ylabel("AUC")


def _grown(axis: Axes, found: list[Verification]) -> None:
    for label, color, style, values in (
        ("ceiling", CEILING, "-", [(one.size, one.ceiling) for one in found]),
        ("floor", FLOOR, "--", [(one.size, one.floor) for one in found]),
    ):
        known = [(size, value) for size, value in values if value is not None]
        axis.plot(
            [size for size, _ in known],
            [value for _, value in known],
            color=color,
            linestyle=style,
            marker="o",
            ms=4,
        )
        if known:
            axis.annotate(
                label,
                known[-1],
                xytext=(0, 6),
                textcoords="offset points",
                ha="right",
                color=color,
            )
    _documents(axis)
    axis.set_ylabel("mean likeness")


def _documents(axis: Axes) -> None:
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel("documents in each group")
    axis.grid(axis="y")
