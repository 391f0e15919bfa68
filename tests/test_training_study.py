"""The study's parameters, its figures and its tables."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from people import bundle
from personalbench.errors import UserError
from personalbench.metrics.estimate import missing
from personalbench.params import load_params
from personalbench.scores import AnswerScores, EncoderIdentity, GroupScores, Scores
from personalbench.twins.answers import CUT_AT_MAX_TOKENS, Answer
from test_training_report import outcome

STUDY = Path(__file__).parents[1] / "docs" / "study"
ENCODER = EncoderIdentity(family="luar", name="e", revision="1", max_length=9)


@pytest.fixture(scope="module")
def study() -> Iterator[tuple[ModuleType, ModuleType]]:
    """Its two programs."""
    sys.path.insert(0, str(STUDY))
    import figures
    import summary

    yield figures, summary
    sys.path.remove(str(STUDY))


def test_the_parameters_are_those_of_this_release() -> None:
    study, shipped = (
        load_params(STUDY / "params.yaml"),
        load_params(STUDY.parents[1] / "params.yaml"),
    )
    assert study.bundle.authors == 10 and study.bundle.cases == 10
    trained = [study.personalize.twin(name) for name in study.twins[4:]]
    assert [section.documents for section in trained] == [25, 50, 100, 200]
    assert study.models == shipped.models and study.judge == shipped.judge


def test_figures_are_numbers_of_groups_and_trainings(
    study: tuple[ModuleType, ModuleType],
) -> None:
    figures, _ = study
    bundles = [bundle("ada"), bundle("ben")]
    groups = [
        GroupScores(author=author, source="t", case_ids=cases, likeness=value)
        for author, cases, value in (
            ("ada", ("case_0001", "case_0002"), 0.51239),
            ("ada", ("case_0003", "case_0004"), 0.25),
            ("ben", ("case_0001", "case_0002"), 0.75),
        )
    ]
    cases = [
        AnswerScores(
            author=author, case_id=case, source="t", words=9, tokens=9, metrics={},
            copied=(author, case) == ("ada", "case_0004"),
        )
        for author in ("ada", "ben")
        for case in ("case_0001", "case_0002", "case_0003", "case_0004")
    ]  # fmt: skip
    scores = Scores(
        line="t", encoder=ENCODER, answers=8, failed=1, copied=1, judge_failures=missing("none"),
        truncated=0, unreliable=0, leftover={}, summary={}, groups=tuple(groups),
        cases=tuple(cases),
    )  # fmt: skip
    answers = [
        Answer(author=c.author, case_id=c.case_id, source="t", text="SECRET", flags=flags)
        for c, flags in zip(cases, [(CUT_AT_MAX_TOKENS,), (), ("other",), *[()] * 5], strict=True)
    ]
    made = figures.figures(scores, answers, bundles, {"ben": outcome("ben", 0.0)})
    assert (made.answers, made.failed, made.cut, made.copied) == (8, 1, 1, 1)
    ada, ben = made.authors[1], made.authors[2]
    assert (ada.groups, ada.uncopied, ada.training) == ((0.5124, 0.25), (0.5124,), None)
    assert ben.groups == ben.uncopied == (0.75,)
    assert ben.training.held_out == (4.0, 3.0) and ben.training.best == 5
    text = made.model_dump_json()
    assert not any(word in text for word in ("ada", "ben", "SECRET", "case_"))


def lines_of(figures: ModuleType, values: dict[str, dict[int, list[float]]]) -> dict[str, object]:
    """Lines; an author's last group of few_shot holds a copied answer if there are two."""
    return {
        name: figures.LineFigures(
            line=name, bundles="b", encoder=ENCODER, answers=3, failed=0, cut=2,
            copied=int(name == "few_shot"),
            authors={
                number: figures.AuthorFigures(
                    groups=tuple(own),
                    uncopied=tuple(own[:1] if name == "few_shot" else own),
                    training=None,
                )
                for number, own in authors.items()
            },
        )
        for name, authors in values.items()
    }  # fmt: skip


def test_the_table_has_paired_differences_and_places_between_floor_and_ceiling(
    study: tuple[ModuleType, ModuleType],
) -> None:
    figures, summary = study
    lines = lines_of(
        figures,
        {
            "ceiling": {1: [0.8], 2: [0.9], 3: [0.9]},
            "non_personalized": {1: [0.4], 2: [0.5], 3: [0.5]},
            "few_shot": {1: [0.5, 0.9], 2: [0.6], 3: [0.6]},
            "finetuned": {1: [0.6], 2: [0.8], 3: [0.7]},
            "floor": {1: [0.5, 0.6], 2: [0.85, 0.95], 3: [0.6, 0.65]},
        },
    )
    rows = {
        cells[1]: cells[2:-1]
        for cells in (
            [cell.strip() for cell in row.split("|")]
            for row in list(summary.likeness_table(lines, 5000, 1))[2:]
        )
    }
    # Over the baseline 0.2, 0.3, 0.2; few_shot has 0.7, 0.6, 0.6, without the copy 0.5, 0.6, 0.6.
    likeness, over_base, over_few, uncopied, above, both, closed, copied, cut = rows["finetuned"]
    assert likeness.startswith("0.700 [0.6")
    assert over_base.startswith("0.233 [0.200, 0.300]")
    assert over_few.startswith("0.067 [-0.100, 0.200]")
    assert uncopied.startswith("0.133 [0.100, 0.200]")
    assert above == "2 of 3"  # 0.6 > 0.55, 0.8 < 0.9, 0.7 > 0.625
    assert closed.startswith("0.583 [0.500, 0.750]")  # 0.2 of 0.4, 0.3 of 0.4, 0.2 of 0.4
    assert (copied, cut) == ("0 of 3", "2 of 3") and rows["few_shot"][7] == "1 of 3"
    assert both == "2 of 3"
    assert rows["ceiling"][1:4] == ["", "", ""] and rows["floor"][4] == ""


def test_above_both_counts_authors_above_floor_and_baseline_at_once(
    study: tuple[ModuleType, ModuleType],
) -> None:
    figures, summary = study
    lines = lines_of(
        figures,
        {
            "non_personalized": {1: [0.4], 2: [0.5], 3: [0.7]},
            "finetuned": {1: [0.5], 2: [0.6], 3: [0.6]},
            "floor": {1: [0.3], 2: [0.65], 3: [0.5]},
            "ceiling": {1: [0.9], 2: [0.9], 3: [0.9]},
        },
    )
    row = next(row for row in summary.likeness_table(lines, 100, 1) if "finetuned" in row)
    # 1 is above both, 2 above the baseline alone, 3 above the floor alone.
    assert [cell.strip() for cell in row.split("|")][6:8] == ["2 of 3", "1 of 3"]


def test_an_author_alone_has_no_interval_and_one_without_a_group_no_place(
    study: tuple[ModuleType, ModuleType],
) -> None:
    figures, summary = study
    alone = lines_of(
        figures, {name: {1: [0.5]} for name in ("ceiling", "non_personalized", "floor")}
    )
    assert summary.picture(alone, 100, 1).png.startswith(b"\x89PNG")
    lines = lines_of(
        figures,
        {
            "ceiling": {1: [0.9], 2: [0.8]},
            "non_personalized": {1: [0.4]},
            "finetuned": {1: [0.6], 2: [0.7]},
            "floor": {1: [0.5], 2: [0.5]},
        },
    )
    [row] = [row for row in summary.likeness_table(lines, 100, 1) if "| finetuned" in row]
    assert [cell.strip() for cell in row.split("|")][6:9] == ["2 of 2", "1 of 1", "0.400"]
    assert "| 2 | 0.800 |  | 0.700 | 0.500 |" in list(summary.author_table(lines))


def test_authors_have_a_row_each_and_lines_a_place_in_the_picture(
    study: tuple[ModuleType, ModuleType],
) -> None:
    figures, summary = study
    values = {1: [0.5, 0.7], 2: [0.25], 4: [0.75]}
    lines = lines_of(
        figures, {name: values for name in ("ceiling", "non_personalized", "finetuned", "floor")}
    )
    assert list(summary.author_table(lines))[2:] == [
        f"| {number} | {' | '.join([value] * 4)} |"
        for number, value in ((1, "0.600"), (2, "0.250"), (4, "0.750"))
    ]
    picture = summary.picture(lines, 1000, 1)
    assert picture.png.startswith(b"\x89PNG")
    assert all(f"{name} 0.533 [0.250, 0.750]" in picture.alt for name in lines)
    assert re.findall(r">(non_personalized|finetuned)<", picture.svg) == [
        "finetuned", "non_personalized",
    ]  # fmt: skip


def test_trained_twins_stand_against_the_one_with_fewer_documents(
    study: tuple[ModuleType, ModuleType],
) -> None:
    figures, summary = study
    lines = lines_of(
        figures,
        {
            "few_shot": {1: [0.9], 2: [0.9]},
            "many": {1: [0.7], 2: [0.9], 3: [0.6]},
            "few": {1: [0.5], 2: [0.6]},
        },
    )
    assert summary.documents_table(lines, 100, 1) == []
    # The second author has fewer than the twin asks for.
    for name, documents in (("many", (200, 180, 200)), ("few", (25, 25))):
        for number, count in enumerate(documents, start=1):
            author = lines[name].authors[number]
            training = figures.TrainingFigures(
                documents=count, steps=2, best=1, held_out=(4, 3), perplexity=(9, 8)
            )
            lines[name].authors[number] = author.model_copy(update={"training": training})
    few, many = summary.documents_table(lines, 5000, 1)[2:]
    assert few == "| few | 25 | 0.550 [0.500, 0.600] |  |"
    assert many.startswith("| many | 200 | 0.733 [0.600, 0.900] | 0.250 [0.200, 0.300] |")


def test_lines_of_two_runs_make_no_table(
    study: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    figures, summary = study
    with pytest.raises(UserError, match=r"no figures of ceiling and floor; run dvc repro refer"):
        summary.read_figures(tmp_path, ["finetuned"])
    for name, bundles in (("ceiling", "b"), ("finetuned", "c"), ("floor", "b")):
        line = lines_of(figures, {name: {1: [0.5]}})[name].model_copy(update={"bundles": bundles})
        (tmp_path / f"{name}.json").write_text(line.model_dump_json())
    with pytest.raises(UserError, match=r"finetuned: of other bundles or another encoder than"):
        summary.read_figures(tmp_path, ["finetuned"])


@pytest.mark.parametrize("run", ["figures", "documents"])
def test_the_page_has_the_tables_and_the_picture_of_the_committed_figures(
    study: tuple[ModuleType, ModuleType], run: str
) -> None:
    _, summary = study
    params = load_params(STUDY / "params.yaml")
    lines = summary.read_figures(STUDY / run, params.twins)
    page = (STUDY / "README.md").read_text(encoding="utf-8")
    assert f"({run}/likeness.png)" in page and (STUDY / run / "likeness.png").is_file()
    assert "\n".join(summary.tables(lines, params.score.bootstrap, params.seed)) in page
