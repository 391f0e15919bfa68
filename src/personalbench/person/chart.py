"""One picture for everything: values on a ruler from unrelated writers to the person.

Drawn as SVG, which a page, a Markdown viewer and a browser show alike, in light and in
dark; and as lines for a terminal. All runs of one person have one scale.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from math import floor
from textwrap import wrap
from typing import Literal

from personalbench.metrics.estimate import Estimate
from personalbench.person.records import Unrelated

Kind = Literal["twin", "baseline", "person", "unrelated"]
Mark = Literal["copied", "incomplete"]
_Scale = Callable[[float], float]

_SYMBOLS: dict[Mark, str] = {"copied": "!", "incomplete": "?"}
_MARKED: dict[Mark, str] = {
    "copied": "answers repeat held-out texts or the profile: no fair value",
    "incomplete": "answers are missing or failed",
}
_CHARACTERS: dict[Kind, str] = {"twin": "o", "baseline": "x", "person": "#", "unrelated": "+"}
_NAMES: dict[Kind, str] = {
    "twin": "twin",
    "baseline": "model without the person",
    "person": "the person",
    "unrelated": "mean of the unrelated writers",
}
_FLOOR = "where 9 of 10 unrelated writers lie"
_CEILING = "the person's own held-out writing"
_INTERVAL = "95 % interval: where the value would probably lie with other cases"


@dataclass(frozen=True)
class Row:
    """One line of the picture.

    Attributes:
        label: What it is.
        estimate: The value, with its interval where there is one.
        kind: Decides mark and colour.
        dots: Single values behind the estimate.
        marks: What makes the value doubtful.
    """

    label: str
    estimate: Estimate
    kind: Kind
    dots: tuple[float, ...] = ()
    marks: tuple[Mark, ...] = ()

    def texts(self, width: int) -> list[tuple[str, str]]:
        """Lines of what stands left and right; the value joins the label where it fits."""
        label = wrap(marked(self.label, self.marks), width) or [""]
        value = _value(self.estimate)
        if len(label[-1]) + 2 + len(value) <= width:
            return [*((line, "") for line in label[:-1]), (label[-1], value)]
        return [*((line, "") for line in label), ("", value)]


@dataclass(frozen=True)
class Chart:
    """Rows between two references.

    Attributes:
        title: What it shows, in one sentence.
        rows: From top to bottom.
        unrelated: Unrelated writers, where they are known.
        ceiling: The person's own held-out writing.
    """

    title: str
    rows: tuple[Row, ...]
    unrelated: Unrelated | None
    ceiling: float | None

    @property
    def low(self) -> float:
        """Left end of the scale: zero, or the tenth under what is below; the right end is 1."""
        values = [0.0, *(self.unrelated.scores if self.unrelated else ())]
        values += [] if self.ceiling is None else [self.ceiling]
        for row in self.rows:
            found = (row.estimate.value, row.estimate.ci_low)
            values += [value for value in found if value is not None]
        return floor(min(values) * 10) / 10

    def position(self, value: float) -> float:
        """Where a value lies between the ends of the scale: 0 to 1."""
        return (min(value, 1.0) - self.low) / (1 - self.low)

    @property
    def scale(self) -> str:
        """Which values the ends stand for, in words."""
        return f"likeness from {self.low:.2f} to 1.00; pictures of other tests may have another"

    def marks(self) -> Iterator[tuple[str, str]]:
        """The symbols that occur before labels, and what they mean."""
        for mark, symbol in _SYMBOLS.items():
            if any(mark in row.marks for row in self.rows):
                yield symbol, _MARKED[mark]

    @property
    def has_intervals(self) -> bool:
        """Whether any value has one."""
        return any(row.estimate.ci_low is not None for row in self.rows)


def marked(label: str, marks: tuple[Mark, ...]) -> str:
    """A label with the symbols of its marks before it."""
    return " ".join([*(_SYMBOLS[mark] for mark in marks), label])


_WIDTH, _LEFT, _RIGHT = 360, 16, 344
_FITS = 41  # characters of a label between both ends, in a wide font
_LINE, _TRACK = 18, 28
_STYLE = """
.pb-chart { font: 13px system-ui, sans-serif; }
.pb-chart text { fill: #1d2329; }
.pb-chart .pb-paper { fill: #f6f8fa; }
.pb-chart .pb-quiet { fill: #56606a; font-size: 12px; }
.pb-chart .pb-axis { stroke: #8b949e; }
.pb-chart .pb-twin { fill: #0072b2; stroke: #0072b2; }
.pb-chart .pb-baseline { fill: #6e7781; stroke: #6e7781; }
.pb-chart .pb-person { fill: #007a58; stroke: #007a58; }
.pb-chart .pb-unrelated { fill: #c04f00; stroke: #c04f00; }
.pb-chart .pb-band { opacity: .18; stroke: none; }
@media (prefers-color-scheme: dark) {
  .pb-chart text { fill: #e6edf3; }
  .pb-chart .pb-paper { fill: #191f26; }
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

    def x(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * chart.position(value)

    parts: list[str] = []
    y = 8
    for row in chart.rows:
        for left, right in row.texts(_FITS):
            y += _LINE
            parts.append(_text(_LEFT, y, left) + _text(_RIGHT, y, right, "end"))
        parts.append(_track(chart, row, y + _TRACK // 2 + 2, x))
        y += _TRACK
    parts.append(_axis(chart.low, y + 6, x))
    y += 46
    for swatch, said in _legend(chart):
        for number, line in enumerate(wrap(said, _FITS)):
            y += 16
            parts.append(_swatch(swatch, y) if number == 0 else "")
            parts.append(_text(_LEFT + 30, y, line, quiet=True))
    height = y + 12
    return (
        f'<svg class="pb-chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH * 1.25:.0f}" height="{height * 1.25:.0f}" '
        f'role="img" aria-label="{escape(chart.title)}"><title>{escape(chart.title)}</title>'
        f'<style>{_STYLE}</style><rect class="pb-paper" width="100%" height="100%" rx="6"/>'
        f"{''.join(parts)}</svg>"
    )


def lines(chart: Chart, width: int = 78) -> list[str]:
    """The picture in plain characters: of each row its label and value, and its track below."""
    last = width - 1

    def place(value: float) -> int:
        return round(last * chart.position(value))

    drawn = []
    for row in chart.rows:
        track = [" "] * width
        if chart.unrelated is not None:
            for position in range(place(chart.unrelated.p5), place(chart.unrelated.p95) + 1):
                track[position] = "."
        if chart.ceiling is not None:
            track[place(chart.ceiling)] = "|"
        estimate = row.estimate
        if estimate.ci_low is not None and estimate.ci_high is not None:
            for position in range(place(estimate.ci_low), place(estimate.ci_high) + 1):
                track[position] = "-"
        if estimate.value is not None:
            track[place(estimate.value)] = _CHARACTERS[row.kind]
        drawn += [
            f"{left}{right:>{width - len(left)}}".rstrip() for left, right in row.texts(width)
        ]
        drawn.append("".join(track).rstrip())
    ends = f"{chart.low:.2f}  <- less like the person", "more like the person ->  1.00"
    drawn.append(f"{ends[0]}{ends[1]:>{width - len(ends[0])}}")
    return [*drawn, "", *_key(chart, width)]


def _key(chart: Chart, width: int) -> list[str]:
    """What the characters mean."""
    kinds = dict.fromkeys(row.kind for row in chart.rows)
    said = [", ".join(f"{_CHARACTERS[kind]} {_NAMES[kind]}" for kind in kinds)]
    if chart.has_intervals:
        said.append(f"--- {_INTERVAL}")
    if chart.unrelated is not None:
        said.append(f"... {_FLOOR}")
    if chart.ceiling is not None:
        said.append(f"| {_CEILING}")
    said += [f"{symbol} {meaning}" for symbol, meaning in chart.marks()]
    return [
        line
        for each in (*said, f"Scale: {chart.scale}")
        for line in wrap(each, width, subsequent_indent="  ")
    ]


def _text(x: int, y: int, said: str, anchor: str = "start", quiet: bool = False) -> str:
    if not said:
        return ""
    kind = ' class="pb-quiet"' if quiet else ""
    return f'<text{kind} x="{x}" y="{y}" text-anchor="{anchor}">{escape(said)}</text>'


def _track(chart: Chart, row: Row, y: int, x: _Scale) -> str:
    """One value between the references, under its label so that no line crosses a text."""
    parts = []
    if chart.unrelated is not None:
        left, right = x(chart.unrelated.p5), x(chart.unrelated.p95)
        parts += [
            f'<rect class="pb-unrelated pb-band" x="{left:.1f}" y="{y - 10}" '
            f'width="{right - left:.1f}" height="20"/>',
            _stroke("unrelated", x(chart.unrelated.mean), y, 10, 'stroke-dasharray="3 3"'),
        ]
    parts.append(
        f'<line class="pb-axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}" stroke-opacity=".4"/>'
    )
    if chart.ceiling is not None:
        parts.append(_stroke("person", x(chart.ceiling), y, 10, 'stroke-dasharray="6 3"'))
    parts += [_stroke(row.kind, x(value), y, 6, 'stroke-opacity=".6"') for value in row.dots]
    estimate = row.estimate
    if estimate.ci_low is not None and estimate.ci_high is not None:
        parts.append(
            f'<line class="pb-{row.kind}" x1="{x(estimate.ci_low):.1f}" '
            f'x2="{x(estimate.ci_high):.1f}" y1="{y}" y2="{y}" stroke-width="3"/>'
        )
    if estimate.value is not None and not row.dots:
        parts.append(_shape(row.kind, x(estimate.value), y))
    return "".join(parts)


def _stroke(kind: Kind, x: float, y: int, reach: int, more: str) -> str:
    return (
        f'<line class="pb-{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{y - reach}" y2="{y + reach}" '
        f"{more}/>"
    )


def _shape(kind: Kind, x: float, y: int) -> str:
    if kind == "person":
        points = f"{x:.1f},{y - 7} {x + 7:.1f},{y} {x:.1f},{y + 7} {x - 7:.1f},{y}"
        return f'<polygon class="pb-person" points="{points}"/>'
    if kind == "baseline":
        return f'<rect class="pb-baseline" x="{x - 5:.1f}" y="{y - 5}" width="10" height="10"/>'
    return f'<circle class="pb-{kind}" cx="{x:.1f}" cy="{y}" r="5"/>'


def _axis(low: float, y: int, x: _Scale) -> str:
    step = 2 if low > -0.5 else 5  # tenths
    ticks = [tenth / 10 for tenth in range(round(low * 10), 11) if tenth % step == 0]
    parts = [f'<line class="pb-axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}"/>']
    for tick in ticks:
        parts.append(
            f'<line class="pb-axis" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{y}" y2="{y + 5}"/>'
            f'<text class="pb-quiet" x="{x(tick):.1f}" y="{y + 18}" text-anchor="middle">'
            f"{tick:.1f}</text>"
        )
    parts.append(_text(_LEFT, y + 35, "← less like the person", quiet=True))
    parts.append(_text(_RIGHT, y + 35, "more like the person →", "end", quiet=True))
    return "".join(parts)


def _legend(chart: Chart) -> Iterator[tuple[str, str]]:
    """Swatches and what they mean."""
    if chart.unrelated is not None:
        yield "band", f"{_FLOOR}, and their mean"
    if any(row.dots for row in chart.rows):
        yield "tick", "one unrelated writer"
    if chart.ceiling is not None:
        yield "ceiling", _CEILING
    if chart.has_intervals:
        yield "bar", _INTERVAL
    yield from chart.marks()
    yield "", f"Scale: {chart.scale}"


def _swatch(swatch: str, y: int) -> str:
    y -= 4
    left, right, middle = _LEFT, _LEFT + 22, _LEFT + 11
    match swatch:
        case "band":
            mean = _stroke("unrelated", middle, y, 6, 'stroke-dasharray="3 3"')
            return (
                f'<rect class="pb-unrelated pb-band" x="{left}" y="{y - 6}" width="22" '
                f'height="12"/>{mean}'
            )
        case "tick":
            return _stroke("unrelated", middle, y, 6, 'stroke-opacity=".6"')
        case "ceiling":
            return _stroke("person", middle, y, 7, 'stroke-dasharray="6 3"')
        case "bar":
            return (
                f'<line class="pb-axis" x1="{left}" x2="{right}" y1="{y}" y2="{y}" '
                'stroke-width="3"/>'
            )
        case symbol:
            return _text(middle, y + 4, symbol, "middle")


def _value(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not estimable"
    if estimate.ci_low is None or estimate.ci_high is None:
        return f"{estimate.value:z.3f}"
    return f"{estimate.value:z.3f} [{estimate.ci_low:z.3f}, {estimate.ci_high:z.3f}]"
