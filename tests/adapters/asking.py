"""Send requests to a provider in a test."""

from __future__ import annotations

import asyncio
from typing import Any

from spotball_adapters.providers.protocol import Access, Answer, Message, Picture, Provider, Request, Settings
from tests.builders import scene

SENT = b"\x89PNG not a picture, and nobody looks \xff\x00"


def request(*samples: int, turns: tuple[Message, ...] | None = None, **settings: Any) -> Request:
    """Return a request with one question about one image, by default for sample 1."""
    messages = turns or (Message("system", "You see a match."), Message("user", "Where is the ball?", picture=True))
    return Request(
        scene=scene("163"),
        picture=Picture(SENT, "image/png", 640, 360),
        messages=messages,
        settings=Settings(**settings),
        samples=samples or (1,),
    )


def access(url: str | None = None, model: str = "gpt-4.1-mini", **options: Any) -> Access:
    return Access(model, base_url=url, **{"timeout": 20.0, **options})


def ask(provider: Provider, *requests: Request) -> list[Answer | BaseException]:
    """Send the requests one after another, close the provider, and return each answer or exception."""

    async def run() -> list[Answer | BaseException]:
        try:
            found: list[Answer | BaseException] = []
            for one in requests:
                found += await asyncio.gather(provider.ask(one), return_exceptions=True)
            return found
        finally:
            await provider.close()

    return asyncio.run(run())


def answer(provider: Provider, one: Request) -> Answer:
    """Send one request and return its answer, or raise its error."""
    (found,) = ask(provider, one)
    if isinstance(found, BaseException):
        raise found
    return found
