"""Provide a server for the tests of runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.adapters.run_process import KEY
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serve(OpenAIProtocol(keys={KEY})) as server:
        yield server
