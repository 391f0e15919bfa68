"""All runs on one bundle, in the order they were scored."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from personalbench.errors import UserError
from personalbench.metrics.estimate import Estimate
from personalbench.person.chart import Chart, Mark, Row
from personalbench.person.records import Run, Unrelated
from personalbench.person.runs import SCORES, read_run
from personalbench.person.words import cautions, marks


class Version(BaseModel):
    """One scored run.

    Attributes:
        name: Name of its folder.
        created: When it was scored.
        likeness: Of the twin.
        gap_closed: Where it was scored with baseline answers.
        marks: What makes the likeness doubtful.
        warnings: The same in sentences.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    created: str
    likeness: Estimate
    gap_closed: Estimate
    marks: tuple[Mark, ...] = ()
    warnings: tuple[str, ...] = ()


class History(BaseModel):
    """The runs on one bundle that can be compared.

    Attributes:
        bundle: SHA-256 of the bundle.
        author: Whose writing is imitated.
        ceiling: The person's own held-out writing.
        unrelated: Unrelated writers; None where there is no calibration.
        versions: In the order of scoring.
        left_out: Runs on this bundle that were scored with other settings than the last.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    bundle: str
    author: str
    ceiling: Estimate
    unrelated: Unrelated | None
    versions: tuple[Version, ...]
    left_out: tuple[str, ...]


def history(bundle_sha256: str, folder: Path) -> History:
    """Collect the runs on a bundle.

    Args:
        bundle_sha256: The bundle's hash.
        folder: Holds one folder a run.

    Raises:
        UserError: There is no run on this bundle.
    """
    runs: list[Run] = [read_run(path.parent) for path in sorted(folder.glob(f"*/{SCORES}"))]
    own = sorted(
        (run for run in runs if run.bundle.sha256 == bundle_sha256),
        key=lambda run: (run.created, run.name),
    )
    if not own:
        raise UserError(
            f"{folder}: no run on this bundle; `personalbench score … --output "
            f"{folder / 'my-twin'}` makes one"
        )
    last = own[-1]
    return History(
        bundle=bundle_sha256,
        author=last.bundle.author,
        ceiling=last.ceiling.likeness,
        unrelated=last.unrelated,
        versions=tuple(
            Version(
                name=run.name,
                created=run.created,
                likeness=run.twin.likeness,
                gap_closed=run.gap_closed,
                marks=marks(run),
                warnings=tuple(cautions(run)),
            )
            for run in own
            if run.settings == last.settings
        ),
        left_out=tuple(run.name for run in own if run.settings != last.settings),
    )


def chart(found: History) -> Chart:
    """Every version between unrelated writers and the person, the oldest on top."""
    return Chart(
        title=f"Likeness to {found.author}, version by version",
        rows=tuple(
            Row(
                # To the minute: several versions may be of one day.
                f"{version.name}, {version.created[:16].replace('T', ' ')} UTC",
                version.likeness,
                "twin",
                marks=version.marks,
            )
            for version in found.versions
        ),
        unrelated=found.unrelated,
        ceiling=found.ceiling.value,
    )
