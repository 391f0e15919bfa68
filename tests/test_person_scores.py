"""Scores of one person against values worked out by hand, and what the report says of them."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from math import cos, radians
from pathlib import Path
from typing import Any

import pytest

from bearing import Bearing, answers, calibration, person, replace_text, wordy
from personalbench.bundle import freeze, load_bundle
from personalbench.errors import UserError
from personalbench.person.page import report_html, report_markdown, side_by_side
from personalbench.person.runs import read_run, read_table, write_run
from personalbench.person.scoring import Scored, score_run
from personalbench.person.summary import summary
from personalbench.person.words import headline, meaning

ALL = [float(angle) for angle in range(30, 80)]  # fifty unrelated writers, at 30 to 79 degrees


def run_of(
    folder: Path,
    angles: list[float],
    base: list[float] | None = None,
    cases: int = 5,
    held_out: float = 20.0,
    **more: Any,
) -> Scored:
    bundle = person(folder / "b", cases, held_out)
    more.setdefault("calibration", calibration(folder / "c.safetensors", ALL))
    return score_run(
        "mine",
        bundle,
        answers(folder / "twin.jsonl", angles),
        answers(folder / "base.jsonl", base, "base") if base else None,
        Bearing(),
        replicates=500,
        seed=1,
        **more,
    )


def test_one_group_by_hand(tmp_path: Path) -> None:
    run = run_of(tmp_path, [50.0] * 5, base=[60.0] * 5).run
    twin, base, ceiling = cos(radians(50)), 0.5, cos(radians(20))
    assert run.twin.likeness.value == pytest.approx(twin)
    assert run.ceiling.likeness.value == pytest.approx(ceiling)
    assert run.improvement.value == pytest.approx(twin - base)
    assert run.gap_closed.value == pytest.approx((twin - base) / (ceiling - base))
    for estimate in (run.twin.likeness, run.ceiling.likeness, run.improvement, run.gap_closed):
        assert estimate.ci_low is None and "two groups" in (estimate.reason or "")
    unrelated = run.unrelated
    assert unrelated is not None and unrelated.n == 50
    assert unrelated.mean == pytest.approx(sum(cos(radians(a)) for a in ALL) / 50)
    # 30 of 50 writers are further away than 50 degrees less the tie: 29 below, one equal.
    assert unrelated.twin_percentile == pytest.approx(59, abs=1.01)
    assert unrelated.ceiling_percentile == 100
    assert any("One group" in warning for warning in run.warnings)


def test_a_group_is_compared_as_one_not_as_a_mean_of_singles(tmp_path: Path) -> None:
    run = run_of(tmp_path, [0.0, 0.0, 0.0, 90.0, 90.0]).run
    # The mean vector is (0.6, 0.4); the mean of the single cosines would be 0.6.
    assert run.twin.likeness.value == pytest.approx(0.6 / 0.52**0.5)
    singles = [case.twin["bearing_1v5"].value for case in run.cases]
    assert singles == pytest.approx([1, 1, 1, 0, 0])


def test_the_shape_of_the_published_run(tmp_path: Path) -> None:
    """Ceiling 0.938, twin 0.616: ten profile posts, five cases, one group, no interval."""
    from math import acos, degrees

    twin, ceiling = degrees(acos(0.616)), degrees(acos(0.938))
    run = run_of(tmp_path, [twin] * 5, held_out=ceiling).run
    assert run.twin.likeness.value == pytest.approx(0.616, abs=1e-4)
    assert run.ceiling.likeness.value == pytest.approx(0.938, abs=1e-4)
    assert run.baseline is None and run.improvement.reason == "no baseline answers"
    assert len(run.bundle.selected_profile) == 5 and len(run.cases) == 5


@pytest.mark.parametrize(("angle", "expected"), [(80.0, "below"), (10.0, "above")])
def test_the_gap_is_not_clamped(tmp_path: Path, angle: float, expected: str) -> None:
    value = run_of(tmp_path, [angle] * 5, base=[60.0] * 5).run.gap_closed.value
    assert value is not None and (value < 0 if expected == "below" else value > 1)


def test_no_gap_to_close_is_said(tmp_path: Path) -> None:
    run = run_of(tmp_path, [50.0] * 5, base=[10.0] * 5).run
    assert run.gap_closed.value is None
    assert "no gap to close" in (run.gap_closed.reason or "")
    assert run.improvement.value is not None and run.improvement.value < 0


@pytest.mark.parametrize(
    ("base", "held_out", "reason"),
    [
        ([20.1] * 10, 20.0, "hardly above the model, by 0.001"),
        (
            [5.0] * 5 + [60.0] * 5,
            20.0,
            r"not surely above the model, by 0\.192, 95 % interval -0\.",
        ),
    ],
)
def test_no_share_of_a_gap_that_is_hardly_there(
    tmp_path: Path, base: list[float], held_out: float, reason: str
) -> None:
    run = run_of(tmp_path, [50.0] * 10, base, 10, held_out).run
    assert run.gap_closed.value is None and run.gap_closed.n == 2
    assert re.search(reason, run.gap_closed.reason or "")
    [said] = [point for point in meaning(run) if "gap" in point]
    assert f"not estimable: {run.gap_closed.reason}." in said


@pytest.mark.parametrize(("twin", "share"), [([20.0] * 10, 1.0), ([60.0] * 5 + [70.0] * 5, 0.0)])
def test_a_share_that_never_varies_has_no_interval(
    tmp_path: Path, twin: list[float], share: float
) -> None:
    """A twin that is the person, and one that is the model, in every resample."""
    gap = run_of(tmp_path, twin, [60.0] * 5 + [70.0] * 5, cases=10).run.gap_closed
    assert gap.value == pytest.approx(share) and gap.n == 2
    assert gap.ci_low is None and "equal" in (gap.reason or "")


def test_several_groups_have_an_interval_and_leftover_cases_are_named(tmp_path: Path) -> None:
    angles = [40.0, 42, 44, 46, 48, 60, 62, 64, 66, 68, 30, 30]
    run = run_of(tmp_path, angles, base=[70.0] * 12, cases=12).run
    for estimate in (run.twin.likeness, run.improvement, run.gap_closed):
        assert estimate.ci_low is not None and estimate.ci_high is not None
        assert estimate.value is not None and estimate.ci_low < estimate.value < estimate.ci_high
    assert run.leftover == ("case_0011", "case_0012")
    assert len(run.groups) == 2
    mean = sum(each.twin for each in run.groups if each.twin is not None) / 2
    assert run.twin.likeness.value == pytest.approx(mean)


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (11, "1 of 11 cases is left over and counts"),
        (12, "2 of 12 cases are left over and count"),
        (10, None),
    ],
)
def test_the_summary_says_what_is_left_over(tmp_path: Path, cases: int, said: str | None) -> None:
    run = run_of(tmp_path, [50.0] * cases, cases=cases).run
    told = " ".join(summary(run).split())
    if said is None:
        assert "left over" not in told
        return
    assert said in told
    assert f"prepare a bundle with --cases 10, or add {15 - cases} or more reference" in told
    assert "left over" in report_markdown(run, None)


def test_a_group_without_an_answer_is_not_left_over(tmp_path: Path) -> None:
    run = run_of(tmp_path, [50.0] * 9, cases=10, allow_missing=True).run
    assert len(run.leftover) == 5 and "left over" not in summary(run)


def test_a_missing_answer_takes_its_group_out_of_every_difference(tmp_path: Path) -> None:
    bundle = person(tmp_path / "b", 10)
    twin = answers(tmp_path / "twin.jsonl", [50.0] * 9)
    base = answers(tmp_path / "base.jsonl", [60.0] * 5 + [80.0] * 5, "base")
    given = dict(encoder=Bearing(), calibration=None, replicates=200, seed=1)
    with pytest.raises(UserError, match=r"twin\.jsonl: no answer to case_0010"):
        score_run("mine", bundle, twin, base, **given)
    run = score_run("mine", bundle, twin, base, **given, allow_missing=True).run
    assert run.answers.failed == 1
    assert [each.twin is None for each in run.groups] == [False, True]
    assert run.improvement.value == pytest.approx(cos(radians(50)) - 0.5)
    assert any(warning.startswith("1 of 10 of the twin's answers") for warning in run.warnings)


def test_a_calibration_of_another_encoder_is_refused_and_a_missing_one_is_said(
    tmp_path: Path,
) -> None:
    other = calibration(tmp_path / "other.safetensors", ALL, revision="rev2")
    with pytest.raises(UserError, match=r"other\.safetensors: .*made with revision rev2") as error:
        run_of(tmp_path, [50.0] * 5, calibration=other)
    assert "\n" not in error.value.message
    run = run_of(tmp_path, [50.0] * 5, calibration=None).run
    assert run.unrelated is None
    assert "made with encoder luar-mini, not bearing-2d" in (run.unrelated_reason or "")


def test_copying_and_leaks_are_flagged(tmp_path: Path) -> None:
    bundle = person(tmp_path / "b")
    texts = [wordy(50, f"own{number}x") for number in range(5)]
    copied = " ".join(bundle.profile[3].text.split()[1:11])
    leaked = " ".join(bundle.references[4].text.split()[1:12])
    texts[1] += " " + copied
    texts[2] += " " + " ".join(copied.split()[:9])
    texts[4] += " " + leaked
    path = tmp_path / "twin.jsonl"
    lines = [{"case_id": f"case_{n:04}", "output": text} for n, text in enumerate(texts, 1)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run = score_run("mine", bundle, path, None, Bearing(), None, 200, 1).run
    assert [case.copied_words for case in run.cases] == [0, 10, 9, 0, 0]
    assert [case.copying for case in run.cases] == [False, True, False, False, False]
    assert run.cases[4].reference_words == 11
    assert any(w.startswith("Copying: case_0002:") for w in run.warnings)
    assert any(w.startswith("Leak: case_0005:") for w in run.warnings)


def test_a_profile_in_another_language_is_a_warning(tmp_path: Path) -> None:
    bundle = person(tmp_path / "b")
    german = "0 Gestern bin ich mit dem Fahrrad zum Markt gefahren und habe Äpfel gekauft. " * 5
    profile = tuple(item.model_copy(update={"text": german}) for item in bundle.profile)
    freeze(replace(bundle, profile=profile), tmp_path / "german")
    given = answers(tmp_path / "twin.jsonl", [50.0] * 5)
    german_bundle = load_bundle(tmp_path / "german")
    run = score_run("mine", german_bundle, given, None, Bearing(), None, 200, 1).run
    assert any("'de'" in warning for warning in run.warnings)


def test_short_and_long_texts_are_counted(tmp_path: Path) -> None:
    bundle = person(tmp_path / "b")
    path = tmp_path / "twin.jsonl"
    texts = ["50 too short", *(wordy(50, f"a{n}x") for n in range(3)), "50 " + "word " * 600]
    lines = [{"case_id": f"case_{n:04}", "output": text} for n, text in enumerate(texts, 1)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run = score_run("mine", bundle, path, None, Bearing(), None, 200, 1).run
    assert (run.twin.unreliable, run.twin.truncated) == (1, 1)
    assert any("fewer than about 40 words" in warning for warning in run.warnings)
    assert any("longer than the encoder reads" in warning for warning in run.warnings)


def test_a_run_comes_back_from_its_folder(tmp_path: Path) -> None:
    scored = run_of(tmp_path, [50.0] * 10, cases=10)
    write_run(scored, person(tmp_path / "b", 10), tmp_path / "runs" / "mine")
    assert read_run(tmp_path / "runs" / "mine") == scored.run
    assert (read_table(tmp_path / "runs" / "mine") == scored.table).all()
    assert scored.table.shape == (2, 126)
    text = (tmp_path / "runs" / "mine" / "scores.json").read_text(encoding="utf-8")
    assert "held0x" not in text and "twin1x" not in text, "scores.json holds no text"
    with pytest.raises(UserError, match=r"b: is a bundle; name a run on it"):
        read_run(tmp_path / "b")


def test_the_words_follow_the_numbers(tmp_path: Path) -> None:
    near = run_of(tmp_path, [25.0] * 5, base=[60.0] * 5).run
    assert "0.906" in headline(near) and "0.940" in headline(near)
    assert any("more like the person than each of 50" in said for said in meaning(near))
    assert any("closes 92 % of the gap" in s.replace("%", " %") for s in meaning(near))
    far = run_of(tmp_path, [75.0] * 5).run
    assert any("can't be told from a stranger" in said for said in meaning(far))
    useless = run_of(tmp_path, [75.0] * 5, held_out=70.0).run
    assert any("can't tell the person from others" in said for said in meaning(useless))


def test_twin_and_person_are_compared_over_the_same_groups(tmp_path: Path) -> None:
    """The person is at 10 degrees where the twin answered and at 80 where it did not."""
    made = person(tmp_path / "made", 10)
    held_out = tuple(
        replace_text(each, wordy(10 if number < 5 else 80, f"held{number}x"))
        for number, each in enumerate(made.references)
    )
    freeze(replace(made, references=held_out), tmp_path / "b")
    given = answers(tmp_path / "twin.jsonl", [50.0] * 5)
    base = answers(tmp_path / "base.jsonl", [60.0] * 10, "base")
    bundle = load_bundle(tmp_path / "b")
    run = score_run("mine", bundle, given, base, Bearing(), None, 200, 1, allow_missing=True).run
    assert headline(run).startswith(
        "The twin's likeness to ada is 0.643 over 1 of 2 groups; "
        "ada's own held-out writing reaches 0.985 in the same"
    )
    said = "\n".join(meaning(run))
    assert "0.342 short of the person's own held-out writing, over 1 of 2 groups" in said
    assert "0.143 more like the person than the same model without" in said
    assert "knowledge of the person, over 1 of 2 groups: it closes 29% of the gap" in said
    assert "the twin, 1 of 2 groups" in summary(run)


def test_what_would_be_nought_in_print_is_said_in_words(tmp_path: Path) -> None:
    run = run_of(tmp_path, [60.01] * 5, base=[60.0] * 5).run
    [said] = [point for point in meaning(run) if "no more and no less like the person" in point]
    assert "closes 0% of the gap to the person's own writing. How sure that is" in said
    assert "at least two groups" in said
    assert "0.000" not in " ".join(meaning(run_of(tmp_path, [20.01] * 5).run))


class _Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_shows_texts_as_texts_and_loads_nothing(tmp_path: Path) -> None:
    bundle = person(tmp_path / "b")
    evil = '89 <script>alert(1)</script> </p> & "quotes" ```\n~~~~\n# not a heading ' + "w " * 60
    path = tmp_path / "twin.jsonl"
    lines = [
        {"case_id": f"case_{n:04}", "output": evil if n == 3 else wordy(50, f"a{n}x")}
        for n in range(1, 6)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    name = "<b>mine</b>"
    scored = score_run(name, bundle, path, None, Bearing(), None, 200, 1)
    shown = side_by_side(scored.run, bundle, scored.answers)
    assert shown is not None and shown.case_id == "case_0003"
    assert shown.person == bundle.references[2].text
    page = _Page(report_html(scored.run, shown))
    assert not any(tag in ("script", "b", "img", "link", "iframe") for tag, _ in page.tags)
    for _, attributes in page.tags:
        for key in ("src", "href"):
            assert (attributes.get(key) or "data:").startswith(("data:", "#"))
    assert "<script>alert(1)</script>" in "".join(page.words)
    text = report_markdown(scored.run, shown)
    assert text.startswith("# Does \\<b>mine\\</b> write like ada?\n")
    assert f"\n~~~~~text\n{evil}\n~~~~~\n" in text


def test_the_summary_fits_a_terminal(tmp_path: Path) -> None:
    run = run_of(tmp_path, [50.0] * 10, base=[60.0] * 10, cases=10).run
    told = summary(run).splitlines()
    assert all(len(line) < 80 for line in told)
    labels = [number for number, line in enumerate(told) if line.startswith("the ")]
    assert [told[number][-5:] for number in labels] == ["0.500", "0.643"]
    model, twin = (told[number + 1] for number in labels)
    assert model.index("x") < twin.index("o") < twin.index("|")
    # Seventy-eight columns stand for 0 to 1: unrelated writers are at cos 40 to cos 89 degrees.
    assert twin.index("o") == round(77 * cos(radians(50)))
    for meaning_of in ("o twin", "x model without", "| the person", "... where 9 of 10", "Scale:"):
        assert sum(meaning_of in line for line in told) == 1
    assert "equal" in (run.twin.likeness.reason or "")


def test_a_gain_that_may_be_chance_is_called_so(tmp_path: Path) -> None:
    run = run_of(tmp_path, [50.0] * 5 + [70.0] * 5, base=[60.0] * 10, cases=10).run
    [said] = [point for point in meaning(run) if "without any knowledge" in point]
    assert "That may be chance" in said


def scored_texts(folder: Path, texts: dict[int, str], **more: Any) -> Scored:
    """Five answers of which some are given, by the number of their case."""
    bundle = person(folder / "b")
    lines = [
        {"case_id": f"case_{n:04}", "output": texts.get(n, wordy(50, f"own{n}x"))}
        for n in range(1, 6)
    ]
    path = folder / "twin.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return score_run("mine", bundle, path, None, Bearing(), None, 200, 1, **more)


def test_repeated_answers_are_named(tmp_path: Path) -> None:
    """Of 62 words each, 60 shingles: half of all are shared from 40 on, not with 30."""
    first = wordy(50, "own1x").split()
    near = " ".join(first[:-6]) + " and some more words at the end"
    far = " ".join(first[:30]) + " " + " ".join(f"else{n}" for n in range(31))
    run = scored_texts(tmp_path, {2: near, 3: far, 5: wordy(50, "OWN4X")}).run
    assert run.repeated_answers == ("case_0001", "case_0002", "case_0004", "case_0005")
    [said] = [w for w in run.warnings if w.startswith("Repeated answers: ")]
    assert "case_0001, case_0002, case_0004, case_0005: " in said
    assert run.prompt_copies == run.contaminated_cases == ()


def test_answers_that_copy_the_prompt_are_named(tmp_path: Path) -> None:
    made = person(tmp_path / "made")
    prompt = "Write a short letter about the weather on the coast in the last week of May."
    prompts = tuple(case.model_copy(update={"prompt": prompt}) for case in made.cases)
    freeze(replace(made, cases=prompts), tmp_path / "b")
    ten, nine = (" ".join(prompt.split()[3 : 3 + count]) for count in (10, 9))
    texts = [f"{wordy(50, f'own{n}x')} {add}." for n, add in enumerate((ten, nine, "", "", prompt))]
    path = tmp_path / "twin.jsonl"
    lines = [{"case_id": f"case_{n:04}", "output": text} for n, text in enumerate(texts, 1)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    bundle = load_bundle(tmp_path / "b")
    run = score_run("mine", bundle, path, None, Bearing(), None, 200, 1).run
    assert run.prompt_copies == ("case_0001", "case_0005")
    assert [w for w in run.warnings if w.startswith("Copied prompts: case_0001, case_0005: 10 or")]


def test_cut_answers_and_contaminated_prompts_are_named(tmp_path: Path) -> None:
    made = person(tmp_path / "made")
    cases = tuple(
        case.model_copy(update={"longest_shared_ngram": shared})
        for case, shared in zip(made.cases, (7, 8, 9, 0, 0), strict=True)
    )
    freeze(replace(made, cases=cases), tmp_path / "b")
    lines = [
        {"case_id": f"case_{n:04}", "output": wordy(50, f"own{n}x") + ".", "finish_reason": reason}
        for n, reason in enumerate(("stop", "length", None, "stop", "length"), 1)
    ]
    path = tmp_path / "twin.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    bundle = load_bundle(tmp_path / "b")
    run = score_run("mine", bundle, path, None, Bearing(), None, 200, 1).run
    assert run.cut_off == ("case_0002", "case_0005")
    assert run.contaminated_cases == ("case_0002", "case_0003")
    second, third = (f"{case.id} ({case.document})" for case in bundle.cases[1:3])
    for start in (
        "Cut off: case_0002, case_0005: ",
        f"Contaminated prompts: {second}, {third}: 8",
    ):
        assert len([warning for warning in run.warnings if warning.startswith(start)]) == 1
    stricter = score_run("mine", bundle, path, None, Bearing(), None, 200, 1, prompt_ngram=7).run
    assert stricter.contaminated_cases == ("case_0001", "case_0002", "case_0003")


def test_nothing_but_empty_answers_is_no_run(tmp_path: Path) -> None:
    empty = dict.fromkeys(range(1, 6), " ... ")
    with pytest.raises(UserError, match=r"twin\.jsonl: no answer has any words; there is nothing"):
        scored_texts(tmp_path, empty, allow_missing=True)
    with pytest.raises(UserError, match=r"line 1: case_0001 has an empty output .*allow-missing"):
        scored_texts(tmp_path, empty)
