"""Data-quality checks: what stops the pipeline, and with which ids."""

from pathlib import Path

import pytest

from personalbench.corpus.document import Document
from personalbench.errors import UserError
from personalbench.params import CheckParams, CorpusParams
from personalbench.quality import (
    BundleFacts,
    CaseFacts,
    check_bundles,
    check_documents,
    load_report,
)
from personalbench.storage import write_json
from personalbench.text.tokenise import words

PAGE = Path("quality.html")
CORPUS = CorpusParams(min_profile=2, min_reference=1, min_mean_words=10, near_duplicate=0.5)

THEMES = {
    "ada/p1": "the harbour in the morning, where the boats leave before the light comes up and "
    "the gulls follow them out to the grey line that we call the end of the bay",
    "ada/p2": "a kitchen with one good knife, two bad pans and a window that will not close "
    "when the wind is in the east, as it was for most of that long and hungry spring",
    "ada/r1": "my brother's old bicycle, which he sold three times and bought back twice, once "
    "for less than the bell had cost him and once for the price of a new saddle",
    "bob/p1": "rain on a tin roof sounds like applause if you are young enough to believe that "
    "somebody out there has been waiting all year for you to open the door",
    "bob/p2": "we measured the field with a rope of forty knots and found that every number on "
    "the map was wrong, although all of them were wrong by the same amount",
    "bob/r1": "she taught us chess with buttons and bottle caps, and to this day I think of the "
    "queen as something red that was cut from the lid of a jar of plums",
}


def document(id: str, text: str | None = None, /, **changes) -> Document:
    text = THEMES[id] if text is None else text
    author, name = id.split("/")
    split = "profile" if name[0] == "p" else "reference"
    fields = {"id": id, "author": author, "source": id, "split": split, "text": text,
              "words": len(words(text))}  # fmt: skip
    return Document(**(fields | changes))


def corpus(**replaced: Document) -> list[Document]:
    return [replaced.get(id.replace("/", "_"), document(id)) for id in THEMES]


def check(documents):
    return check_documents(documents, CORPUS, CheckParams())


def failed(report) -> dict[str, set[tuple[str, str | None]]]:
    return {
        c.name: {(fault.id, fault.found) for fault in c.faults}
        for c in report.checks
        if not c.passed
    }


def test_clean_documents_pass_and_nothing_is_left_unchecked():
    report = check(corpus())
    assert report.passed and failed(report) == {}
    assert {c.checked for c in report.checks} == {6, 2}  # documents, authors


def three_words_changed(text: str) -> str:
    changed = text.split()
    for position in (3, 15, 27):
        changed[position] = "zebra"
    return " ".join(changed)


@pytest.mark.parametrize("copy", [str, str.upper, lambda text: f" {text}\n", three_words_changed])
def test_reference_copied_into_the_profile_stops_with_both_ids(copy):
    report = check(corpus(ada_p1=document("ada/p1", copy(THEMES["ada/r1"]))))
    name = "near_across_splits" if copy is three_words_changed else "exact_across_splits"
    assert failed(report) == {name: {("ada/r1", "ada/p1")}}
    with pytest.raises(UserError) as error:
        report.require_passed(PAGE)
    states = next(check.states for check in report.checks if check.name == name)
    assert error.value.message == (
        f'quality.html: "{states}" is broken by ada/r1 with ada/p1: '
        "delete one of the two, or put both on one side"
    )


def test_every_text_of_a_cluster_is_named_with_one_of_the_other_side():
    copies = [document(f"ada/{name}", THEMES["ada/p1"]) for name in ("p1", "p2", "r1", "r2")]
    assert failed(check(copies))["exact_across_splits"] == {
        ("ada/p2", "ada/r1"),
        ("ada/r1", "ada/p1"),
        ("ada/r2", "ada/p1"),
    }


def test_a_thread_of_two_people_may_be_on_another_side_for_each():
    thread = {"source": "<1@example.org>"}
    assert check(
        corpus(ada_p1=document("ada/p1", **thread), bob_r1=document("bob/r1", **thread))
    ).passed


def test_text_under_two_authors_stops():
    report = check(corpus(bob_p1=document("bob/p1", THEMES["ada/p1"])))
    assert failed(report) == {"shared_between_authors": {("bob/p1", "ada/p1")}}  # fmt: skip


def test_source_on_both_sides_stops():
    report = check(
        corpus(
            ada_p2=document("ada/p2", source="thread 7"),
            ada_r1=document("ada/r1", source="thread 7"),
        )
    )
    assert failed(report) == {"source_across_splits": {("ada/r1", "ada/p2")}}  # fmt: skip


def test_duplicate_id_stops():
    report = check([*corpus(), document("ada/p1", THEMES["ada/p2"] + " and more of the same")])
    assert failed(report)["unique_ids"] == {("ada/p1", None)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("... !", "no_empty_text"),
        ("", "no_empty_text"),
        (THEMES["ada/p1"] + "\x00", "no_control_characters"),
        (THEMES["ada/p1"] + "\x92", "no_control_characters"),
        (THEMES["ada/p1"] + " see urlLinkhere", "no_urllink"),
    ],
)
def test_unclean_text_stops(text, name):
    report = check(corpus(ada_p1=document("ada/p1", text)))
    assert not report.passed
    assert [id for id, _ in failed(report)[name]] == ["ada/p1"]


def test_words_that_only_contain_the_placeholder_are_fine():
    assert check(corpus(ada_p1=document("ada/p1", THEMES["ada/p1"] + " my curlLink"))).passed


def test_too_few_documents_stop_and_the_bound_is_inclusive():
    report = check([d for d in corpus() if d.id not in ("ada/p1", "bob/r1")])
    assert failed(report) == {"enough_profile": {("ada", "1")},
                              "enough_reference": {("bob", "0")}}  # fmt: skip


def test_another_language_and_few_words_are_warnings():
    german = "Der Hafen liegt am Morgen still, bevor die Boote hinausfahren und die Möwen folgen."
    report = check(corpus(ada_p1=document("ada/p1", german)))
    assert report.passed
    assert failed(report) == {"language": {("ada/p1", "de")}}
    (warning,) = report.warnings()
    assert "is broken by ada/p1 with de: take the others out, or set check.language" in warning
    assert "language" not in failed(check(corpus(ada_p1=document("ada/p1", "Der Hafen liegt."))))
    short = [document(id, " ".join(text.split()[:9])) for id, text in THEMES.items()]
    report = check(short)
    assert report.passed
    assert failed(report)["enough_mean_words"] == {("ada", "9.0"), ("bob", "9.0")}


def test_a_language_that_cannot_be_told_need_not_be():
    with pytest.raises(UserError, match=r"check\.language: 'gsw' can't be told.*null.* af, "):
        check_documents(corpus(), CORPUS, CheckParams(language="gsw"))
    report = check_documents(corpus(), CORPUS, CheckParams(language=None))
    assert "language" not in {c.name for c in report.checks}


def test_no_documents_fail_on_their_own():
    report = check([])
    assert not report.passed
    assert "documents" in failed(report)


def test_tags_and_page_show_the_outcome_and_escape_ids():
    documents = corpus(ada_p1=document("ada/r1", id="<script>", split="profile"))
    report = check(documents)
    assert report.tags()["quality.exact_across_splits"] == "error: 1"
    assert report.tags()["quality.unique_ids"] == "passed"
    page = report.html()
    assert "&lt;script&gt;" in page and "<script>" not in page
    assert "harbour" not in page  # texts do not leave the corpus


def test_a_written_report_is_read_again_with_its_tags(tmp_path):
    path = tmp_path / "quality.json"
    with pytest.raises(UserError, match=r"quality\.json: no such file"):
        load_report(path)
    report = check(corpus(ada_p1=document("ada/p1", THEMES["ada/r1"])))
    write_json(path, report.model_dump(mode="json"))
    assert load_report(path) == report
    write_json(path, {"passed": True})
    with pytest.raises(UserError, match="no report of this version"):
        load_report(path)


def bundle(**changes) -> BundleFacts:
    source = "We sold the old bicycle three times and bought it back twice, said my brother."
    case = CaseFacts(
        id="case_0001",
        document="ada/r1",
        prompt="Write about a bicycle that changed hands.",
        source_text=source,
    )
    cases = [case.model_copy(update={"id": f"case_000{n}"}) for n in range(1, 6)]
    fields = {"author": "ada", "profile": ["ada/p1", "ada/p2"], "reference": ["ada/r1"],
              "cases": cases}  # fmt: skip
    return BundleFacts(**(fields | changes))


def test_sound_bundle_passes():
    report = check_bundles([bundle()], CheckParams())
    assert report.passed and failed(report) == {}


def test_unsound_bundles_stop():
    cases = bundle().cases
    assert failed(check_bundles([], CheckParams())).keys() == {"bundles"}
    assert failed(check_bundles([bundle(cases=cases[:4])], CheckParams())) == {
        "enough_cases": {("ada", "4")}
    }
    leaking = bundle(profile=["ada/p1", "ada/r1"])
    assert failed(check_bundles([leaking], CheckParams())) == {
        "reference_in_profile": {("ada/r1", "ada/r1")}
    }
    twice = bundle(cases=[*cases, cases[0]])
    assert failed(check_bundles([twice], CheckParams())).keys() == {"unique_cases"}
    stray = bundle(cases=[*cases[1:], cases[0].model_copy(update={"document": "ada/p1"})])
    assert failed(check_bundles([stray], CheckParams())) == {
        "case_outside_reference": {("ada/case_0001", "ada/p1")}
    }
    silent = bundle(cases=[*cases[1:], cases[0].model_copy(update={"prompt": "..."})])
    assert failed(check_bundles([silent], CheckParams())).keys() == {"no_empty_prompt"}


def test_contaminated_prompt_is_a_warning_with_the_length():
    # Eight words of the source in a row: "the old bicycle three times and bought it".
    prompt = "Tell how the old Bicycle, three times and bought it, came home."
    cases = bundle().cases
    told = bundle(cases=[*cases[1:], cases[0].model_copy(update={"prompt": prompt})])
    report = check_bundles([told], CheckParams())
    assert report.passed
    assert failed(report) == {"prompt_contamination": {("ada/case_0001", "8")}}
