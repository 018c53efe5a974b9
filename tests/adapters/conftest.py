"""Provide fixtures for the tests of providers, embedders and studies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.adapters.server import LoopbackServer


@pytest.fixture(scope="module", autouse=True)
def _no_public_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let HTTP clients trust no public certificates. Tests use none, and loading them takes 30 ms per client."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("SSL_CERT_FILE", raising=False)
        environment.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        yield


@pytest.fixture
def server(running: LoopbackServer) -> LoopbackServer:
    """Return the server of the fixture `running`, after clearing the requests that it recorded."""
    running.forget()
    return running
