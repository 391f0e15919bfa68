"""What a reader without statistics sees of a run, a comparison and a history."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from bearing import Bearing, answers, calibration, person, wordy
from browser import needs_chromium, run_in_page
from personalbench.bundle import Bundle
from personalbench.cli import main
from personalbench.metrics.estimate import Estimate, missing
from personalbench.person.chart import Chart, Row, lines, svg
from personalbench.person.comparing import compare_runs
from personalbench.person.habits import HABITS
from personalbench.person.page import report_html, report_markdown, side_by_side
from personalbench.person.records import Run
from personalbench.person.runs import read_run, read_table, write_run
from personalbench.person.scoring import Scored, score_run
from personalbench.person.summary import comparison_text
from personalbench.person.words import (
    alarms,
    headline,
    least_like,
    marks,
    meaning,
    noticed,
    verdict,
)

UNRELATED = [float(angle) for angle in range(40, 90)]
LONG = "2026-07-a-twin-whose-name-is-far-too-long-for-any-column-of-any-table-anywhere"


def of(folder: Path, bundle: Bundle, texts: list[str | None], name: str = "mine") -> Scored:
    """Score texts, one a case; None has no answer."""
    path = folder / f"{name}.jsonl"
    lines = [
        json.dumps({"case_id": f"case_{number:04}", "output": text})
        for number, text in enumerate(texts, 1)
        if text is not None
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    base = answers(folder / "base.jsonl", [70.0, 74.0] * (len(texts) // 2) + [70.0], "base")
    kept = base.read_text(encoding="utf-8").splitlines()[: len(texts)]
    base.write_text("\n".join(kept) + "\n", encoding="utf-8")
    writers = calibration(folder / "c.safetensors", UNRELATED)
    return score_run(name, bundle, path, base, Bearing(), writers, 200, 1, allow_missing=True)


def plain(count: int, angle: float = 50.0) -> list[str | None]:
    return [wordy(angle + number, f"twin{number}x") for number in range(count)]


def quoting(text: str | None, source: str, words: int = 12) -> str:
    return f"{text} {' '.join(source.split()[1 : words + 1])}"


@pytest.fixture
def leaking(tmp_path: Path) -> Scored:
    """One answer has held-out words, one has words of the profile, one is missing."""
    bundle = person(tmp_path / "b", 15)
    texts = plain(15)
    texts[1] = quoting(texts[1], bundle.references[3].text)
    texts[2] = quoting(texts[2], bundle.profile[3].text)
    texts[12] = None
    made = of(tmp_path, bundle, texts, "leaky")
    return replace(made, run=made.run.model_copy(update={"cut_off": ()}))


def test_leaks_and_copies_lead_and_take_the_verdict_away(leaking: Scored) -> None:
    run = leaking.run
    assert run.leaked == ("case_0002",) and run.copied == ("case_0003",)
    leak, copied = alarms(run)
    assert leak.startswith("Leak: 1 of 15 answers repeats 10 or more words in a row")
    # The only groups with answers are the first two, and the copy is in the first.
    rest = run.groups[1].twin
    assert "Copied: 1 of 15 answers repeats the profile word for word, and a quotation" in copied
    assert f"without them the likeness is {rest:.3f} over 1 of 3 groups" in copied
    assert verdict(run) == []
    assert headline(run).startswith(leak)
    assert marks(run) == ("copied", "incomplete")
    assert [noticed(run, run.cases[place]) for place in (0, 1, 2, 12)] == [
        "",
        "repeats held-out text",
        "copied from the profile",
        "no answer",
    ]
    page, text = report_html(run, None), report_markdown(run, None)
    assert page.index("Leak: 1 of 15") < page.index("The twin&#39;s likeness to ada is")
    assert text.index("**Leak: 1 of 15") < text.index("The twin's likeness to ada is")


def test_held_out_words_that_the_prompt_gives_away_are_not_the_twins_leak(leaking: Scored) -> None:
    run = leaking.run.model_copy(update={"contaminated_cases": ("case_0002", "case_0007")})
    said = alarms(run)
    assert said[0].startswith("Leak through the prompt: 1 of 15 answers repeats held-out words")
    assert said[-1].startswith("Prompts: 2 of 15 prompts give away words of the held-out text")
    assert verdict(run)
    assert marks(run) == ("copied", "incomplete")


def test_every_doubt_about_a_case_is_in_the_table_in_words(leaking: Scored) -> None:
    run = leaking.run.model_copy(
        update={
            "contaminated_cases": ("case_0001",),
            "repeated_answers": ("case_0004", "case_0005"),
            "prompt_copies": ("case_0006",),
            "cut_off": ("case_0001",),
        }
    )
    text = report_markdown(run, None)
    for said in (
        "prompt gives words away, cut off",
        "same as another answer",
        "repeats its prompt",
    ):
        assert said in text
    assert "same as another answer" not in report_markdown(leaking.run, None)
    assert "contaminated_cases" not in text and "prompt_copies" not in text


def test_least_like_is_furthest_below_the_persons_own_text(tmp_path: Path) -> None:
    """The lowest value is where the person's own text is as low; another falls short."""
    made = person(tmp_path / "b")
    run = of(tmp_path, made, plain(5)).run

    def with_values(number: int, twin: float, own: float) -> dict[str, object]:
        return {
            "twin": {"bearing_1v5": Estimate(value=twin)},
            "person": {"bearing_1v5": Estimate(value=own)},
        }

    values = [(0.2, 0.25), (0.5, 0.9), (0.6, 0.9), (0.9, 0.9), (0.8, 0.7)]
    cases = tuple(
        case.model_copy(update=with_values(number, *values[number]))
        for number, case in enumerate(run.cases)
    )
    changed = run.model_copy(update={"cases": cases})
    least = least_like(changed)
    assert least is not None and least.case_id == "case_0002"
    shown = side_by_side(changed, made, of(tmp_path, made, plain(5)).answers)
    assert shown is not None and "by 0.400" in shown.told
    assert shown.person == made.references[1].text
    better = run.model_copy(update={"cases": (cases[4],)})
    shown = side_by_side(better, made, of(tmp_path, made, plain(5)).answers)
    assert shown is not None and shown.told.startswith("No answer is less like the profile")


def test_habits_are_named_and_explained_beside_the_persons_own(leaking: Scored) -> None:
    run = leaking.run
    text = report_markdown(run, None)
    for jargon in ("ROUGE", "cosine", "Type-token", "MATTR", "nan", "-0.000", "_diff", "_cos"):
        assert jargon not in text, jargon
    by_name = {habit.name: habit for habit in HABITS}
    assert all(habit.says.endswith(".") for habit in HABITS)
    variety, length = by_name["variety of words"], by_name["length"]
    line = run.twin.model_copy(
        update={
            "metrics": {
                "mattr_diff": Estimate(value=0.1, ci_low=-0.02, ci_high=0.2),
                "length_ratio": Estimate(value=0.3),
                "word_length_diff": Estimate(value=-0.0001),
                "func_cos": missing("no words"),
            }
        }
    )
    own = run.ceiling.model_copy(update={"metrics": {"length_ratio": Estimate(value=0.2)}})
    # A tenth more of fifty words is five words.
    assert variety.cell(line, own) == "+5.0 (-1.0 to +10.0)"
    assert (length.cell(line, own), length.cell(own, own)) == ("1.50", "1.00")
    assert by_name["letters in a word"].cell(line, own) == "+0.00"
    assert by_name["small words"].cell(line, own) == "not estimable: no words"
    assert by_name["share taken from the profile"].cell(own, own) == "only a twin can copy"


@pytest.mark.parametrize(
    ("angles", "held_out", "said"),
    [
        (
            [30.0, 32.0, 30.0, 32.0, 30.0, 34.0, 36.0, 34.0, 36.0, 34.0],
            20.0,
            "In part: more than each of 50 unrelated writers, less than ada's own writing. The",
        ),
        ([20.0, 20.0] * 5, 20.0, "As much as ada's own held-out writing."),
        ([80.0, 84.0] * 5, 20.0, "No: an unrelated writer may come as near."),
        ([80.0, 84.0] * 5, 75.0, "This test can't tell"),
    ],
)
def test_the_answer_comes_in_words(
    tmp_path: Path, angles: list[float], held_out: float, said: str
) -> None:
    bundle = person(tmp_path / "b", 10, held_out)
    texts: list[str | None] = [wordy(angle, f"t{n}x") for n, angle in enumerate(angles)]
    run = of(tmp_path, bundle, texts).run
    assert headline(run).startswith(said)
    assert ("How sure that is, can't be said." in headline(run)) == (angles == [20.0] * 10)


def test_a_twin_that_is_the_model_is_no_more_than_it(tmp_path: Path) -> None:
    """All differences are zero, so that there is no interval; there is no doubt either."""
    texts: list[str | None] = [wordy(20.0, f"t{n}x") for n in range(10)]
    run = of(tmp_path, person(tmp_path / "b", 10), texts).run
    same = run.model_copy(update={"improvement": Estimate(value=0.0, reason="all alike")})
    assert verdict(same)[0].startswith("Not surely more than the same model")


def test_one_group_answers_without_certainty(tmp_path: Path) -> None:
    run = of(tmp_path, person(tmp_path / "b"), plain(5, 30.0)).run
    # Answers at 30 to 34 degrees are as one at 32: cos 20 - cos 32 = 0.0916.
    assert verdict(run) == [
        "More than each of 50 unrelated writers; ada's own writing is 0.092 above. How sure that "
        "is, can't be said."
    ]


def test_less_than_the_person_is_said_where_an_interval_says_it(tmp_path: Path) -> None:
    """The person is at 30 degrees; one group is nearer to the profile, one further away."""
    bundle = person(tmp_path / "b", 10, 30.0)
    angles = [24.0] * 5 + [38.0] * 5
    run = of(tmp_path, bundle, [wordy(angle, f"t{n}x") for n, angle in enumerate(angles)]).run
    short = run.short_of_person
    # cos 30 - (cos 24 + cos 38) / 2 = 0.0152, between cos 30 - cos 24 and cos 30 - cos 38.
    assert short.value == pytest.approx(0.0152, abs=1e-4)
    assert short.ci_low == pytest.approx(-0.0475, abs=1e-4)
    assert short.ci_high == pytest.approx(0.0780, abs=1e-4)
    [said] = verdict(run)
    assert said.endswith("; ada's own writing is 0.015 above, which may be chance.")
    [point] = [point for point in meaning(run) if "short of the person's own" in point]
    assert point.endswith("chance: with other cases it could lie between -0.048 and +0.078.")
    assert "short of it: person less twin" in report_markdown(run, None)


def test_the_answer_and_its_reasons_count_the_same_writers(tmp_path: Path) -> None:
    """Unrelated writers are at 40 to 89 degrees; two are nearer than the twin."""
    run = of(tmp_path, person(tmp_path / "b"), [wordy(41.5, f"t{n}x") for n in range(5)]).run
    assert "More than 48 of 50 unrelated writers;" in headline(run)
    assert meaning(run)[0].startswith("The twin is more like the person than 48 of 50 unrelated")


def test_a_run_of_an_older_release_stays_as_it_is(tmp_path: Path) -> None:
    """It has no difference from the person's own writing, and so makes no claim about it."""
    bundle, path = person(tmp_path / "b", 10), tmp_path / "runs" / "mine"
    texts: list[str | None] = [wordy(30.0 + n % 2, f"t{n}x") for n in range(10)]
    made = of(tmp_path, bundle, texts)
    write_run(made, bundle, path)
    record = json.loads((path / "scores.json").read_text(encoding="utf-8"))
    del record["short_of_person"]
    record["warnings"] = ["In other words."]
    (path / "scores.json").write_text(json.dumps(record), encoding="utf-8")
    again = write_run(made, bundle, path)
    assert again == read_run(path) and again.warnings == ("In other words.",)
    assert verdict(again)[0].startswith("More than each of 50 unrelated writers; ada's")


def _chart(*rows: Row, run: Run) -> Chart:
    return Chart("title", rows, run.unrelated, 0.94)


def test_long_names_and_values_never_share_a_line_that_is_too_short(leaking: Scored) -> None:
    value = Estimate(value=0.955, ci_low=0.93, ci_high=0.974)
    rows = [Row(f"{LONG}-{number}", value, "twin", marks=("copied",)) for number in range(6)]
    chart = _chart(*rows, run=leaking.run)
    drawn = lines(chart)
    assert all(len(line) <= 78 for line in drawn)
    assert sum(line.startswith("! answers repeat") for line in drawn) == 1
    assert not any(line.startswith("? ") for line in drawn)
    picture = ElementTree.fromstring(svg(chart))
    by_height: dict[str, int] = {}
    for text in picture.iter("{http://www.w3.org/2000/svg}text"):
        if text.get("class") is None:
            height = text.attrib["y"]
            by_height[height] = by_height.get(height, 0) + len(text.text or "")
    assert max(by_height.values()) <= 41
    joined = "".join(picture.itertext())
    assert "Scale: likeness from 0.00 to 1.00" in joined and "answers repeat held-out" in joined


def test_all_pictures_of_one_test_have_one_scale(leaking: Scored) -> None:
    near, far = (Row("x", Estimate(value=value), "twin") for value in (0.97, 0.3))
    assert _chart(near, run=leaking.run).scale == _chart(far, run=leaking.run).scale
    low = Row("x", Estimate(value=-0.31), "twin")
    assert _chart(low, run=leaking.run).scale.startswith("likeness from -0.40 to 1.00")
    # More than 1 by a rounding error alone.
    assert svg(_chart(Row("x", Estimate(value=1.0000001), "twin"), run=leaking.run))


def test_compare_and_history_lead_with_leaks_and_mark_them(tmp_path: Path, leaking: Scored) -> None:
    bundle = person(tmp_path / "b15", 15)
    good = of(tmp_path, bundle, plain(15, 40.0), LONG)
    runs = tmp_path / "runs"
    for scored in (good, leaking):
        write_run(scored, bundle, runs / scored.run.name)
    paths = [runs / LONG, runs / "leaky"]
    compared = compare_runs([read_run(p) for p in paths], [read_table(p) for p in paths])
    assert compared.first_marks == () and compared.runs[0].marks == ("copied", "incomplete")
    result = CliRunner().invoke(
        main, ["compare", *map(str, paths), "--output", str(tmp_path / "out")]
    )
    told = result.output.splitlines()
    assert told[0].startswith("! leaky: Leak: 1 of 15 answers repeats")
    assert all(len(line) < 80 for line in told if not line.startswith("  2026"))
    assert any(line.startswith("| ! ? leaky") for line in told)
    text = (tmp_path / "out" / "comparison.md").read_text(encoding="utf-8")
    assert text.index("Leak: 1 of 15") < text.index("leaky against")
    assert "| ! ? leaky" in text
    drawn = CliRunner().invoke(main, ["history", str(tmp_path / "b"), "--runs", str(runs)]).output
    assert any(line.startswith("! ? leaky, ") for line in drawn.splitlines())
    assert "? answers are missing or failed" in drawn
    assert "! leaky: 1 of 15 answers are missing or failed." in drawn


def test_what_no_value_has_is_said_with_its_reason(tmp_path: Path) -> None:
    bundle = person(tmp_path / "b")
    texts = plain(5)
    texts[0] = None
    run = of(tmp_path, bundle, texts).run
    text = report_markdown(run, None)
    assert "Nothing can be said of the twin: no complete group of answers." in text
    one, two = of(tmp_path, bundle, plain(5), "one"), of(tmp_path, bundle, plain(5), "two")
    compared = compare_runs([one.run, two.run], [one.table, two.table])
    changed = compared.runs[0].model_copy(update={"gap_closed": missing("no baseline answers")})
    told = comparison_text(
        compared.model_copy(update={"runs": (changed,)}), _chart(run=run)
    ).splitlines()
    assert "- two gap closed: no baseline answers." in told


@needs_chromium
def test_no_page_scrolls_sideways_on_a_phone(tmp_path: Path, leaking: Scored) -> None:
    page = report_html(leaking.run, None)
    found = run_in_page(
        f"<body>{_frame(page)}</body>",
        """
        const frame = document.querySelector("iframe");
        if (!frame.contentDocument?.querySelector("#repeat"))
          await new Promise((done) => frame.onload = done);
        const root = frame.contentDocument.documentElement;
        const boxes = [...frame.contentDocument.querySelectorAll(".scroll")];
        const inside = boxes.some((box) => box.scrollWidth > box.clientWidth);
        return [root.scrollWidth - root.clientWidth, inside];
        """,
        tmp_path,
    )
    assert found == [0, True]


def _frame(page: str) -> str:
    quoted = page.replace("&", "&amp;").replace('"', "&quot;").replace("</body>", "")
    return f'<iframe width="390" height="800" style="border:0" srcdoc="{quoted}"></iframe>'
