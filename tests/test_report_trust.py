"""What the report says about the judge, and about generators."""

import pytest

from invented import WordEncoder
from personalbench.analysis.fingerprint import REAL
from personalbench.analysis.records import Fingerprint
from personalbench.judge.again import Again
from personalbench.judge.records import AuthorTraits, Judgement
from personalbench.judge.trust import trust
from personalbench.metrics.estimate import Estimate, missing
from personalbench.report.fingerprint import fingerprint_section
from personalbench.report.results import Results
from personalbench.report.section import Section, markdown
from personalbench.report.trust import trust_section
from personalbench.scores import Scores, score
from test_scores import answers, eastern
from test_trust import NOTHING, SPEC, line, traits

BUNDLES = [eastern(author) for author in ("ada", "ben")]


def results(*twins: str) -> Results:
    def scored(name: str) -> Scores:
        given = [item for each in BUNDLES for item in answers(each.author, ["East so."] * 5)]
        return score(name, BUNDLES, given, (), WordEncoder(), 200, 1)

    return Results({twin: scored(twin) for twin in twins}, scored("ceiling"), scored("floor"))


def section(
    judgements: dict[str, list[Judgement]],
    known: tuple[AuthorTraits, ...] = (traits(),),
    again: Again = NOTHING,
    writer: str | None = None,
) -> Section:
    writers = {"few_shot": (writer, SPEC)} if writer else {}
    measured = trust("wise-judge", judgements, known, again, writers, SPEC, 200, 1)
    return trust_section(results("few_shot"), measured, known)


def test_a_judge_without_a_signal_is_said_to_carry_none() -> None:
    made = section({"ceiling": line(5, True), "floor": line(5, True), "few_shot": line(5, True)})
    assert made.id == "trust"
    assert all("this judge does not separate them here" in text for text in made.text)
    assert any("said the same author of every text" in point for point in made.points)
    text = markdown([made])
    assert "nan" not in text.lower() and "None" not in text


def test_a_judge_that_knows_is_said_to_tell() -> None:
    made = section({"ceiling": line(4, True, 0.9), "floor": line(1, False, 0.1)})
    assert all("wise-judge tells the authors from others here" in text for text in made.text)
    assert made.points == ()
    rows = {row[0]: row[1] for table in made.tables for row in table.rows}
    auc = rows["AUC of the verdict's probability on real text"]
    assert isinstance(auc, Estimate) and auc.value == 1


def test_without_a_floor_nothing_is_claimed() -> None:
    made = section({"ceiling": line(4, True), "floor": []})
    assert all("can't be said: the corpus has nobody else's writing" in text for text in made.text)


def test_circularity_self_preference_and_content_questions_are_said_in_words() -> None:
    asks = traits(("Is the text about the navy?", *traits().questions[1:]))  # type: ignore[index]
    made = section(
        {"ceiling": line(2, True, 0.6), "floor": line(1, False, 0.2), "few_shot": line(4, True)},
        known=(asks,),
        writer="twin-writer",
    )
    said = " ".join(made.points)
    assert "Circularity: few_shot" in said and "TMR 0.800" in said and "ceiling 0.400" in said
    assert "few_shot is written by twin-writer, the judge's own model" in said
    assert "1 trait questions ask what a text is about" in said and "the navy" in said


def fingerprint(first: str, second: str, value: float | None) -> Fingerprint:
    likeness = missing("no complete group") if value is None else Estimate(value=value, n=4)
    return Fingerprint(first=first, second=second, likeness=likeness)


def test_two_generators_make_a_matrix_and_a_table() -> None:
    found = [
        fingerprint("a", "a", 0.91),
        fingerprint("a", "b", 0.75),
        fingerprint("a", REAL, 0.5),
        fingerprint("b", "b", 0.84),
        fingerprint("b", REAL, 0.45),
        fingerprint(REAL, REAL, 0.6),
    ]
    twins = {"few": "few_shot", "few_b": "few_shot", "plain": "non_personalized"}
    writers = {"few": "a", "few_b": "b", "plain": "a"}
    made = fingerprint_section(results(*twins), found, twins, writers)
    matrix, table = made.tables
    assert [row[0] for row in matrix.rows] == ["a", "b", REAL]
    assert matrix.rows[1][1] == matrix.rows[0][2] == found[1].likeness
    assert [row[:3] for row in table.rows] == [
        ("few_shot", "a", "few"),
        ("few_shot", "b", "few_b"),
        ("non_personalized", "a", "plain"),
    ]
    assert "texts by a for different people are alike by 0.910" in made.text[0]


@pytest.mark.parametrize(
    ("value", "said"), [(0.9, "nothing to be compared"), (None, "two authors")]
)
def test_one_generator_has_no_table(value: float | None, said: str) -> None:
    found = [
        fingerprint("a", "a", value),
        fingerprint("a", REAL, 0.5),
        fingerprint(REAL, REAL, 0.6),
    ]
    made = fingerprint_section(results("few"), found, {"few": "few_shot"}, {"few": "a"})
    assert len(made.tables) == 1
    assert said in made.text[0]
