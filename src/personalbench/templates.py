"""Prompt templates: text files that fail when a variable is missing or unused.

The shipped ones lie in ``prompts/``; a user's own lie in a folder of the same layout, which
params.yaml names.
"""

import string
from dataclasses import dataclass
from pathlib import Path

from personalbench.errors import UserError
from personalbench.storage import sha256_bytes

SHIPPED = Path(__file__).parent / "prompts"
"""Folder of the shipped templates."""

VARIABLES = {
    "topics/topic": {"document"},
    "topics/prompt": {"genre", "topic"},
    "twins/few_shot": {"samples", "prompt"},
    "twins/profile_extract": {"samples"},
    "twins/profile_write": {"profile", "prompt"},
    "twins/contrastive": {"samples", "others", "features", "other_features", "prompt"},
    "judge/traits": {"documents"},
    "judge/trait_score": {"questions", "text"},
    "judge/same_author": {"first", "second"},
}
"""Every template of a folder, and the variables that it uses."""


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
        raise UserError(
            f"{path}: no such template; a folder of templates holds all of them: copy "
            f"{SHIPPED}, or take the line `templates` out of params.yaml for the shipped ones"
        ) from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8: {error}") from None
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


def prompt_template(folder: Path, name: str) -> Template:
    """Load a template of :data:`VARIABLES` from a folder.

    Raises:
        UserError: See :func:`load_template`.
    """
    return load_template(folder / f"{name}.txt", VARIABLES[name])


def template_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every template by name; all are loaded, and so checked.

    Raises:
        UserError: See :func:`load_template`.
    """
    return {name: prompt_template(folder, name).sha256 for name in VARIABLES}


def _listed(names: set[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))
