"""How much the topics give away."""

from statistics import mean

from personalbench.report.run import Run
from personalbench.report.section import Column, Section, Table, columns


def topics_section(run: Run) -> Section:
    """What the topics share with the documents that they were made from."""
    cases = [case for bundle in run.bundles for case in bundle.cases]
    limit = run.params.check.prompt_ngram
    leaky = [case for case in cases if case.longest_shared_ngram >= limit]
    shares = [case.shared_5grams for case in cases if case.shared_5grams is not None]
    return Section(
        id="contamination",
        title="What the topics give away",
        basis=f"n = {len(cases)} cases of {len(run.bundles)} authors; "
        f"topics by {run.bundles[0].manifest.prompt_model.id}.",
        text=(
            "A topic that quotes its source hands the author's own words to every twin. "
            f"{len(leaky)} of {len(cases)} topics share {limit} or more words in a row with the "
            "document that they were made from.",
        ),
        tables=(
            Table(
                caption="Words that topics share with their source",
                columns=columns(
                    "author",
                    "cases",
                    Column("longest run", help="In words, over the author's cases."),
                    Column(f"with {limit} or more"),
                    Column("shared 5-grams", form=".1%"),
                ),
                rows=tuple(
                    (
                        bundle.author,
                        len(bundle.cases),
                        max(case.longest_shared_ngram for case in bundle.cases),
                        sum(case.longest_shared_ngram >= limit for case in bundle.cases),
                        mean(own)
                        if (
                            own := [
                                case.shared_5grams
                                for case in bundle.cases
                                if case.shared_5grams is not None
                            ]
                        )
                        else "too short",
                    )
                    for bundle in run.bundles
                ),
            ),
        ),
        notes=(
            f"On average {mean(shares):.1%} of a topic's runs of five words stand in its source."
            if shares
            else "No topic has five words.",
        ),
    )
