"""How much the topics give away."""

from statistics import mean

from personalbench.bundle import Bundle
from personalbench.params import FileParams
from personalbench.report.parts.methods import over
from personalbench.report.run import Run
from personalbench.report.section import Cell, Column, Section, Table, columns
from personalbench.report.table import metric_column


def topics_section(run: Run) -> Section:
    """What the topics share with their sources, and what first sentences give away."""
    cases = [case for bundle in run.bundles for case in bundle.cases]
    limit = run.params.check.prompt_ngram
    leaky = [case for case in cases if case.longest_shared_ngram >= limit]
    shares = [case.shared_5grams for case in cases if case.shared_5grams is not None]
    ablation = _ablation(run)
    return Section(
        id="contamination",
        title="What the topics give away",
        basis=(
            f"n = {len(cases)} cases of {len(run.bundles)} authors; topics by "
            f"{run.bundles[0].manifest.prompt_model.id}. {run.basis(over(run), judged=True)}"
        ),
        text=(
            "A topic that quotes its source hands the author's own words to every twin. "
            f"{len(leaky)} of {len(cases)} topics share {limit} or more words in a row with the "
            "document that they were made from.",
        ),
        tables=(_shared(run, limit), *([ablation] if ablation else [])),
        notes=(
            f"On average {mean(shares):.1%} of a topic's runs of five words stand in its source."
            if shares
            else "No topic has five words.",
            *(
                []
                if ablation
                else [
                    "What a twin gains from seeing its source's first sentence was not measured: "
                    "no twin of this run has `topics: first_sentence`."
                ]
            ),
        ),
    )


def _shared(run: Run, limit: int) -> Table:
    return Table(
        caption="Words that topics share with their source",
        columns=columns(
            "author",
            "cases",
            Column("longest run", help="In words, over the author's cases."),
            f"{limit} or more",
            Column("shared 5-grams", form=".1%"),
        ),
        rows=tuple(
            (
                bundle.author,
                len(bundle.cases),
                max(case.longest_shared_ngram for case in bundle.cases),
                sum(case.longest_shared_ngram >= limit for case in bundle.cases),
                _mean_share(bundle),
            )
            for bundle in run.bundles
        ),
    )


def _mean_share(bundle: Bundle) -> Cell:
    shares = [case.shared_5grams for case in bundle.cases if case.shared_5grams is not None]
    return mean(shares) if shares else "too short"


def _ablation(run: Run) -> Table | None:
    """Twins that saw first sentences beside those of the same method that saw topics."""
    seen = {
        twin: section.topics
        for twin in run.results.twins
        if not isinstance(section := run.params.personalize.twin(twin), FileParams)
    }
    methods = {run.params.method_of(twin) for twin in seen if seen[twin] == "first_sentence"}
    if not methods:
        return None
    metrics = run.results.metrics
    return Table(
        caption="Topics against first sentences",
        columns=columns("twin", "sees", *(metric_column(key, run.results) for key in metrics)),
        rows=tuple(
            (
                twin,
                "first sentence" if sees == "first_sentence" else "topic",
                *(run.results.estimate(twin, key) for key in metrics),
            )
            for twin, sees in seen.items()
            if run.params.method_of(twin) in methods
        ),
    )
