"""A loopback server that implements a provider's protocol, with scripted faults.

In a test: `with serve(OpenAIProtocol()) as server: ... server.url, server.asked`. As a separate process, which prints
its address: `python -m tests.adapters.server --protocol openai --port 0 --delay 0.05`. `/log` returns request counts.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import ssl
import struct
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import h11

from tests.adapters.faults import NAMED, Fault
from tests.adapters.speaks_anthropic import AnthropicProtocol
from tests.adapters.speaks_gemini import GeminiProtocol
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speaks_responses import ResponsesProtocol
from tests.adapters.speech import BadRequest, ReceivedRequest, Speaks, text_of

PROTOCOLS: Mapping[str, Callable[..., Speaks]] = {
    "anthropic": AnthropicProtocol,
    "gemini": GeminiProtocol,
    "openai": OpenAIProtocol,
    "responses": ResponsesProtocol,
}
Headers = Mapping[str, str]
BASE_PATH = {"anthropic": "", "gemini": "", "openai": "/v1", "responses": "/v1"}


@dataclass(frozen=True)
class Seen:
    """One request that the server received.

    Attributes:
        path: the path with the query string.
        headers: the headers, by lower-case names.
        asked: the parsed request; None if it was refused, or met a fault before it was parsed.
        status: the status of the answer; 0 if there was no answer.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes
    asked: ReceivedRequest | None
    status: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(eq=False)
class LoopbackServer:
    """Serve a protocol on a port.

    Replies to a question are numbered from 0 in order, and contain their number (`speech.text_of`). A client that
    stores each reply once therefore has each number once.

    Attributes:
        speaks: the protocol.
        delay: seconds before each answer.
        says: returns the text of a reply from the request and the reply's number; None for `text_of`.
        keep: whether to keep requests; counts are always kept.
        tls: the TLS context for HTTPS; None for HTTP.
    """

    speaks: Speaks
    _: KW_ONLY
    delay: float = 0.0
    says: Callable[[ReceivedRequest, int], str] | None = None
    keep: bool = True
    base_path: str = "/v1"
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        self.seen: list[Seen] = []
        self.given: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.connections = self.most_at_once = self.port = 0
        self._at_once = self._count = 0
        self._script: deque[Fault | None] = deque()
        self._every: tuple[int, Fault] | None = None
        self._always: Fault | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}{self.base_path}"

    @property
    def open_connections(self) -> int:
        """Return the number of connections that neither side has closed."""
        return len(self._writers)

    @property
    def asked(self) -> list[ReceivedRequest]:
        """Return the requests that the server could parse."""
        return [one.asked for one in self.seen if one.asked is not None]

    def script(self, *faults: Fault | None) -> None:
        """Set the faults of the next requests, in order; None is a correct answer."""
        self._script.extend(faults)

    def always(self, fault: Fault | None) -> None:
        """Set the fault of every request after the scripted ones; None is a correct answer."""
        self._always = fault

    def every(self, n: int, fault: Fault) -> None:
        self._every = (n, fault)

    def forget(self) -> None:
        """Clear the requests, the counts of replies, and the script."""
        self.seen.clear()
        self.given.clear()
        self._script.clear()
        self._always = None
        self.delay = 0.0
        self.most_at_once = 0

    def log(self) -> dict[str, Any]:
        """Return counts so far: requests, connections, replies by question, and answers by status."""
        return {
            "requests": self._count,
            "connections": self.connections,
            "most_at_once": self.most_at_once,
            "given": dict(self.given),
            "statuses": {str(status): n for status, n in self.statuses.items()},
        }

    async def start(self, port: int = 0) -> asyncio.Server:
        server = await asyncio.start_server(self._connection, "127.0.0.1", port, backlog=1024, ssl=self.tls)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        wire = h11.Connection(h11.SERVER)
        try:
            while await self._exchange(wire, reader, writer):
                wire.start_next_cycle()
        except (ConnectionError, h11.RemoteProtocolError, asyncio.CancelledError):
            # The client disconnected, or the task is being canceled, so there is nothing to answer.
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _exchange(self, wire: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request, and return whether the connection can serve another."""
        request = await _next(wire, reader)
        if not isinstance(request, h11.Request):
            return False
        parts = []
        while isinstance(event := await _next(wire, reader), h11.Data):
            parts.append(bytes(event.data))
        if not isinstance(event, h11.EndOfMessage):
            return False
        path = request.target.decode()
        if path == "/log":
            _send(wire, writer, 200, json.dumps(self.log()).encode(), {})
        else:
            headers = {name.decode(): value.decode("latin-1") for name, value in request.headers}
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            try:
                await self._answer(wire, writer, request.method.decode(), path, headers, b"".join(parts))
            finally:
                self._at_once -= 1
        await writer.drain()
        return wire.our_state is h11.DONE and wire.their_state is h11.DONE and not writer.is_closing()

    async def _answer(
        self, wire: h11.Connection, writer: asyncio.StreamWriter, method: str, path: str, headers: Headers, body: bytes
    ) -> None:
        self._count += 1
        fault = self._next_fault()
        if self.delay:
            await asyncio.sleep(self.delay)
        status, answer, extra, asked = self._said(fault, method, path, headers, body)
        cut = fault.kind if fault else ""
        answered = cut not in ("drop", "reset", "hang", "raw")
        self.statuses[status if answered else 0] += 1
        if self.keep:
            self.seen.append(Seen(path, headers, body, asked, status if answered else 0))
        if cut == "slow" and fault:
            await asyncio.sleep(fault.seconds)
        if cut == "hang":
            await asyncio.sleep(3600)
        if cut == "reset":
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if cut == "endless" and fault:
            await _endlessly(wire, writer, fault.seconds)
        if cut == "raw" and fault:
            writer.write(fault.text.encode())
        if cut in ("drop", "reset", "raw"):
            writer.close()
            return
        parts = {"drop-after-headers": 0, "truncated": len(answer) // 2}
        _send(wire, writer, status, answer, extra, only=parts.get(cut))

    def _said(
        self, fault: Fault | None, method: str, path: str, headers: Headers, body: bytes
    ) -> tuple[int, bytes, Headers, ReceivedRequest | None]:
        """Return status, body and headers of the answer, and the parsed request or None."""
        if fault and fault.kind == "status":
            answer = self.speaks.error(fault.status, fault.text, fault.code, None)
            return fault.status, json.dumps(answer).encode(), fault.headers, None
        if fault and fault.kind == "body":
            return fault.status, fault.content or fault.text.encode(), fault.headers, None
        if fault and fault.kind == "redirect":
            return 307, b"", {"location": fault.text}, None
        try:
            asked = self.speaks.read(method, path, headers, body)
        except BadRequest as error:
            answer = self.speaks.error(error.status, str(error), error.code or None, error.field)
            return error.status, json.dumps(answer).encode(), {}, None
        question = asked.question
        first = self.given[question]
        self.given[question] += asked.n
        numbers = range(first, first + asked.n)
        texts = [self.says(asked, n) if self.says else text_of(question, n) for n in numbers]
        style = fault.style if fault else ""
        return 200, json.dumps(self.speaks.write(asked, texts, style)).encode(), {}, asked

    def _next_fault(self) -> Fault | None:
        if self._script:
            return self._script.popleft()
        if self._every and self._count % self._every[0] == 0:
            return self._every[1]
        return self._always


async def _endlessly(wire: h11.Connection, writer: asyncio.StreamWriter, seconds: float) -> None:
    """Write the start of an answer, then spaces until the client disconnects."""
    writer.write(wire.send(h11.Response(status_code=200, headers=[("content-type", "application/json")])) or b"")
    while True:
        writer.write(wire.send(h11.Data(data=b" " * (1 if seconds else 2**16))) or b"")
        await writer.drain()
        await asyncio.sleep(seconds)


async def _next(wire: h11.Connection, reader: asyncio.StreamReader) -> object:
    while (event := wire.next_event()) is h11.NEED_DATA:
        wire.receive_data(await reader.read(2**18))
    return event


def _send(
    wire: h11.Connection,
    writer: asyncio.StreamWriter,
    status: int,
    body: bytes,
    headers: Headers,
    only: int | None = None,
) -> None:
    """Write an answer; with `only`, write just that many bytes of its body."""
    fields = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    raw = [(name, value.encode("latin-1")) for name, value in fields.items()]
    # Build the whole message before writing it, because h11 would otherwise hold back a part.
    parts = [wire.send(h11.Response(status_code=status, headers=raw))]
    if only is None:
        parts += [wire.send(h11.Data(data=body)), wire.send(h11.EndOfMessage())]
    else:
        parts.append(body[:only])
    writer.write(b"".join(part for part in parts if part))
    if only is not None:
        writer.close()


@contextlib.contextmanager
def serve(speaks: Speaks, **options: Any) -> Iterator[LoopbackServer]:
    """Run a server in a separate thread, and yield it."""
    server = LoopbackServer(speaks, **options)
    started = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        listening = await server.start()
        started.set()
        await stop.wait()
        listening.close()
        server.hang_up()
        connections = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await asyncio.sleep(0)

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    if not started.wait(10):
        raise TimeoutError("the server did not start")
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--protocol", choices=sorted(PROTOCOLS), default="openai")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--fault", choices=sorted(NAMED))
    parser.add_argument("--every", type=int, default=1, help="how many requests meet one fault")
    options = parser.parse_args()
    protocol = PROTOCOLS[options.protocol]()
    server = LoopbackServer(protocol, delay=options.delay, keep=False, base_path=BASE_PATH[options.protocol])
    if options.fault:
        server.every(options.every, NAMED[options.fault])

    async def run() -> None:
        listening = await server.start(options.port)
        print(server.url, flush=True)
        await listening.serve_forever()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run())


if __name__ == "__main__":
    main()
