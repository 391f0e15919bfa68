"""Prompt templates: text files that fail when a variable is missing or unused."""

import string
from dataclasses import dataclass
from pathlib import Path

from personalbench.errors import UserError
from personalbench.storage import sha256_bytes


@dataclass(frozen=True)
class Template:
    """A loaded template.

    Attributes:
        name: The file's name without its ending.
        text: The text with its ``$variables``.
    """

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """Hash of the text, to be logged with every run."""
        return sha256_bytes(self.text.encode())

    def render(self, **values: str) -> str:
        """Fill in every variable; a ``$`` inside a value stays as it is."""
        return string.Template(self.text).substitute(values)


def load_template(path: Path, variables: set[str]) -> Template:
    """Load a template that uses exactly the given variables.

    Raises:
        UserError: The file is missing, or uses other variables than it should.
    """
    try:
        text = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        raise UserError(f"{path}: no such template") from None
    template = string.Template(text)
    if not template.is_valid():
        raise UserError(f"{path}: a $ that starts no variable; write $$ for a dollar sign")
    used = set(template.get_identifiers())
    if missing := variables - used:
        raise UserError(f"{path}: does not use {_listed(missing)}; add it where it belongs")
    if unknown := used - variables:
        raise UserError(
            f"{path}: uses {_listed(unknown)}, which it is not given; allowed: {_listed(variables)}"
        )
    return Template(path.stem, text)


def _listed(names: set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))
