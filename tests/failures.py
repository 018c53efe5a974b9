"""Check errors by their code and location, so that tests do not depend on the wording of messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from spotball_core.error_codes import CODES
from spotball_core.errors import InputError, SpotballError


@contextmanager
def raises(
    kind: type[SpotballError] | tuple[type[SpotballError], ...], where: str
) -> Iterator[pytest.ExceptionInfo[SpotballError]]:
    """Check that the block raises an error of this class with this code and location.

    Args:
        kind: the expected class of the error.
        where: `code`, `code:field` or `code:field:line`. For an `InputError`, at least one of its problems must match.
    """
    with pytest.raises(kind) as caught:
        yield caught
    assert where in locations(caught.value), f"{caught.value.with_codes()}\n{sorted(locations(caught.value))}"


def locations(error: SpotballError) -> set[str]:
    """Return the codes and locations of an error, in each form that `raises` accepts."""
    if not isinstance(error, InputError):
        return {error.code, f"{error.code}:{error.field}"}
    return {
        form
        for problem in error.problems
        for form in (problem.code, f"{problem.code}:{problem.field}", f"{problem.code}:{problem.field}:{problem.line}")
    }


def codes(printed: str) -> list[str]:
    """Return the error codes at the ends of the lines that a command printed."""
    endings = (line.rpartition(" [")[2].removesuffix("]") for line in printed.splitlines() if line.endswith("]"))
    return [ending for ending in endings if ending in CODES]
