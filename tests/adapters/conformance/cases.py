"""List the providers of the conformance suite. To cover a new one, add one line to `SERVICES` or `LOCAL`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spotball_adapters.gaze.photos import Photo
from spotball_adapters.prompts.picture import as_png
from spotball_adapters.providers.protocol import (
    Answer,
    Api,
    Message,
    Picture,
    Provider,
    Request,
    RunItem,
    Settings,
    find,
)
from tests.adapters import google_sdks
from tests.adapters.asking import access
from tests.adapters.gaze.made import stimulus
from tests.adapters.own_provider import install
from tests.adapters.server import BASE_PATH, PROTOCOLS, LoopbackServer
from tests.adapters.speech import Speaks
from tests.adapters.tiny_models import save_qwen
from tests.builders import scene

SECRET = "sk-planted-7f3a9c1e5b"
"""The API key of every service in the suite."""


@dataclass(frozen=True)
class Service:
    """A provider that reaches a server."""

    name: str  # the name of its entry point
    key: str  # the environment variable of its API key
    protocol: str  # the protocol of its server, a key of `tests.adapters.server.PROTOCOLS`
    shown: str = "127.0.0.1"  # the name of the server in error messages
    own_server_needs_key: bool = True  # whether a server at a base URL also needs the key
    api: Api | None = None  # the API that the provider must use; None if it supports only one
    sdk: str = ""  # the SDK that the provider must use, a name in `google_sdks`; empty if it supports only one

    @property
    def base_path(self) -> str:
        return BASE_PATH[self.protocol]

    def speaks(self, **options: Any) -> Speaks:
        return PROTOCOLS[self.protocol](**options)

    def at(self, server: LoopbackServer | str | None, **options: Any) -> Provider:
        url = server.url if isinstance(server, LoopbackServer) else server
        with self.chosen():
            return find(self.name, access(url, api=self.api, **options))

    def chosen(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which the provider is created with this service's SDK."""
        return google_sdks.only(self.sdk) if self.sdk else contextlib.nullcontext()


@dataclass(frozen=True)
class Local:
    """A provider that runs on this machine."""

    name: str  # the name of its entry point
    model: str | Callable[[Path], object]  # the name of its model, or a function that creates the model in a folder
    item: RunItem = field(default_factory=lambda: scene("163"))  # the scene or photo of each request
    text: str = "Where is the ball?"  # the text of each request
    options: Mapping[str, Any] = field(default_factory=dict)  # further options of its `Access`
    takes: tuple[str, ...] = ("seed",)  # the settings that it supports; the others are an error
    settings: Mapping[str, Any] = field(default_factory=dict)  # the settings of each request
    heavy: tuple[str, ...] = ()  # modules without which its (slow) tests are skipped
    package: Callable[[Path], Path] | None = None  # if another package provides it: installs that package into a folder


SERVICES = {
    case.name: case
    for case in (
        Service("anthropic", "ANTHROPIC_API_KEY", "anthropic"),
        Service("gemini", "GEMINI_API_KEY", "gemini", shown="gemini", sdk=google_sdks.SUPPORTED),
        Service("openai", "OPENAI_API_KEY", "openai", own_server_needs_key=False),
    )
}

WAYS = {
    **SERVICES,
    "gemini-of-the-paper": Service("gemini", "GEMINI_API_KEY", "gemini", shown="gemini", sdk=google_sdks.OF_THE_PAPER),
    "openai-responses": Service("openai", "OPENAI_API_KEY", "responses", own_server_needs_key=False, api="responses"),
}
"""The services, once for each SDK and API that the provider supports."""

ALL = ("temperature", "top_p", "max_output_tokens", "seed")
_PHOTO = stimulus(1)
_OPTIONS = "\n".join(f"{letter}. {name}" for letter, name in zip("ABC", _PHOTO.objects, strict=True))

LOCAL = {
    case.name: case
    for case in (
        Local("baseline", "uniform", options={"scenes": [scene("163")]}),
        Local(
            "observer", "eye", item=Photo(_PHOTO), text=f"What is looked at?\n{_OPTIONS}", options={"stimuli": [_PHOTO]}
        ),
        Local("transformers", save_qwen, takes=ALL, settings={"max_output_tokens": 4}, heavy=("torch", "transformers")),
        # The example provider of the page on writing a provider. The entry point of another package declares it.
        Local("brightest", "any", takes=(), package=install),
    )
}


def params(*names: str) -> list[Any]:
    """Return parameters for the fixture `subject`; providers with heavy modules are marked as slow."""
    heavy = {name for name, case in LOCAL.items() if case.heavy}
    return [pytest.param(name, marks=[pytest.mark.slow] if name in heavy else []) for name in names]


PICTURE = Picture(as_png(Image.new("RGB", (160, 90), (10, 120, 30))), "image/png", 160, 90)


@dataclass
class Subject:
    """A provider, and the scene or photo, the text, and the default settings of the requests to it."""

    case: Service | Local
    make: Callable[..., Provider]  # creates the provider with further options of `Access`
    model: str
    item: RunItem
    text: str
    settings: Mapping[str, Any]
    server: LoopbackServer | None = None  # the server of a service; None for a local provider

    def request(self, *samples: int, **settings: Any) -> Request:
        return Request(
            scene=self.item,
            picture=PICTURE,
            messages=(Message("user", self.text, picture=True),),
            settings=Settings(**{**self.settings, **settings}),
            samples=samples or (1,),
        )


@dataclass
class Client:
    """One provider that gets many requests in one event loop, to detect errors that affect later requests."""

    service: Service
    server: LoopbackServer
    provider: Provider
    runner: asyncio.Runner

    def ask(self, *requests: Request) -> list[Answer | BaseException]:
        """Send the requests one after another and return each answer or exception."""

        async def run() -> list[Answer | BaseException]:
            found: list[Answer | BaseException] = []
            for one in requests:
                found += await asyncio.gather(self.provider.ask(one), return_exceptions=True)
            return found

        return self.runner.run(run())
