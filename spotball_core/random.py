"""Make random generators that are reproducible from a seed on every machine."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from spotball_core.errors import OptionError


def base_seed(seed: int | np.random.Generator) -> int:
    """Return the seed, or a seed drawn from a generator; raise OptionError if it is negative."""
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if seed < 0:
        raise OptionError(f"found {seed}, expected at least 0", field="seed")
    return seed


def generator_for(seed: int, *identity: str) -> np.random.Generator:
    """Return a random generator that depends only on the seed and the identity, the same on every machine.

    Examples:
        >>> first, again, other = (generator_for(0, "uniform", sport, "1").random() for sport in ("a", "a", "b"))
        >>> first == again, first == other
        (True, False)
    """
    # Encode as JSON, so that ("a", "bc") and ("ab", "c") differ.
    digest = hashlib.sha256(json.dumps(identity).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])
