"""The command line; each command is a few lines that call one function.

Heavy modules are imported inside the commands that need them, so that ``--help``
answers at once.
"""

import errno
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from personalbench import __version__
from personalbench.errors import UserError
from personalbench.person.commands import COMMANDS


class _Cli(click.Group):
    """Turns the operating system's faults that a user can mend into one line."""

    def invoke(self, ctx: click.Context) -> Any:
        if isinstance(sys.stdout, TextIOWrapper):
            # Names and ids may hold characters that the console does not have.
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise UserError(
                    f"{error.filename or 'the disk'}: no space left; free some and run again"
                ) from error
            raise


@click.group(cls=_Cli, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Measure whether an AI twin really writes like a given person."""


for command in COMMANDS:
    main.add_command(command)


STAGES = (
    "corpus",
    "check",
    "bundle",
    "weights",
    "validate",
    "personalize",
    "references",
    "traits",
    "judge",
    "trust",
    "score",
    "analyse",
    "report",
    "track",
)


@main.command()
@click.argument("name", type=click.Choice(STAGES))
@click.argument("item", nargs=-1)
def stage(name: str, item: tuple[str, ...]) -> None:
    """Run one stage of the pipeline; `dvc repro` calls this."""
    from importlib import import_module

    from personalbench.params import load_params
    from personalbench.resources import write_resources

    click.echo(import_module(f"personalbench.stages.{name}").run(load_params(), *item))
    if name != "track":  # which has no outputs, on purpose
        write_resources(name, *item)


@main.command()
def metrics() -> None:
    """Explain every metric; this is docs/metrics.md."""
    from personalbench.report.parts.glossary import metrics_page

    click.echo(metrics_page(), nl=False)


@main.command()
def results() -> None:
    """Show the method table of the last run, and where everything lies."""
    from personalbench import paths
    from personalbench.params import load_params
    from personalbench.report.results import load_results
    from personalbench.report.section import plain
    from personalbench.report.table import method_table

    params = load_params()
    click.echo(plain(method_table(load_results(paths.SCORES, params.twins))))
    click.echo(
        f"\nWhat it means: {paths.PAGE} (or, without the cases, {paths.REPORTS / 'report.md'})"
    )
    click.echo("Compare twins: personalbench ui")


@main.command()
def track() -> None:
    """Send the runs to MLflow: those of the results here, and all that were kept."""
    from personalbench import paths
    from personalbench.params import load_params
    from personalbench.stages.track import in_words
    from personalbench.tracking.outbox import kept
    from personalbench.tracking.runs import keep_runs
    from personalbench.tracking.store import Unreachable, open_store, send

    if paths.METRICS.exists():
        keep_runs(load_params())
    try:
        with open_store() as client:
            arrivals = send(client, kept())
    except Unreachable as reason:
        raise UserError(f"{reason}; {len(kept())} runs are kept, try again later") from reason
    click.echo(in_words(arrivals))


@main.command()
@click.option("--port", default=5000, show_default=True, help="Where to serve on this machine.")
@click.option("--open/--no-open", "browse", default=True, help="Open a browser.")
def ui(port: int, browse: bool) -> None:
    """Compare the twins of the results here in MLflow's UI."""
    from personalbench import paths
    from personalbench.params import load_params
    from personalbench.report.results import load_results
    from personalbench.tracking.runs import keep_runs
    from personalbench.tracking.store import Unreachable, open_store, send
    from personalbench.tracking.ui import serving
    from personalbench.tracking.view import compare_url, save_view, view_url

    params = load_params()
    family = load_results(paths.SCORES, params.twins).encoder.family
    try:
        with open_store() as client:
            arrivals = send(client, keep_runs(params))
            experiment_id = arrivals[0].experiment_id
            run_ids = [arrival.run_id for arrival in arrivals]
            view = save_view(client, experiment_id, run_ids, family)
    except Unreachable as reason:
        raise UserError(str(reason)) from reason
    with serving(port) as served:
        charts = view_url(served.address, experiment_id, view)
        columns = compare_url(served.address, experiment_id, run_ids)
        click.echo(f"charts with ceiling and floor:  {charts}")
        click.echo(f"params and metrics in columns:  {columns}")
        if browse:
            click.launch(charts)
        served.wait()


@main.command()
def weights() -> None:
    """Fetch or build the encoder that params.yaml names, verified, into models/encoder."""
    from personalbench.params import load_params
    from personalbench.stages.weights import run

    click.echo(run(load_params()))


@main.command("train-encoder")
@click.argument("documents", type=click.Path(path_type=Path))
@click.option("--without", type=click.Path(path_type=Path), help="Documents of authors to skip.")
@click.option("--held-out", type=click.IntRange(2), default=100, show_default=True)
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Checkpoint and log.")
@click.option("--steps", type=click.IntRange(1), required=True, help="Steps at the full rate.")
@click.option("--decay", type=click.IntRange(1), help="Steps of decay; then write --output.")
@click.option("--output", type=click.Path(path_type=Path), help="Adapter, safetensors.")
@click.option("--seed", default=42, show_default=True)
def train_encoder(
    documents: Path,
    without: Path | None,
    held_out: int,
    work: Path,
    steps: int,
    decay: int | None,
    output: Path | None,
    seed: int,
) -> None:
    """Train luar-mini's adapter on DOCUMENTS, as the corpus stage writes them.

    Some authors are held out for validation. Run again with more --steps, training goes
    on from the checkpoint in --work.
    """
    from personalbench.encoders.train import Recipe
    from personalbench.stages.train_encoder import run

    if (decay is None) != (output is None):
        raise click.UsageError("--decay and --output belong together")
    recipe = Recipe(seed=seed)
    click.echo(run(documents, without, held_out, work, recipe, steps, decay, output))


@main.command()
@click.argument("documents", type=click.Path(path_type=Path))
@click.option("--authors", type=click.IntRange(2), help="How many to draw; all by default.")
@click.option("--documents-per-author", type=click.IntRange(2), help="Half from each split.")
@click.option("--output", type=click.Path(path_type=Path), help="The full record, as JSON.")
def validate(
    documents: Path, authors: int | None, documents_per_author: int | None, output: Path | None
) -> None:
    """Try the prepared encoder and plain ones on pairs of real text from DOCUMENTS.

    What is not given is as in params.yaml.
    """
    from personalbench.corpus.document import Document
    from personalbench.params import load_params
    from personalbench.report.section import plain
    from personalbench.report.validation import details, notes
    from personalbench.stages.validate import sample, try_encoders
    from personalbench.storage import read_records, write_json

    params = load_params()
    count = documents_per_author or params.validate_.documents_per_author
    chosen = sample(read_records(documents, Document), count, params.seed, authors)
    record = try_encoders(chosen, params.weights, params.validate_.pairs, params.seed)
    if output is not None:
        write_json(output, record.model_dump(mode="json"))
    click.echo("\n".join([plain(details(record)), *notes(record), record.summary]))


@main.command()
@click.argument("documents", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), required=True)
@click.option("--authors", type=click.IntRange(2), default=50, show_default=True)
@click.option("--group-size", type=click.IntRange(1), default=5, show_default=True)
def calibrate(documents: Path, output: Path, authors: int, group_size: int) -> None:
    """Make calibration vectors for the prepared encoder from DOCUMENTS of many authors."""
    from personalbench import paths
    from personalbench.corpus.document import Document
    from personalbench.encoders.calibration import calibrate as make
    from personalbench.encoders.load import load_encoder
    from personalbench.params import load_params
    from personalbench.storage import iterate_records

    params = load_params()
    encoder = load_encoder(params.weights.encoder, paths.ENCODER, params.weights.max_length)
    made = make(encoder, iterate_records(documents, Document), authors, group_size, params.seed)
    made.save(output)
    click.echo(f"{output}: {authors} authors, {group_size} documents each, {encoder.name}")


@main.command()
@click.argument("source")
@click.option("--min-profile", type=click.IntRange(1), help="Fewest profile documents.")
@click.option("--min-reference", type=click.IntRange(1), help="Fewest reference documents.")
@click.option("--min-mean-words", type=click.IntRange(1), help="Fewest words on average.")
@click.option("--json", "as_json", is_flag=True, help="Everything, with all ids, as JSON.")
def inspect(source: str, as_json: bool, **thresholds: int | None) -> None:
    """Show what is in SOURCE before anything runs.

    SOURCE is a file, a folder, or `sotu` for the embedded default. Thresholds that are
    not given are those of params.yaml in this folder, if there is one; for one person's
    profile/ and reference/ they are those of `prepare`.
    """
    import json
    from pathlib import Path

    from personalbench.corpus.inspection import inspect_source
    from personalbench.params import CorpusParams, load_params
    from personalbench.person.prepare import corpus_of, is_one_person
    from personalbench.person.settings import settings

    params, seed = CorpusParams(), 0
    if is_one_person(Path(source)):
        own = settings()
        params, seed = corpus_of(Path(source), own), own.seed
    elif Path("params.yaml").exists():
        params, seed = load_params().corpus, load_params().seed
    given = {name: value for name, value in thresholds.items() if value is not None}
    inspection = inspect_source(source, params.model_copy(update=given), seed)
    if as_json:
        click.echo(json.dumps(inspection.model_dump(mode="json"), allow_nan=False, indent=2))
    else:
        click.echo(inspection.text())


@main.group(invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """List the language models of params.yaml."""
    if context.invoked_subcommand is not None:
        return
    from personalbench.params import load_params

    for name, spec in sorted(load_params().models.items()):
        where = ", ".join(spec.endpoints) or "runs inside the stage"
        kind = f"{spec.id}, {spec.quantization or 'full precision'}, {spec.revision[:12]}"
        click.echo(f"{name}: {kind}; {where}")


@models.command("check")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def models_check(name: str, as_json: bool) -> None:
    """Send real completions and say what works."""
    from personalbench.llm.check import check_model
    from personalbench.llm.registry import find_model
    from personalbench.params import load_params

    result = check_model(find_model(load_params().models, name))
    result.keep()
    if as_json:
        click.echo(result.model_dump_json(indent=2))
    else:
        click.echo(result.text())
    if result.problems:
        raise SystemExit(1)


@models.command("usage")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def models_usage(as_json: bool) -> None:
    """Say what each stage's calls took in the last run: failures, tokens, time, cost."""
    import json

    from personalbench import paths
    from personalbench.llm.usage import read_usage
    from personalbench.params import REFERENCE_LINES, load_params

    used = read_usage(paths.USAGE, {*load_params().twins, *REFERENCE_LINES})
    if as_json:
        click.echo(json.dumps([each.model_dump() for each in used], indent=2))
        return
    for each in used:
        click.echo(each.text())


@main.group()
def cache() -> None:
    """Look after the kept answers of language models."""


@cache.command("stats")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def cache_stats(as_json: bool) -> None:
    """Say how many answers are kept, by model."""
    import json

    from personalbench.llm.cache import ResponseCache

    with ResponseCache.of_project() as kept:
        stats = kept.stats()
    if as_json:
        click.echo(json.dumps([each.model_dump() for each in stats], indent=2))
        return
    click.echo(f"{kept.path}: {sum(each.answers for each in stats)} answers")
    for each in stats:
        size = f"{each.characters / 1e6:.1f} million characters"
        click.echo(f"{each.model}, {each.revision[:12]}: {each.answers} answers, {size}")


@cache.command("prune")
@click.option("--model", help="Only the answers of this model id.")
@click.option("--older-than", type=click.FloatRange(min=0), help="Only those older, in days.")
@click.option("--all", "everything", is_flag=True, help="All answers.")
def cache_prune(model: str | None, older_than: float | None, everything: bool) -> None:
    """Delete kept answers; they will be asked, and paid, for again."""
    import time

    from personalbench.llm.cache import ResponseCache

    if not everything and model is None and older_than is None:
        raise UserError("say which answers: --model, --older-than or --all")
    before = None if older_than is None else time.time() - older_than * 86_400
    with ResponseCache.of_project() as kept:
        click.echo(f"{kept.prune(model=model, before=before)} answers deleted")


@cache.command("export")
@click.argument("output", type=click.Path(dir_okay=False, path_type=Path))
def cache_export(output: Path) -> None:
    """Write every kept answer with its request, one JSON object a line."""
    from personalbench.llm.cache import ResponseCache
    from personalbench.storage import write_records

    with ResponseCache.of_project() as kept:
        write_records(output, kept.answers())
    click.echo(f"{output}: written")
