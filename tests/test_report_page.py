"""The page: one file, every text escaped, and a browser of cases that works."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from browser import needs_chromium, run_in_page
from invented import invented_run
from personalbench.judge.records import Judgement, TraitFinding
from personalbench.report.cases import CaseBrowser, case_browser, embedded
from personalbench.report.page import report_page
from personalbench.report.run import Run
from personalbench.report.sections import report_sections

HOSTILE = "Well </script><script>window.hacked = 1</script> <!-- & \u2028 <b>bold</b> \" ' end."
QUOTE = "bold</b> \" '"
TWINS = ("non_personalized", "few_shot")


@pytest.fixture(scope="module")
def run() -> Run:
    """Three authors, of whom one has a hostile text in place of each kind."""
    made = invented_run(authors=3, twins=TWINS)
    answers = {line: list(given) for line, given in made.answers.items()}
    judgements = {line: list(given) for line, given in made.judgements.items()}
    first = answers["few_shot"][0]
    answers["few_shot"][0] = first.model_copy(
        update={"text": HOSTILE, "status": "ok", "flags": ("<i>flag</i>",)}
    )
    judgements["few_shot"][0] = Judgement(
        author=first.author,
        case_id=first.case_id,
        source="few_shot",
        findings=(TraitFinding(evidence=QUOTE, present=True),) * 5,
        same_author=True,
        explanation=HOSTILE,
    )
    bundle = made.bundles[0]
    case = bundle.cases[0].model_copy(update={"topic": HOSTILE})
    traits = made.traits[0].model_copy(update={"questions": (HOSTILE,) * 5})
    return replace(
        made,
        answers=answers,
        judgements=judgements,
        bundles=[replace(bundle, cases=(case, *bundle.cases[1:])), *made.bundles[1:]],
        traits=[traits, *made.traits[1:]],
    )


@pytest.fixture(scope="module")
def page(run: Run) -> str:
    return report_page(run, report_sections(run))


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, Mapping[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_is_one_file_that_loads_nothing(page: str) -> None:
    tags = _Tags(page).found
    assert [tag for tag, _ in tags if tag in ("link", "img", "iframe", "object", "base")] == []
    assert len([tag for tag, _ in tags if tag == "script"]) == 2
    for tag, attributes in tags:
        assert not attributes.get("src"), tag
        for name in ("href", "xlink:href"):
            if value := attributes.get(name):
                assert value.startswith(("#", "data:text/csv")), value
    assert not re.search(r"@import|url\((?!#)", page)
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {value[1:] for _, each in tags if (value := each.get("href") or "").startswith("#")}
    assert links <= set(ids)


def test_no_text_ends_the_data_or_becomes_markup(run: Run, page: str) -> None:
    data = embedded(case_browser(run))
    assert not set("<>&\u2028\u2029") & set(data)
    assert CaseBrowser.model_validate_json(data) == case_browser(run)
    assert data in page
    texts = ["".join(piece for piece, _ in text["pieces"]) for text in _texts(json.loads(data))]
    assert HOSTILE in texts
    assert "<b>bold" not in page.replace(data, "")


def _texts(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        text
        for case in data["cases"]
        for text in (case["human"], *case["twins"])
        if text is not None
    ]


def test_cases_show_the_persons_text_and_mark_what_was_copied(run: Run) -> None:
    browser = case_browser(run)
    assert len(browser.cases) == 15
    case, document = browser.cases[7], run.bundles[1].references[2]
    assert "".join(piece for piece, _ in case.human.pieces) == document.text
    assert case.human.scores[0] is not None
    copied = [
        (text, piece)
        for case in browser.cases
        if (text := case.twins[1]) is not None
        for piece, marks in text.pieces
        if "copied" in marks
    ]
    assert copied and all("copied" in text.flags for text, _ in copied)
    seen = {d.id: d.text for bundle in run.bundles for d in bundle.profile}
    assert all(
        any(" ".join(piece.split()) in " ".join(text.split()) for text in seen.values())
        for _, piece in copied
    )


def test_a_text_that_is_missing_says_why(run: Run) -> None:
    answers = {line: list(given) for line, given in run.answers.items()}
    answers["few_shot"][5] = answers["few_shot"][5].model_copy(
        update={"text": "", "status": "refused", "reason": "it would rather not"}
    )
    cases = case_browser(replace(run, answers=answers)).cases
    text = cases[5].twins[1]
    assert text is not None and text.pieces == ()
    assert text.reason == "it would rather not"
    assert "refused" in text.flags


TRY = """
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const form = document.getElementById("controls");
  const set = (name, value) => {
    form.elements[name].value = value;
    form.dispatchEvent(new Event("input"));
  };
  const titles = () => all("#list h3").map((each) => each.textContent);
  const shown = () => ({
    titles: titles(),
    names: all("#list .case:first-child h4").map((each) => each.firstChild.textContent),
    count: document.getElementById("count").textContent,
  });
  const result = { start: shown(), hacked: typeof window.hacked };
  const first = all("#list .case:first-child .text").at(-1);
  result.hostile = {
    topic: document.querySelector("#list .case p").textContent,
    text: all(".words", first)[0].textContent,
    evidence: all(".evidence", first).map((each) => each.firstChild.textContent),
    flags: all(".flags span", first).map((each) => each.textContent),
    verdict: first.querySelector(".verdict").textContent,
  };
  document.getElementById("more").click();
  result.more = {
    count: shown().count,
    focus: document.activeElement.querySelector("h3")?.textContent,
  };
  set("author", "author-01");
  result.author = shown();
  set("twin", "1");
  result.twin = shown();
  set("author", "");
  set("sort", "0");
  const scores = () => all("#list .case").map((each) => {
    const value = all(".twin .scores .chosen dd", each)[0]?.textContent ?? "–";
    return value === "–" ? null : Number(value);
  });
  result.highest = scores();
  set("order", "1");
  result.lowest = scores();
  set("sort", "");
  set("flag", "copied");
  result.copied = all("#list .case").map((each) => all(".twin mark.copied", each).length);
  set("flag", "");
  set("words", "WINDOW.hacked");
  result.words = shown();
  set("words", "no such words");
  result.none = shown();
  const term = document.querySelector("#methods .term");
  term.focus();
  const tip = document.getElementById("tip");
  result.tip = { hidden: tip.hidden, text: tip.textContent, help: term.dataset.help };
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  result.closed = tip.hidden;
  result.wide = document.documentElement.scrollWidth <= innerWidth;
  return result;
"""


@pytest.fixture(scope="module")
def tried(page: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_in_page(page, TRY, tmp_path_factory.mktemp("browser"))


@needs_chromium
def test_hostile_texts_are_shown_and_never_run(tried: Any) -> None:
    assert tried["hacked"] == "undefined"
    hostile = tried["hostile"]
    assert hostile["topic"] == HOSTILE
    # The mark carries the numbers of the traits it is evidence for.
    assert hostile["text"] == HOSTILE.replace(QUOTE, f"{QUOTE}1,2,3,4,5")
    assert hostile["evidence"] == [QUOTE]
    assert "<i>flag</i>" in hostile["flags"]
    assert hostile["verdict"] == f"Judged the same author: {HOSTILE}"


@needs_chromium
def test_cases_can_be_filtered_sorted_and_searched(tried: Any) -> None:
    assert tried["start"]["names"] == ["the person", *TWINS]
    assert tried["start"]["count"] == "10 of 15 cases shown"
    assert tried["more"] == {"count": "15 of 15 cases shown", "focus": "author-02, case 0001"}
    assert tried["author"]["count"] == "5 of 5 cases shown (15 in all)"
    assert all(title.startswith("author-01,") for title in tried["author"]["titles"])
    assert tried["twin"]["names"] == ["the person", "few_shot"]
    for name, reverse in (("highest", True), ("lowest", False)):
        known = [value for value in tried[name] if value is not None]
        assert known == sorted(known, reverse=reverse) and len(known) > 5
        assert None not in tried[name][: len(known)]
    assert tried["highest"] != tried["lowest"]
    assert tried["copied"] and min(tried["copied"]) >= 1
    assert len(tried["words"]["titles"]) == 1
    assert tried["none"]["count"] == "0 of 0 cases shown (15 in all)"


@needs_chromium
def test_explanations_open_by_keyboard_and_the_page_never_scrolls_sideways(tried: Any) -> None:
    assert tried["tip"] == {
        "hidden": False,
        "text": tried["tip"]["help"],
        "help": tried["tip"]["help"],
    }
    assert tried["tip"]["help"]
    assert tried["closed"] is True
    assert tried["wide"] is True
