"""Tables, words, figures and runs made of scores that are known."""

import json
from pathlib import Path

import pytest

from people import bundle
from personalbench.errors import UserError
from personalbench.judge.records import AuthorTraits
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.validation import Verification
from personalbench.params import load_params
from personalbench.report.figures import draw_methods
from personalbench.report.findings import encoder_rank, findings, omissions, overlaps, trust
from personalbench.report.page import report_page
from personalbench.report.results import Results, load_results, metrics_tree
from personalbench.report.table import cell, markdown, method_table
from personalbench.report.validation import EncoderResult, Validation
from personalbench.scores import AnswerScores, EncoderIdentity, Scores
from personalbench.storage import write_json

ENCODER = EncoderIdentity(family="luar", name="luar-mini", revision="abc", max_length=512)


def estimate(value: float, spread: float = 0.05) -> Estimate:
    return Estimate(value=value, ci_low=value - spread, ci_high=value + spread, n=10, authors=2)


def scores(line: str, luar: Estimate, tmr: Estimate, **fields: object) -> Scores:
    values: dict[str, object] = {
        "line": line,
        "encoder": ENCODER,
        "answers": 10,
        "failed": 0,
        "judge_failures": estimate(0.1),
        "truncated": 0,
        "unreliable": 0,
        "leftover": {},
        "summary": {
            "luar": luar,
            "tmr": tmr,
            "same_author": estimate(0.5),
            "func_cos": estimate(0.7),
            "punct_cos": estimate(0.8),
            "rouge_l": missing("the reference has no words"),
        },
        "groups": (),
        "cases": (),
    }
    return Scores.model_validate(values | fields)


def results(tmr: float = 0.4) -> Results:
    return Results(
        twins={
            "few_shot": scores("few_shot", estimate(0.6), estimate(tmr), failed=2, unreliable=3),
            "profile": scores("profile", estimate(0.3), estimate(0.42)),
        },
        ceiling=scores("ceiling", estimate(0.8), estimate(0.5)),
        floor=scores("floor", estimate(0.4), estimate(0.45)),
    )


def _lines() -> tuple[Scores, Scores]:
    return results().ceiling, results().floor


def test_cells_say_value_and_interval_or_what_is_missing() -> None:
    assert cell(estimate(0.6)) == "0.600 [0.550, 0.650]"
    assert cell(Estimate(value=0.25, reason="one group")) == "0.250"
    assert cell(missing("no text")) == "not estimable"


def test_the_table_runs_from_ceiling_to_floor() -> None:
    rows = method_table(results())
    assert [row[0] for row in rows] == ["", "ceiling", "few_shot", "profile", "floor"]
    assert rows[0][1] == "luar-mini 5v5"
    assert rows[2][1] == "0.600 [0.550, 0.650]"
    lines = markdown(rows).split("\n")
    assert len({len(line) for line in lines}) == 1
    assert set(lines[1]) == {"|", "-"}


def test_each_twin_is_placed_between_the_reference_lines() -> None:
    said = findings(results())
    # (0.6 - 0.4) / (0.8 - 0.4) = 50 %.
    assert "**few_shot**: 0.600 [0.550, 0.650], 50% of the way" in said[0]
    assert "**profile**: 0.300 [0.250, 0.350], below unrelated writers (0.400)" in said[1]
    # 0.6 - 0.05 lies above 0.4 + 0.05, and 0.3 + 0.05 touches nothing; 0.45 would overlap.
    assert "not told apart" not in said[0]
    near = Results({"near": scores("near", estimate(0.45), estimate(0.4))}, *_lines())
    assert "the intervals overlap, so it is not told apart" in findings(near)[0]


def test_reference_lines_the_wrong_way_round_are_said_first() -> None:
    turned = Results(results().twins, ceiling=results().floor, floor=results().ceiling)
    assert "does not tell the authors" in findings(turned)[0]


def test_a_judge_that_separates_nothing_is_said_to_carry_no_evidence() -> None:
    said = "\n".join(trust(results()))
    assert "TMR: 0.500 [0.450, 0.550] on the authors' own writing" in said
    assert said.count("does not separate them here") == 2
    apart = Results(
        results().twins,
        ceiling=scores("ceiling", estimate(0.8), estimate(0.9)),
        floor=scores("floor", estimate(0.4), estimate(0.2)),
    )
    assert "tells them apart here" in trust(apart)[0]


def test_circularity_is_flagged_where_a_twin_beats_the_author() -> None:
    assert not [line for line in trust(results(tmr=0.5)) if line.startswith("Circularity")]
    (line,) = [line for line in trust(results(tmr=0.51)) if line.startswith("Circularity")]
    assert "Circularity: few_shot 0.510 show more of the author's traits" in line
    assert "than the author does (TMR 0.500)" in line


def test_intervals_overlap_at_a_shared_end() -> None:
    assert overlaps(estimate(0.5), estimate(0.6)) is True
    assert overlaps(estimate(0.5), estimate(0.61)) is False
    assert overlaps(estimate(0.5), Estimate(value=0.5, reason="one group")) is None


def test_what_is_left_out_is_said() -> None:
    said = omissions(results())
    assert said[0] == "few_shot: 2 of 10 answers have no text to score."
    assert "3 of 10 texts have fewer than 50 tokens" in said[1]
    whole = Results({}, ceiling=results().ceiling, floor=results().floor)
    assert omissions(whole) == ["Nothing: every text is in every number."]


def test_metrics_are_plain_numbers_and_missing_ones_are_left_out() -> None:
    tree = metrics_tree(results())
    assert tree["few_shot"]["luar"] == pytest.approx(
        {"value": 0.6, "ci_low": 0.55, "ci_high": 0.65}
    )
    assert "rouge_l" not in tree["few_shot"]
    text = json.dumps(tree, allow_nan=False)
    assert "null" not in text


def test_scores_of_two_encoders_are_never_put_side_by_side(tmp_path: Path) -> None:
    other = ENCODER.model_copy(update={"revision": "def"})
    for line in ("ceiling", "few_shot", "floor"):
        record = scores(line, estimate(0.5), estimate(0.5))
        if line == "few_shot":
            record = record.model_copy(update={"encoder": other})
        write_json(tmp_path / f"{line}.json", record.model_dump(mode="json"))
    with pytest.raises(UserError, match="different encoders"):
        load_results(tmp_path, ["few_shot"])


def verification(size: int, auc: float | None) -> Verification:
    return Verification(
        size=size, same_pairs=9, cross_pairs=8, wanted=10, authors=4, ceiling=0.8, floor=0.4,
        auc=auc, auc_low=None if auc is None else auc - 0.1,
        auc_high=None if auc is None else auc + 0.1, eer=0.2,
        reason=None if auc is not None else "no pairs",
    )  # fmt: skip


def test_the_page_has_every_section_and_no_unfilled_variable() -> None:
    validation = Validation(
        documents=40,
        authors=4,
        truncated=1,
        unreliable=2,
        results=tuple(
            EncoderResult(encoder=name, revision="r", verification=verification(size, auc))
            for name in ("luar-mini", "char-ngram-tfidf")
            for size, auc in ((1, 0.7), (5, None))
        ),
    )
    params = load_params(Path(__file__).parent.parent / "params.yaml")
    traits = [
        AuthorTraits(author="ada", questions=("Is it terse?",), documents=()),
        AuthorTraits(author="ben", questions=None, reason="not JSON", documents=()),
    ]
    page = report_page(results(), [bundle("ada"), bundle("ben")], traits, params, validation)
    assert "- ada: Is it terse?\n- ben: none: not JSON\n" in page
    for heading in ("How to read it", "What it says", "How far to trust the judge"):
        assert f"## {heading}" in page
    assert "2 authors (ada, ben), 5 cases each, 2 twins" in page
    assert "With 2 authors they say little about other authors." in page
    assert "0.700 [0.600, 0.800]" in page
    assert "not estimable" in page
    assert "{{" not in page and "None" not in page


def test_the_figure_is_drawn_also_where_values_are_missing(tmp_path: Path) -> None:
    draw_methods(results(), tmp_path / "figures" / "methods.png")
    assert (tmp_path / "figures" / "methods.png").read_bytes().startswith(b"\x89PNG")


def test_a_judge_that_quotes_what_is_not_there_or_never_varies_is_named() -> None:
    def judged(case_id: str, quoted: float, verdict: float) -> AnswerScores:
        metrics = {
            "evidence_quoted": Estimate(value=quoted),
            "same_author": Estimate(value=verdict),
        }
        return AnswerScores(
            author="ada", case_id=case_id, source="x", words=9, tokens=9, metrics=metrics
        )

    def trusted(second: float) -> str:
        cases = (judged("case_0001", 0.0, 0.0), judged("case_0002", 0.5, second))
        twin = scores("few_shot", estimate(0.6), estimate(0.4), cases=cases)
        return "\n".join(trust(Results({"few_shot": twin}, *_lines())))

    assert "Of the words that it quotes as evidence, 25% stand in the text." in trusted(0.0)
    assert "It said different authors of every text" in trusted(0.0)
    assert "of every text" not in trusted(1.0)


def test_an_encoder_no_better_than_counting_is_named() -> None:
    def tried(own: float) -> Validation:
        return Validation(
            documents=40,
            authors=4,
            truncated=1,
            unreliable=2,
            results=tuple(
                EncoderResult(encoder=name, revision="r", verification=verification(5, auc))
                for name, auc in (("luar-mini", own), ("word-tfidf", 0.8))
            ),
        )

    assert "no better than word-tfidf 0.800" in (encoder_rank(tried(0.8)) or "")
    assert encoder_rank(tried(0.81)) is None


def test_a_judge_that_was_not_asked_has_no_failure_rate_in_the_metrics() -> None:
    unasked = scores("few_shot", estimate(0.6), estimate(0.4), judge_failures=missing("not asked"))
    tree = metrics_tree(Results({"few_shot": unasked}, *_lines()))
    assert "judge_failures" not in tree["few_shot"]
    assert tree["ceiling"]["judge_failures"] == 0.1
