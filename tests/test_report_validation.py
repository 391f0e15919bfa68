"""What is shown of the encoders that were tried on real text."""

import io

from personalbench.metrics.validation import Verification
from personalbench.report.validation import (
    EncoderResult,
    Validation,
    details,
    draw_validation,
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
    rows = details(made(verification(1, 0.7), verification(5, None, same_pairs=0)))
    assert rows[1] == [
        *("luar-mini", "1", "0.700 [0.650, 0.750]", "0.200", "0.900", "0.400", "50", "50"),
    ]
    assert rows[2][2:6] == ["not estimable"] * 4
    assert [row[0] for row in rows[1:]] == ["luar-mini"] * 2 + ["word-tfidf"] * 2


def test_what_a_reader_must_know_is_said_once_and_only_where_it_holds() -> None:
    assert notes(made(verification(1, 0.7))) == []
    said = notes(made(verification(1, 0.7), verification(5, 0.8, 20), truncated=3, unreliable=2))
    assert said[0] == "The corpus has only 20 same-author pairs of 50 at 5 against 5."
    assert said[1].startswith("3 of 40 texts are longer than luar-mini reads")
    assert said[2].startswith("2 of 40 texts have fewer than 50 tokens")
    assert len(said) == 3


def test_figure_has_a_line_for_every_encoder_and_draws_without_estimates() -> None:
    figure = draw_validation(made(verification(1, 0.7), verification(5, 0.8)))
    (axis,) = figure.axes
    lines = {str(line.get_label()): line for line in axis.lines}
    assert list(lines["luar-mini"].get_ydata()) == [0.7, 0.8]
    assert list(lines["word-tfidf"].get_ydata()) == [0.7, 0.8]
    segments = [s for c in axis.collections for s in c.get_segments()]
    assert sorted({tuple(s[:, 1].round(2)) for s in segments}) == [(0.65, 0.75), (0.75, 0.85)]
    draw_validation(made(verification(1, None))).savefig(io.BytesIO(), format="svg")
