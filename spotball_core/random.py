"""Random generators: reproducible from a seed, on every machine."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from spotball_core.errors import OptionError


def base_seed(seed: int | np.random.Generator) -> int:
    """The seed as it is, or one drawn from the generator; OptionError for a negative one."""
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if seed < 0:
        raise OptionError(f"seed is {seed}, expected at least 0")
    return seed


def generator_for(seed: int, *identity: str) -> np.random.Generator:
    """A generator of its own for whatever the names identify, the same on every machine.

    Examples:
        >>> first, again, other = (generator_for(0, "uniform", sport, "1").random() for sport in ("a", "a", "b"))
        >>> first == again, first == other
        (True, False)
    """
    # As JSON: ("a", "bc") and ("ab", "c") must not read alike.
    digest = hashlib.sha256(json.dumps(identity).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])
