"""Errors that a user can mend."""

from collections.abc import Sequence

import click


class UserError(click.ClickException):
    """One line that says what is wrong, where, and how to mend it.

    The command line prints it without a traceback and exits with code 2.
    """

    exit_code = 2


def some(names: Sequence[str], shown: int) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
