"""Claim: if a server takes 50 ms per request, the runner sends at least 90% as many requests per second as a plain
httpx loop with the same concurrency. It needs as much memory for 100,000 requests as for 10,000.

The loop only posts prepared requests and reads the responses. The runner also loads the images, applies rate limits,
retries, and writes each reply to disk before it counts. The synthetic images have the file size of photos. The server
is a separate process on the same machine. It reads each request completely and always sends the same response. Runs of
the runner and of httpx alternate.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
from measure import figure, process
from PIL import Image

from spotball_adapters.prompts.prompt import load_prompt
from spotball_adapters.providers.openai import OpenAI
from spotball_adapters.providers.protocol import Access, Request, Settings
from spotball_adapters.runs.job import SceneJob
from spotball_adapters.runs.runner import Options, Runner
from spotball_adapters.runs.store import ReplyStore
from spotball_core.synthetic.scenes import synthetic_scenes

ROUNDS = 3
SECONDS = 0.05
CONCURRENCY, BUSY = 16, 64
IMAGES = 50

ANSWER = json.dumps(
    {
        "model": "m-1",
        "choices": [
            {"index": 0, "message": {"content": "Reasoning: they look left.\nCell: D5"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 400, "completion_tokens": 20},
    }
).encode()


class Answering(asyncio.Protocol):
    """The server's side of a connection. It sends the same response to each request."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport for responses."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._head = b""

    def data_received(self, data: bytes) -> None:
        """Respond some time after the end of a request."""
        if not self._missing:
            self._head += data
            head, end, body = self._head.partition(b"\r\n\r\n")
            if not end:
                return
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            self._missing, data, self._head = int(length[15:]), body, b""
        self._missing -= len(data)
        if not self._missing:
            asyncio.get_running_loop().call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(ANSWER)}\r\n\r\n"
            self._transport.write(head.encode() + ANSWER)


async def serve(seconds: float) -> None:
    """Serve until killed."""
    server = await asyncio.get_running_loop().create_server(lambda: Answering(seconds), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def serving(seconds: float) -> Iterator[str]:
    """Run a server as a process, and yield its address."""
    command = [sys.executable, __file__, "--serve", str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(child.stdout.readline())}/v1"
        finally:
            child.kill()


def write_images(folder: Path, *, noise: int = 3) -> None:
    """Write images of smooth colors with noise, with the file size of photos."""
    draw = np.random.default_rng(0)
    across = np.linspace(0, 200, 640)[None, :, None]
    for number in range(IMAGES):
        pixels = across * draw.random(3) + draw.integers(0, noise, (360, 640, 3))
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number}.png")


def job_of(folder: Path, url: str, requests: int, concurrency: int) -> SceneJob:
    """Return a job with this number of requests about all images, with one sample each."""
    scenes = tuple(
        scene.model_copy(update={"path": f"{number}.png"}) for number, scene in enumerate(synthetic_scenes(IMAGES))
    )
    provider = OpenAI(Access("m", base_url=url, concurrency=concurrency))
    provider.max_samples = 1
    prompts = ((load_prompt("base"), requests // IMAGES),)
    return SceneJob(scenes, prompts, provider, url, Settings(), "m", dataset=folder, scenes=scenes)


async def by_runner(folder: Path, url: str, requests: int, concurrency: int) -> None:
    """Send all requests with the runner, which writes the replies to a new store."""
    job = job_of(folder, url, requests, concurrency)
    with tempfile.TemporaryDirectory(dir=folder) as out, ReplyStore(Path(out)) as store:
        pictures = job.pictures(folder / "pictures")
        options = Options(concurrency=concurrency)
        session = store.start_session({}, {})
        runner = Runner(job.provider, job.plan({}), pictures, {}, store, session, job.settings, options)
        tally = await runner.run()
        await job.provider.close()
        assert tally.done == requests, (tally, runner.why, runner.error)


async def by_httpx(folder: Path, url: str, requests: int, concurrency: int) -> None:
    """Send all requests with workers that only post prepared bodies and read the responses."""
    job = job_of(folder, url, requests, concurrency)
    pictures = job.pictures(folder / "pictures")
    assert isinstance(job.provider, OpenAI)
    assert pictures is not None
    bodies = []
    for scene in job.asked:
        messages = job.prompts[0][0].last(scene, 1)
        bodies.append(job.provider._body(Request(scene, pictures.of(scene), messages, job.settings, (1,)), 1))
    await job.provider.close()
    left = iter(range(requests))
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx.AsyncClient(limits=limits, timeout=None) as client:

        async def work() -> None:
            for number in left:
                response = await client.post(f"{url}/chat/completions", json=bodies[number % IMAGES])
                assert response.json()["choices"]

        await asyncio.gather(*(work() for _ in range(concurrency)))


def throughputs(folder: Path, requests: int, concurrency: int) -> dict[str, tuple[float, float]]:
    """Return requests per second and CPU milliseconds per request of runner and httpx, the best of all rounds."""
    best = {"runner": (0.0, np.inf), "httpx": (0.0, np.inf)}
    with serving(SECONDS) as url:
        for _ in range(ROUNDS):
            for name, way in (("httpx", by_httpx), ("runner", by_runner)):
                start, cpu = time.perf_counter(), time.process_time()
                asyncio.run(way(folder, url, requests, concurrency))
                rate = requests / (time.perf_counter() - start)
                each = 1000 * (time.process_time() - cpu) / requests
                best[name] = max(best[name][0], rate), min(best[name][1], each)
    return best


def main() -> None:
    """Measure throughput in alternation, and memory in separate processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--requests", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve))
    elif options.requests:
        with serving(0) as url:
            asyncio.run(by_runner(options.folder, url, options.requests, BUSY))
    else:
        measure_all()


def measure_all() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_images(folder)
        for concurrency, requests, goal in ((CONCURRENCY, 3_000, 0.9), (BUSY, 6_000, None)):
            found = throughputs(folder, requests, concurrency)
            for way, (rate, each) in found.items():
                note = f"{each:.2f} ms of CPU time per request; best of {ROUNDS} runs"
                figure(f"{way}, {concurrency} concurrent requests", rate, "requests/s", note=note)
            ratio = found["runner"][0] / found["httpx"][0]
            figure(f"runner relative to httpx, {concurrency} concurrent requests", ratio, "times", at_least=goal)
        with tempfile.TemporaryDirectory() as other:
            # Use small images, to measure only what grows with the number of requests.
            small = Path(other)
            write_images(small, noise=1)
            taken = {}
            for requests in (10_000, 100_000):
                command = [sys.executable, __file__, "--folder", str(small), "--requests", str(requests)]
                taken[requests] = process(command)
                note = f"all requests took {taken[requests].seconds:.0f} s"
                figure(f"peak memory, {requests:,} requests", taken[requests].megabytes, "MB", note=note)
            growth = taken[100_000].megabytes / taken[10_000].megabytes
            figure("memory of 100,000 requests relative to 10,000", growth, "times", below=1.1)


if __name__ == "__main__":
    main()
