"""Stage `score@twin`: every metric of a twin's answers, or of real texts."""

from personalbench import paths
from personalbench.bundle import load_bundles
from personalbench.encoders.kept import KeptVectors
from personalbench.encoders.load import load_encoder
from personalbench.judge.records import Judgement
from personalbench.metrics.copying import CopyingLimits
from personalbench.params import Params
from personalbench.scores import score
from personalbench.storage import read_records, write_json
from personalbench.twins.answers import Answer


def run(params: Params, line: str) -> str:
    """Score one twin, the ceiling or the floor."""
    encoder = KeptVectors(
        load_encoder(params.weights.encoder, paths.ENCODER, params.weights.max_length)
    )
    scores = score(
        line,
        load_bundles(paths.BUNDLES),
        read_records(paths.ANSWERS / f"{line}.jsonl", Answer),
        read_records(paths.JUDGEMENTS / f"{line}.jsonl", Judgement),
        encoder,
        params.score.bootstrap,
        params.seed,
        CopyingLimits(params.score.copied_run, params.score.copied_share),
    )
    path = paths.SCORES / f"{line}.json"
    write_json(path, scores.model_dump(mode="json"))
    primary = scores.summary[encoder.family]
    value = "not estimable" if primary.value is None else f"{primary.value:.3f}"
    return f"score: {line}: {encoder.name} likeness {value} over {scores.answers} texts in {path}"
