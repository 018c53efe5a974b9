"""Serve pages safely: security headers, checks of the origin and size of requests, and the listening socket."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spotball_core.errors import OptionError

if TYPE_CHECKING:
    import uvicorn
    from starlette.datastructures import Headers
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every response. With them, other sites cannot provide content, receive data or frame the page."""

NO_STORE = "no-store"

BODY_SECONDS = 20.0
"""Maximum seconds until a request's body has arrived."""

BACKLOG = 2048
"""Maximum number of connections that wait to be accepted."""


class HttpError(Exception):
    """Raised for a request that cannot be served.

    Attributes:
        status: the HTTP status.
        retry_after: seconds after which the request may be repeated.
    """

    def __init__(self, status: int, why: str, *, retry_after: int | None = None) -> None:
        self.status, self.retry_after = status, retry_after
        super().__init__(why)


class SafeHeaders:
    """An ASGI app that wraps another app and adds `HEADERS` to its responses.

    It also forbids caching of responses that have no header `Cache-Control`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._fixed = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                if all(name != b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", NO_STORE.encode()))
                message = {**message, "headers": [*headers, *self._fixed]}
            await send(message)

        await self._app(scope, receive, with_headers)


def check_origin(headers: Headers, public_host: str | None = None) -> None:
    """Raise HttpError if a request that changes data does not have JSON content or comes from a page of another site.

    A page of another site cannot send JSON without a preflight request, and browsers state a request's origin.

    Args:
        headers: the request's headers.
        public_host: the host under which browsers reach a proxy in front of this server; None for the request's host.
    """
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HttpError(415, "the content type must be application/json")
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc not in (headers.get("host"), public_host or headers.get("host")):
        raise HttpError(403, "this request comes from another site. Open the page at its own address and retry")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HttpError(403, "this request comes from another site. Open the page at its own address and retry")


async def read_body(request: Request, most: int) -> bytes:
    """Return a request's body; raise HttpError if it is too large, does not arrive in time, or is incomplete."""
    from starlette.requests import ClientDisconnect

    if request.headers.get("content-length", "0").isdigit() and int(request.headers.get("content-length", "0")) > most:
        raise HttpError(413, f"more than {most} bytes")
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise HttpError(413, f"more than {most} bytes")
                parts.append(part)
    except TimeoutError:
        raise HttpError(408, "the request took too long to arrive. Send it again") from None
    except ClientDisconnect:
        raise HttpError(400, "the connection was closed before the whole request arrived") from None
    return b"".join(parts)


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise OptionError if the address is in use or invalid."""
    # Specify TCP, so that asyncio sends small answers at once. Otherwise some would wait 40 ms for the previous
    # answer's acknowledgement.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            # Not on Windows, where this option would let another process use the same port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise OptionError(
            f"--host {host} --port {port}: {error.strerror or error}. Choose another address or a free port",
            code="unusable-address",
        ) from error
    return listener


def shown(at: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = at.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve_until_ended(config: uvicorn.Config, at: socket.socket, ready: Callable[[], None]) -> None:
    """Call `ready`, then serve until Ctrl-C or SIGTERM; both end the server in the same way.

    The signal handler sets a flag and raises no exception, because Python drops exceptions in some callbacks.

    Args:
        at: a listening socket.
        ready: called before requests are answered, to show the address.
    """
    import uvicorn

    server = uvicorn.Server(config)

    def end(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        ready()
        if not server.should_exit:
            server.run(sockets=[at])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
