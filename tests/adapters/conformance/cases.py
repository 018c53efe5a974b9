"""The providers that go through the conformance suite. A new one is covered by one line: in `SERVICES` or `LOCAL`."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spotball_adapters.gaze.photos import Photo
from spotball_adapters.providers.find import find
from spotball_adapters.providers.protocol import Answer, Api, Message, Picture, Provider, Request, RunItem, Settings
from tests.adapters import google_sdks
from tests.adapters.asking import access
from tests.adapters.gaze.made import stimulus
from tests.adapters.own_provider import install
from tests.adapters.server import BASE_PATH, PROTOCOLS, LoopbackServer
from tests.adapters.speech import Speaks
from tests.adapters.tiny_models import save_qwen
from tests.builders import scene

SECRET = "sk-planted-7f3a9c1e5b"
"""The key of every service in the suite."""


@dataclass(frozen=True)
class Service:
    """A provider that reaches a server.

    Attributes:
        name: of its entry point.
        key: the environment variable of its key.
        protocol: what it speaks, a name of `tests.adapters.server.PROTOCOLS`.
        shown: how its errors name the server.
        own_server_needs_key: whether a server at a base URL needs the key, too.
        api: that the provider is to use; None if it has no choice.
        sdk: that the provider is to use, a name of `google_sdks`; empty if it has no choice.
    """

    name: str
    key: str
    protocol: str
    shown: str = "127.0.0.1"
    own_server_needs_key: bool = True
    api: Api | None = None
    sdk: str = ""

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
        """Within it, the provider is made with this service's SDK."""
        return google_sdks.only(self.sdk) if self.sdk else contextlib.nullcontext()


@dataclass(frozen=True)
class Local:
    """A provider that answers on this machine.

    Attributes:
        name: of its entry point.
        model: its model, or what makes one in a folder.
        item: what it is asked about.
        text: what it is asked.
        options: of its `Access`.
        takes: the settings that it uses; it refuses the others.
        settings: of each request.
        heavy: modules that it needs and that few have: its tests are slow, and skipped without them.
        package: what installs it into a folder, if it comes with another package.
    """

    name: str
    model: str | Callable[[Path], object]
    item: RunItem = field(default_factory=lambda: scene("163"))
    text: str = "Where is the ball?"
    options: Mapping[str, Any] = field(default_factory=dict)
    takes: tuple[str, ...] = ("seed",)
    settings: Mapping[str, Any] = field(default_factory=dict)
    heavy: tuple[str, ...] = ()
    package: Callable[[Path], Path] | None = None


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
"""The services, each with every SDK and API that its provider can use."""

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
        # Of the page on how to write a provider: found as one of another package is.
        Local("brightest", "any", takes=(), package=install),
    )
}


def params(*names: str) -> list[Any]:
    """Providers to parametrize the fixture `subject` with; what is heavy is slow."""
    heavy = {name for name, case in LOCAL.items() if case.heavy}
    return [pytest.param(name, marks=[pytest.mark.slow] if name in heavy else []) for name in names]


def png() -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (160, 90), (10, 120, 30)).save(content, "PNG")
    return content.getvalue()


PICTURE = Picture(png(), "image/png", 160, 90)


@dataclass
class Subject:
    """A provider, and what it can be asked.

    Attributes:
        make: another one like it, with options of `Access`.
        item: what it is asked about.
        text: what it is asked.
        settings: of each request, unless others are given.
        server: of a service.
    """

    case: Service | Local
    make: Callable[..., Provider]
    model: str
    item: RunItem
    text: str
    settings: Mapping[str, Any]
    server: LoopbackServer | None = None

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
    """One provider that is asked again and again, in one event loop: what went wrong before must not matter."""

    service: Service
    server: LoopbackServer
    provider: Provider
    runner: asyncio.Runner

    def ask(self, *requests: Request) -> list[Answer | BaseException]:
        """What came of each request, one after the other, errors as they are."""

        async def run() -> list[Answer | BaseException]:
            found: list[Answer | BaseException] = []
            for one in requests:
                found += await asyncio.gather(self.provider.ask(one), return_exceptions=True)
            return found

        return self.runner.run(run())
