"""Errors that a user can mend."""

import click


class UserError(click.ClickException):
    """One line that says what is wrong, where, and how to mend it.

    The command line prints it without a traceback and exits with code 2.
    """

    exit_code = 2
