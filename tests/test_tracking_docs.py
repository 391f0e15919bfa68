"""The commands that the documentation names are there, with their options."""

import re
from pathlib import Path

import click
import pytest

from personalbench.cli import main
from recorded import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
COMMAND = re.compile(r"(?<![\w./-])personalbench ([a-z-][^`\n]*)")


def commands(page: Path) -> list[str]:
    """The `personalbench` commands in a page's code, one line each."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^```(?:sh|yaml)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    code = [*blocks, *re.findall(r"`(personalbench [^`]+)`", prose)]
    return [found.strip() for each in code for found in COMMAND.findall(each)]


def unknown(arguments: str) -> str | None:
    """What of a command line there is not."""
    command: click.Command = main
    words = re.split(r" #|[;&|>]", arguments)[0].split()
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        if name not in command.commands:
            return name
        command = command.commands[name]
    context = click.Context(command, help_option_names=["-h", "--help"])
    known = {option for parameter in command.get_params(context) for option in parameter.opts}
    known |= {
        option for parameter in command.get_params(context) for option in parameter.secondary_opts
    }
    given = [word.partition("=")[0] for word in words if word.startswith("--")]
    return next((option for option in given if option not in known), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_and_option_in_the_docs_exists(page: Path) -> None:
    named = commands(page)
    assert {command: what for command in named if (what := unknown(command))} == {}


def test_a_wrong_command_would_be_seen() -> None:
    assert len([command for page in PAGES for command in commands(page)]) > 40
    assert unknown("scores my.bundle --answers x") == "scores"
    assert unknown("models chekc NAME") == "chekc"
    assert unknown("ui --prot 5001") == "--prot"
    assert unknown("ui --no-open --port 5001 # --other") is None
