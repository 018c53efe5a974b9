"""Provide fixtures for the tests of providers and embedders."""

from __future__ import annotations

import pytest

from tests.adapters.server import LoopbackServer


@pytest.fixture
def server(running: LoopbackServer) -> LoopbackServer:
    """Return the server `running` of the module after clearing what it recorded."""
    running.forget()
    return running
