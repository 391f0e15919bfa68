"""Seeds and draws depend on names alone."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from personalbench.seeds import derive, draw

names = st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=20)


@given(names, st.integers(0, 20), st.randoms())
def test_a_draw_does_not_depend_on_order(values: list[str], count: int, random) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    drawn = draw(values, count, 1, "x")
    assert drawn == draw(shuffled, count, 1, "x")
    assert len(drawn) == min(count, len(values))
    assert len(set(drawn)) == len(drawn)


@given(names, st.text(min_size=1, max_size=8))
def test_one_name_more_moves_at_most_one_drawn(values: list[str], extra: str) -> None:
    before, after = set(draw(values, 5, 1, "x")), set(draw([*values, extra], 5, 1, "x"))
    assert len(before - after) <= 1
    assert after - before <= {extra}


def test_a_draw_is_fair() -> None:
    counts = dict.fromkeys("abcd", 0)
    for seed in range(2000):
        counts[draw("abcd", 1, seed, "fair")[0]] += 1
    # Four sigma of a binomial with n = 2000, p = 1/4 is 77.
    assert all(abs(count - 500) < 77 for count in counts.values())


def test_seeds_differ_by_every_name_and_not_by_process() -> None:
    seeds = {
        derive(1),
        derive(2),
        derive(1, "a"),
        derive(1, "a", "b"),
        derive(1, "ab"),
        derive(1, "a", 0),
        derive(1, "a", 1),
    }
    assert len(seeds) == 7
    assert all(0 <= seed < 2**31 for seed in seeds)
    code = "from personalbench.seeds import derive, draw; print(derive(1, 'a'), draw('abc', 2, 1))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": str(number), "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for number in (0, 1, 2)
    }
    assert outputs == {f"{derive(1, 'a')} {draw('abc', 2, 1)}\n"}
