"""The report in Markdown."""

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from personalbench.bundle import Bundle
from personalbench.judge.records import AuthorTraits
from personalbench.params import Params
from personalbench.report.findings import encoder_rank, findings, omissions, trust
from personalbench.report.results import Results
from personalbench.report.table import column_title, markdown, method_table
from personalbench.report.validation import Validation


def report_page(
    results: Results,
    bundles: Sequence[Bundle],
    traits: Sequence[AuthorTraits],
    params: Params,
    validation: Validation,
) -> str:
    """The report: table, picture, meaning, trust, omissions.

    Args:
        results: All lines.
        bundles: All authors.
        traits: What the judge asked about each author.
        params: What was run.
        validation: What the encoder can tell on real text.
    """
    environment = Environment(
        loader=PackageLoader("personalbench.report", "."),
        undefined=StrictUndefined,
        # Markdown, not HTML: nothing in it is a text of the corpus or of a model.
        autoescape=False,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.md.jinja").render(
        authors=[bundle.author for bundle in bundles],
        cases=len(bundles[0].cases),
        twins=list(results.twins),
        generator=params.personalize.generator,
        judge=params.judge.model,
        encoder=results.encoder,
        table=markdown(method_table(results)),
        title=column_title(results.encoder.family, results),
        replicates=params.score.bootstrap,
        findings=findings(results),
        trust=trust(results),
        validation=validation,
        encoder_rank=encoder_rank(validation),
        traits=traits,
        validation_table=markdown(validation.table()),
        omissions=omissions(results),
    )
