"""The records that docs, tracking and tooltips are made from."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from invented import invented_run
from personalbench.metrics.catalogue import catalogue
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.stylometry import compare, style_of
from personalbench.report.parts.glossary import metrics_page
from personalbench.text.tokenise import sentences


def test_keys_are_legal_everywhere_and_none_is_anothers_path() -> None:
    for key, metric in catalogue().items():
        assert metric.key == key
        assert re.fullmatch("[a-z][a-z0-9_]*", key)


def test_every_metric_is_explained_in_one_sentence() -> None:
    for metric in catalogue().values():
        assert len(sentences(metric.meaning)) == 1, metric.key
        assert metric.meaning.endswith(".")
        assert metric.title
        if metric.low is not None and metric.high is not None:
            assert metric.low < metric.high
        if metric.target is not None:
            assert metric.higher_is_better is None


def test_titles_are_told_apart() -> None:
    titles = [metric.title for metric in catalogue().values()]
    assert len(set(titles)) == len(titles)


def test_the_encoder_gives_its_name() -> None:
    assert "luar" in catalogue()
    other = catalogue("tfidf")
    assert not any(key.startswith("luar") or "LUAR" in other[key].title for key in other)
    assert other["tfidf_1v5"].title.startswith("tfidf")


def test_stylometry_reports_what_is_in_the_catalogue() -> None:
    text, profile = style_of(["The cat sat on it. " * 30]), style_of(["A dog, or so, ran. " * 30])
    for key, score in compare(text, profile).items():
        metric = catalogue()[key]
        assert score.value is not None
        assert metric.low is None or score.value >= metric.low
        assert metric.high is None or score.value <= metric.high


@pytest.mark.parametrize(
    "fields",
    [
        {"value": None},
        {"value": float("nan")},
        {"value": float("inf")},
        {"value": 1.0, "ci_low": 0.5},
        {"value": 1.0, "ci_low": 0.5, "ci_high": float("nan")},
        {"value": None, "ci_low": 0.1, "ci_high": 0.2, "reason": "none"},
        {"value": 1.0, "n": -1},
    ],
)
def test_an_estimate_is_whole_and_finite(fields: dict[str, float | str | None]) -> None:
    with pytest.raises(ValidationError):
        Estimate.model_validate(fields)


def test_a_missing_estimate_says_why_and_survives_json() -> None:
    estimate = missing("no values")
    assert (estimate.value, estimate.n, estimate.reason) == (None, 0, "no values")
    assert Estimate.model_validate_json(estimate.model_dump_json()) == estimate


def test_the_docs_page_is_what_the_catalogue_says() -> None:
    page = Path(__file__).parent.parent / "docs" / "metrics.md"
    assert page.read_text("utf-8") == metrics_page(), "personalbench metrics > docs/metrics.md"
    assert all(metric.meaning in metrics_page() for metric in catalogue().values())


def test_everything_that_is_measured_is_in_the_catalogue() -> None:
    run = invented_run(authors=2)
    known = run.results.catalogue
    for scores in run.results.lines.values():
        assert set(scores.summary) <= set(known)
        assert all(set(case.metrics) <= set(known) for case in scores.cases)


def test_range_and_direction_in_words() -> None:
    known = catalogue()
    assert (known["tmr"].range, known["tmr"].direction) == ("0 to 1", "higher is better")
    assert (known["length_ratio"].range, known["length_ratio"].direction) == ("from 0", "neither")
    assert known["mattr_diff"].direction == "nearer 0 is better"
    assert known["cohens_d"].range == "any"
    assert known["copied_run"].direction == "lower is better"
