"""The registry of language models in params.yaml."""

from collections.abc import Mapping

from personalbench.errors import UserError
from personalbench.params import ModelParams


def find_model(models: Mapping[str, ModelParams], name: str) -> ModelParams:
    """The entry of that name.

    Raises:
        UserError: There is no such entry; lists those that there are.
    """
    try:
        return models[name]
    except KeyError:
        known = ", ".join(sorted(models)) or "none"
        raise UserError(f"models: no model is named {name!r}; params.yaml has: {known}") from None
