"""A browser for the tests of the page, and a server for each of their studies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.study.made import serving
from tests.browsing import launched


# Of a module, not of the session: while Playwright is up, no test after it in this process may call asyncio.run.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium."""
    with launched() as found:
        yield found


@pytest.fixture
def served() -> Iterator[Callable[[Path], str]]:
    """Serve a study's folder until the test ends; its address."""
    with ExitStack() as stack:
        yield lambda folder: stack.enter_context(serving(folder))[0]


@pytest.fixture
def visit(browser: Any, served: Callable[[Path], str]) -> Iterator[Callable[..., Any]]:
    """Open a study's page in a browser of its own: visit(folder, query="", address=None, **context)."""
    from tests.adapters.study.browsing import Visitor

    visitors, contexts = [], []

    def opened(folder: Path, *, query: str = "", address: str | None = None, **context: Any) -> Visitor:
        contexts.append(browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **context}))
        contexts[-1].set_default_timeout(15_000)
        visitors.append(Visitor(contexts[-1], address or served(folder), query))
        return visitors[-1]

    yield opened
    for context in contexts:
        context.close()
    assert [visitor.errors for visitor in visitors] == [[]] * len(visitors)
