"""What the tests of providers and embedders share."""

from __future__ import annotations

import pytest

from tests.adapters.server import LoopbackServer


@pytest.fixture
def server(running: LoopbackServer) -> LoopbackServer:
    """A module's server, `running`, as if nothing had been asked of it."""
    running.forget()
    return running
