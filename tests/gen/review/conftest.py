"""Provide a browser for the tests of the review page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browsing import launched


# The scope is not the session, because no test can call asyncio.run while Playwright is running.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the system's Chromium."""
    with launched() as found:
        yield found
