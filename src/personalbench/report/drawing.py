"""How figures are drawn: one look, in colours that the page can change for the dark."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure as Drawing

from personalbench.report.section import Figure

# Okabe and Ito's colours, told apart by the colour-blind.
INK, QUIET, GRID = "#1f2328", "#5c6670", "#d5dade"
CEILING, FLOOR, TWIN = "#009e73", "#d55e00", "#0072b2"
TWINS = ("#0072b2", "#e69f00", "#cc79a7", "#56b4e9", "#8c6d1f", "#6b6b6b")
MARKERS = "osD^vP"

_VARIABLES = {
    INK: "--ink",
    QUIET: "--quiet",
    GRID: "--grid",
    CEILING: "--ceiling",
    FLOOR: "--floor",
    **{colour: f"--twin-{number}" for number, colour in enumerate(TWINS)},
}
_STYLE: Any = {
    "font.size": 10,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.titlesize": 10,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "svg.fonttype": "none",
    # Ids that do not change from one drawing to the next.
    "svg.hashsalt": "personalbench",
}


@contextmanager
def look() -> Iterator[None]:
    """Draw in the report's look."""
    with plt.rc_context(_STYLE):
        yield


def drawn(name: str, caption: str, alt: str, drawing: Drawing) -> Figure:
    """A finished drawing as a part of the report.

    Args:
        name: Of its file.
        caption: What it shows.
        alt: What there is to see.
        drawing: Closed afterwards.
    """
    with look():
        svg, png = io.StringIO(), io.BytesIO()
        drawing.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
        drawing.savefig(png, format="png", dpi=150, facecolor="white")
    plt.close(drawing)
    return Figure(name, caption, alt, _themed(svg.getvalue(), name), png.getvalue())


def twin_looks(twins: list[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for every twin."""
    return {
        twin: (TWINS[place % len(TWINS)], MARKERS[place % len(MARKERS)])
        for place, twin in enumerate(twins)
    }


def _themed(svg: str, name: str) -> str:
    """The drawing itself, with ids of its own and colours that the page may set."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|="#|url\(#)', rf"\g<1>{name}-", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable}, {colour})")
    return re.sub(r"\s*\n\s*", "\n", svg)
