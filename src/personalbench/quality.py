"""Data quality: what must hold of the documents and of the bundles before anything is scored.

The expectations are run by Great Expectations. What it can't express over single values
(near duplicates, sources, n-grams) is computed into a column first: the id of a document
that contradicts this one, or nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from py3langid import classify, rank
from pydantic import BaseModel, ConfigDict, ValidationError
from tqdm import tqdm

from personalbench.corpus.document import Document
from personalbench.corpus.select import quotas
from personalbench.errors import UserError
from personalbench.metrics.copying import copying
from personalbench.params import CheckParams, CorpusParams
from personalbench.storage import read_json
from personalbench.text.duplicates import exact_key, near_duplicate_clusters, shingles
from personalbench.text.tokenise import words

Severity = Literal["error", "warning"]

_SHOWN_FAULTS = 4
_LANGUAGE_SAMPLE = 1000  # characters; more do not change the answer
_LANGUAGE_WORDS = 10  # of fewer the language can't be told
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

    def __str__(self) -> str:
        return self.id if self.found is None else f"{self.id} with {self.found}"


class CheckResult(_Record):
    """The outcome of one expectation.

    Attributes:
        name: Short and stable.
        states: What must hold, in words.
        remedy: What to do where it does not hold.
        severity: A failed ``error`` stops the pipeline, a ``warning`` is shown.
        passed: Whether it holds of everything that was checked.
        checked: Number of documents, authors or cases.
        faults: What it does not hold of.
    """

    name: str
    states: str
    remedy: str
    severity: Severity
    passed: bool
    checked: int
    faults: list[Fault]

    def violation(self) -> str:
        """Return in one line what does not hold, of what, and what to do about it."""
        shown = [str(fault) for fault in self.faults[:_SHOWN_FAULTS]]
        more = len(self.faults) - len(shown)
        by = f" by {', '.join(shown)}{f' and {more} more' if more else ''}" if shown else ""
        return f'"{self.states}" is broken{by}: {self.remedy}'


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

    def warnings(self) -> list[str]:
        """Return in a line each what does not hold and stops nothing."""
        return self._violations("warning")

    def require_passed(self, where: Path) -> None:
        """Stop at violations.

        Args:
            where: What was checked, or the page on which all ids can be read.

        Raises:
            UserError: An error failed; names the first ids at fault and what to do.
        """
        if not self.passed:
            raise UserError(f"{where}: " + "; ".join(self._violations("error")))

    def _violations(self, severity: Severity) -> list[str]:
        return [c.violation() for c in self.checks if c.severity == severity and not c.passed]


def load_report(path: Path) -> QualityReport:
    """Read a report that a stage wrote.

    Raises:
        UserError: There is none, or it is another version's.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file; `dvc repro` runs the checks that write it")
    try:
        return QualityReport.model_validate(read_json(path))
    except ValidationError:
        raise UserError(f"{path}: no report of this version; run `dvc repro`") from None


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
    """An expectation about one column of a table.

    Attributes:
        column: None where it is about the number of rows.
        expectation: What Great Expectations calls it, after ``Expect``.
        limits: Its arguments beside the column.
    """

    name: str
    states: str
    remedy: str
    severity: Severity
    column: str | None
    expectation: str
    limits: Mapping[str, object] = MappingProxyType({})


_RUN_AGAIN = "it was edited after it was made; make it anew with `dvc repro --force corpus`"
_ONE_SIDE = "delete one of the two, or put both on one side"


def check_documents(
    documents: Sequence[Document], corpus: CorpusParams, params: CheckParams
) -> QualityReport:
    """Check the documents of both splits.

    Args:
        documents: All documents, with their splits.
        corpus: The thresholds they were selected by.
        params: Limits of the checks.

    Raises:
        UserError: ``check.language`` is a language that can't be told.
    """
    known = sorted(language for language, _ in rank(""))
    if params.language not in (None, *known):
        raise UserError(
            f"params.yaml: check.language: {params.language!r} can't be told; set it to null, or "
            f"to one of {', '.join(known)}"
        )
    quota = quotas(corpus.max_documents)
    min_profile = min(corpus.min_profile, quota["profile"] or corpus.min_profile)
    min_reference = min(corpus.min_reference, quota["reference"] or corpus.min_reference)
    about_documents = [
        _not_empty("documents", "There are documents", "put texts where corpus.path points"),
        _Check(
            "unique_ids",
            "No two documents have one id",
            "give every document an id of its own",
            "error",
            "id",
            "ColumnValuesToBeUnique",
        ),
        _null(
            "exact_across_splits",
            "No text is on both sides (case and white space aside)",
            _ONE_SIDE,
        ),
        _null(
            "near_across_splits",
            "No text is nearly one on the other side (Jaccard index of three-word shingles from "
            f"{corpus.near_duplicate})",
            _ONE_SIDE,
        ),
        _null(
            "source_across_splits",
            "No source (a speech, a thread) is on both sides",
            "put all that belongs to it on one side",
        ),
        _null(
            "shared_between_authors",
            "No text, or near duplicate, is under two authors",
            "delete both, or put both under one author",
        ),
        _minimum("words", "no_empty_text", "Every document has words", _RUN_AGAIN, "error", 1),
        _Check(
            "no_control_characters",
            "No text has control characters",
            _RUN_AGAIN,
            "error",
            "text",
            "ColumnValuesToNotMatchRegex",
            {"regex": _CONTROLS},
        ),
        _Check(
            "no_urllink",
            "No text has the placeholder urlLink",
            _RUN_AGAIN,
            "error",
            "text",
            "ColumnValuesToNotMatchRegex",
            {"regex": r"\burlLink"},
        ),
    ]
    if params.language is not None:
        about_documents.append(
            _Check(
                "language",
                f"Every text of {_LANGUAGE_WORDS} words or more is in the language "
                f"{params.language!r}",
                "take the others out, or set check.language; encoders and judges know English best",
                "warning",
                "language",
                "ColumnValuesToBeInSet",
                {"value_set": [params.language]},
            )
        )
    about_authors = [
        _enough("profile", "profile documents", "error", min_profile, "corpus.min_profile"),
        _enough("reference", "reference documents", "error", min_reference, "corpus.min_reference"),
        _enough(
            "mean_words",
            "words a document on average",
            "warning",
            corpus.min_mean_words,
            "corpus.min_mean_words",
        ),
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
        _not_empty("bundles", "There are bundles", "name authors in bundle.authors"),
        _enough("cases", "cases", "error", params.min_cases, "check.min_cases"),
    ]
    about_references = [
        _null("reference_in_profile", "No reference document is in the profile", _RUN_AGAIN)
    ]
    about_cases = [
        _Check(
            "unique_cases",
            "No two cases of an author have one id",
            _RUN_AGAIN,
            "error",
            "id",
            "ColumnValuesToBeUnique",
        ),
        _null("case_outside_reference", "Every case is about a reference document", _RUN_AGAIN),
        _minimum(
            "prompt_words",
            "no_empty_prompt",
            "Every prompt has words",
            "let another model write the topics (bundle.prompt_model)",
            "error",
            1,
        ),
        _Check(
            "prompt_contamination",
            f"No prompt shares {params.prompt_ngram} words in a row with its source",
            "let a stronger model write the topics (bundle.prompt_model)",
            "warning",
            "shared_ngram",
            "ColumnValuesToBeBetween",
            {"max_value": params.prompt_ngram - 1},
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
        _not_empty("training_documents", "There are documents to learn from", _RUN_AGAIN),
        _Check(
            "unique_training_ids",
            "No document is in a training set twice, or in it and held out",
            _RUN_AGAIN,
            "error",
            "id",
            "ColumnValuesToBeUnique",
        ),
        _null("reference_in_training", "No reference document is in a training set", _RUN_AGAIN),
        _null(
            "reference_near_training",
            "No document of a training set has a near duplicate among the reference documents",
            _ONE_SIDE,
        ),
        _minimum(
            "prompt_words",
            "no_empty_training_prompt",
            "Every prompt has words",
            "let another model write the topics (bundle.prompt_model)",
            "error",
            1,
        ),
        _Check(
            "training_prompt_contamination",
            f"No prompt shares {params.prompt_ngram} words in a row with its document",
            "let a stronger model write the topics (bundle.prompt_model)",
            "warning",
            "shared_ngram",
            "ColumnValuesToBeBetween",
            {"max_value": params.prompt_ngram - 1},
        ),
    ]
    return _report(_run(_training_table(sets, corpus.near_duplicate), about_documents))


def _not_empty(name: str, states: str, remedy: str) -> _Check:
    # Most expectations hold of a table without rows.
    return _Check(name, states, remedy, "error", None, "TableRowCountToBeBetween", {"min_value": 1})


def _null(column: str, states: str, remedy: str) -> _Check:
    return _Check(column, states, remedy, "error", column, "ColumnValuesToBeNull")


def _minimum(
    column: str, name: str, states: str, remedy: str, severity: Severity, bound: int
) -> _Check:
    limits = {"min_value": bound}
    return _Check(name, states, remedy, severity, column, "ColumnValuesToBeBetween", limits)


def _enough(column: str, what: str, severity: Severity, bound: int, param: str) -> _Check:
    return _minimum(
        column,
        f"enough_{column}",
        f"Every author has at least {bound} {what}",
        f"add texts, or lower {param}",
        severity,
        bound,
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
    exact_across = _contradictions(documents, keys, lambda d: d.split)
    near_across = _contradictions(documents, near, lambda d: d.split)
    sources = [(document.author, document.source) for document in documents]
    return pd.DataFrame(
        {
            "id": [document.id for document in documents],
            "text": [document.text for document in documents],
            "words": [document.words for document in documents],
            "language": [
                _language(document)
                for document in tqdm(documents, desc="checking", unit="document", disable=None)
            ],
            "exact_across_splits": exact_across,
            "near_across_splits": [
                None if exact else other
                for exact, other in zip(exact_across, near_across, strict=True)
            ],
            "source_across_splits": _contradictions(documents, sources, lambda d: d.split),
            "shared_between_authors": _contradictions(documents, near, lambda d: d.author),
        }
    )


def _language(document: Document) -> str | None:
    if document.words < _LANGUAGE_WORDS:
        return None
    language: str = classify(document.text[:_LANGUAGE_SAMPLE])[0]
    return language


def _contradictions(
    documents: Sequence[Document],
    groups: Sequence[Hashable],
    aspect: Callable[[Document], str | None],
) -> list[str | None]:
    """For every document give the id of one of its group that differs in an aspect, or None.

    The first of a group gets None: another of the group names it.
    """
    first: dict[Hashable, Document] = {}
    other: dict[Hashable, Document] = {}
    for document, group in zip(documents, groups, strict=True):
        if aspect(first.setdefault(group, document)) != aspect(document):
            other.setdefault(group, document)

    def contradiction(document: Document, group: Hashable) -> str | None:
        if group not in other or document is first[group]:
            return None
        return (first if aspect(document) != aspect(first[group]) else other)[group].id

    return list(map(contradiction, documents, groups))


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
    # Takes seconds, and who only reads a report does not need it.
    import great_expectations as gx
    from great_expectations import expectations
    from great_expectations.data_context.types.base import ProgressBarsConfig

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
        column = {} if check.column is None else {"column": check.column}
        make: Any = getattr(expectations, f"Expect{check.expectation}")
        suite.add_expectation(make(**column, **check.limits))
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
        remedy=check.remedy,
        severity=check.severity,
        passed=bool(result.success),
        checked=rows,
        faults=faults,
    )


def _report(checks: list[CheckResult]) -> QualityReport:
    passed = all(check.passed for check in checks if check.severity == "error")
    return QualityReport(passed=passed, checks=checks)
