"""The embedded default corpus: presidents' annual messages."""

from collections import defaultdict

import pytest

from personalbench.corpus.select import select
from personalbench.corpus.sotu import SotuReader, _paragraphs, _passages
from personalbench.params import CorpusParams
from personalbench.text.tokenise import words


@pytest.fixture(scope="module")
def selection():
    return select(SotuReader(150), CorpusParams(max_documents=80), seed=42)


def test_presidents_of_one_surname_stay_apart_and_two_terms_stay_together(selection):
    _, report = selection
    authors = {row.author for row in report.authors}
    assert {"john-adams", "john-quincy-adams", "george-h-w-bush", "george-w-bush"} <= authors
    assert {"andrew-johnson", "lyndon-b-johnson"} <= authors
    assert {"theodore-roosevelt", "franklin-d-roosevelt"} <= authors
    assert "grover-cleveland" in authors
    assert not any(author.startswith("grover-cleveland-") for author in authors)
    assert len(authors) == 43  # presidents who sent an annual message, up to 2026


def test_no_message_is_on_both_sides_and_sides_alternate(selection):
    documents, _ = selection
    sides = defaultdict(set)
    for document in documents:
        sides[document.source].add(document.split)
    assert all(len(found) == 1 for found in sides.values())
    lincoln = {year: sides[f"abraham-lincoln/{year}"] for year in range(1861, 1865)}
    assert lincoln == {1861: {"profile"}, 1862: {"reference"}, 1863: {"profile"},
                       1864: {"reference"}}  # fmt: skip


def test_documents_have_the_promised_size_and_order(selection):
    documents, report = selection
    assert [(d.author, d.id) for d in documents] == sorted((d.author, d.id) for d in documents)
    assert all(d.words == len(words(d.text)) for d in documents)
    per_author = defaultdict(lambda: {"profile": 0, "reference": 0})
    for document in documents:
        per_author[document.author][document.split] += 1
    assert all(20 <= n["profile"] <= 64 and 10 <= n["reference"] <= 16
               for n in per_author.values())  # fmt: skip
    assert report.kept.documents == len(documents)


def test_nothing_the_president_did_not_say_stays(selection):
    documents, _ = selection
    assert not [d.id for d in documents if "[Laughter]" in d.text or "[Applause]" in d.text]
    assert not [d.id for d in documents if "Audience members." in d.text]


def test_headings_signatures_other_speakers_and_brackets_go():
    text = (
        "[Delivered in person before a joint session]\n\n"
        "Mr. Speaker, Members of the Congress:\n\n"
        "The President. We begin tonight. [Laughter] It is late.\n\n"
        "Audience members. Boo!\n\n"
        "The noise goes on for a while.\n\n"
        "The President. On [1831-01-10] we signed [the treaty; White House correction].\n\n"
        "II. THE STATE OF THE NAVY\n\n"
        "1932 10.6 55.0\n\n"
        "God bless you all.\n\nJAMES DOE\nThe White House,\nFebruary 2, 1973."
    )
    assert list(_paragraphs(text)) == [
        ["We begin tonight.", "It is late."],
        ["On 1831-01-10 we signed the treaty."],
        ["God bless you all."],
    ]


def test_passages_end_with_a_sentence_and_a_short_rest_joins_the_one_before():
    four = "One two three four."
    six = f"{four} Five six."
    paragraphs = [[four, four], [four, "Five six."], [four, "Five six."], ["End."]]
    assert _passages(iter(paragraphs), 6) == [f"{four} {four}", six, f"{six}\n\nEnd."]
