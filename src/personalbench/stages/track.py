"""Stage `track`: one MLflow run a twin."""

from personalbench import paths
from personalbench.bundle import bundles_hash, load_bundles
from personalbench.params import Params
from personalbench.report.results import load_results
from personalbench.storage import write_json
from personalbench.tracking import log_runs


def run(params: Params) -> str:
    """Log the runs and write down their ids."""
    results = load_results(paths.SCORES, params.twins)
    bundles = load_bundles(paths.BUNDLES)
    generator = params.models[params.personalize.generator]
    judge = params.models[params.judge.model]
    runs = log_runs(
        results,
        params.track.experiment,
        params={
            "generator": params.personalize.generator,
            "generator_revision": generator.revision,
            "judge": params.judge.model,
            "judge_revision": judge.revision,
            "encoder": results.encoder.name,
            "encoder_revision": results.encoder.revision,
            "max_length": str(results.encoder.max_length),
            "corpus": params.corpus.reader,
            "authors": str(len(bundles)),
            "cases": str(params.bundle.cases),
            "seed": str(params.seed),
            "bundle_hash": bundles_hash(bundles),
        },
        artifacts={
            twin: [
                paths.ANSWERS / f"{twin}.jsonl",
                paths.JUDGEMENTS / f"{twin}.jsonl",
                paths.SCORES / f"{twin}.json",
                paths.REPORTS / "report.md",
                paths.PAGE,
                paths.FIGURES / "methods.png",
            ]
            for twin in results.twins
        },
    )
    write_json(paths.TRACKED, {"experiment": params.track.experiment, "runs": runs})
    return f"track: {len(runs)} runs in MLflow experiment {params.track.experiment}"
