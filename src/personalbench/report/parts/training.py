"""What training did: the loss on the way, and how well texts are foreseen afterwards."""

from collections.abc import Iterator, Mapping

from matplotlib import pyplot as plt
from matplotlib.ticker import MaxNLocator

from personalbench.report.drawing import QUIET, TWIN, drawn, look
from personalbench.report.run import Run
from personalbench.report.section import Figure, Section, Table, columns
from personalbench.training.outcomes import Outcome

_PANELS_A_ROW = 4


def training_section(run: Run) -> Section:
    """The trained twins; only for a run that has one."""
    records = [each.record for own in run.trainings.values() for each in own.values()]
    bases = dict.fromkeys(f"{each.base.id} ({each.base.revision[:12]})" for each in records)
    return Section(
        id="training",
        title="What training did",
        basis=f"n = {len(records)} trainings of {len(run.bundles)} authors; {', '.join(bases)}.",
        text=(
            "The loss is what a token of the author's documents costs, in nats: the lower, the "
            "better the model foresees it. Held-out documents are from the profile split too; "
            "they only tell when to stop, and the weights with their lowest loss are kept.",
            "Perplexity is over the reference documents, which no twin ever saw, under the model "
            "before and after. It is a diagnostic: a model may foresee a person's texts and still "
            "write unlike them.",
        ),
        figures=(curves(run.trainings),),
        tables=(_results(run.trainings), _curve_table(run.trainings)),
        notes=tuple(_notes(run.trainings)),
    )


def curves(trainings: Mapping[str, Mapping[str, Outcome]]) -> Figure:
    """A panel a twin, two lines an author."""
    across = min(_PANELS_A_ROW, len(trainings))
    down = -(-len(trainings) // across)
    with look():
        drawing, grid = plt.subplots(
            down,
            across,
            figsize=(0.8 + 2.6 * max(2, across), 0.5 + 2.6 * down),
            layout="constrained",
            sharey=True,
            squeeze=False,
        )
        for axis in grid.flat[len(trainings) :]:
            axis.set_visible(False)
        for axis, (twin, own) in zip(grid.flat, trainings.items(), strict=False):
            for each in own.values():
                points = each.record.curve
                learnt = [(point.step, point.train) for point in points if point.train is not None]
                axis.plot(*zip(*learnt, strict=True), color=QUIET, ls="--", lw=1, alpha=0.7)
                axis.plot(
                    [point.step for point in points],
                    [point.held_out for point in points],
                    color=TWIN,
                    lw=1.4,
                    alpha=0.7,
                )
            axis.set_title(twin)
            axis.set_xlabel("step")
            axis.grid(axis="y")
            axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        for row in grid:
            row[0].set_ylabel("loss, nats a token")
        for label, color, style in (("held out", TWIN, "-"), ("learnt", QUIET, "--")):
            grid.flat[0].plot([], [], color=color, ls=style, label=label)
        drawing.legend(loc="outside lower center", ncols=2, fontsize=9)
    return drawn(
        "training",
        "Loss on the documents that were learnt since the point before, and on held-out "
        "documents of the profile split; two lines an author.",
        "Held-out loss, mean over authors: " + "; ".join(_falls(trainings)) + ".",
        drawing,
    )


def _falls(trainings: Mapping[str, Mapping[str, Outcome]]) -> Iterator[str]:
    for twin, own in trainings.items():
        before, after = (
            sum(values) / len(own)
            for values in (
                [each.record.curve[0].held_out for each in own.values()],
                [each.record.best_point.held_out for each in own.values()],
            )
        )
        yield f"{twin} {before:.3f} before, {after:.3f} after"


def _results(trainings: Mapping[str, Mapping[str, Outcome]]) -> Table:
    return Table(
        caption="Before and after training",
        columns=columns(
            "twin",
            "author",
            "documents",
            "held-out loss before",
            "after",
            "kept step",
            "of",
            "perplexity before",
            "perplexity after",
        ),
        rows=tuple(
            (
                twin,
                author,
                len(each.record.trained),
                each.record.curve[0].held_out,
                each.record.best_point.held_out,
                each.record.best,
                each.record.steps,
                each.perplexity.base,
                each.perplexity.trained,
            )
            for twin, own in trainings.items()
            for author, each in own.items()
        ),
    )


def _curve_table(trainings: Mapping[str, Mapping[str, Outcome]]) -> Table:
    return Table(
        caption="Loss on the way",
        columns=columns("twin", "author", "step", "learnt", "held out"),
        rows=tuple(
            (twin, author, point.step, "" if point.train is None else point.train, point.held_out)
            for twin, own in trainings.items()
            for author, each in own.items()
            for point in each.record.curve
        ),
        folded=True,
    )


def _notes(trainings: Mapping[str, Mapping[str, Outcome]]) -> Iterator[str]:
    for twin, own in trainings.items():
        cut = sum(each.record.cut for each in own.values())
        if cut:
            total = sum(len(each.record.trained) for each in own.values())
            yield f"{twin}: {cut} of {total} documents were too long and were cut at their end."
        flags = dict.fromkeys(flag for each in own.values() for flag in each.record.flags)
        for flag in flags:
            authors = [author for author, each in own.items() if flag in each.record.flags]
            yield f"{twin}: {flag.replace('_', ' ')}: {', '.join(authors)}."
