"""Tables and picture of a run of the study: python docs/study/summary.py [FOLDER]

The folder holds its figures, docs/study/figures if none is named; the picture is put beside them.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
from figures import FIGURES, LineFigures
from matplotlib import pyplot as plt

from personalbench.errors import UserError, some
from personalbench.metrics.estimate import Estimate
from personalbench.metrics.statistics import bootstrap_mean
from personalbench.params import load_params
from personalbench.report.drawing import CEILING, FLOOR, TWIN, drawn, look
from personalbench.report.section import Figure
from personalbench.storage import read_json

REFERENCES = ("ceiling", "floor")
BASELINE, RIVAL = "non_personalized", "few_shot"
PICTURE = "likeness.png"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=FIGURES)
def main(folder: Path) -> None:
    """Print the tables as Markdown, and draw the picture."""
    params = load_params(Path(__file__).with_name("params.yaml"))
    lines = read_figures(folder, params.twins)
    print("\n".join(tables(lines, params.score.bootstrap, params.seed)))
    (folder / PICTURE).write_bytes(picture(lines, params.score.bootstrap, params.seed).png)


def read_figures(folder: Path, twins: Sequence[str]) -> dict[str, LineFigures]:
    """The lines that are there, in the order of the report.

    Raises:
        UserError: Two of them are not of one run, or ceiling or floor is not there.
    """
    names = [name for name in ("ceiling", *twins, "floor") if (folder / f"{name}.json").is_file()]
    if not names or (names[0], names[-1]) != REFERENCES:
        raise UserError(
            f"{folder}: no figures of ceiling and floor; run dvc repro references, then python "
            "docs/study/figures.py"
        )
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
    yield from ("", "Each author's likeness:", "", *author_table(lines))
    sizes = documents_table(lines, replicates, seed)
    if sizes:
        yield from ("", "By the number of documents:", "", *sizes)
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
        f"| line | {_metric(lines)} | less {BASELINE} | less {RIVAL} | less {RIVAL}, no copies "
        f"| above floor | above floor and {BASELINE} | gap closed | copied | cut |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"

    def shown(values: Mapping[int, float]) -> str:
        return _shown(_mean(values, replicates, seed))

    def less(name: str, other: str, uncopied: bool = False) -> str:
        if name in (*REFERENCES, other) or other not in lines:
            return ""
        left, right = (by_author(lines[each], uncopied) for each in (name, other))
        return shown({number: left[number] - right[number] for number in left if number in right})

    def above(own: Mapping[int, float], *others: str) -> str:
        bars = [by_author(lines[other]) for other in others]
        known = [number for number in own if all(number in bar for bar in bars)]
        over = [number for number in known if all(own[number] > bar[number] for bar in bars)]
        return f"{len(over)} of {len(known)}"

    def closed(own: Mapping[int, float]) -> str:
        base, ceiling = by_author(lines[BASELINE]), by_author(lines["ceiling"])
        return shown(
            {
                number: (own[number] - base[number]) / (ceiling[number] - base[number])
                for number in own.keys() & base.keys() & ceiling.keys()
                if ceiling[number] > base[number]
            }
        )

    for name, line in lines.items():
        own = by_author(line)
        twin = name not in REFERENCES
        compared = twin and name != BASELINE and BASELINE in lines
        cells = [
            name,
            shown(own),
            less(name, BASELINE),
            less(name, RIVAL),
            less(name, RIVAL, uncopied=True),
            above(own, "floor") if name != "floor" else "",
            above(own, "floor", BASELINE) if compared else "",
            closed(own) if compared else "",
            f"{line.copied} of {line.answers}" if twin else "",
            f"{line.cut} of {line.answers}" if twin else "",
        ]
        yield f"| {' | '.join(cells)} |"


def author_table(lines: Mapping[str, LineFigures]) -> Iterator[str]:
    """The likeness of every line, an author a row."""
    values = {name: by_author(line) for name, line in lines.items()}
    yield f"| author | {' | '.join(values)} |"
    yield "|---" * (len(values) + 1) + "|"
    for number in values["ceiling"]:
        cells = [f"{own[number]:.3f}" if number in own else "" for own in values.values()]
        yield f"| {number} | {' | '.join(cells)} |"


def documents_table(lines: Mapping[str, LineFigures], replicates: int, seed: int) -> list[str]:
    """Trained twins by the documents they learnt from, each against the one with fewer."""
    counts = {
        name: [author.training.documents for author in line.authors.values() if author.training]
        for name, line in lines.items()
    }
    trained = {name: max(own) for name, own in counts.items() if own}
    if len(trained) < 2:
        return []
    names = sorted(trained, key=lambda name: trained[name])
    rows = [
        f"| line | documents | {_metric(lines)} | less the one above |",
        "|---|---|---|---|",
    ]
    fewer: Mapping[int, float] = {}
    for name in names:
        own = by_author(lines[name])
        gain = {number: own[number] - fewer[number] for number in own if number in fewer}
        cells = (_shown(_mean(each, replicates, seed)) if each else "" for each in (own, gain))
        rows.append(f"| {name} | {trained[name]} | {' | '.join(cells)} |")
        fewer = own
    return rows


def picture(lines: Mapping[str, LineFigures], replicates: int, seed: int) -> Figure:
    """Every twin between ceiling and floor: mean with its interval, and a dot an author."""
    means = {name: _mean(by_author(line), replicates, seed) for name, line in lines.items()}
    twins = [name for name in lines if name not in REFERENCES]
    with look():
        drawing, axis = plt.subplots(figsize=(7.2, 1.2 + 0.42 * len(twins)), layout="constrained")
        for name, color, style in zip(REFERENCES, (CEILING, FLOOR), ("-", "--"), strict=True):
            axis.axvline(means[name].value, color=color, linestyle=style, label=name)
            if means[name].ci_low is not None:
                axis.axvspan(means[name].ci_low, means[name].ci_high, color=color, alpha=0.15, lw=0)
        for height, name in enumerate(reversed(twins)):
            own, mean = [*by_author(lines[name]).values()], means[name]
            axis.plot(own, [height] * len(own), ".", color=TWIN, alpha=0.45, mew=0)
            if mean.ci_low is not None:
                axis.plot([mean.ci_low, mean.ci_high], [height, height], color=TWIN)
            axis.plot(mean.value, height, "o", color=TWIN)
        axis.set_ylim(-0.6, len(twins) - 0.4)
        axis.set_yticks(range(len(twins)), twins[::-1])
        axis.set_xlabel(f"{_metric(lines)} (higher is more like the person)")
        axis.grid(axis="x")
        drawing.legend(loc="outside lower center", ncols=2)
    said = ", ".join(f"{name} {_shown(mean)}" for name, mean in means.items())
    return drawn("likeness", "Likeness of every line.", said, drawing)


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


def _metric(lines: Mapping[str, LineFigures]) -> str:
    return f"{next(iter(lines.values())).encoder.name} 5v5"


def _mean(values: Mapping[int, float], replicates: int, seed: int) -> Estimate:
    singles = {str(number): [value] for number, value in values.items()}
    return bootstrap_mean(singles, replicates, seed)


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not estimable"
    if estimate.ci_low is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.ci_low:.3f}, {estimate.ci_high:.3f}]"


if __name__ == "__main__":
    main()
