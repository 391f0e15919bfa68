"""All that a report is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from personalbench.analysis.records import Analysis
from personalbench.bundle import Bundle
from personalbench.judge.records import AuthorTraits, Judgement
from personalbench.params import Params
from personalbench.report.results import Results
from personalbench.report.validation import Validation
from personalbench.twins.answers import Answer


@dataclass(frozen=True)
class Run:
    """One run of the pipeline.

    Attributes:
        results: The scores of all lines.
        analysis: The lines compared.
        validation: What the encoder can tell on real text.
        bundles: All authors.
        answers: Of the ceiling and every twin, by line.
        judgements: Of the same lines.
        traits: What the judge asked about each author.
        params: What was run.
    """

    results: Results
    analysis: Analysis
    validation: Validation
    bundles: Sequence[Bundle]
    answers: Mapping[str, Sequence[Answer]]
    judgements: Mapping[str, Sequence[Judgement]]
    traits: Sequence[AuthorTraits]
    params: Params
