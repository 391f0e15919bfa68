"""The study's parameters and its tables."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from personalbench.metrics.estimate import missing
from personalbench.params import load_params
from personalbench.scores import AnswerScores, EncoderIdentity, GroupScores, Scores

STUDY = Path(__file__).parents[1] / "docs" / "study"


@pytest.fixture(scope="module")
def summary() -> ModuleType:
    spec = importlib.util.spec_from_file_location("summary", STUDY / "summary.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def line(name: str, likeness: dict[str, list[float]], copied: tuple[str, ...] = ()) -> Scores:
    """Groups of one case; ``copied`` names authors whose first answer is copied."""
    groups = [
        GroupScores(author=author, source=name, case_ids=(f"case_{n}",), likeness=value)
        for author, values in likeness.items()
        for n, value in enumerate(values)
    ]
    cases = [
        AnswerScores(
            author=group.author,
            case_id=group.case_ids[0],
            source=name,
            words=9,
            tokens=None,
            metrics={},
            copied=group.author in copied and group.case_ids == ("case_0",),
        )
        for group in groups
    ]
    return Scores(
        line=name,
        encoder=EncoderIdentity(family="luar", name="e", revision="1", max_length=9),
        answers=len(cases),
        failed=0,
        copied=len(copied),
        judge_failures=missing("none"),
        truncated=0,
        unreliable=0,
        leftover={},
        summary={},
        groups=tuple(groups),
        cases=tuple(cases),
    )


def test_the_parameters_are_those_of_this_release() -> None:
    study, shipped = (
        load_params(STUDY / "params.yaml"),
        load_params(STUDY.parents[1] / "params.yaml"),
    )
    assert study.bundle.authors == 10 and study.bundle.cases == 10
    trained = [study.personalize.twin(name) for name in study.twins[4:]]
    assert [section.documents for section in trained] == [200, 25, 50, 100]
    assert study.models == shipped.models and study.judge == shipped.judge


def test_the_table_has_paired_differences_and_places_between_floor_and_ceiling(
    summary: ModuleType,
) -> None:
    scores = {
        "ceiling": line("ceiling", {"a": [0.8], "b": [0.9]}),
        "non_personalized": line("non_personalized", {"a": [0.4], "b": [0.5]}),
        "few_shot": line("few_shot", {"a": [0.9, 0.5], "b": [0.6]}, copied=("a",)),
        "finetuned": line("finetuned", {"a": [0.6], "b": [0.8]}),
        "floor": line("floor", {"a": [0.5, 0.6], "b": [0.85, 0.95]}),
    }
    rows = {
        cells[1]: cells[2:-1]
        for cells in (
            [cell.strip() for cell in row.split("|")]
            for row in summary.likeness_table(scores, 200, 1)[2:]
        )
    }
    # a: 0.6 - 0.4, b: 0.8 - 0.5; few_shot has 0.7 and 0.6, without the copy 0.5 and 0.6.
    likeness, over_base, over_few, uncopied, above, closed, copied = rows["finetuned"]
    assert likeness.startswith("0.700 [")
    assert over_base.startswith("0.250 [0.200, 0.300]")
    assert over_few.startswith("0.050 [-0.100, 0.200]")
    assert uncopied.startswith("0.150 [0.100, 0.200]")
    assert above == "1 of 2"
    assert closed.startswith("0.625 [0.500, 0.750]")  # 0.2 of 0.4 and 0.3 of 0.4
    assert copied == "0 of 2" and rows["few_shot"][6] == "1 of 3"
    assert rows["ceiling"][1:4] == ["", "", ""] and rows["floor"][4] == ""
