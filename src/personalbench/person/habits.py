"""Countable habits of writing, each with a name and a sentence for a reader without statistics."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from personalbench.metrics.estimate import Estimate
from personalbench.metrics.stylometry import MATTR_WINDOW
from personalbench.person.records import LineScores


@dataclass(frozen=True)
class Habit:
    """One line of the table.

    Attributes:
        metric: Its key in the scores.
        name: What it is called here.
        says: What the number says, in a sentence.
        write: The number as it is printed.
        of_person: In place of a number for the person's own texts, which have none.
    """

    metric: str
    name: str
    says: str
    write: Callable[[float], str] = "{:z.2f}".format
    of_person: str = "not measured"

    def cell(self, line: LineScores, person: LineScores) -> str:
        """The number of one line of texts, with its interval, or why there is none."""
        found = line.metrics.get(self.metric)
        if found is None:
            return self.of_person if line is person else "not measured"
        if found.value is None:
            return f"not estimable: {found.reason}"
        return _with_interval(found, self.write)


@dataclass(frozen=True)
class Length(Habit):
    """Length, which has the person's own texts as its unit and not the whole profile."""

    def cell(self, line: LineScores, person: LineScores) -> str:
        own, found = (each.metrics.get(self.metric) for each in (person, line))
        if own is None or not own.value or found is None or found.value is None:
            return "not measured"
        return self.write(found.value / own.value)


def _with_interval(found: Estimate, write: Callable[[float], str]) -> str:
    value = write(found.value or 0.0)
    if found.ci_low is None or found.ci_high is None:
        return value
    return f"{value} ({write(found.ci_low)} to {write(found.ci_high)})"


def _times(factor: float, value: float) -> str:
    return f"{value * factor:+z.1f}"


HABITS = (
    Habit(
        "func_cos",
        "small words",
        "How alike the small words (the, of, but, …) are spread as in the profile: 1 is the same.",
    ),
    Habit(
        "punct_cos",
        "punctuation",
        "How alike commas, dashes and other marks are spread as in the profile: 1 is the same.",
    ),
    Habit(
        "sentence_length_diff",
        "words in a sentence",
        "How many more (+) or fewer (-) than in the profile.",
        partial(_times, 1),
    ),
    Habit(
        "word_length_diff",
        "letters in a word",
        "How many more (+) or fewer (-) than in the profile.",
        "{:+z.2f}".format,
    ),
    Habit(
        "mattr_diff",
        "variety of words",
        f"Of {MATTR_WINDOW} words in a row, how many more (+) or fewer (-) different ones than in "
        "the profile.",
        partial(_times, MATTR_WINDOW),
    ),
    Length(
        "length_ratio",
        "length",
        "How long a text is, where the person's own held-out texts are 1.",
    ),
    Habit(
        "rouge_l",
        "same words as the person's text",
        "How much the text has in common, in the same order, with what the person wrote in the "
        "same case: content and never style. 1 is the same text.",
        of_person="its own text",
    ),
    Habit(
        "copied_run",
        "words in a row from the profile",
        "The longest piece that is taken from the profile word for word.",
        "{:z.1f}".format,
        of_person="only a twin can copy",
    ),
    Habit(
        "copied_share",
        "share taken from the profile",
        "How much of the text stands in the profile, in runs of five words or more.",
        "{:z.1%}".format,
        of_person="only a twin can copy",
    ),
)
"""What a report shows; the scores hold every metric."""
