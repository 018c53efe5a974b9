"""Provide a real browser for tests of web pages."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def launched() -> Iterator[Any]:
    """Start the installed Chromium or Chrome, or skip the test if neither is installed."""
    api = pytest.importorskip("playwright.sync_api", reason="needs Playwright, of the dev extra")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    path = next((path for name in names if (path := shutil.which(name))), None)
    if path is None:
        pytest.skip("needs Chromium or Chrome in the PATH")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


def free_port() -> int:
    """Return a port that is not in use."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
