"""Limit the rate of requests to a study's server, and check the admin password.

Other checks of requests are in `spotball_core.service.web`.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from spotball_core.service.web import HttpError

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.requests import Request

MANY = 20_000
"""Maximum number of clients whose requests are counted at a time. The counts of clients without recent requests are
deleted first.
"""


class Limit:
    """Limit the number of requests per minute of each client. A client may send all requests of a minute in quick
    succession.

    Examples:
        >>> times = iter([0, 0, 0, 30.5])
        >>> limit = Limit(2, clock=lambda: next(times))
        >>> [limit.wait("a") for _ in range(4)]
        [0, 0, 30, 0]
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = float(per_minute), clock
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()

    def wait(self, client: object, *, count: bool = True) -> int:
        """Return 0 if a request of this client is within the limit, otherwise the seconds until the next request is
        allowed.

        Args:
            client: a value that identifies the sender of the request, such as the network address.
            count: whether the request counts toward the limit.
        """
        at = self._clock()
        left, since = self._left.pop(client, (self._most, at))
        left = min(self._most, left + (at - since) * self._most / 60)
        allowed = left >= 1
        self._left[client] = (left - (allowed and count), at)
        if len(self._left) > MANY:
            self._left.popitem(last=False)
        return 0 if allowed else max(1, round((1 - left) * 60 / self._most))

    def check(self, client: object) -> None:
        """Count a client's request. Raise HttpError (status 429) if the request exceeds the limit."""
        if seconds := self.wait(client):
            raise HttpError(429, "too many requests. Wait and retry", retry_after=seconds)


class AtOnce:
    """Limit the number of requests of each client that the server receives at the same time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._n = Counter[object]()

    @contextmanager
    def counted(self, client: object) -> Iterator[None]:
        """Count a request of this client until the end of the block. Raise HttpError (status 429) if the client already
        has the maximum number of requests.
        """
        if self._n[client] >= self._most:
            raise HttpError(429, "too many requests at the same time. Wait and retry", retry_after=1)
        self._n[client] += 1
        try:
            yield
        finally:
            self._n[client] -= 1
            if not self._n[client]:
                del self._n[client]


@lru_cache(maxsize=MANY)
def network(host: str) -> str:
    """Return the unit of network addresses for which requests and connections are counted: an IPv4 address, or the 64
    bits of an IPv6 network, which usually belongs to one customer.

    Examples:
        >>> network("192.0.2.7"), network("::ffff:192.0.2.7"), network("2001:db8::1:7")
        ('192.0.2.7', '192.0.2.7', '2001:db8::/64')
    """
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(ip, ipaddress.IPv4Address):
        return host
    return str(ip.ipv4_mapped or ipaddress.IPv6Network((int(ip), 64), strict=False))


def address(request: Request) -> str:
    """Return the `network` of the sender of a request, or "unknown" if the server does not know it."""
    return network(request.client.host) if request.client else "unknown"


def is_admin(headers: Headers, password: str) -> bool:
    """Return whether the HTTP Basic credentials are the user `admin` and `password`, compared in constant time."""
    credentials = b""
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            credentials = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            credentials = b""
    return hmac.compare_digest(credentials, f"admin:{password}".encode())
