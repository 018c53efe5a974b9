"""Serve a study behind a proxy: read its public address, check the trusted proxies, and handle the path prefix."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spotball_core.errors import OptionError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class PublicAddress:
    """The parts of a public address such as https://example.org/ball/.

    Attributes:
        scheme: http or https.
        host: the host name, with the port if the address contains one.
        prefix: the address's path, which begins and ends with a slash, such as /ball/.
    """

    scheme: str
    host: str
    prefix: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}{self.prefix}"


def read_public_address(url: str) -> PublicAddress:
    """Return the parts of the address in the option --public-url.

    Raises:
        OptionError: if the address is not a valid http or https address without query and fragment.

    Examples:
        >>> read_public_address("https://example.org/ball")
        PublicAddress(scheme='https', host='example.org', prefix='/ball/')
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise OptionError(
            f"found {url}: {error}. Give an address such as https://example.org/study/", field="--public-url"
        ) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise OptionError(f"found {url}, expected an address such as https://example.org/study/", field="--public-url")
    return PublicAddress(parts.scheme, parts.netloc.lower(), f"{parts.path.rstrip('/')}/")


def check_proxies(proxies: Sequence[str]) -> tuple[str, ...]:
    """Check the IP addresses and networks of trusted proxies, and return them as a tuple.

    Raises:
        OptionError: if an entry is neither an IP address nor a network.

    Examples:
        >>> check_proxies(["127.0.0.1", "172.28.0.0/24"])
        ('127.0.0.1', '172.28.0.0/24')
    """
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError as error:
            raise OptionError(
                f"found {proxy}, expected an IP address or a network, such as 127.0.0.1 or 172.28.0.0/24",
                field="--proxy",
            ) from error
    return tuple(proxies)


class UnderPrefix:
    """Serve an ASGI application under a path prefix, whether or not the proxy in front of it removes the prefix.

    Args:
        app: the application, whose routes do not contain the prefix.
        prefix: the prefix, which begins and ends with a slash.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. A request for the prefix without its final slash is redirected to the address with the
        slash, which the page's relative links need.
        """
        path = scope.get("path", "")
        if scope["type"] == "http" and self._prefix != "/" and path == self._prefix.rstrip("/"):
            from starlette.responses import RedirectResponse

            query = scope.get("query_string", b"").decode("latin-1")
            await RedirectResponse(f"{self._prefix}{'?' if query else ''}{query}", 308)(scope, receive, send)
            return
        if path.startswith(self._prefix):
            scope = {**scope, "path": path[len(self._prefix) - 1 :], "raw_path": None}
        await self._app(scope, receive, send)
