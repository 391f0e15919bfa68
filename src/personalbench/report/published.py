"""The paper's values, shown only beside a run on its corpus with its encoder."""

from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from personalbench.report.run import Run
from personalbench.report.section import Table, columns
from personalbench.report.table import metric_column


class Published(BaseModel):
    """What was published, and on what.

    Attributes:
        source: Where the values come from.
        corpus: The reader of the corpus that they hold for.
        encoder: The encoder that they hold for.
        metrics: Line or method to metric to value.
        others: Everything else, by what it is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    corpus: str
    encoder: str
    metrics: dict[str, dict[str, float]]
    others: dict[str, float]


def published_tables(run: Run) -> list[Table]:
    """Tables of the published values, or none where they would not compare."""
    text = files("personalbench.report").joinpath("published.json").read_text("utf-8")
    published = Published.model_validate_json(text)
    made_on = (run.params.corpus.reader, run.results.encoder.name)
    if made_on != (published.corpus, published.encoder):
        return []
    metrics = [
        key
        for key in run.results.metrics
        if any(key in values for values in published.metrics.values())
    ]
    return [
        Table(
            caption=published.source,
            columns=columns("", *(metric_column(key, run.results) for key in metrics)),
            rows=tuple(
                (line, *(values.get(key, "–") for key in metrics))
                for line, values in published.metrics.items()
            ),
        ),
        Table(
            caption="Also published",
            columns=columns("", "value"),
            rows=tuple(published.others.items()),
        ),
    ]
