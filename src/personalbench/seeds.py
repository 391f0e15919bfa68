"""Seeds that depend on names alone, never on order."""

import hashlib


def derive(seed: int, *names: str | int) -> int:
    """Derive an independent seed for one use, from 0 to 2**31 - 1.

    Args:
        seed: The run's seed.
        names: What the seed is for: a stage, an author, a case, a twin, a repeat.
            Adding an author therefore moves nobody else's seeds.
    """
    label = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:4], "big") >> 1
