"""What the authorship vectors show beyond the headline."""

from personalbench.report.figures import aggregation_figure, distribution_figure
from personalbench.report.parts.methods import over
from personalbench.report.run import Run
from personalbench.report.section import Column, Section, Table, columns, written

_AUC = Column("AUC", help="Chance that the one kind scores above the other; 0.5 is guessing.")


def single_section(run: Run) -> Section:
    """The distribution of single texts."""
    return Section(
        id="single-texts",
        title="Single texts against real ones",
        basis=run.basis(over(run)),
        text=(
            "One text says little about its author: single texts of twins, of the authors "
            "themselves and of unrelated people overlap far more than groups do.",
        ),
        figures=(distribution_figure(run.results),),
    )


def aggregation_section(run: Run) -> Section:
    """Likeness at one to five documents."""
    points = run.analysis.aggregation
    sizes = sorted({point.documents for point in points})
    found = {(point.line, point.documents): point.likeness for point in points}
    lines = [line for line in run.results.lines if (line, 1) in found]
    if not lines:
        return Section(
            id="aggregation",
            title="From one document to a group",
            basis=run.basis(over(run)),
            text=("No line has a complete group of answers.",),
        )
    return Section(
        id="aggregation",
        title="From one document to a group",
        basis=run.basis(over(run)),
        text=(
            "The same comparison with fewer documents on either side: the mean over every choice "
            "of so many answers of a group and so many profile documents. What grows for all "
            "lines alike is a matter of the encoder, not of the twin.",
        ),
        figures=(aggregation_figure(run),),
        tables=(
            Table(
                caption=f"{run.results.encoder.name} likeness by documents on either side",
                columns=columns("", *(f"{size} v {size}" for size in sizes)),
                rows=tuple((line, *(found[line, size] for size in sizes)) for line in lines),
            ),
        ),
        notes=(
            "Intervals resample authors, and not the documents of a group: they are narrower than "
            "those of the method table.",
        ),
    )


def target_section(run: Run) -> Section:
    """Target against wrong author."""
    tests = run.analysis.targets
    return Section(
        id="target",
        title="The target or somebody else",
        basis=run.basis(f"{over(run)}; {tests[0].profiles} other authors"),
        text=(
            "A twin that writes like its author is more like that author's profile than like "
            "other people's. Near 0.5 a twin writes like nobody in particular.",
        ),
        tables=(
            Table(
                caption="Likeness of groups to their target and to other authors",
                columns=columns("", "to the target", "to others", _AUC),
                rows=tuple((test.line, test.own, test.others, test.auc) for test in tests),
            ),
        ),
        notes=("Intervals resample the targets.",),
    )


def generated_section(run: Run) -> Section:
    """Generated text against generated text."""
    found = run.analysis.generated
    basis = run.basis(
        f"{found.same_target.n} pairs of sets for one author and {found.other_target.n} for two, "
        f"{over(run)}"
    )
    points = []
    if found.other_target.value is not None and found.to_real.value is not None:
        nearer = found.other_target.value > found.to_real.value
        points.append(
            f"Sets for different authors ({written(found.other_target)}) are "
            f"{'more' if nearer else 'no more'} like each other than sets are like their own "
            f"target's real text ({written(found.to_real)})"
            + (": the model's own manner outweighs the person's." if nearer else ".")
        )
    return Section(
        id="generated",
        title="Generated text against generated text",
        basis=basis,
        text=(
            "Sets of answers are held against sets by another twin. Two sets for one author share "
            "their topics as well as their target.",
        ),
        points=tuple(points),
        tables=(
            Table(
                caption="Likeness of sets of generated texts",
                columns=columns("", "likeness"),
                rows=(
                    ("same target", found.same_target),
                    ("different targets", found.other_target),
                    ("to the target's real text", found.to_real),
                    ("AUC, same against different target", found.auc),
                ),
            ),
        ),
        notes=("Intervals resample authors; a pair counts as often as both its authors do.",),
    )
