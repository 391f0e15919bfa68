"""What each method shows the generator, and what it never shows."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_stub import IMPATIENT, Says, Stub
from people import bundle
from personalbench.bundle import Bundle
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import open_model
from personalbench.llm.types import Reply, Request
from personalbench.params import (
    ContrastiveParams,
    FewShotParams,
    NonPersonalizedParams,
    ProfileParams,
    PromptedParams,
)
from personalbench.templates import SHIPPED
from personalbench.twins.answers import METHODS, Answer, answer
from personalbench.twins.prompts import CHARACTERS_PER_TOKEN, Generator, fit, sample

METHOD_PARAMS: dict[str, PromptedParams] = {
    "non_personalized": NonPersonalizedParams(method="non_personalized"),
    "few_shot": FewShotParams(method="few_shot"),
    "profile": ProfileParams(method="profile"),
    "contrastive": ContrastiveParams(method="contrastive"),
}
BUNDLES = [bundle("ada"), bundle("ben", cases=6)]


class Recorder:
    """Stands in for a model: keeps every request and gives a fixed reply."""

    def __init__(self, reply: Reply | None = None) -> None:
        self.requests: list[Request] = []
        self.reply = reply or Reply(status="ok", text="written", raw="written")

    def __call__(self, requests: Sequence[Request], description: str) -> list[Reply]:
        self.requests += requests
        return [self.reply.model_copy(update={"seed": request.seed}) for request in requests]

    def contents(self) -> list[str]:
        return [message.content for request in self.requests for message in request.messages]


def run(
    name: str, recorder: Recorder, bundles: Sequence[Bundle] = BUNDLES, context: int = 100_000
) -> list[Answer]:
    generator = Generator(recorder, context, max_tokens=100, temperature=0.5, seed=3)
    return answer(bundles, name, METHOD_PARAMS[name], generator)


def test_every_method_is_tested_here() -> None:
    # A trained twin needs a training: test_training_twin.py.
    assert set(METHODS) == {*METHOD_PARAMS, "finetuned"}


@pytest.mark.parametrize("name", METHOD_PARAMS)
def test_one_answer_a_case_and_the_identical_prompt(name: str) -> None:
    recorder = Recorder()
    answers = run(name, recorder)
    assert [(item.author, item.case_id) for item in answers] == [
        (author.author, case.id) for author in BUNDLES for case in author.cases
    ]
    prompts = [case.prompt for author in BUNDLES for case in author.cases]
    asked = recorder.contents()[-len(prompts) :]
    assert all(content.endswith(prompt) for content, prompt in zip(asked, prompts, strict=True))


@pytest.mark.parametrize("name", METHOD_PARAMS)
def test_no_twin_sees_a_reference_document(name: str) -> None:
    recorder = Recorder()
    run(name, recorder)
    marks = {
        word
        for author in BUNDLES
        for item in author.references
        for word in re.findall(r"\w+reference\d+", item.text)
    }
    assert len(marks) == 11
    assert not [mark for mark in marks for content in recorder.contents() if mark in content]


@pytest.mark.parametrize("name", METHOD_PARAMS)
def test_what_a_twin_saw_is_what_was_sent(name: str) -> None:
    """``seen`` is what copying is measured against, so it must be the truth."""
    recorder = Recorder()
    answers = run(name, recorder)
    for author in BUNDLES:
        own = [item for item in answers if item.author == author.author]
        sent = "\n".join(recorder.contents())
        shown = {item.id for item in author.profile if item.text in sent}
        assert all(set(item.seen) == shown for item in own)


def test_sizes_of_what_is_shown() -> None:
    sizes = {name: len(run(name, Recorder())[0].seen) for name in METHOD_PARAMS}
    assert sizes == {"non_personalized": 0, "few_shot": 5, "profile": 10, "contrastive": 3}


def test_few_shot_never_sees_the_documents_it_is_compared_with() -> None:
    for item in run("few_shot", Recorder()):
        author = next(author for author in BUNDLES if author.author == item.author)
        assert not set(item.seen) & set(author.manifest.selected_profile)
        assert "sees_compared_documents" not in item.flags


def test_with_too_few_other_documents_the_overlap_is_flagged() -> None:
    small = bundle("ada", profile=7)
    answers = run("few_shot", Recorder(), [small])
    assert all(len(item.seen) == 5 for item in answers)
    assert all("sees_compared_documents" in item.flags for item in answers)


def test_the_author_comes_before_the_topic_so_that_prefixes_are_shared() -> None:
    recorder = Recorder()
    run("few_shot", recorder, BUNDLES[:1])
    contents = recorder.contents()
    shared = len(contents[0]) - len(BUNDLES[0].cases[0].prompt)
    assert len({content[:shared] for content in contents}) == 1


def test_profile_is_extracted_once_an_author_and_shows_no_sample() -> None:
    recorder = Recorder(Reply(status="ok", text="terse and dry", raw="terse and dry"))
    answers = run("profile", recorder)
    assert len(recorder.requests) == len(BUNDLES) + len(answers)
    written = recorder.contents()[len(BUNDLES) :]
    assert all("terse and dry" in content for content in written)
    assert not [content for content in written if "adaprofile" in content]


def test_without_a_profile_the_answer_is_a_failure_and_nothing_else_is_asked() -> None:
    recorder = Recorder(Reply(status="refused", reason="no"))
    answers = run("profile", recorder)
    assert len(recorder.requests) == len(BUNDLES)
    assert {item.status for item in answers} == {"failed"}
    assert answers[0].reason == "no style profile: refused: no"


def test_a_profile_is_kept_though_it_was_cut_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    cut = Says("Terse, dry and", finish_reason="length")
    with Stub(lambda body, number: cut) as stub, ResponseCache(tmp_path / "a.sqlite") as cache:
        texts = []
        for _ in range(2):
            with open_model(stub.spec(), cache=cache, patience=IMPATIENT) as model:
                generator = Generator(model.complete, 100_000, 100, 0.5, seed=3)
                texts.append(answer(BUNDLES, "profile", METHOD_PARAMS["profile"], generator))
        assert len(stub.bodies) == len(BUNDLES) + len(texts[0])
    assert texts[0] == texts[1]
    assert all(item.flags == ("cut_at_max_tokens",) for item in texts[0])


def test_contrastive_shows_others_as_styles_to_avoid() -> None:
    recorder = Recorder()
    run("contrastive", recorder, BUNDLES[:1])
    content = recorder.contents()[0]
    others = [item.text for item in BUNDLES[0].contrast if item.text in content]
    assert len(others) == 3
    assert content.index(others[0]) > content.index("adaprofile")
    assert "words a sentence" in content


def test_seeds_differ_by_case_author_and_twin_and_are_recorded() -> None:
    recorder = Recorder()
    first = run("few_shot", recorder)
    assert [item.seed for item in first] == [request.seed for request in recorder.requests]
    second = run("contrastive", Recorder())
    assert len({item.seed for item in [*first, *second]}) == len(first) + len(second)


@pytest.mark.parametrize(
    ("reply", "status", "text"),
    [
        (Reply(status="empty", reason="nothing"), "empty", ""),
        (Reply(status="refused", reason="no", raw="I can't"), "refused", ""),
        (Reply(status="truncated", text="half a", raw="half a", reason="length"), "ok", "half a"),
        (
            Reply(status="truncated_reasoning", raw="<think>", reason="length"),
            "truncated_reasoning",
            "",
        ),
    ],
)
def test_failures_stay_failures(reply: Reply, status: str, text: str) -> None:
    answers = run("few_shot", Recorder(reply))
    assert {(item.status, item.text) for item in answers} == {(status, text)}
    assert ("cut_at_max_tokens" in answers[0].flags) == (status == "ok")


def test_what_does_not_fit_is_left_out_whole() -> None:
    documents = list(bundle().profile)
    kept, flags = fit(documents, 100_000)
    assert (kept, flags) == (documents, [])
    kept, flags = fit(documents, 400)
    assert kept == documents[: len(kept)]
    assert 0 < len(kept) < len(documents)
    assert flags == ["samples_cut"]
    assert "samples_cut" in run("few_shot", Recorder(), context=330)[0].flags


def test_sampling_does_not_depend_on_the_order_of_documents() -> None:
    straight = bundle()
    turned = Bundle(
        straight.manifest,
        straight.profile[::-1],
        straight.references,
        straight.contrast,
        straight.cases,
    )
    assert sample(straight, 5, 1, "x") == sample(turned, 5, 1, "x")


@pytest.mark.parametrize("name", ["few_shot", "profile", "contrastive"])
def test_where_no_document_fits_nothing_is_sent(name: str) -> None:
    """A prompt without its samples would be the baseline under another name."""
    recorder = Recorder()
    answers = run(name, recorder, context=230)
    assert recorder.requests == []
    assert {item.status for item in answers} == {"failed"}
    assert {item.reason for item in answers} == {"no document fits into the generator's context"}
    assert all("samples_cut" in item.flags and item.seen == () for item in answers)


@given(context=st.integers(450, 3000))
def test_no_prompt_is_longer_than_the_context_allows(context: int) -> None:
    for name in METHOD_PARAMS:
        recorder = Recorder()
        run(name, recorder, context=context)
        for request in recorder.requests:
            content = request.messages[0].content
            assert len(content) / CHARACTERS_PER_TOKEN + request.max_tokens <= context
            # Cut by documents: what is shown is shown to its end.
            assert content.count("today") == content.count("until dark!")


def test_too_few_documents_are_all_shown_and_flagged() -> None:
    (item, *_) = run("few_shot", Recorder(), [bundle("ada", profile=6)])
    assert len(item.seen) == 5 and item.flags == ("sees_compared_documents",)
    few = replace(bundle(), profile=bundle().profile[:3])
    (item, *_) = run("few_shot", Recorder(), [few])
    assert len(item.seen) == 3
    assert item.flags == ("sees_compared_documents", "fewer_samples")


def test_fewer_other_authors_than_asked_for_are_flagged() -> None:
    lonely = replace(bundle(), contrast=bundle().contrast[:1])
    assert "fewer_authors" in run("contrastive", Recorder(), [lonely])[0].flags
    assert "fewer_authors" not in run("contrastive", Recorder())[0].flags


def test_a_users_own_templates_take_the_place_of_the_shipped_ones(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED, tmp_path / "mine")
    own = tmp_path / "mine/twins/few_shot.txt"
    own.write_text("Look:\n$samples\nNow you. $prompt", encoding="utf-8")
    recorder = Recorder()
    generator = Generator(recorder, 100_000, 100, 0.5, seed=3, templates=tmp_path / "mine")
    answer(BUNDLES, "few_shot", METHOD_PARAMS["few_shot"], generator)
    assert all(content.startswith("Look:\nSample 1") for content in recorder.contents())


def test_the_ablation_shows_the_first_sentence_and_nothing_more_of_the_reference() -> None:
    ada = bundle()
    texts = [f"Opening {n} is here. {item.text}" for n, item in enumerate(ada.references)]
    told = replace(
        ada,
        references=tuple(
            item.model_copy(update={"text": text})
            for item, text in zip(ada.references, texts, strict=True)
        ),
    )
    recorder = Recorder()
    params = NonPersonalizedParams(method="non_personalized", topics="first_sentence")
    answer([told], "told", params, Generator(recorder, 100_000, 100, 0.5, seed=3))
    for number, content in enumerate(recorder.contents()):
        assert f"Opening {number} is here." in content
        assert content.startswith("Write a short letter")
        assert "matter" not in content and "adareference" not in content


def test_without_other_authors_contrastive_asks_for_nothing() -> None:
    alone = replace(bundle(), contrast=())
    recorder = Recorder()
    answers = run("contrastive", recorder, [alone])
    assert recorder.requests == []
    assert {item.reason for item in answers} == {"no other author to contrast with"}
