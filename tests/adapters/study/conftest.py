"""Fixtures for tests of the study page: a browser, and a server for each study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.study.made import serving
from tests.browsing import launched


# The scope is a module, because no test in this process can call asyncio.run while Playwright runs.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield the system's Chromium."""
    with launched() as found:
        yield found


@pytest.fixture
def served() -> Iterator[Callable[[Path], str]]:
    """Yield a function that serves a study's folder until the test ends, and returns its address."""
    with ExitStack() as stack:
        yield lambda folder: stack.enter_context(serving(folder))[0]


@pytest.fixture
def visit(browser: Any, served: Callable[[Path], str]) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens a page in a new context: visit(folder, query="", address=None, **context)."""
    from tests.adapters.study.browsing import Visitor

    contexts: list[Any] = []
    errors: list[str] = []

    def opened(folder: Path, *, query: str = "", address: str | None = None, **context: Any) -> Visitor:
        contexts.append(browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **context}))
        contexts[-1].set_default_timeout(15_000)
        return Visitor(contexts[-1], address or served(folder), query, folder, errors)

    yield opened
    for context in contexts:
        context.close()
    assert not errors


@pytest.fixture
def visitor(visit: Callable[..., Any], tmp_path: Path) -> Any:
    """Return a visitor of the study of `browsing.clicks_study`."""
    from tests.adapters.study.browsing import clicks_study

    return visit(clicks_study(tmp_path))
