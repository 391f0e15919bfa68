"""Seeds that depend on names alone, never on order."""

import hashlib
from collections.abc import Iterable


def derive(seed: int, *names: str | int) -> int:
    """Derive an independent seed for one use, from 0 to 2**31 - 1.

    Args:
        seed: The run's seed.
        names: What the seed is for: a stage, an author, a case, a twin, a repeat.
            Adding an author therefore moves nobody else's seeds.
    """
    label = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(_digest(label)[:4], "big") >> 1


def draw(names: Iterable[str], count: int, seed: int, *purpose: str | int) -> list[str]:
    """Draw names without replacement; the draw does not depend on their order.

    Each name has its own hash and the smallest ones win, so that one name more or less
    leaves the rest of the draw in place.

    Args:
        names: What to draw from; fewer than ``count`` are all taken.
        count: How many to draw.
        seed: The run's seed.
        purpose: What the draw is for; see :func:`derive`.

    Returns:
        The drawn names in the order of their hashes, which is a random order.
    """
    salt = "\x1f".join([str(seed), *map(str, purpose)])
    return sorted(set(names), key=lambda name: (_digest(f"{salt}\x1f{name}"), name))[:count]


def _digest(label: str) -> bytes:
    return hashlib.sha256(label.encode()).digest()
