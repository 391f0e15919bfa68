"""Everything about a run that takes more than one line to see."""

from collections.abc import Mapping, Sequence

from personalbench.analysis.comparisons import (
    case_comparisons,
    likeness_comparisons,
    metric_correlations,
)
from personalbench.analysis.fingerprint import fingerprints
from personalbench.analysis.likeness import (
    Resampling,
    aggregation,
    answer_groups,
    generated_sets,
    other_profiles,
    own_profiles,
    target_test,
)
from personalbench.analysis.records import Analysis
from personalbench.bundle import Bundle
from personalbench.corpus.document import Document
from personalbench.encoders.base import Encoder
from personalbench.metrics.catalogue import MAIN_METRICS
from personalbench.scores import Scores
from personalbench.twins.answers import Answer


def analyse(
    bundles: Sequence[Bundle],
    answers: Mapping[str, Sequence[Answer]],
    scores: Mapping[str, Scores],
    writers: Mapping[str, str],
    corpus: Sequence[Document],
    encoder: Encoder,
    resampling: Resampling,
) -> Analysis:
    """Compare all lines.

    Args:
        bundles: All authors.
        answers: Of the ceiling, every twin and the floor, by line.
        scores: The same lines' scores.
        writers: The generator of each twin, or the twin itself where it is a file.
        corpus: All documents; other authors' profiles come from it.
        encoder: Gives the document vectors, which are kept.
        resampling: Of all intervals; its seed draws the other authors' documents too.
    """
    twins = [line for line in answers if line not in ("ceiling", "floor")]
    groups = {line: answer_groups(given, bundles, encoder) for line, given in answers.items()}
    generated = {twin: groups[twin] for twin in twins}
    own = own_profiles(bundles, encoder)
    size = bundles[0].manifest.group_size
    everyone = {**own, **other_profiles(own, corpus, size, encoder, resampling.seed)}
    return Analysis(
        encoder=scores["ceiling"].encoder,
        aggregation=tuple(
            point
            for line, complete in groups.items()
            for point in aggregation(line, complete, own, encoder, resampling)
        ),
        targets=tuple(
            target_test(line, groups[line], everyone, encoder, resampling)
            for line in ("ceiling", *twins)
        ),
        generated=generated_sets(generated, own, encoder, resampling),
        fingerprints=tuple(
            fingerprints({"ceiling": groups["ceiling"], **generated}, writers, encoder, resampling)
        ),
        correlations=tuple(
            metric_correlations([scores[twin] for twin in twins], encoder.family, resampling)
        ),
        comparisons=(
            *likeness_comparisons(generated, own, bundles, encoder, resampling),
            *(
                comparison
                for metric in MAIN_METRICS
                for comparison in case_comparisons(
                    metric, [scores[twin] for twin in twins], bundles, resampling
                )
            ),
        ),
    )
