"""What is shown of the encoders that were tried on real text."""

import numpy as np

from personalbench.metrics.validation import Pairs, Verification, verify
from personalbench.report.parts.encoder import calibration_figure
from personalbench.report.section import written
from personalbench.report.validation import (
    EncoderResult,
    Validation,
    auc_table,
    details,
    notes,
)


def verification(size: int, auc: float | None, same_pairs: int = 50) -> Verification:
    known = auc is not None
    return Verification(
        size=size,
        same_pairs=same_pairs,
        cross_pairs=50,
        wanted=50,
        authors=4,
        ceiling=0.9 if known else None,
        floor=0.4 if known else None,
        auc=auc,
        auc_low=auc - 0.05 if auc is not None else None,
        auc_high=auc + 0.05 if auc is not None else None,
        eer=0.2 if known else None,
        reason=None if known else "no same-author pairs",
    )


def made(*found: Verification, truncated: int = 0, unreliable: int = 0) -> Validation:
    return Validation(
        documents=40,
        authors=4,
        truncated=truncated,
        unreliable=unreliable,
        results=tuple(
            EncoderResult(encoder=name, revision="r", verification=one)
            for name in ("luar-mini", "word-tfidf")
            for one in found
        ),
    )


def test_every_encoder_and_size_has_a_row() -> None:
    table = details(made(verification(1, 0.7), verification(5, None, same_pairs=0)))
    encoder, documents, auc, *others = table.rows[0]
    assert (encoder, documents) == ("luar-mini", 1)
    assert written(auc) == "0.700 [0.650, 0.750]"
    assert others == [0.2, 0.9, 0.4, 50, 50]
    assert [written(cell) for cell in table.rows[1][2:6]] == ["not estimable"] * 4
    assert [row[0] for row in table.rows] == ["luar-mini"] * 2 + ["word-tfidf"] * 2


def test_encoders_stand_side_by_side_by_documents() -> None:
    table = auc_table(made(verification(1, 0.7), verification(5, 0.8, same_pairs=20)))
    assert [column.title for column in table.columns] == ["encoder", "1 v 1", "5 v 5", "pairs"]
    assert [written(cell) for cell in table.rows[1]] == [
        *("word-tfidf", "0.700 [0.650, 0.750]", "0.800 [0.750, 0.850]", "20"),
    ]


def test_what_a_reader_must_know_is_said_once_and_only_where_it_holds() -> None:
    assert notes(made(verification(1, 0.7))) == []
    said = notes(made(verification(1, 0.7), verification(5, 0.8, 20), truncated=3, unreliable=2))
    assert said[0] == "The corpus has only 20 same-author pairs of 50 at 5 against 5."
    assert said[1].startswith("3 of 40 texts are longer than luar-mini reads")
    assert said[2].startswith("2 of 40 texts have fewer than 50 tokens")
    assert len(said) == 3


def test_the_figure_says_what_it_shows_and_is_drawn_without_estimates() -> None:
    figure = calibration_figure(made(verification(1, 0.7), verification(5, 0.8)))
    assert figure.alt == (
        "At 5 documents the same author's groups average 0.900, different authors' 0.400, "
        "AUC 0.800."
    )
    for encoder in ("luar-mini", "word-tfidf"):
        assert encoder in figure.svg
    assert "not estimable" in calibration_figure(made(verification(1, None))).alt


def test_the_percentiles_of_both_kinds_are_kept_for_the_figure() -> None:
    numbers = np.arange(400)
    pairs = Pairs(numbers[:, None], numbers[:, None], numbers % 4, (numbers // 4) % 4, 400)
    found = verify(pairs, np.where(pairs.same, 0.8, 0.4) + numbers / 1e4, seed=1, replicates=100)
    assert (len(found.same_percentiles), len(found.cross_percentiles)) == (101, 101)
    assert found.same_percentiles[50] == np.median(0.8 + numbers[pairs.same] / 1e4)
    assert found.cross_percentiles[-1] == 0.4 + numbers[~pairs.same].max() / 1e4
