"""For people with a loop of their own: load a bundle, score answers to it, compare."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from personalbench import bundle as bundles
from personalbench.bundle import Bundle
from personalbench.encoders.base import Encoder
from personalbench.person.comparing import Comparisons, compare_runs
from personalbench.person.scoring import Scored, score_run
from personalbench.person.settings import open_encoder, settings

Answers: TypeAlias = Mapping[str, str] | Path
"""Texts by case id, or a file with one ``{"case_id": …, "output": …}`` a line."""


def load_bundle(path: str | Path) -> Bundle:
    """Load a bundle from its folder or zip, and verify every byte of it.

    Args:
        path: Where it lies. ``bundle.cases`` has the prompts to answer.

    Raises:
        UserError: A file is missing, changed or contradicts another; names the file.
    """
    return bundles.load_bundle(Path(path))


def score(
    bundle: Bundle,
    answers: Answers,
    baseline: Answers | None = None,
    *,
    name: str = "twin",
    encoder: Encoder | None = None,
) -> Scored:
    """Score a twin's answers to a bundle.

    Args:
        bundle: One person's frozen evaluation.
        answers: The twin's answers, one to every case.
        baseline: The unpersonalized model's answers to the same prompts.
        name: The twin's name.
        encoder: Makes the authorship vectors; None takes the one that params.yaml here,
            or this release, names.

    Returns:
        The run: ``scored.run.twin.likeness`` is the headline, an estimate with its
        interval; ceiling, unrelated writers, every case and the warnings are beside it.

    Raises:
        UserError: An answer is missing or belongs to no case.
    """
    params = settings()
    with tempfile.TemporaryDirectory() as folder:
        return score_run(
            name,
            bundle,
            _file(answers, Path(folder) / "answers.jsonl"),
            None if baseline is None else _file(baseline, Path(folder) / "baseline.jsonl"),
            encoder or open_encoder(params.weights),
            calibration=None,
            replicates=params.score.bootstrap,
            seed=params.seed,
        )


def compare(first: Scored, *others: Scored) -> Comparisons:
    """Compare runs on one bundle with the first of them, over the same resamples.

    Raises:
        UserError: Two runs differ in their bundle, encoder or settings; names in what.
    """
    scored = [first, *others]
    return compare_runs([one.run for one in scored], [one.table for one in scored])


def _file(answers: Answers, path: Path) -> Path:
    if isinstance(answers, Path):
        return answers
    lines = (json.dumps({"case_id": case, "output": text}) for case, text in answers.items())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
