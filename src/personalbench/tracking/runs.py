"""From the results that lie here to the runs that MLflow gets, one a twin."""

from collections.abc import Sequence
from pathlib import Path

from personalbench import paths
from personalbench.bundle import Bundle, bundles_hash, load_bundles
from personalbench.corpus.select import CorpusReport
from personalbench.llm.usage import read_usage
from personalbench.params import Params
from personalbench.quality import QualityReport
from personalbench.report.results import Results, load_results
from personalbench.resources import read_resources
from personalbench.storage import read_json, sha256_bytes, sha256_file
from personalbench.tracking.outbox import Artifact, Parcel, keep
from personalbench.tracking.provenance import current_experiment, experiment_links, provenance
from personalbench.tracking.record import (
    DatasetRecord,
    RunRecord,
    author_table,
    case_table,
    describe_experiment,
    describe_run,
    metric_points,
    status_tags,
    system_points,
    training_points,
)
from personalbench.training.outcomes import outcomes_of

LONGEST_PARAM = 500
"""Characters; what is longer, or has several lines, is logged as its hash."""


def keep_runs(params: Params) -> list[Parcel]:
    """Write down the runs of the results that lie here."""
    results = load_results(paths.SCORES, params.twins)
    bundles = load_bundles(paths.BUNDLES)
    return [
        keep(
            run_record(params, results, bundles, twin),
            tables={
                "authors.json": author_table(results, twin),
                "cases.json": case_table(results.twins[twin]),
            },
            artifacts=artifacts(params, twin),
        )
        for twin in results.twins
    ]


def run_record(params: Params, results: Results, bundles: Sequence[Bundle], twin: str) -> RunRecord:
    """A twin's run, from what the stages before have written."""
    corpus = CorpusReport.model_validate(read_json(paths.CORPUS))
    settings = run_params(params, results, bundles, twin)
    quality = [
        QualityReport.model_validate(read_json(path))
        for path in (paths.QUALITY, paths.BUNDLE_QUALITY)
    ]
    return RunRecord(
        result=result_id(settings, twin),
        experiment=params.track.experiment,
        about=describe_experiment(results),
        name=run_name(settings),
        description=describe_run(results, twin),
        params=settings,
        tags={
            "corpus_hash": corpus.content_sha256,
            "data_quality": quality_verdict(quality),
            **{name: verdict for report in quality for name, verdict in report.tags().items()},
            **status_tags(results, twin),
            **provenance(params.template_folder),
        },
        links=experiment_links(),
        metrics=metric_points(results, twin)
        + system_points(read_usage(paths.USAGE, [twin]), read_resources(paths.RESOURCES, [twin]))
        + training_points(results, outcomes_of(params, twin)),
        datasets=(
            DatasetRecord(
                name=f"corpus {params.corpus.reader}",
                path=str(paths.DOCUMENTS),
                sha256=corpus.content_sha256,
                profile=corpus.kept.model_dump(),
            ),
            DatasetRecord(
                name="bundles",
                path=str(paths.BUNDLES),
                sha256=bundles_hash(bundles),
                profile={
                    "authors": len(bundles),
                    "cases": sum(len(bundle.cases) for bundle in bundles),
                },
            ),
        ),
    )


def run_params(
    params: Params, results: Results, bundles: Sequence[Bundle], twin: str
) -> dict[str, str]:
    """Everything that a twin's numbers depend on."""
    section = params.personalize.twin(twin)
    own = {name: value for name, value in section.model_dump().items() if value is not None}
    generator = params.generator_of(twin)
    models = {"judge": params.judge.model, "prompt_model": params.bundle.prompt_model}
    if generator is not None:
        models["generator"] = generator
        own = {
            "temperature": params.personalize.temperature,
            "max_tokens": params.personalize.max_tokens,
            **own,
        }
    values: dict[str, object] = {
        "twin": twin,
        **own,
        **models,
        **{f"{role}_revision": params.models[name].revision for role, name in models.items()},
        "encoder": results.encoder.name,
        "encoder_revision": results.encoder.revision,
        "max_length": results.encoder.max_length,
        "corpus": params.corpus.reader,
        "bundle_hash": bundles_hash(bundles),
        "authors": len(bundles),
        "cases": len(bundles[0].cases),
        "group_size": bundles[0].manifest.group_size,
        "genre": params.bundle.genre,
        "bootstrap": params.score.bootstrap,
        "seed": params.seed,
    }
    return {name: _short(str(value)) for name, value in values.items()}


def _short(text: str) -> str:
    if len(text) <= LONGEST_PARAM and "\n" not in text:
        return text
    return f"sha256:{sha256_bytes(text.encode())[:16]}"


def run_name(settings: dict[str, str]) -> str:
    """A name that reads well in a list: ``few_shot · smollm2-135m · sotu``."""
    parts = [settings["twin"], settings.get("generator", settings["method"]), settings["corpus"]]
    if experiment := current_experiment():
        parts.append(experiment)
    return " · ".join(parts)


def result_id(settings: dict[str, str], twin: str) -> str:
    """Hash of a twin's settings and of the files with its answers and scores.

    The lines' scores belong to it: they stand beside every number of the run.
    """
    files = [
        paths.ANSWERS / f"{twin}.jsonl",
        paths.JUDGEMENTS / f"{twin}.jsonl",
        *(paths.SCORES / f"{line}.json" for line in (twin, "ceiling", "floor")),
    ]
    parts = [f"{name}={value}" for name, value in sorted(settings.items())]
    parts += [f"{path.as_posix()} {sha256_file(path)}" for path in files]
    return sha256_bytes("\n".join(parts).encode())


def quality_verdict(reports: Sequence[QualityReport]) -> str:
    """The outcome of all data checks in a few words."""
    failed = [check for report in reports for check in report.checks if not check.passed]
    if not all(report.passed for report in reports):
        return "failed: " + ", ".join(c.name for c in failed if c.severity == "error")
    return "passed" + (f", warnings: {', '.join(c.name for c in failed)}" if failed else "")


def artifacts(params: Params, twin: str) -> list[Artifact]:
    """The files of a twin's run; those with texts only where params allow them."""
    open_to_all: dict[str, list[Path]] = {
        "report/figures": sorted(paths.FIGURES.glob("*.png")),
        "quality": [
            paths.QUALITY,
            paths.QUALITY_PAGE,
            paths.BUNDLE_QUALITY,
            paths.BUNDLE_QUALITY_PAGE,
        ],
        "encoder": [paths.ENCODER / "weights.json"],
    }
    # The page shows every case, report.md the judge's questions, and scores hold reasons in
    # the words of a server or of a model.
    with_texts: dict[str, list[Path]] = {
        "report": [paths.PAGE, paths.REPORTS / "report.md"],
        "answers": [paths.ANSWERS / f"{twin}.jsonl"],
        "judgements": [paths.JUDGEMENTS / f"{twin}.jsonl", paths.TRAITS],
        "scores": [paths.SCORES / f"{line}.json" for line in (twin, "ceiling", "floor")],
    }
    chosen = {**open_to_all, **(with_texts if params.track.texts else {})}
    return [Artifact(path, folder) for folder, files in chosen.items() for path in files]
