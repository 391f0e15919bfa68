"""Ceiling and floor are real documents in the place of answers."""

from people import bundle, corpus
from personalbench.references import ceiling, floor, one_per_case


def test_ceiling_is_the_cases_own_documents_none_against_itself() -> None:
    ada = bundle()
    answers = ceiling(ada)
    own = {case.id: case.document for case in ada.cases}
    assert {item.document for item in answers} == set(own.values())
    assert all(item.document != own[item.case_id] for item in answers)
    assert {item.source for item in answers} == {"ada"}


def test_floor_takes_as_many_reference_documents_of_everyone_else() -> None:
    answers = floor(bundle(), corpus(), seed=1)
    assert {item.source for item in answers} == {"ben", "cleo", "dan", "eve"}
    assert len(answers) == 4 * 5
    assert len({item.document for item in answers}) == 20
    assert all("/reference/" in (item.document or "") for item in answers)


def test_floor_leaves_out_who_has_too_few_documents() -> None:
    small = [item for item in corpus(("zoe",), reference=4)]
    answers = floor(bundle(), [*corpus(), *small], seed=1)
    assert "zoe" not in {item.source for item in answers}


def test_floor_of_a_corpus_of_one_is_empty() -> None:
    assert floor(bundle(), corpus(("ada",)), seed=1) == []


def test_one_more_author_moves_nobody_elses_documents() -> None:
    before = {(item.source, item.document) for item in floor(bundle(), corpus(), seed=1)}
    more = [*corpus(), *corpus(("zoe",))]
    after = {(item.source, item.document) for item in floor(bundle(), more, seed=1)}
    assert {pair for pair in after if pair[0] != "zoe"} == before


def test_one_answer_a_case_of_different_authors() -> None:
    answers = [*floor(bundle("ada"), corpus(), seed=1), *floor(bundle("ben"), corpus(), seed=1)]
    chosen = one_per_case(answers)
    assert len(chosen) == 10
    assert len({(item.author, item.case_id) for item in chosen}) == 10
    # Four other authors serve five cases: each comes before any comes twice.
    assert len({item.source for item in chosen if item.author == "ada"}) == 4


def test_a_twins_own_answers_are_all_chosen() -> None:
    assert one_per_case(ceiling(bundle())) == ceiling(bundle())
