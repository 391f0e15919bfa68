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
def results() -> None:
    """Show the method table of the last run, and where everything lies."""
    from personalbench import paths
    from personalbench.params import load_params
    from personalbench.report.results import load_results
    from personalbench.report.table import markdown, method_table

    params = load_params()
    click.echo(markdown(method_table(load_results(paths.SCORES, params.twins))))
    click.echo(f"\nWhat it means: {paths.REPORTS / 'report.md'}, {paths.REPORTS / 'methods.png'}")
    click.echo("Compare twins: mlflow ui --backend-store-uri sqlite:///mlflow.db")
