"""Which of two runs is better, and what the command line makes of it."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner, Result
from safetensors.numpy import save

from bearing import Bearing, answers, calibration, person
from personalbench.cli import main
from personalbench.errors import UserError
from personalbench.metrics.comparison import compare_likeness
from personalbench.metrics.statistics import episodes
from personalbench.person import runs
from personalbench.person.comparing import compare_runs, groups_needed, verdict_of
from personalbench.person.junit import Requirement, write_junit
from personalbench.person.runs import read_run, read_table, write_run
from personalbench.person.scoring import score_run

UNRELATED = [float(angle) for angle in range(40, 90)]


def scored(
    folder: Path,
    name: str,
    angles: list[float | None],
    base: list[float | None] | None = None,
    **more: Any,
) -> Path:
    """A run in its folder."""
    folder.mkdir(exist_ok=True)
    bundle = person(folder / f"bundle-{len(angles)}", len(angles), more.pop("held_out", 20.0))
    path = folder / "runs" / name
    unrelated, calibrated = folder / "c.safetensors", more.pop("calibrated", {})
    if calibrated or not unrelated.exists():  # its bytes are others each time
        calibration(unrelated, UNRELATED, **calibrated)
    run = score_run(
        name,
        bundle,
        answers(folder / f"{name}.jsonl", angles),
        answers(folder / f"{name}-base.jsonl", base, "base") if base else None,
        more.pop("encoder", Bearing()),
        unrelated,
        **({"replicates": 500, "seed": 1} | more),
    )
    write_run(run, bundle, path)
    return path


def compared(*paths: Path):
    return compare_runs([read_run(path) for path in paths], [read_table(path) for path in paths])


def spread(centre: float, count: int = 30, seed: int = 0) -> list[float | None]:
    """Answers about a direction."""
    return [float(x) for x in np.random.default_rng(seed).normal(centre, 8, count).round(2)]


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_better_worse_and_cannot_tell(tmp_path: Path) -> None:
    old = scored(tmp_path, "old", spread(60, seed=1))
    better = scored(tmp_path, "better", spread(35, seed=2))
    worse = scored(tmp_path, "worse", spread(80, seed=3))
    alike = scored(tmp_path, "alike", spread(59.5, seed=4))
    found = compared(old, better, worse, alike)
    assert [run.verdict for run in found.runs] == ["better", "worse", "cannot tell"]
    first = found.runs[0]
    assert first.groups == 6 and first.groups_needed is None
    assert first.difference.difference.value == pytest.approx(
        np.mean(
            [
                a.twin - b.twin
                for a, b in zip(read_run(better).groups, read_run(old).groups, strict=True)
                if a.twin is not None and b.twin is not None
            ]
        )
    )
    assert first.sentence.startswith("better is better than old (difference +0.")
    last = found.runs[2]
    assert last.groups_needed is not None and last.groups_needed > 6
    assert f"cannot tell with 6 groups: you would need about {last.groups_needed}" in last.sentence


def test_one_group_can_never_tell_but_says_how_many_would(tmp_path: Path) -> None:
    old = scored(tmp_path, "old", spread(70, 5, seed=1))
    new = scored(tmp_path, "new", spread(40, 5, seed=2))
    [run] = compared(old, new).runs
    assert run.verdict == "cannot tell"
    assert run.difference.difference.ci_low is None
    assert run.groups_needed is not None and run.groups_needed >= 6
    needed = run.groups_needed
    assert f"cannot tell with 1 group: you would need at least {needed} (" in run.sentence


def test_the_fewest_groups_that_can_tell_are_a_bound_and_no_estimate(tmp_path: Path) -> None:
    """Two groups that differ by much, and evenly: six is where any verdict begins."""
    old = scored(tmp_path, "old", [70.0, 71.0] * 5)
    new = scored(tmp_path, "new", [40.0, 41.0] * 5)
    [run] = compared(old, new).runs
    assert run.groups_needed == 6
    assert "cannot tell with 2 groups: you would need at least 6 (" in run.sentence


@pytest.mark.parametrize(
    ("groups", "verdict"), [(2, "cannot tell"), (5, "cannot tell"), (6, "better")]
)
def test_no_verdict_where_no_p_can_be_small_enough(groups: int, verdict: str) -> None:
    """Every resample of every group is better; five groups still have p = 2/2^5 = 0.0625."""
    table = np.repeat(0.5 + 0.01 * np.arange(groups)[:, None], len(episodes(5)[1]), axis=1)
    runs = [
        {"ada": {f"case_{number:04}": row for number, row in enumerate(rows)}}
        for rows in (table, np.zeros_like(table))
    ]
    found = compare_likeness(*runs, 5, 200, 1)
    assert found.difference.ci_low is not None and found.difference.ci_low > 0
    assert found.p == 2 / 2**groups
    assert verdict_of(found) == verdict
    # The difference is so even that the approximation alone would ask for one group.
    assert groups_needed(table, 5) == max(6, groups + 1)


def test_a_run_against_itself(tmp_path: Path) -> None:
    old = scored(tmp_path, "old", spread(70, 10))
    [run] = compared(old, old).runs
    assert run.verdict == "cannot tell" and run.groups_needed is None
    assert run.difference.difference.value == 0
    assert run.difference.difference.ci_low is None
    assert run.one_v_five.difference.ci_low is None
    assert run.sentence == "old against old: cannot tell with 2 groups (difference +0.000)."
    same = invoke("compare", old, tmp_path / "runs" / ".." / "runs" / "old")
    assert same.exit_code == 2
    [line] = same.output.splitlines()
    assert line.endswith("old: is named twice, and never differs from itself; name another")
    said = "gave the same answers: nothing differs."
    assert run.notes == (f"old and old {said}",)
    other = scored(tmp_path, "other", spread(70, 10))  # another file name, the same texts
    file = tmp_path / "spaced.jsonl"
    file.write_text((tmp_path / "old.jsonl").read_text("utf-8").replace('", "', '",  "'), "utf-8")
    spaced = score_run(
        "spaced", person(tmp_path / "b", 10), file, None, Bearing(),
        tmp_path / "c.safetensors", 500, 1,
    )  # fmt: skip
    assert spaced.run.answers.sha256 != read_run(old).answers.sha256
    write_run(spaced, person(tmp_path / "b", 10), tmp_path / "runs" / "spaced")
    for path in (other, tmp_path / "runs" / "spaced"):
        told = invoke("compare", old, path).output
        assert f"{path.name} and old {said}" in told and "+0.000 to +0.000" not in told
    differs = scored(tmp_path, "differs", [*spread(70, 10)[:9], 71.0])
    assert said not in invoke("compare", old, differs).output


def test_the_number_of_groups_by_hand() -> None:
    # Two documents a group: samples are (0,1), (0,0), (1,1) with chances 1/2, 1/4, 1/4.
    table = np.array([[0.1, 0.3, -0.1]])
    # Their mean is 0.1 and their variance 1/4 * 0.04 + 1/4 * 0.04 = 0.02, so that
    # 0.02 * (2.8016 / 0.1)^2 = 15.7.
    assert groups_needed(table, 2) == 16
    # Two groups at 0 and 0.2 have the variance 0.02 as well, resampling shows none.
    assert groups_needed(np.array([[0.0, 0.0, 0.0], [0.2, 0.2, 0.2]]), 2) == 16
    assert groups_needed(np.zeros((3, 3)), 2) is None


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"held_out": 21.0}, "bundle is"),
        ({"replicates": 501}, "replicates is 500 and 501"),
        ({"seed": 2}, "seed is 1 and 2"),
    ],
)
def test_runs_that_differ_in_more_than_the_twin_are_refused(
    tmp_path: Path, changed: dict[str, Any], what: str
) -> None:
    one = scored(tmp_path, "one", spread(50, 10))
    two = scored(tmp_path, "two", spread(50, 10), **changed)
    with pytest.raises(UserError, match=f"one and two can't be compared: {what}") as error:
        compared(one, two)
    assert "\n" not in error.value.message


def test_runs_of_two_encoders_are_refused(tmp_path: Path) -> None:
    class Other(Bearing):
        revision = "rev2"

    one = scored(tmp_path, "one", spread(50, 10))
    two = scored(tmp_path, "two", spread(50, 10), encoder=Other(), calibrated={"revision": "rev2"})
    with pytest.raises(UserError, match="encoder revision is rev1 and rev2"):
        compared(one, two)


def test_the_command_sets_the_exit_code_and_writes_what_it_found(tmp_path: Path) -> None:
    base = spread(75, seed=9)
    old = scored(tmp_path, "old", spread(50, seed=1), base)
    worse = scored(tmp_path, "worse", spread(70, seed=2), base)
    quiet = invoke("compare", old, worse)
    assert quiet.exit_code == 0 and "worse is worse than old" in quiet.output
    failed = invoke(
        "compare", old, worse, "--fail-if", "worse", "--min-gap-closed", "0.5",
        "--junit", tmp_path / "out.xml", "--output", tmp_path / "out",
    )  # fmt: skip
    assert failed.exit_code == 1
    assert "failed: worse is worse than old" in failed.output
    assert "failed: worse: closes" in failed.output
    root = ElementTree.parse(tmp_path / "out.xml").getroot()
    [suite] = root
    for each in (root, suite):
        assert (each.attrib["tests"], each.attrib["failures"]) == ("2", "2")
        assert float(each.attrib["time"]) == 0
    assert [(case.attrib["classname"], case.attrib["name"]) for case in suite] == [
        ("worse", "not worse than old"),
        ("worse", "closes at least 0.5 of the gap"),
    ]
    for case, said in zip(suite, ("worse is worse than old (", "worse: closes 0."), strict=True):
        [failure] = case.findall("failure")
        assert failure.attrib["message"] == failure.text and said in (failure.text or "")
        assert failure.attrib["type"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "comparison.json",
        "comparison.md",
        "comparison.svg",
    ]
    ElementTree.parse(tmp_path / "out" / "comparison.svg")
    better = invoke("compare", worse, old, "--fail-if", "worse", "--min-gap-closed", "0.5")
    assert better.exit_code == 0, better.output


def test_a_leak_passes_no_gate(tmp_path: Path) -> None:
    old, new = (
        scored(tmp_path, "old", spread(60, seed=1)),
        scored(tmp_path, "new", spread(35, seed=2)),
    )
    record = json.loads((new / "scores.json").read_text(encoding="utf-8"))
    record["cases"][0]["reference_words"] = 50
    (new / "scores.json").write_text(json.dumps(record), encoding="utf-8")
    assert invoke("compare", old, new).exit_code == 0
    gated = invoke("compare", old, new, "--fail-if", "worse")
    assert gated.exit_code == 1
    assert "failed: new: Leak: 1 of 30 answers repeats 10 or more words" in gated.output
    assert invoke("compare", new, old).exit_code == 0
    assert "failed: new: Leak" in invoke("compare", new, old, "--min-gap-closed", "-9").output


def copying(run: Path, *cases: int) -> Path:
    """The run with answers to these cases found to be copied from the profile."""
    record = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    for number in cases:
        record["cases"][number - 1]["copying"] = True
    (run / "scores.json").write_text(json.dumps(record), encoding="utf-8")
    return run


def test_more_copied_answers_than_the_first_has_are_not_no_worse(tmp_path: Path) -> None:
    old = copying(scored(tmp_path, "old", spread(60, seed=1)), 3)
    as_many = copying(scored(tmp_path, "as-many", spread(35, seed=2)), 7)
    more = copying(scored(tmp_path, "more", spread(35, seed=3)), 1, 2)
    assert invoke("compare", old, more).exit_code == 0
    assert invoke("compare", old, as_many, "--fail-if", "worse").exit_code == 0
    gated = invoke("compare", old, as_many, more, "--fail-if", "worse", "--junit", tmp_path / "x")
    assert gated.exit_code == 1
    [said] = [line for line in gated.output.splitlines() if line.startswith("failed: ")]
    assert said == (
        "failed: more: answers copied from the profile: 2, in old: 1; quotations may hide that the "
        "twin's own words are worse"
    )
    cases = ElementTree.parse(tmp_path / "x").getroot()[0]
    assert [case.attrib["name"] for case in cases if case.findall("failure")] == [
        "copies no more of the profile than old"
    ]


def test_the_gap_is_closed_without_copied_answers_or_not_at_all(tmp_path: Path) -> None:
    """Ceiling at 20 degrees, model at 70; ten answers at 20 and 22 are copied, five are at 60."""
    base = [70.0] * 15
    one = scored(tmp_path, "one", [60.0] * 15, base)
    two = scored(tmp_path, "two", [20.0] * 5 + [22.0] * 5 + [60.0] * 5, base)
    gate = ("compare", one, two, "--min-gap-closed", "0.5")
    assert invoke(*gate).exit_code == 0
    copying(two, 1, 6)
    [run] = compared(one, two).runs
    # (cos 60 - cos 70) / (cos 20 - cos 70) = 0.1580 / 0.5977
    assert run.copied == 2
    assert run.gap_closed_uncopied is not None and run.gap_closed_uncopied.n == 1
    assert run.gap_closed_uncopied.value == pytest.approx(0.2643, abs=1e-4)
    gated = invoke(*gate)
    assert gated.exit_code == 1
    assert "of the gap; without the answers copied from the profile the share is 0.264" in (
        gated.output
    )
    assert invoke(*gate[:-1], "0.26").exit_code == 0
    copying(two, 11)
    assert "the share is not estimable: no group of cases is without them" in invoke(*gate).output


def test_an_unknown_gap_does_not_pass_for_a_closed_one(tmp_path: Path) -> None:
    one, two = (scored(tmp_path, name, spread(50, 10)) for name in ("one", "two"))
    result = invoke("compare", one, two, "--min-gap-closed", "0.1")
    assert result.exit_code == 1
    assert "share of the gap closed is not estimable: no baseline answers" in result.output


def test_a_share_without_an_interval_passes_no_gate(tmp_path: Path) -> None:
    """One group, which closes almost all of the gap."""
    one, two = (
        scored(tmp_path, name, [angle] * 5, [70.0] * 5)
        for name, angle in (("one", 60.0), ("two", 21.0))
    )
    assert invoke("compare", one, two).exit_code == 0
    gated = invoke("compare", one, two, "--min-gap-closed", "0.5")
    assert gated.exit_code == 1
    # (cos 21 - cos 70) / (cos 20 - cos 70) = 0.5916 / 0.5977
    said = "two: the share of the gap closed is not estimable from 0.990 alone: an interval needs"
    assert f"failed: {said} at least two groups\n" in gated.output


@pytest.mark.parametrize("least", ["nan", "inf", "-inf"])
def test_a_least_share_that_is_no_number_is_refused(tmp_path: Path, least: str) -> None:
    one, two = (scored(tmp_path, name, spread(50, 10), spread(70, 10)) for name in ("one", "two"))
    result = invoke("compare", one, two, f"--min-gap-closed={least}")
    assert result.exit_code == 2
    assert result.output == f"Error: --min-gap-closed is {least}; give a number such as 0.3\n"


def test_shares_of_different_gaps_are_not_compared(tmp_path: Path) -> None:
    one = scored(tmp_path, "one", spread(50, 10), spread(70, 10, seed=1))
    two = scored(tmp_path, "two", spread(50, 10), spread(80, 10, seed=2))
    [run] = compared(one, two).runs
    assert run.gap_closed.value is None and run.difference.difference.value == 0
    told = invoke("compare", one, two)
    assert told.exit_code == 0
    assert "two was scored with other baseline answers than one: improvement" in told.output
    refused = invoke("compare", one, two, "--min-gap-closed", "0.1")
    assert refused.exit_code == 2 and refused.output.count("\n") == 1
    assert "one and two were scored with different baseline answers" in refused.output


def test_groups_without_answers_are_named(tmp_path: Path) -> None:
    old = scored(tmp_path, "old", spread(60, 20, seed=1))
    new = scored(
        tmp_path, "new", [*spread(40, 5), None, *spread(40, 14, seed=2)], allow_missing=True
    )
    told = invoke("compare", old, new, "--output", tmp_path / "out")
    said = (
        "new against old: 3 of 4 groups; "
        "group of case_0006 to case_0010 left out: no answer by new."
    )
    assert said in " ".join(told.output.split())
    assert said in (tmp_path / "out" / "comparison.md").read_text(encoding="utf-8")
    whole = scored(tmp_path, "whole", spread(60, 20, seed=1))
    assert "left out" not in invoke("compare", old, whole).output


def test_files_for_folders_and_folders_for_files_are_one_line(tmp_path: Path) -> None:
    one = scored(tmp_path, "one", spread(50, 10))
    bundle, twin, run = tmp_path / "bundle-10", tmp_path / "one.jsonl", tmp_path / "new"
    score = ("score", bundle, "--answers")
    is_folder, is_file = f"{one}: is a folder; name a file", f"{twin}: is a file; name a folder"
    for arguments, said in (
        ((*score, one, "--output", run), is_folder),
        ((*score, twin, "--baseline-answers", one, "--output", run), is_folder),
        ((*score, twin, "--calibration", one, "--output", run), is_folder),
        ((*score, twin, "--output", twin), is_file),
        ((*score, twin, "--output", twin / "run"), is_file),
        ((*score, twin, "--output", "/"), "/: holds files and is no run; name another folder"),
        (("prompts", bundle, "--output", one), is_folder),
        (("prompts", bundle, "--output", twin / "prompts.jsonl"), is_file),
        (("compare", one, one, "--junit", one), is_folder),
        (("compare", one, one, "--output", twin), is_file),
    ):
        result = invoke(*arguments)
        assert (result.exit_code, result.output) == (2, f"Error: {said}\n"), arguments


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"angles": spread(60, 10)}, "answers"),
        ({"base": spread(80, 10, seed=3)}, "baseline answers"),
        ({"base": None}, "baseline answers"),
        ({"held_out": 30.0}, "bundle"),
        ({"seed": 2}, "settings"),
        ({"calibrated": {"group_size": 5}}, "calibration"),
    ],
)
def test_a_run_is_never_replaced_by_another(
    tmp_path: Path, changed: dict[str, Any], what: str
) -> None:
    first = {"angles": spread(50, 10), "base": spread(70, 10)}
    path = scored(tmp_path, "one", **first)
    before = content(path)
    assert scored(tmp_path, "one", **first) == path, "the same again is no fault"
    assert content(path) == before
    with pytest.raises(UserError, match=f"one: holds a run with other {what}, .*never") as error:
        scored(tmp_path, "one", **(first | changed))
    assert "choose another --output or remove it" in error.value.message
    assert content(path) == before
    assert sorted(path.parent.iterdir()) == [path], "nothing is left beside it"


def test_what_is_no_run_is_never_replaced(tmp_path: Path) -> None:
    path = scored(tmp_path, "one", spread(50, 10))
    (path / "scores.json").rename(path / "other.json")
    before = content(path)
    with pytest.raises(UserError, match="one: holds files and is no run; name another folder"):
        scored(tmp_path, "one", spread(50, 10))
    assert content(path) == before


def test_a_score_that_was_killed_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before its last file: what it left has not the run's name, and goes."""
    unfinished = tmp_path / "runs" / ".one.incomplete"
    unfinished.mkdir(parents=True)
    (unfinished / "report.md").write_text("half of it", encoding="utf-8")
    (tmp_path / "runs" / "one").mkdir()  # and an empty folder is in nobody's way
    path = scored(tmp_path, "one", spread(50, 10))
    assert read_run(path).name == "one"
    assert list(path.parent.iterdir()) == [path]

    def full(path: Path, value: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(runs, "write_json", full)
    with pytest.raises(OSError, match="No space left"):
        scored(tmp_path, "two", spread(50, 10))
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"a":' * 100_000, "[" * 100_000, '{"a": ' + "9" * 5000 + "}", "\x00\x01"],
)
def test_a_damaged_record_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "scores.json").write_text(text, encoding="utf-8")
    for command in ("show", "compare"):
        result = invoke(command, tmp_path / "run", *[tmp_path / "none"] * (command == "compare"))
        assert result.exit_code == 2, result.output
        [line] = result.output.splitlines()
        assert "run/scores.json: " in line and "remove the run and score it again" in line
        assert ": : " not in line


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table[:1], r"damaged \(shape \(1, 126\), not \(2, 126\)\)"),
        (lambda table: table[:, :9], r"damaged \(shape \(2, 9\), not \(2, 126\)\)"),
        (lambda table: table[0], r"damaged \(shape \(126,\), not"),
        (lambda table: np.where(table == table[1, 3], np.nan, table), "a value is not finite"),
        (lambda table: np.ascontiguousarray(table[::-1]), r"not of the run in scores\.json"),
    ],
)
def test_a_damaged_table_is_one_line(tmp_path: Path, change: Any, said: str) -> None:
    path = scored(tmp_path, "one", spread(50, 10))
    table = np.ascontiguousarray(change(read_table(path)))
    (path / "likeness.safetensors").write_bytes(save({"likeness": table}))
    with pytest.raises(UserError, match=said) as error:
        read_table(path)
    assert (
        "\n" not in error.value.message
        and "remove the run and score it again" in error.value.message
    )


def test_pages_replace_their_like_and_nothing_else(tmp_path: Path) -> None:
    old = scored(tmp_path, "old", spread(60, 10, seed=1))
    new = scored(tmp_path, "new", spread(40, 10, seed=2))
    out, junit, picture = tmp_path / "out", tmp_path / "out" / "x.xml", tmp_path / "h.svg"
    compare = ("compare", old, new, "--output", out, "--junit", junit)
    history = ("history", tmp_path / "bundle-10", "--runs", tmp_path / "runs", "--output", picture)
    for command in (compare, history) * 2:
        result = invoke(*command)
        assert result.exit_code == 0, result.output
    assert invoke(*compare[:1], new, old, *compare[3:]).exit_code == 0
    assert json.loads((out / "comparison.json").read_text(encoding="utf-8"))["first"] == "new"
    ours = content(out)
    for path, command in (
        *((out / name, compare) for name in ours),
        (picture, history),
    ):
        # A drawing of a single run is ours too, but part of that run.
        foreign = (new / "ruler.svg").read_text("utf-8") if path.suffix == ".svg" else "# My own\n"
        path.write_text(foreign, encoding="utf-8")
        result = invoke(*command)
        assert (result.exit_code, result.output) == (
            2,
            f"Error: {path}: is there and was written by something else; choose another name or "
            "remove it\n",
        )
        assert path.read_text(encoding="utf-8") == foreign
        if path.parent == out:
            assert content(out) == ours | {path.name: foreign.encode()}
            path.write_bytes(ours[path.name])


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    first = scored(tmp_path / "a", "twin", spread(50, 10))
    second = scored(tmp_path / "b", "twin", spread(60, 10, seed=3))
    told = invoke("compare", first, second)
    assert f"{second} against {first}: cannot tell" in " ".join(told.output.split())


def test_one_run_alone_is_no_comparison(tmp_path: Path) -> None:
    one = scored(tmp_path, "one", spread(50, 10))
    assert invoke("compare", one).exit_code == 2
    missing = invoke("compare", one, tmp_path / "none")
    assert missing.exit_code == 2 and "none/scores.json: no such file" in missing.output


def test_what_is_no_run_is_said_and_what_to_name_instead(tmp_path: Path) -> None:
    one, two = (scored(tmp_path, name, spread(50, 10)) for name in ("one", "two"))
    runs, bundle, file = tmp_path / "runs", tmp_path / "bundle-10", tmp_path / "one.jsonl"
    wrote = "the folder that `score --output` wrote"
    for there, said in (
        (runs, f"{runs}: is a folder of runs; name one of them: {one}, {two}"),
        (bundle, f"{bundle}: is a bundle; name a run on it, {wrote}"),
        (file, f"{file}: is a file; name a run, {wrote}"),
    ):
        for arguments in (("compare", one, there), ("show", there)):
            result = invoke(*arguments)
            assert (result.exit_code, result.output) == (2, f"Error: {said}\n"), arguments


def test_junit_holds_any_name(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "out.xml"
    write_junit(path, "a\x00<b>", [Requirement("r\x1b&", "n\ud800", "no\x07", "found\ufffe")])
    [[case]] = ElementTree.parse(path).getroot()
    assert case.attrib["classname"] == "r\ufffd&"


def test_the_history_is_in_order_and_of_one_bundle_and_encoder(tmp_path: Path) -> None:
    for name, angle in (("v2", 45), ("v1", 60), ("v3", 30)):
        scored(tmp_path, name, spread(angle, 10))
    scored(tmp_path, "elsewhere", spread(50, 15))
    scored(tmp_path, "otherwise", spread(50, 10), replicates=200)
    for number, name in enumerate(("otherwise", "v1", "v2", "v3", "elsewhere")):
        path = tmp_path / "runs" / name / "scores.json"
        record = json.loads(path.read_text(encoding="utf-8"))
        record["created"] = f"2026-0{number + 1}-01T07:05:09+00:00"
        path.write_text(json.dumps(record), encoding="utf-8")
    result = invoke("history", tmp_path / "bundle-10", "--runs", tmp_path / "runs", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [version["name"] for version in told["versions"]] == ["v1", "v2", "v3"]
    assert told["left_out"] == ["otherwise"]
    ElementTree.parse(tmp_path / "runs" / "history.svg")
    drawn = invoke("history", tmp_path / "bundle-10", "--runs", tmp_path / "runs").output
    told_lines = drawn.splitlines()
    rows = [number for number, line in enumerate(told_lines) if line.startswith("v")]
    assert told_lines[rows[0]].startswith("v1, 2026-02-01 07:05 UTC")
    assert [told_lines[row][:2] for row in rows] == ["v1", "v2", "v3"]
    places = [told_lines[row + 1].index("o") for row in rows]
    assert places == sorted(places)
    none = invoke("history", tmp_path / "bundle-10", "--runs", tmp_path / "empty")
    assert none.exit_code == 2 and "no run on this bundle" in none.output


def test_show_tells_what_score_told(tmp_path: Path) -> None:
    path = scored(tmp_path, "mine", spread(50, 10), spread(70, 10, seed=5))
    shown = invoke("show", path)
    assert shown.exit_code == 0 and "closes" in shown.output
    told = json.loads(invoke("show", path, "--json").stdout)
    assert told == json.loads((path / "scores.json").read_text(encoding="utf-8"))


def test_every_json_file_has_a_schema() -> None:
    names = [line.split(":")[0] for line in invoke("schema").output.splitlines()]
    assert {"manifest", "scores", "comparison", "answer", "prompt"} <= set(names)
    for name in names:
        assert json.loads(invoke("schema", name).stdout)["type"] == "object"
    assert invoke("schema", "nothing").exit_code == 2
