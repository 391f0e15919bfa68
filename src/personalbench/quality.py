"""Data quality: what must hold of the documents and of the bundles before anything is scored.

The expectations are run by Great Expectations. What it can't express over single values
(near duplicates, sources, n-grams) is computed into a column first: the id of a document
that contradicts this one, or nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import great_expectations as gx
import pandas as pd
from great_expectations import expectations
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.expectation import Expectation
from jinja2 import Environment, PackageLoader, StrictUndefined
from py3langid import classify
from pydantic import BaseModel, ConfigDict
from tqdm import tqdm

from personalbench.corpus.document import Document
from personalbench.corpus.select import quotas
from personalbench.errors import UserError
from personalbench.metrics.copying import copying
from personalbench.params import CheckParams, CorpusParams
from personalbench.text.duplicates import exact_key, near_duplicate_clusters, shingles
from personalbench.text.tokenise import words

Severity = Literal["error", "warning"]

gxe: Any = expectations  # its type hints do not export what it offers

_LANGUAGE_SAMPLE = 1000  # characters; more do not change the answer
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fault(_Record):
    """One violation.

    Attributes:
        id: The document, case or author at fault.
        found: The id that contradicts it or the value that is out of bounds, where there
            is one; never a text.
    """

    id: str
    found: str | None = None


class CheckResult(_Record):
    """The outcome of one expectation.

    Attributes:
        name: Short and stable.
        states: What must hold, in words.
        severity: A failed ``error`` stops the pipeline, a ``warning`` is shown.
        passed: Whether it holds of everything that was checked.
        checked: Number of documents, authors or cases.
        faults: What it does not hold of.
    """

    name: str
    states: str
    severity: Severity
    passed: bool
    checked: int
    faults: list[Fault]


class QualityReport(_Record):
    """All outcomes; ``passed`` when no error failed."""

    passed: bool
    checks: list[CheckResult]

    def tags(self) -> dict[str, str]:
        """Return one word a check for tracking: ``passed``, or the severity and a count."""
        return {
            f"quality.{check.name}": "passed"
            if check.passed
            else f"{check.severity}: {len(check.faults)}"
            for check in self.checks
        }

    def html(self) -> str:
        """Return a page to read; it needs nothing beside itself."""
        environment = Environment(
            loader=PackageLoader("personalbench", "."), autoescape=True, undefined=StrictUndefined
        )
        return environment.get_template("quality.html").render(report=self)

    def require_passed(self) -> None:
        """Stop at violations.

        Raises:
            UserError: An error failed; names the first checks and the ids at fault.
        """
        if self.passed:
            return
        failed = [c for c in self.checks if c.severity == "error" and not c.passed]
        raise UserError("data quality: " + "; ".join(map(_in_words, failed)))


class CaseFacts(_Record):
    """What is checked of one case: its id, its reference document, prompt and source text."""

    id: str
    document: str
    prompt: str
    source_text: str


class BundleFacts(_Record):
    """What is checked of one author's bundle; profile and reference are document ids."""

    author: str
    profile: list[str]
    reference: list[str]
    cases: list[CaseFacts]


class TrainingFacts(_Record):
    """What is checked of one author's training set.

    Attributes:
        author: Whose.
        references: The text of every reference document, by id.
        trained: What is learnt from; a case here is a document and its own prompt.
        held_out: What tells when to stop.
    """

    author: str
    references: dict[str, str]
    trained: list[CaseFacts]
    held_out: list[CaseFacts]


class _Check(NamedTuple):
    """An expectation about one column of a table; None is about its number of rows."""

    name: str
    states: str
    severity: Severity
    column: str | None
    expectation: Expectation


def check_documents(
    documents: Sequence[Document], corpus: CorpusParams, params: CheckParams
) -> QualityReport:
    """Check the documents of both splits.

    Args:
        documents: All documents, with their splits.
        corpus: The thresholds they were selected by.
        params: Limits of the checks.
    """
    quota = quotas(corpus.max_documents)
    min_profile = min(corpus.min_profile, quota["profile"] or corpus.min_profile)
    min_reference = min(corpus.min_reference, quota["reference"] or corpus.min_reference)
    about_documents = [
        _not_empty("documents", "There are documents"),
        _Check(
            "unique_ids",
            "No two documents have one id",
            "error",
            "id",
            gxe.ExpectColumnValuesToBeUnique(column="id"),
        ),
        _null("exact_across_splits", "No text is on both sides (case and white space aside)"),
        _null(
            "near_across_splits",
            "No text has a near duplicate on the other side (Jaccard index of three-word "
            f"shingles from {corpus.near_duplicate})",
        ),
        _null("source_across_splits", "No source (a speech, a thread) is on both sides"),
        _null("shared_between_authors", "No text, or near duplicate, is under two authors"),
        _Check(
            "no_empty_text",
            "Every document has words",
            "error",
            "words",
            gxe.ExpectColumnValuesToBeBetween(column="words", min_value=1),
        ),
        _Check(
            "no_control_characters",
            "No text has control characters",
            "error",
            "text",
            gxe.ExpectColumnValuesToNotMatchRegex(column="text", regex=_CONTROLS),
        ),
        _Check(
            "no_urllink",
            "No text has the placeholder urlLink",
            "error",
            "text",
            gxe.ExpectColumnValuesToNotMatchRegex(column="text", regex=r"\burlLink"),
        ),
        _Check(
            "language",
            f"Every text is in the language {params.language!r}",
            "warning",
            "language",
            gxe.ExpectColumnValuesToBeInSet(column="language", value_set=[params.language]),
        ),
    ]
    about_authors = [
        _minimum("profile", "profile documents", "error", min_profile),
        _minimum("reference", "reference documents", "error", min_reference),
        _minimum("mean_words", "words a document on average", "warning", corpus.min_mean_words),
    ]
    return _report(
        _run(_document_table(documents, corpus.near_duplicate), about_documents)
        + _run(_author_table(documents), about_authors)
    )


def check_bundles(bundles: Sequence[BundleFacts], params: CheckParams) -> QualityReport:
    """Check the frozen bundles: their cases, prompts and ids.

    Args:
        bundles: One an author.
        params: ``min_cases`` and ``prompt_ngram``.
    """
    about_bundles = [
        _not_empty("bundles", "There are bundles"),
        _minimum("cases", "cases", "error", params.min_cases),
    ]
    about_references = [_null("reference_in_profile", "No reference document is in the profile")]
    about_cases = [
        _Check(
            "unique_cases",
            "No two cases of an author have one id",
            "error",
            "id",
            gxe.ExpectColumnValuesToBeUnique(column="id"),
        ),
        _null("case_outside_reference", "Every case is about a reference document"),
        _Check(
            "no_empty_prompt",
            "Every prompt has words",
            "error",
            "prompt_words",
            gxe.ExpectColumnValuesToBeBetween(column="prompt_words", min_value=1),
        ),
        _Check(
            "prompt_contamination",
            f"No prompt shares {params.prompt_ngram} words in a row with its source",
            "warning",
            "shared_ngram",
            gxe.ExpectColumnValuesToBeBetween(
                column="shared_ngram", max_value=params.prompt_ngram - 1
            ),
        ),
    ]
    return _report(
        _run(
            _table(["id", "cases"], [(bundle.author, len(bundle.cases)) for bundle in bundles]),
            about_bundles,
        )
        + _run(_reference_table(bundles), about_references)
        + _run(_case_table(bundles), about_cases)
    )


def check_training(
    sets: Sequence[TrainingFacts], corpus: CorpusParams, params: CheckParams
) -> QualityReport:
    """Check what twins are trained on.

    Args:
        sets: One an author.
        corpus: ``near_duplicate``.
        params: ``prompt_ngram``.
    """
    about_documents = [
        _not_empty("training_documents", "There are documents to learn from"),
        _Check(
            "unique_training_ids",
            "No document is in a training set twice, or in it and held out",
            "error",
            "id",
            gxe.ExpectColumnValuesToBeUnique(column="id"),
        ),
        _null("reference_in_training", "No reference document is in a training set"),
        _null(
            "reference_near_training",
            "No document of a training set has a near duplicate among the reference documents",
        ),
        _Check(
            "no_empty_training_prompt",
            "Every prompt has words",
            "error",
            "prompt_words",
            gxe.ExpectColumnValuesToBeBetween(column="prompt_words", min_value=1),
        ),
        _Check(
            "training_prompt_contamination",
            f"No prompt shares {params.prompt_ngram} words in a row with its document",
            "warning",
            "shared_ngram",
            gxe.ExpectColumnValuesToBeBetween(
                column="shared_ngram", max_value=params.prompt_ngram - 1
            ),
        ),
    ]
    return _report(_run(_training_table(sets, corpus.near_duplicate), about_documents))


def _not_empty(name: str, states: str) -> _Check:
    # Most expectations hold of a table without rows.
    return _Check(name, states, "error", None, gxe.ExpectTableRowCountToBeBetween(min_value=1))


def _null(column: str, states: str) -> _Check:
    return _Check(column, states, "error", column, gxe.ExpectColumnValuesToBeNull(column=column))


def _minimum(column: str, what: str, severity: Severity, bound: int) -> _Check:
    return _Check(
        f"enough_{column}",
        f"Every author has at least {bound} {what}",
        severity,
        column,
        gxe.ExpectColumnValuesToBeBetween(column=column, min_value=bound),
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(columns))


def _document_table(documents: Sequence[Document], near_duplicate: float) -> pd.DataFrame:
    near_clusters = near_duplicate_clusters(
        shingles(document.text for document in documents), near_duplicate
    )
    near_cluster = {
        position: number for number, cluster in enumerate(near_clusters) for position in cluster
    }
    keys = [exact_key(document.text) for document in documents]
    near: list[Hashable] = [near_cluster.get(position, key) for position, key in enumerate(keys)]
    return pd.DataFrame(
        {
            "id": [document.id for document in documents],
            "text": [document.text for document in documents],
            "words": [document.words for document in documents],
            "language": [
                classify(document.text[:_LANGUAGE_SAMPLE])[0]
                for document in tqdm(documents, desc="checking", unit="document", disable=None)
            ],
            "exact_across_splits": _contradictions(documents, keys, lambda d: d.split),
            "near_across_splits": _contradictions(documents, near, lambda d: d.split),
            "source_across_splits": _contradictions(
                documents, [document.source for document in documents], lambda d: d.split
            ),
            "shared_between_authors": _contradictions(documents, near, lambda d: d.author),
        }
    )


def _contradictions(
    documents: Sequence[Document],
    groups: Sequence[Hashable],
    aspect: Callable[[Document], str | None],
) -> list[str | None]:
    """For every document give one of its group that differs in an aspect, or None."""
    members: dict[Hashable, list[Document]] = defaultdict(list)
    for document, group in zip(documents, groups, strict=True):
        members[group].append(document)
    # The first of the group and the first that differs from it settle it for all.
    result: list[str | None] = []
    for document, group in zip(documents, groups, strict=True):
        first = members[group][0]
        other = next((d for d in members[group] if aspect(d) != aspect(first)), None)
        if other is None:
            result.append(None)
        else:
            result.append(other.id if aspect(document) == aspect(first) else first.id)
    return result


def _author_table(documents: Sequence[Document]) -> pd.DataFrame:
    authors: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        authors[document.author].append(document)
    return _table(
        ["id", "profile", "reference", "mean_words"],
        (
            (
                author,
                sum(document.split == "profile" for document in own),
                sum(document.split == "reference" for document in own),
                sum(document.words for document in own) / len(own),
            )
            for author, own in sorted(authors.items())
        ),
    )


def _reference_table(bundles: Sequence[BundleFacts]) -> pd.DataFrame:
    return _table(
        ["id", "reference_in_profile"],
        (
            (document, document if document in set(bundle.profile) else None)
            for bundle in bundles
            for document in bundle.reference
        ),
    )


def _case_table(bundles: Sequence[BundleFacts]) -> pd.DataFrame:
    return _table(
        ["id", "case_outside_reference", "prompt_words", "shared_ngram"],
        (
            (
                f"{bundle.author}/{case.id}",
                None if case.document in set(bundle.reference) else case.document,
                len(words(case.prompt)),
                copying(case.prompt, [case.source_text]).longest_run_words,
            )
            for bundle in bundles
            for case in bundle.cases
        ),
    )


def _training_table(sets: Sequence[TrainingFacts], near_duplicate: float) -> pd.DataFrame:
    rows = []
    for each in sets:
        examples = [*each.trained, *each.held_out]
        names = list(each.references)
        near: dict[int, str] = {}
        texts = [*each.references.values(), *(example.source_text for example in examples)]
        for cluster in near_duplicate_clusters(shingles(texts), near_duplicate):
            reference = next((names[place] for place in cluster if place < len(names)), None)
            if reference is not None:
                near |= {place - len(names): reference for place in cluster}
        for number, example in enumerate(examples):
            rows.append(
                (
                    f"{each.author}/{example.document}",
                    example.document if example.document in each.references else None,
                    near.get(number),
                    len(words(example.prompt)),
                    copying(example.prompt, [example.source_text]).longest_run_words,
                )
            )
    columns = ("reference_in_training", "reference_near_training", "prompt_words", "shared_ngram")
    return _table(["id", *columns], rows)


def _run(table: pd.DataFrame, checks: Sequence[_Check]) -> list[CheckResult]:
    """Run expectations over a table that names its rows in the column ``id``."""
    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    batch = (
        context.data_sources.add_pandas("personalbench")
        .add_dataframe_asset("table")
        .add_batch_definition_whole_dataframe("all")
    )
    suite = context.suites.add(gx.ExpectationSuite(name="quality"))
    for check in checks:
        suite.add_expectation(check.expectation)
    validation = context.validation_definitions.add(
        gx.ValidationDefinition(name="quality", data=batch, suite=suite)
    )
    outcome = validation.run(
        batch_parameters={"dataframe": table},
        result_format={
            "result_format": "COMPLETE",
            "unexpected_index_column_names": ["id"],
            "return_unexpected_index_query": False,
        },
    )
    return [
        _result(check, result, len(table))
        for check, result in zip(checks, outcome.results, strict=True)
    ]


def _result(check: _Check, result: Any, rows: int) -> CheckResult:
    if result.exception_info.get("exception_message"):
        raise RuntimeError(f"{check.name}: {result.exception_info['exception_message']}")
    faults = [
        Fault(
            id=row["id"],
            found=None if check.column in ("id", "text") else str(row[check.column]),
        )
        for row in result.result.get("unexpected_index_list") or []
    ]
    return CheckResult(
        name=check.name,
        states=check.states,
        severity=check.severity,
        passed=bool(result.success),
        checked=rows,
        faults=faults,
    )


def _report(checks: list[CheckResult]) -> QualityReport:
    passed = all(check.passed for check in checks if check.severity == "error")
    return QualityReport(passed=passed, checks=checks)


def _in_words(check: CheckResult) -> str:
    shown = [
        fault.id if fault.found is None else f"{fault.id} ({fault.found})"
        for fault in check.faults[:4]
    ]
    more = len(check.faults) - len(shown)
    at_fault = ", ".join(shown) + (f" and {more} more" if more else "")
    return f"{check.name} failed" + (f" for {at_fault}" if at_fault else "")
