"""A browser for the tests of the review's page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browsing import launched


# Of a module, not of the session: while Playwright is up, no test after it in this process may call asyncio.run.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium."""
    with launched() as found:
        yield found
