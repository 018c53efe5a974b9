"""Provide fixtures for the tests of providers and embedders."""

from __future__ import annotations

import pytest

from tests.adapters.server import LoopbackServer


@pytest.fixture
def server(running: LoopbackServer) -> LoopbackServer:
    """Return the server of the fixture `running`, after clearing the requests that it recorded."""
    running.forget()
    return running
