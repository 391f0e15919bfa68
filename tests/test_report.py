"""Tables, words, figures and runs made of scores that are known."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import invented
from invented import invented_run
from personalbench.errors import UserError
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.validation import Verification
from personalbench.report.figures import headline_figure, methods_figure
from personalbench.report.findings import encoder_rank, findings, omissions, overlaps
from personalbench.report.page import report_markdown
from personalbench.report.parts.summary import caution, standing
from personalbench.report.plots import plot_tables
from personalbench.report.published import published_tables
from personalbench.report.results import Results, likeness_tree, load_results, metrics_tree
from personalbench.report.run import Run
from personalbench.report.section import written
from personalbench.report.sections import report_sections
from personalbench.report.table import method_table
from personalbench.report.validation import EncoderResult, Validation
from personalbench.scores import EncoderIdentity, Scores
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
        "copied": 0,
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
    assert written(estimate(0.6)) == "0.600 [0.550, 0.650]"
    assert written(Estimate(value=0.25, reason="one group")) == "0.250"
    assert written(missing("no text")) == "not estimable"


def test_the_table_runs_from_ceiling_to_floor_under_the_catalogues_names() -> None:
    table = method_table(results())
    assert [row[0] for row in table.rows] == ["ceiling", "few_shot", "profile", "floor"]
    titles = [column.title for column in table.columns]
    assert titles == ["", "luar-mini 5v5", "TMR", "SA", "FuncCos", "PunctCos", "ROUGE-L"]
    assert table.columns[2].help.startswith("Trait match rate: Share of the author's five")
    assert table.rows[1][1] == estimate(0.6)


def test_each_twin_is_placed_between_the_reference_lines() -> None:
    said = findings(results())
    # (0.6 - 0.4) / (0.8 - 0.4) = 50 %.
    assert "few_shot: 0.600 [0.550, 0.650], 50% of the way" in said[0]
    assert "profile: 0.300 [0.250, 0.350], below unrelated writers (0.400)" in said[1]
    # 0.6 - 0.05 lies above 0.4 + 0.05, and 0.3 + 0.05 touches nothing; 0.45 would overlap.
    assert "not told apart" not in said[0]
    near = Results({"near": scores("near", estimate(0.45), estimate(0.4))}, *_lines())
    assert "the intervals overlap, so it is not told apart" in findings(near)[0]


def test_reference_lines_the_wrong_way_round_are_said_first() -> None:
    turned = Results(results().twins, ceiling=results().floor, floor=results().ceiling)
    assert "does not tell the authors" in findings(turned)[0]


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


def test_metrics_are_few_plain_numbers_and_missing_ones_are_left_out() -> None:
    tree = metrics_tree(results())
    assert tree["few_shot"] == pytest.approx(
        {
            "luar": 0.6, "ci_low": 0.55, "ci_high": 0.65, "tmr": 0.4, "same_author": 0.5,
            "func_cos": 0.7, "punct_cos": 0.8, "failed": 2,
        }
    )  # fmt: skip
    assert "null" not in json.dumps(tree, allow_nan=False)
    of_lines = {line: numbers["luar"] for line, numbers in tree.items()}
    assert likeness_tree(results()) == {"twins": len(results().twins), "luar-mini": of_lines}
    unmeasured = scores("few_shot", missing("too few answers"), estimate(0.4))
    partly = replace(results(), twins={"few_shot": unmeasured})
    known = {line: of_lines[line] for line in ("ceiling", "floor")}
    assert likeness_tree(partly) == {"twins": 1, "luar-mini": known}


def test_plots_have_a_row_a_point_and_no_gap_is_a_zero() -> None:
    tables = plot_tables(invented_run(authors=3, twins=("few_shot",)))
    assert tables["likeness"].csv().split("\n")[0] == "line,likeness,likeness low,likeness high"
    assert [column.title for column in tables["aggregation"].columns] == ["documents", "few_shot"]
    assert len(tables["aggregation"].rows) == 5
    assert {row[0] for row in tables["single"].rows} == {"ceiling", "few_shot", "floor"}


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


SECTIONS = [
    "answer", "methods", "metrics", "differences", "target", "single-texts", "aggregation",
    "generated", "fingerprint", "agreement", "style", "trust", "encoder", "contamination",
    "omissions", "glossary",
]  # fmt: skip


def test_the_report_has_every_section_with_numbers_or_a_reason() -> None:
    run = invented_run(authors=3, twins=("non_personalized", "few_shot"))
    sections = report_sections(run)
    assert [section.id for section in sections] == SECTIONS
    for section in sections:
        assert section.basis or section.id in ("omissions", "glossary"), section.id
        assert section.text or section.points or section.tables or section.figures, section.id
    text = report_markdown(run, sections)
    assert "{{" not in text and "None" not in text and "nan" not in text.lower()
    named = {figure.name for section in sections for figure in section.figures}
    assert named == {
        "headline", "methods", "distributions", "aggregation", "scatter", "calibration",
    }  # fmt: skip


def test_one_author_and_one_twin_still_make_a_report() -> None:
    run = invented_run(authors=1, twins=("few_shot",))
    text = report_markdown(run, report_sections(run))
    assert "There is one twin: nothing to compare it with." in text
    assert "no pairs" in text
    assert "None" not in text and "nan" not in text.lower()


def test_figures_are_drawn_also_where_values_are_missing() -> None:
    for figure in (headline_figure(results()), methods_figure(results())):
        assert figure.png.startswith(b"\x89PNG")
        assert figure.svg.startswith("<svg")
    assert "ROUGE-L: ceiling not estimable" in methods_figure(results()).alt
    # The legend names what is drawn: lines, bands and intervals.
    assert "floor: unrelated writers, with 95 % interval" in methods_figure(results()).svg


def test_figures_have_ids_of_their_own_and_colours_that_the_page_sets() -> None:
    figures = [headline_figure(results()), methods_figure(results())]
    ids = [re.findall(r' id="([^"]+)"', figure.svg) for figure in figures]
    assert len({*ids[0], *ids[1]}) == len(ids[0]) + len(ids[1])
    for figure, own in zip(figures, ids, strict=True):
        used = re.findall(r'(?:href="#|url\(#)([^")]+)', figure.svg)
        assert used and set(used) <= set(own)
        assert "var(--ceiling, #009e73)" in figure.svg
        assert not re.search(r"(?<!, )#009e73", figure.svg)
    assert headline_figure(results()).svg == figures[0].svg


def placed(*twins: float, ceiling: float = 0.8, floor: float = 0.4) -> Run:
    """A run whose twins have these likenesses."""
    run = invented_run(authors=3, twins=("few_shot", "profile"))
    named = zip(("few_shot", "profile"), twins, strict=True)
    return replace(
        run,
        results=Results(
            {name: scores(name, estimate(value), estimate(0.4)) for name, value in named},
            scores("ceiling", estimate(ceiling), estimate(0.5)),
            scores("floor", estimate(floor), estimate(0.5)),
        ),
    )


def test_the_answer_says_where_the_nearest_twin_stands() -> None:
    assert standing(placed(0.6, 0.5)).startswith("few_shot (0.600 [0.550, 0.650]) comes closest")
    assert "50% of the way" in standing(placed(0.6, 0.5))
    assert "does not tell it from an unrelated person" in standing(placed(0.45, 0.41))
    assert standing(placed(0.3, 0.39)).startswith("No twin writes more like its author")
    assert "the nearest, profile, reaches 0.390" in standing(placed(0.3, 0.39))
    assert "look for copied samples" in standing(placed(0.9, 0.5))
    assert "can be read" in standing(placed(0.6, 0.5, ceiling=0.3))


def test_a_twin_over_fewer_authors_than_the_lines_is_said_to_be() -> None:
    run = placed(0.6, 0.5)
    few = estimate(0.6).model_copy(update={"authors": 1})
    twins = {**run.results.twins, "few_shot": scores("few_shot", few, estimate(0.4))}
    run = replace(run, results=replace(run.results, twins=twins))
    assert standing(run).startswith("few_shot (0.600 [0.550, 0.650] over 1 of 2 authors) comes")
    said = findings(run.results)
    assert "few_shot: 0.600 [0.550, 0.650] over 1 of 2 authors, 50% of the way" in said[0]
    assert not any("of 2 authors" in line for line in said[1:])


def test_where_all_answers_failed_nothing_is_estimable(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = invented._answer
    nothing = {"status": "empty", "text": "", "reason": "x", "seen": ()}
    monkeypatch.setattr(
        invented, "_answer", lambda *given: answer(*given).model_copy(update=nothing)
    )
    run = invented_run(authors=3, cases=5, twins=("few_shot", "profile"))
    assert standing(run).startswith("Not estimable")
    assert caution(run).startswith("How twins differ is not estimable")
    assert "likely cause" not in caution(run)


def test_the_answer_says_what_the_run_can_not_tell() -> None:
    assert "can't be told with 3 authors" in caution(placed(0.3, 0.35))
    assert "smollm2-135m is a likely cause" in caution(placed(0.3, 0.35))
    assert "likely cause" not in caution(placed(0.7, 0.35))
    alone = invented_run(authors=2, twins=("few_shot",))
    assert caution(alone).startswith("With one twin")


def test_published_values_stand_beside_the_papers_corpus_and_encoder_only() -> None:
    run = placed(0.6, 0.5)
    assert published_tables(run) == []
    blogs = run.params.model_copy(
        update={"corpus": run.params.corpus.model_copy(update={"reader": "blogs"})}
    )
    assert published_tables(replace(run, params=blogs)) == []
    mud = ENCODER.model_copy(update={"name": "luar-mud"})
    lines = {
        name: record.model_copy(update={"encoder": mud})
        for name, record in run.results.lines.items()
    }
    theirs = Results(
        {twin: lines[twin] for twin in run.results.twins}, lines["ceiling"], lines["floor"]
    )
    main, others = published_tables(replace(run, params=blogs, results=theirs))
    assert main.rows[0][:2] == ("ceiling", 0.756)
    assert "Blog Authorship Corpus" in main.caption
    assert ("generated sets, same target", 0.932) in others.rows


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
