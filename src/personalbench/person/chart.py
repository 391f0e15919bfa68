"""One picture for everything: values on a ruler from unrelated writers to the person.

Drawn as SVG, which a page, a Markdown viewer and a browser show alike, in light and in
dark; and as lines for a terminal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from math import ceil, floor
from typing import Literal

from personalbench.metrics.estimate import Estimate

Kind = Literal["twin", "baseline", "person", "unrelated"]
_Scale = Callable[[float], str]


@dataclass(frozen=True)
class Row:
    """One line of the picture.

    Attributes:
        label: What it is.
        estimate: The value, with its interval where there is one.
        kind: Decides mark and colour.
        dots: Single values behind the estimate.
    """

    label: str
    estimate: Estimate
    kind: Kind
    dots: tuple[float, ...] = ()


@dataclass(frozen=True)
class Chart:
    """Rows between two reference lines.

    Attributes:
        title: What it shows, in one sentence.
        rows: From top to bottom.
        floor: 5th percentile, mean and 95th percentile of unrelated writers.
        ceiling: The person's own held-out writing.
    """

    title: str
    rows: tuple[Row, ...]
    floor: tuple[float, float, float] | None
    ceiling: float | None

    @property
    def span(self) -> tuple[float, float]:
        """Both ends of the axis: twentieths that hold everything."""
        values = [*(self.floor or ()), *([] if self.ceiling is None else [self.ceiling])]
        for row in self.rows:
            found = (row.estimate.value, row.estimate.ci_low, row.estimate.ci_high)
            values += [value for value in found if value is not None]
            values += row.dots
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        return floor(low * 20 - 0.2) / 20, ceil(high * 20 + 0.2) / 20


_WIDTH, _LEFT, _RIGHT, _ROW = 440, 16, 424, 46
_STYLE = """
.pb-chart { font: 13px system-ui, sans-serif; }
.pb-chart text { fill: #1d2329; stroke: #fff; stroke-width: 4px; stroke-opacity: .8; }
.pb-chart text { paint-order: stroke; }
.pb-chart .pb-quiet { fill: #56606a; font-size: 12px; }
.pb-chart .pb-axis { stroke: #8b949e; }
.pb-chart .pb-twin { fill: #0072b2; stroke: #0072b2; }
.pb-chart .pb-baseline { fill: #6e7781; stroke: #6e7781; }
.pb-chart .pb-person { fill: #007a58; stroke: #007a58; }
.pb-chart .pb-unrelated { fill: #c04f00; stroke: #c04f00; }
.pb-chart .pb-band { opacity: .14; stroke: none; }
@media (prefers-color-scheme: dark) {
  .pb-chart text { fill: #e6edf3; stroke: #191f26; }
  .pb-chart .pb-quiet { fill: #9da7b1; }
  .pb-chart .pb-axis { stroke: #6e7781; }
  .pb-chart .pb-twin { fill: #58b4ea; stroke: #58b4ea; }
  .pb-chart .pb-baseline { fill: #9da7b1; stroke: #9da7b1; }
  .pb-chart .pb-person { fill: #2fc299; stroke: #2fc299; }
  .pb-chart .pb-unrelated { fill: #f08a4b; stroke: #f08a4b; }
}
"""


def svg(chart: Chart) -> str:
    """The picture as SVG that needs nothing beside itself; every label is escaped."""
    low, high = chart.span

    def x(value: float) -> str:
        return f"{_LEFT + (_RIGHT - _LEFT) * (value - low) / (high - low):.1f}"

    bottom = 8 + _ROW * len(chart.rows)
    parts: list[str] = []
    if chart.floor is not None:
        left, mean, right = map(x, chart.floor)
        width = f"{float(right) - float(left):.1f}"
        parts.append(
            f'<rect class="pb-unrelated pb-band" x="{left}" y="4" width="{width}" '
            f'height="{bottom - 4}"/>'
            f'<line class="pb-unrelated" x1="{mean}" x2="{mean}" y1="4" y2="{bottom}" '
            'stroke-dasharray="3 4"/>'
        )
    if chart.ceiling is not None:
        parts.append(
            f'<line class="pb-person" x1="{x(chart.ceiling)}" x2="{x(chart.ceiling)}" y1="4" '
            f'y2="{bottom}" stroke-dasharray="6 3"/>'
        )
    for number, row in enumerate(chart.rows):
        parts.append(_row(row, 8 + _ROW * number, x))
    parts.append(_axis(low, high, bottom, x))
    legend = _legend(chart, bottom + 42)
    height = bottom + 34 + 18 * len(legend)
    return (
        f'<svg class="pb-chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label="{escape(chart.title)}"><title>{escape(chart.title)}</title>'
        f"<style>{_STYLE}</style>{''.join(parts)}{''.join(legend)}</svg>"
    )


def lines(chart: Chart, width: int = 48) -> list[str]:
    """The picture in plain characters, one line a row."""
    low, high = chart.span

    def place(value: float) -> int:
        return round((width - 1) * (value - low) / (high - low))

    labels = max(len(row.label) for row in chart.rows)
    drawn = []
    for row in chart.rows:
        track = [" "] * width
        if chart.floor is not None:
            for position in range(place(chart.floor[0]), place(chart.floor[2]) + 1):
                track[position] = "."
        if chart.ceiling is not None:
            track[place(chart.ceiling)] = "|"
        estimate = row.estimate
        if estimate.ci_low is not None and estimate.ci_high is not None:
            for position in range(place(estimate.ci_low), place(estimate.ci_high) + 1):
                track[position] = "-"
        if estimate.value is not None:
            track[place(estimate.value)] = "#" if row.kind == "person" else "o"
        drawn.append(f"{row.label:{labels}}  {''.join(track)}  {_value(estimate)}")
    ends = f"{low:.2f}".ljust(width - 4) + f"{high:.2f}"
    drawn.append(f"{'':{labels}}  {ends}")
    return drawn


def _row(row: Row, top: int, x: _Scale) -> str:
    estimate, y = row.estimate, top + 30
    parts = [
        f'<text x="{_LEFT}" y="{top + 16}">{escape(row.label)}</text>',
        f'<text x="{_RIGHT}" y="{top + 16}" text-anchor="end">{escape(_value(estimate))}</text>',
        f'<line class="pb-axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}" stroke-opacity=".4"/>',
    ]
    parts += [
        f'<line class="pb-{row.kind}" x1="{x(value)}" x2="{x(value)}" y1="{y - 6}" y2="{y + 6}" '
        'stroke-opacity=".6"/>'
        for value in row.dots
    ]
    if estimate.ci_low is not None and estimate.ci_high is not None:
        parts.append(
            f'<line class="pb-{row.kind}" x1="{x(estimate.ci_low)}" x2="{x(estimate.ci_high)}" '
            f'y1="{y}" y2="{y}" stroke-width="3"/>'
        )
    if estimate.value is not None and not row.dots:
        parts.append(_mark(row.kind, float(x(estimate.value)), y))
    return "".join(parts)


def _mark(kind: Kind, x: float, y: float) -> str:
    if kind == "person":
        points = f"{x:.1f},{y - 8} {x + 8:.1f},{y} {x:.1f},{y + 8} {x - 8:.1f},{y}"
        return f'<polygon class="pb-person" points="{points}"/>'
    if kind == "baseline":
        return f'<rect class="pb-baseline" x="{x - 5:.1f}" y="{y - 5}" width="10" height="10"/>'
    return f'<circle class="pb-{kind}" cx="{x:.1f}" cy="{y}" r="6.5"/>'


def _axis(low: float, high: float, y: int, x: _Scale) -> str:
    step = next(s for s in (1, 2, 4, 8, 16, 40) if (high - low) * 20 / s <= 6.01)
    ticks = [low + step * k / 20 for k in range(int((high - low) * 20 / step + 0.01) + 1)]
    parts = [f'<line class="pb-axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}"/>']
    for tick in ticks:
        parts.append(
            f'<line class="pb-axis" x1="{x(tick)}" x2="{x(tick)}" y1="{y}" y2="{y + 5}"/>'
            f'<text class="pb-quiet" x="{x(tick)}" y="{y + 19}" text-anchor="middle">'
            f"{tick:.2f}</text>"
        )
    return "".join(parts)


def _legend(chart: Chart, y: int) -> list[str]:
    said: list[tuple[str, str]] = []
    if chart.floor is not None:
        said.append(("unrelated", "unrelated writers: mean, 5th to 95th percentile"))
    if chart.ceiling is not None:
        said.append(("person", "the person's own held-out writing"))
    return [
        f'<line class="pb-{kind}" x1="{_LEFT}" x2="{_LEFT + 22}" y1="{y + 18 * n - 4}" '
        f'y2="{y + 18 * n - 4}" stroke-dasharray="{"3 4" if kind == "unrelated" else "6 3"}"/>'
        f'<text class="pb-quiet" x="{_LEFT + 30}" y="{y + 18 * n}">{text}</text>'
        for n, (kind, text) in enumerate(said)
    ]


def _value(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not estimable"
    if estimate.ci_low is None or estimate.ci_high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.ci_low:.3f}, {estimate.ci_high:.3f}]"
