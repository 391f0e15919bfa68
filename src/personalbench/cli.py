"""The command line; each command is a few lines that call one function.

Heavy modules are imported inside the commands that need them, so that ``--help``
answers at once.
"""

import errno
from pathlib import Path
from typing import Any

import click

from personalbench import __version__
from personalbench.errors import UserError


class _Cli(click.Group):
    """Turns the operating system's faults that a user can mend into one line."""

    def invoke(self, ctx: click.Context) -> Any:
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


@main.command()
@click.argument("name")
@click.argument("item", nargs=-1)
def stage(name: str, item: tuple[str, ...]) -> None:
    """Run one stage of the pipeline; `dvc repro` calls this."""
    from importlib import import_module

    from personalbench.params import load_params

    click.echo(import_module(f"personalbench.stages.{name}").run(load_params(), *item))


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
    if as_json:
        click.echo(result.model_dump_json(indent=2))
    else:
        for key, value in result.model_dump(exclude={"problems"}).items():
            click.echo(f"{key}: {'-' if value is None else value}")
        for problem in result.problems:
            click.echo(f"problem: {problem}")
    if result.problems:
        raise SystemExit(1)


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
