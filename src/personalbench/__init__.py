"""PersonalBench measures whether an AI twin really writes like a given person."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from personalbench.api import compare, load_bundle, score

__all__ = ["compare", "load_bundle", "score"]


def __getattr__(name: str) -> Any:
    """Load what a name needs when it is first used: the import itself stays quick."""
    if name in __all__:
        from personalbench import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
