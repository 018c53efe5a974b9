"""Provide fixtures for every provider of the conformance suite."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spotball_adapters.providers.protocol import Access, Provider, find
from tests.adapters.asking import access
from tests.adapters.conformance.cases import LOCAL, SECRET, WAYS, Client, Local, Service, Subject, params
from tests.adapters.server import serve
from tests.builders import scene


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in WAYS.values():
        monkeypatch.setenv(service.key, SECRET)


@pytest.fixture(params=WAYS)
def service(request: pytest.FixtureRequest) -> Service:
    return WAYS[request.param]


@pytest.fixture(scope="module", params=WAYS)
def running(request: pytest.FixtureRequest) -> Iterator[Client]:
    """Start a server once per module, with a provider that uses it."""
    service = WAYS[request.param]
    with (
        pytest.MonkeyPatch.context() as environment,
        serve(service.speaks(), base_path=service.base_path) as server,
        asyncio.Runner() as runner,
    ):
        environment.setenv(service.key, SECRET)
        client = Client(service, server, service.at(server, max_response=1_000_000), runner)
        yield client
        runner.run(client.provider.close())


@pytest.fixture
def client(running: Client) -> Client:
    """Return the client of the fixture `running`, after clearing the requests that its server recorded."""
    running.server.forget()
    return running


@pytest.fixture(scope="module", params=params(*WAYS, *LOCAL))
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    """Yield each provider in turn: a service with its server, or a local provider."""
    if service := WAYS.get(request.param):
        with serve(service.speaks(), base_path=service.base_path) as server:

            def at(**options: Any) -> Provider:
                return service.at(server, **options)

            yield Subject(service, at, access().model, scene("163"), "Where is the ball?", {}, server)
        return
    local = LOCAL[request.param]
    with pytest.MonkeyPatch.context() as paths:
        yield _local(local, tmp_path_factory.mktemp(local.name), paths.syspath_prepend)
    if local.package:
        sys.modules.pop(local.name, None)


def _local(local: Local, folder: Path, prepend: Callable[[str], None]) -> Subject:
    for module in local.heavy:
        pytest.importorskip(module, reason=f"{module} is not installed: it comes with the local extra")
    if local.package:
        prepend(str(local.package(folder / "package")))
    model = local.model if isinstance(local.model, str) else str(local.model(folder))

    def make(**options: Any) -> Provider:
        return find(local.name, Access(model, **{**local.options, **options}))

    return Subject(local, make, model, local.item, local.text, local.settings)
