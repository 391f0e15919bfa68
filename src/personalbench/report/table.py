"""The method table as text, for the terminal and for Markdown."""

from personalbench.metrics.estimate import Estimate
from personalbench.report.results import Results

SHORT = {
    "tmr": "TMR",
    "same_author": "SA",
    "func_cos": "FuncCos",
    "punct_cos": "PunctCos",
    "rouge_l": "ROUGE-L",
}


def column_title(metric: str, results: Results) -> str:
    """Title of a metric's column; the encoder's names the encoder and the group."""
    return SHORT.get(metric) or f"{results.encoder.name} 5v5"


def method_table(results: Results) -> list[list[str]]:
    """Rows of the method table, the first with the titles."""
    titles = ["", *(column_title(metric, results) for metric in results.metrics)]
    rows = [
        [line, *(cell(results.estimate(line, metric)) for metric in results.metrics)]
        for line in results.lines
    ]
    return [titles, *rows]


def cell(estimate: Estimate) -> str:
    """A value with its interval, or what is missing."""
    if estimate.value is None:
        return "not estimable"
    if estimate.ci_low is None or estimate.ci_high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.ci_low:.3f}, {estimate.ci_high:.3f}]"


def markdown(rows: list[list[str]]) -> str:
    """A Markdown table, padded so that it reads as plain text too."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
