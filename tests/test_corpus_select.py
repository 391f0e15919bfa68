"""Duplicates, split and the author rule: functions of content and seed alone."""

import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from random import Random

import pytest

from personalbench.corpus.reading import Parsed, RawDocument
from personalbench.corpus.select import require_authors, select
from personalbench.errors import UserError
from personalbench.params import CorpusParams

RULE = CorpusParams(min_profile=4, min_reference=1, min_mean_words=1)


@dataclass(frozen=True)
class ListReader:
    """Documents that a test made up."""

    documents: list[RawDocument]
    alternating: bool = False

    def parts(self):
        yield self.documents

    def parse(self, part):
        return Parsed(list(part))


def text(seed: int, length: int = 100) -> str:
    return " ".join(f"w{n}" for n in Random(seed).choices(range(5000), k=length))


def post(author: str, number: int, body: str | None = None, **fields) -> RawDocument:
    id = f"{author}-{number}"
    body = text(hash_of(id)) if body is None else body
    return RawDocument(**({"id": id, "author": author, "source": id, "text": body} | fields))


def hash_of(id: str) -> int:
    return int.from_bytes(id.encode(), "big")


def posts(author: str, count: int) -> list[RawDocument]:
    return [post(author, number) for number in range(1, count + 1)]


def sides(documents) -> dict[str, set[str]]:
    found = defaultdict(set)
    for document in documents:
        found[document.split].add(document.id)
    return found


@pytest.mark.parametrize(
    "copy", [str, lambda t: t + " ", str.upper, lambda t: t.replace(" w1", " changed", 3)]
)
def test_duplicates_of_an_author_go_before_the_split(copy):
    """The same post on two dates, with trailing space, in other case, with words changed."""
    own = posts("7", 10)
    documents, report = select(ListReader([*own, post("7", 99, copy(own[0].text))]), RULE, seed=1)
    assert report.found.documents == 11
    assert report.dropped in ({"exact_duplicate": ["7-99"]}, {"near_duplicate": ["7-99"]})
    assert {d.id for d in documents} == {d.id for d in own}
    assert not {d.text for d in documents if d.split == "profile"} & {
        d.text for d in documents if d.split == "reference"
    }


def test_duplicates_do_not_count_for_the_thresholds():
    five = posts("7", 5)
    copies = [post("7", 10 + n, five[0].text) for n in range(20)]
    rule = RULE.model_copy(update={"min_profile": 5})
    documents, report = select(ListReader(five + copies), rule, seed=1)
    assert documents == []
    assert [(r.profile, r.reference) for r in report.authors] == [(4, 1)]
    assert report.counts == {"author_below_minimum": 5, "exact_duplicate": 20}


def test_texts_of_two_authors_are_dropped_from_both():
    one, two = posts("111", 20), posts("222", 20)
    two[:12] = [post("222", n + 1, one[n].text) for n in range(12)]  # 60 % shared
    documents, report = select(ListReader(one + two + posts("3", 5)), RULE, seed=1)
    assert report.dropped["shared_between_authors"] == sorted(d.id for d in one[:12] + two[:12])
    by_author = defaultdict(set)
    for document in documents:
        by_author[document.author].add(document.text)
    assert not by_author["111"] & by_author["222"]
    assert {author: len(texts) for author, texts in by_author.items()} == {
        "111": 8, "222": 8, "3": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("count", "profile", "reference", "kept"),
    [(250, 200, 50, True), (249, 199, 50, False), (251, 200, 51, True)],
)
def test_paper_rule_is_inclusive_and_integer(count, profile, reference, kept):
    rule = CorpusParams(min_profile=200, min_reference=50, min_mean_words=100)
    documents, report = select(ListReader(posts("7", count)), rule, seed=1)
    (row,) = report.authors
    assert (row.profile, row.reference) == (profile, reference)
    assert bool(documents) is kept
    assert row.mean_words == 100.0
    assert row.unmet == (None if kept else "199 profile documents of 200")


def test_mean_length_is_inclusive():
    own = [post("7", n, text(n, length)) for n, length in enumerate([90, 110, 100, 100, 100])]
    rule = RULE.model_copy(update={"min_mean_words": 100})
    assert len(select(ListReader(own), rule, seed=1)[0]) == 5
    own[0] = post("7", 0, text(0, 89))
    documents, report = select(ListReader(own), rule, seed=1)
    assert documents == []
    assert report.authors[0].unmet == "99.8 words a document on average of 100"


def test_another_author_moves_nobody_and_another_seed_does():
    own = posts("7", 40)
    alone, _ = select(ListReader(own), RULE, seed=1)
    beside, _ = select(ListReader(posts("6", 30) + own + posts("8", 30)), RULE, seed=1)
    assert [d for d in beside if d.author == "7"] == alone
    assert sides(select(ListReader(own), RULE, seed=2)[0]) != sides(alone)


def test_order_of_reading_does_not_matter():
    documents = posts("7", 30) + posts("8", 30)
    rule = RULE.model_copy(update={"max_documents": 10})
    first = select(ListReader(documents), rule, seed=1)
    Random(3).shuffle(documents)
    assert select(ListReader(documents), rule, seed=1) == first


def test_too_many_documents_are_drawn_four_to_one():
    rule = RULE.model_copy(update={"max_documents": 11})
    documents, report = select(ListReader(posts("7", 40)), rule, seed=1)
    assert {side: len(ids) for side, ids in sides(documents).items()} == {
        "profile": 8, "reference": 3,
    }  # fmt: skip
    assert report.counts["over_max_documents"] == 29
    assert len(set(report.dropped["over_max_documents"]) | {d.id for d in documents}) == 40


def test_a_source_stays_on_one_side():
    mails = [post("7", n, source=f"thread {n // 3}") for n in range(60)]
    documents, report = select(ListReader(mails), RULE, seed=1)
    where = defaultdict(set)
    for document in documents:
        where[document.source].add(document.split)
    assert all(len(found) == 1 for found in where.values())
    assert report.kept.profile == 48 and report.kept.reference == 12


def test_sources_alternate_in_order_of_time():
    speeches = [
        post("7", n, source=f"speech {9 - n // 2}", date=f"19{10 + n // 2}-01-01")
        for n in range(10)
    ]
    documents, _ = select(ListReader(speeches, alternating=True), RULE, seed=1)
    assert {d.source: d.split for d in documents} == {
        "speech 9": "profile", "speech 8": "reference", "speech 7": "profile",
        "speech 6": "reference", "speech 5": "profile",
    }  # fmt: skip


def test_a_split_made_by_hand_is_kept_with_its_faults():
    """What is on both sides is for the check to find; a copy on one side goes."""
    own = [post("7", n, split="profile") for n in range(5)] + [
        post("7", 10, split="reference"),
        post("7", 11, text(hash_of("7-0")).upper(), split="reference"),
        post("7", 12, text(hash_of("7-10")), split="reference"),
    ]
    documents, report = select(ListReader(own), RULE, seed=1)
    assert report.dropped == {"exact_duplicate": ["7-12"]}
    assert sides(documents) == {
        "profile": {f"7-{n}" for n in range(5)}, "reference": {"7-10", "7-11"},
    }  # fmt: skip


def test_two_documents_of_one_id_are_an_error():
    with pytest.raises(UserError, match="7-3"):
        select(ListReader([*posts("7", 5), post("7", 3, "another text")]), RULE, seed=1)


def test_texts_without_words_are_noted_and_are_no_documents():
    documents, report = select(
        ListReader([*posts("7", 5), post("7", 6, ""), post("7", 7, "... !")]), RULE, seed=1
    )
    assert report.notes == {"no_words": ["7-6", "7-7"]}
    assert report.found.documents == len(documents) == 5


def test_nobody_left_is_an_error_that_says_how_near_the_nearest_was():
    _, report = select(ListReader(posts("7", 4) + posts("8", 3)), RULE, seed=1)
    with pytest.raises(UserError, match=r"none of 2 authors.* 7, has 3 profile documents of 4"):
        require_authors(report)
    _, report = select(ListReader([]), RULE, seed=1)
    with pytest.raises(UserError, match="no documents"):
        require_authors(report)


def test_content_hash_is_of_what_is_kept():
    own = posts("7", 10)
    same = select(ListReader(own), RULE, seed=1)[1].content_sha256
    copied = [*own, post("7", 50, own[0].text)]
    assert select(ListReader(copied), RULE, seed=1)[1].content_sha256 == same
    own[3] = post("7", 4, own[3].text + " more")
    assert select(ListReader(own), RULE, seed=1)[1].content_sha256 != same


SCRIPT = """
from test_corpus_select import RULE, ListReader, posts, select
rule = RULE.model_copy(update={"max_documents": 9})
documents, report = select(ListReader(posts("7", 30) + posts("8", 20)), rule, seed=1)
print([d.id for d in documents], report.model_dump_json())
"""


def test_hash_seed_does_not_matter():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1
