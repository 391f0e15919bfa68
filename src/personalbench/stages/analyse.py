"""Stage `analyse`: what takes more than one line to see."""

from personalbench import paths
from personalbench.analysis.analyse import analyse
from personalbench.analysis.likeness import Resampling
from personalbench.bundle import load_bundles
from personalbench.corpus.document import Document
from personalbench.encoders.kept import KeptVectors
from personalbench.encoders.load import load_encoder
from personalbench.params import Params
from personalbench.report.results import load_results
from personalbench.storage import read_records, write_json
from personalbench.twins.answers import Answer


def run(params: Params) -> str:
    """Compare the lines of the run."""
    results = load_results(paths.SCORES, params.twins)
    analysis = analyse(
        load_bundles(paths.BUNDLES),
        {line: read_records(paths.ANSWERS / f"{line}.jsonl", Answer) for line in results.lines},
        results.lines,
        {twin: params.generator_of(twin) or twin for twin in params.twins},
        read_records(paths.DOCUMENTS, Document),
        KeptVectors(load_encoder(params.weights.encoder, paths.ENCODER, params.weights.max_length)),
        Resampling(params.score.bootstrap, params.seed),
    )
    write_json(paths.ANALYSIS, analysis.model_dump(mode="json"))
    return f"analyse: {len(analysis.comparisons)} comparisons of twins in {paths.ANALYSIS}"
