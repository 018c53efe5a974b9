"""Limit the rate of requests to a study's server, and check the admin password.

Other checks of requests are in `spotball_core.service.web`.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
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


def address(request: Request) -> str:
    """Return the network address of the sender of a request, or "unknown" if the server does not know it."""
    return request.client.host if request.client else "unknown"


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
