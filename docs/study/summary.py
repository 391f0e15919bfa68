"""Tables of the study, from the figures in docs/study/figures: python docs/study/summary.py"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from figures import FIGURES, LineFigures

from personalbench.errors import UserError, some
from personalbench.metrics.estimate import Estimate
from personalbench.metrics.statistics import bootstrap_mean
from personalbench.params import load_params
from personalbench.storage import read_json

REFERENCES = ("ceiling", "floor")
BASELINE, RIVAL = "non_personalized", "few_shot"


def main() -> None:
    """Print the tables as Markdown."""
    params = load_params(Path(__file__).with_name("params.yaml"))
    lines = read_figures(FIGURES, params.twins)
    print("\n".join(tables(lines, params.score.bootstrap, params.seed)))


def read_figures(folder: Path, twins: Sequence[str]) -> dict[str, LineFigures]:
    """The lines that are there, in the order of the report.

    Raises:
        UserError: Two of them are not of one run, or none is there.
    """
    names = [name for name in ("ceiling", *twins, "floor") if (folder / f"{name}.json").is_file()]
    if not names:
        raise UserError(f"{folder}: no figures; run python docs/study/figures.py first")
    lines = {name: LineFigures.model_validate(read_json(folder / f"{name}.json")) for name in names}
    first = lines[names[0]]
    strange = [
        name
        for name, line in lines.items()
        if (line.bundles, line.encoder) != (first.bundles, first.encoder)
    ]
    if strange:
        raise UserError(
            f"{folder}: {some(strange, 3)}: of other bundles or another encoder than {names[0]}; "
            "run python docs/study/figures.py again"
        )
    return lines


def tables(lines: Mapping[str, LineFigures], replicates: int, seed: int) -> Iterator[str]:
    """All tables, as Markdown."""
    yield from likeness_table(lines, replicates, seed)
    for name, line in lines.items():
        rows = training_table(line)
        if rows:
            yield from ("", f"Training of {name}:", "", *rows)


def by_author(line: LineFigures, uncopied: bool = False) -> dict[int, float]:
    """Mean likeness of each author's groups; those with a copied answer may be left out."""
    values = {
        number: author.uncopied if uncopied else author.groups
        for number, author in line.authors.items()
    }
    return {number: sum(own) / len(own) for number, own in values.items() if own}


def likeness_table(lines: Mapping[str, LineFigures], replicates: int, seed: int) -> Iterator[str]:
    """Every line's likeness, its place between floor and ceiling, and its copying."""
    yield (
        f"| line | LUAR 5v5 | less {BASELINE} | less {RIVAL} | less {RIVAL}, no copies "
        "| above floor | gap closed | copied | cut |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"

    def shown(values: Mapping[int, float]) -> str:
        singles = {str(number): [value] for number, value in values.items()}
        return _shown(bootstrap_mean(singles, replicates, seed))

    def less(name: str, other: str, uncopied: bool = False) -> str:
        if name in (*REFERENCES, other) or other not in lines:
            return ""
        left, right = (by_author(lines[each], uncopied) for each in (name, other))
        return shown({number: left[number] - right[number] for number in left if number in right})

    def above_floor(own: Mapping[int, float]) -> str:
        floor = by_author(lines["floor"])
        return f"{sum(own[number] > floor[number] for number in own)} of {len(own)}"

    def closed(own: Mapping[int, float]) -> str:
        base, ceiling = by_author(lines[BASELINE]), by_author(lines["ceiling"])
        return shown(
            {
                number: (own[number] - base[number]) / (ceiling[number] - base[number])
                for number in own
                if ceiling[number] > base[number]
            }
        )

    for name, line in lines.items():
        own = by_author(line)
        twin = name not in REFERENCES
        cells = [
            name,
            shown(own),
            less(name, BASELINE),
            less(name, RIVAL),
            less(name, RIVAL, uncopied=True),
            above_floor(own) if name != "floor" else "",
            closed(own) if twin and name != BASELINE and BASELINE in lines else "",
            f"{line.copied} of {line.answers}" if twin else "",
            f"{line.cut} of {line.answers}" if twin else "",
        ]
        yield f"| {' | '.join(cells)} |"


def training_table(line: LineFigures) -> list[str]:
    """Loss before and after, and the reference documents' perplexity, an author a row."""
    trained = [
        (number, author.training) for number, author in line.authors.items() if author.training
    ]
    if not trained:
        return []
    return [
        "| author | documents | held-out loss before | after | steps | perplexity before | after |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {number} | {each.documents} | {each.held_out[0]:.3f} | {each.held_out[1]:.3f} "
            f"| {each.best} of {each.steps} | {each.perplexity[0]:.1f} | {each.perplexity[1]:.1f} |"
            for number, each in trained
        ),
    ]


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not estimable"
    if estimate.ci_low is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.ci_low:.3f}, {estimate.ci_high:.3f}]"


if __name__ == "__main__":
    main()
