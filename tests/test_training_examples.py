"""What a twin is trained on, and what it never is."""

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from people import bundle, document
from personalbench.bundle import Bundle
from personalbench.errors import UserError
from personalbench.llm.types import Reply, Request
from personalbench.params import BundleParams, CheckParams, CorpusParams, TrainingParams
from personalbench.training.examples import Example, TrainingSet, choose
from personalbench.training.finetune import check_sets, training_sets

TOPICS = BundleParams(authors=2, cases=5, genre="letter", prompt_model="prompter")
CONTEXT = 4096


def summarize(requests: Sequence[Request], description: str) -> list[Reply]:
    """A topic that names the document it is about."""
    marks = [re.findall(r"\w+profile\d+", request.messages[0].content)[0] for request in requests]
    return [Reply(status="ok", text=f"The text is about {mark}.") for mark in marks]


def made(bundles: Sequence[Bundle], documents: int = 20) -> list[TrainingSet]:
    return training_sets(
        bundles, TrainingParams(documents=documents), TOPICS, CONTEXT, 3, summarize
    )


def test_prompts_are_those_of_cases_and_documents_are_the_targets() -> None:
    (examples,) = made([bundle("ada", profile=40)])
    assert (len(examples.trained), len(examples.held_out)) == (20, 2)
    own = {item.id: item for item in bundle("ada", profile=40).profile}
    for each in (*examples.trained, *examples.held_out):
        mark = each.document.replace("/", "").replace("profile0", "profile").replace("e0", "e")
        assert each.text == own[each.document].text
        assert each.prompt == (
            "Write a short letter of two or three paragraphs.\n\n"
            f"The text is about {mark}.\n\nWrite only the text itself."
        )


def test_no_reference_document_reaches_the_training_set() -> None:
    bundles = [bundle("ada", profile=40), bundle("ben", cases=6, profile=300)]
    sets = made(bundles, documents=200)
    whole = str([asdict(each) for each in sets])
    references = [item for each in bundles for item in each.references]
    assert len(references) == 11
    for item in references:
        mark = re.findall(r"\w+reference\d+", item.text)[0]
        assert mark not in whole and item.id not in whole
    assert [each.author for each in sets] == ["ada", "ben"]
    assert "benprofile" not in str(asdict(sets[0]))


@given(profile=st.integers(20, 300), count=st.integers(20, 200), seed=st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_documents_are_drawn_once_from_the_profile_split(
    profile: int, count: int, seed: int
) -> None:
    whole = bundle("ada", profile=profile)
    chosen = choose(whole, count, seed, CONTEXT)
    trained, held_out = ({item.id for item in part} for part in (chosen.trained, chosen.held_out))
    assert not trained & held_out
    assert trained | held_out <= {item.id for item in whole.profile}
    assert len(trained) == len(chosen.trained) <= count
    assert 2 <= len(held_out) <= max(2, count // 10)
    if profile >= 25:
        assert not (trained | held_out) & set(whole.manifest.selected_profile)
        assert len(trained) + len(held_out) == min(profile - 5, count + max(2, count // 10))
        assert "sees_compared_documents" not in chosen.flags
    else:
        assert len(trained) + len(held_out) == min(profile, count + 2)
        assert "sees_compared_documents" in chosen.flags
    assert ("fewer_documents" in chosen.flags) == (len(trained) < count)


def test_a_smaller_training_set_is_the_beginning_of_a_larger_one() -> None:
    whole = bundle("ada", profile=120)
    small, large = (choose(whole, count, 1, CONTEXT).trained for count in (25, 100))
    assert len(small) == 25 and large[:25] == small
    assert choose(whole, 25, 2, CONTEXT).trained != small
    turned = replace(whole, profile=tuple(reversed(whole.profile)))
    assert choose(turned, 25, 1, CONTEXT) == choose(whole, 25, 1, CONTEXT)


def test_fewer_than_twenty_documents_are_refused() -> None:
    with pytest.raises(UserError, match=r"^ada: 19 profile documents .* needs at least 20$"):
        made([bundle("ada", profile=19)])


def test_a_document_longer_than_the_context_is_left_out_and_flagged() -> None:
    whole = bundle("ada", profile=30)
    endless = document("ada", 99, "profile", "wind " * 4000)
    chosen = choose(replace(whole, profile=(*whole.profile, endless)), 200, 1, CONTEXT)
    assert endless not in (*chosen.trained, *chosen.held_out)
    assert chosen.flags == ("long_documents_left_out", "fewer_documents")


CLEAN = TrainingSet(
    "ada",
    tuple(
        Example(item.id, f"Write about {number}.", item.text)
        for number, item in enumerate(bundle(profile=30).profile[:25])
    ),
    tuple(
        Example(item.id, "Write about the rest.", item.text)
        for item in bundle(profile=30).profile[25:]
    ),
    (),
)
REFERENCE = bundle().references[0]


@pytest.mark.parametrize(
    ("check", "changes"),
    [
        ("reference_in_training", {"document": REFERENCE.id}),
        ("reference_near_training", {"text": REFERENCE.text.upper().replace("!", "?")}),
        ("unique_training_ids", {"document": CLEAN.trained[3].document}),
        ("no_empty_training_prompt", {"prompt": " ... "}),
    ],
)
@pytest.mark.parametrize("part", ["trained", "held_out"])
def test_the_check_stops_a_training_set_that_breaks_a_promise(
    check: str, changes: dict[str, str], part: str
) -> None:
    first, *rest = getattr(CLEAN, part)
    spoilt = replace(CLEAN, **{part: (replace(first, **changes), *rest)})
    corpus, limits = CorpusParams(), CheckParams()
    assert check_sets([bundle(profile=30)], [CLEAN], corpus, limits).passed
    report = check_sets([bundle(profile=30)], [spoilt], corpus, limits)
    assert [each.name for each in report.checks if not each.passed] == [check]
    with pytest.raises(UserError, match=r"^quality\.html: .* ada/"):
        report.require_passed(Path("quality.html"))


def test_a_prompt_that_gives_its_document_away_is_a_warning() -> None:
    first, *rest = CLEAN.trained
    leaky = replace(first, prompt=f"Write: {first.text}")
    report = check_sets(
        [bundle(profile=30)],
        [replace(CLEAN, trained=(leaky, *rest))],
        CorpusParams(),
        CheckParams(),
    )
    assert report.passed
    (failed,) = [each for each in report.checks if not each.passed]
    assert (failed.name, failed.severity) == ("training_prompt_contamination", "warning")
