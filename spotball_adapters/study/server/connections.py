"""Limit the connections of a study's server: how many each address has, and how long each may take."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from spotball_adapters.study.server.security import network
from spotball_core.service.web import BACKLOG

HEAD_SECONDS = 10.0
"""Maximum seconds until the headers of a request have arrived."""

REQUEST_SECONDS = 60.0
"""Maximum seconds until a request is answered. This includes the time until its body has arrived, which
`spotball_core.service.web.BODY_SECONDS` limits."""

REST_SECONDS = 2.0
"""Maximum seconds until the rest of a request's body has arrived, if the request was answered without it."""

SEND_SECONDS = 30.0
"""Maximum seconds in which a client receives nothing of a response that it has not received completely."""

MOST_FILES = 65_536
"""Maximum number of open files that the server uses, even if the system allows more."""

_OTHER_FILES = 64
"""Number of open files that are reserved for other uses than connections, such as the store and images."""

_ACCEPTS = 4
"""Number of times that asyncio may accept a full backlog of connections before it closes a surplus connection."""


def raise_file_limit() -> None:
    """Raise this process's limit on open files to the maximum that the system allows without privileges."""
    try:
        import resource
    except ImportError:
        return  # Windows has no such limit.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def file_limit() -> int:
    """Return the maximum number of open files of this process, at most `MOST_FILES`."""
    try:
        import resource
    except ImportError:
        return MOST_FILES
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_FILES if soft == resource.RLIM_INFINITY else min(soft, MOST_FILES)


class OpenConnections:
    """The open connections of a server. If an address has too many, the one that was idle for longest is closed.

    If the server has too many, the same applies to the address with the most connections. The server thus never runs
    out of files, and accepts a new connection even while other clients hold as many as they can.

    Args:
        per_address: maximum number of connections per network address; at most half of all connections.
        files: maximum number of open files of this process.
        proxies: IP addresses and networks of proxies, which may have any number of connections.

    Attributes:
        backlog: maximum number of connections that wait to be accepted.
    """

    def __init__(self, per_address: int, files: int, proxies: Sequence[str] = ()) -> None:
        self.backlog = min(BACKLOG, max(1, files // 16))
        self._most = max(2, files - _ACCEPTS * self.backlog - _OTHER_FILES)
        self._per_address = min(per_address, self._most // 2)
        self._proxies = [ipaddress.ip_network(proxy) for proxy in proxies]
        # In the order in which they became idle.
        self._of: defaultdict[str, OrderedDict[LimitedConnection, None]] = defaultdict(OrderedDict)
        self._n = 0

    def add(self, connection: LimitedConnection) -> None:
        """Add a new connection, and close another one if there are too many."""
        own = self._of[connection.address]
        own[connection] = None
        self._n += 1
        if len(own) > self._per_address and not self._is_proxy(connection):
            self._close_oldest(own)
        elif self._n > self._most:
            self._close_oldest(max(self._of.values(), key=len))

    def _is_proxy(self, connection: LimitedConnection) -> bool:
        host = connection.client and ipaddress.ip_address(connection.client[0])
        return host is not None and any(host in proxy for proxy in self._proxies)

    def _close_oldest(self, connections: OrderedDict[LimitedConnection, None]) -> None:
        oldest = next(iter(connections))
        self.remove(oldest)
        oldest.transport.abort()

    def became_idle(self, connection: LimitedConnection) -> None:
        """Note that a connection has answered a request."""
        if connection in (own := self._of.get(connection.address, OrderedDict())):
            own.move_to_end(connection)

    def remove(self, connection: LimitedConnection) -> None:
        """Remove a closed connection. It may already have been removed."""
        own = self._of.get(connection.address, OrderedDict())
        if connection in own:
            del own[connection]
            self._n -= 1
            if not own:
                del self._of[connection.address]


class LimitedConnection(H11Protocol):
    """An HTTP connection with time limits for a request's headers, its answer, and the sending of the answer.

    Args:
        open_connections: all open connections of the server.
        options: arguments from uvicorn.
    """

    def __init__(self, open_connections: OpenConnections, **options: Any) -> None:
        super().__init__(**options)
        self._all = open_connections
        self._phase: object = None
        self._timer: asyncio.TimerHandle | None = None
        self.address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Note the address, and wait for a request."""
        super().connection_made(transport)
        self.address = network(self.client[0]) if self.client else ""
        self._all.add(self)
        self._limit()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._all.remove(self)
        if self._timer:
            self._timer.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle received data, and set the time limit for what comes next."""
        super().handle_events()
        self._limit()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._all.became_idle(self)
        super().on_response_complete()
        self._limit()

    def _limit(self) -> None:
        """Set the time limit of the current phase, unless it is set already."""
        seconds, unsent = float(self.timeout_keep_alive), self.transport.get_write_buffer_size()
        if self.cycle is not None and not self.cycle.response_complete:
            seconds = REQUEST_SECONDS
        elif unsent:
            seconds = SEND_SECONDS
        elif self.conn.our_state is h11.DONE:
            seconds = REST_SECONDS
        elif self.cycle is None or self.conn.trailing_data[0]:
            seconds = HEAD_SECONDS
        if (seconds, self.cycle) != self._phase:
            if self._timer:
                self._timer.cancel()
            self._phase, self._timer = (seconds, self.cycle), self.loop.call_later(seconds, self._expired, unsent)

    def _expired(self, unsent: int) -> None:
        if self.transport.get_write_buffer_size() < unsent:
            # The client has received more of the response.
            self._phase = None
            self._limit()
        else:
            self.transport.abort()
