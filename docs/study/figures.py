"""Figures of the study's last run, without any text: python docs/study/figures.py [FOLDER]

Writes one file a line into the folder, docs/study/figures if none is named, for every line whose
answers are there; those of other lines are of an earlier run and are deleted. Authors have
numbers. No judge is asked.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict

from personalbench import paths
from personalbench.bundle import Bundle, bundles_hash, load_bundles
from personalbench.encoders.kept import KeptVectors
from personalbench.encoders.load import load_encoder
from personalbench.metrics.copying import CopyingLimits
from personalbench.params import Params, load_params
from personalbench.scores import EncoderIdentity, Scores, score
from personalbench.storage import read_records, write_json
from personalbench.training.outcomes import Outcome, outcomes_of
from personalbench.twins.answers import CUT_AT_MAX_TOKENS, Answer

FIGURES = Path(__file__).with_name("figures")


class TrainingFigures(BaseModel):
    """What the training for one author gave.

    Attributes:
        documents: Learnt from.
        steps: Planned.
        best: The step with the lowest held-out loss.
        held_out: Held-out loss before, and at that step.
        perplexity: Of the reference documents, before and after.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: int
    steps: int
    best: int
    held_out: tuple[float, float]
    perplexity: tuple[float, float]


class AuthorFigures(BaseModel):
    """One author's share of a line.

    Attributes:
        groups: Likeness of each group of answers.
        uncopied: Of those without a copied answer.
        training: Of a trained twin.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    groups: tuple[float, ...]
    uncopied: tuple[float, ...]
    training: TrainingFigures | None


class LineFigures(BaseModel):
    """What the study says of one line.

    Attributes:
        line: A twin, the ceiling or the floor.
        bundles: Hash of all bundles; lines of other ones are not comparable.
        encoder: What made the authorship vectors.
        answers: How many there are, ...
        failed: ... how many without a text, ...
        cut: ... cut at the token limit, ...
        copied: ... and copied from what the twin saw.
        authors: By number.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    line: str
    bundles: str
    encoder: EncoderIdentity
    answers: int
    failed: int
    cut: int
    copied: int
    authors: dict[int, AuthorFigures]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=FIGURES)
def main(folder: Path) -> None:
    """Score every line that has answers."""
    params = load_params()
    bundles = load_bundles(paths.BUNDLES)
    encoder = KeptVectors(
        load_encoder(params.weights.encoder, paths.ENCODER, params.weights.max_length)
    )
    limits = CopyingLimits(params.score.copied_run, params.score.copied_share)
    for line in ("ceiling", "floor", *params.twins):
        path = paths.ANSWERS / f"{line}.jsonl"
        if not path.is_file():
            (folder / f"{line}.json").unlink(missing_ok=True)
            print(f"{line}: no answers yet")
            continue
        answers = read_records(path, Answer)
        scores = score(line, bundles, answers, [], encoder, 1, params.seed, limits)
        made = figures(scores, answers, bundles, _outcomes(params, line))
        write_json(folder / f"{line}.json", made.model_dump(mode="json"))
        print(f"{line}: {made.answers} answers in {folder / line}.json")


def figures(
    scores: Scores,
    answers: Sequence[Answer],
    bundles: Sequence[Bundle],
    outcomes: Mapping[str, Outcome],
) -> LineFigures:
    """Keep what the tables need.

    Args:
        scores: Of the line.
        answers: Of the line.
        bundles: One an author; their order gives the numbers.
        outcomes: Of its trainings, by author.
    """
    copied = {(case.author, case.case_id) for case in scores.cases if case.copied}

    def author_figures(author: str) -> AuthorFigures:
        groups = [group for group in scores.groups if group.author == author]
        free = [g for g in groups if not any((author, case) in copied for case in g.case_ids)]
        return AuthorFigures(
            groups=tuple(round(group.likeness, 4) for group in groups),
            uncopied=tuple(round(group.likeness, 4) for group in free),
            training=_training(outcomes[author]) if author in outcomes else None,
        )

    return LineFigures(
        line=scores.line,
        bundles=bundles_hash(bundles),
        encoder=scores.encoder,
        answers=scores.answers,
        failed=scores.failed,
        cut=sum(CUT_AT_MAX_TOKENS in answer.flags for answer in answers),
        copied=scores.copied,
        authors={
            number: author_figures(bundle.author) for number, bundle in enumerate(bundles, start=1)
        },
    )


def _training(outcome: Outcome) -> TrainingFigures:
    record = outcome.record
    return TrainingFigures(
        documents=len(record.trained),
        steps=record.steps,
        best=record.best,
        held_out=(record.curve[0].held_out, record.best_point.held_out),
        perplexity=(outcome.perplexity.base, outcome.perplexity.trained),
    )


def _outcomes(params: Params, line: str) -> dict[str, Outcome]:
    return outcomes_of(params, line) if line in params.twins else {}


if __name__ == "__main__":
    main()
