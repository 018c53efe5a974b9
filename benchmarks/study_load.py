"""Claim: with 1,000 simultaneous participants at people's pace, the server of a human study stores and acknowledges 99%
of clicks within 250 ms, and the admin page loads within 200 ms. With 200 participants at eight times that pace, it
stores and acknowledges 99% of clicks within 150 ms. No click is lost, and no click is stored twice.

In the paper's study, people took 20 s per image. At this pace, a participant sends one event every 4 s, at random
times. The 1,000 participants start within one minute, and the admin page is requested every 5 s, as a browser does. The
200 participants start in the same second and send one event every half second. In a third load, 200 participants send
each event as soon as the event before it is acknowledged. In a fourth load, the server may open only 1,024 files, and
another address opens 1,300 connections every five seconds, on each of which it sends an incomplete request.

Participants load each image when they reach it. The synthetic images have the file size of photos. The server is
`spotball study serve` in its own process; all participants are connections of another process. Both processes share two
cores. Participants send one event in a hundred twice, as browsers do if they get no response. At the end, the stored
events are compared with the acknowledged events.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from measure import figure
from runner import write_images

from spotball_adapters.study.setup.config import CONFIG
from spotball_adapters.study.setup.init import init_study
from spotball_adapters.study.store import reading
from spotball_core.io.scenes import write_scenes
from spotball_core.synthetic.scenes import synthetic_scenes

LISTS, CHECKS, NOISE = 3, 2, 3
PASSWORD = "benchmark"
ADMIN_EVERY = 5.0
"""Seconds between requests for the admin page."""


@dataclass(frozen=True)
class Load:
    """A load test: how many people take part, and how fast.

    Attributes:
        name: suffix of the names of figures.
        participants: number of participants.
        pause: mean seconds between a participant's events.
        begin: seconds over which participants begin.
        images: images that each participant answers, without checks.
        goal: milliseconds within which 99% of clicks are acknowledged, or None without a goal.
        incomplete: number of incomplete requests that another address holds.
    """

    name: str
    participants: int
    pause: float
    begin: float
    images: int
    goal: float | None
    incomplete: int = 0


LOADS = (
    Load(", 1,000 participants at people's pace", participants=1000, pause=4.0, begin=60.0, images=8, goal=250.0),
    Load("", participants=200, pause=0.5, begin=0.0, images=18, goal=150.0),
    Load(", no waiting between events", participants=200, pause=0.0, begin=0.0, images=18, goal=None),
    Load(
        ", 1,300 incomplete requests of another address",
        participants=100,
        pause=0.5,
        begin=0.0,
        images=8,
        goal=250.0,
        incomplete=1300,
    ),
)

FILES = 1024
"""Maximum number of open files of the server in the load with incomplete requests."""

AGAIN_AFTER = 5.0
"""Seconds after which the other address opens its connections again."""

AGAIN = 0.01
"""Share of events that are sent twice."""

VIEWPORT = [1280, 720, 1]


@dataclass
class Seen:
    """Measurements of the participants.

    Attributes:
        seconds: response times, by type of request.
        acknowledged: ids of acknowledged events in order, by participant.
        again: number of events sent twice.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    again: int = 0


class Browser:
    """A persistent connection with minimal HTTP, so that the measurement reflects the server."""

    def __init__(self, port: int, authorization: str = "") -> None:
        self._port, self.cookie, self._authorization = port, "", authorization

    async def __aenter__(self) -> Browser:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def ask(self, path: str, content: Any = None) -> bytes:
        """Send a request, and return the body of the response. Raise RuntimeError if its status is not 200."""
        body = b"" if content is None else json.dumps(content).encode()
        method = "GET" if content is None else "POST"
        head = [f"{method} {path} HTTP/1.1", f"host: 127.0.0.1:{self._port}", f"cookie: {self.cookie}"]
        if self._authorization:
            head.append(f"authorization: {self._authorization}")
        if content is not None:
            head += ["content-type: application/json", f"content-length: {len(body)}"]
        self._writer.write("\r\n".join([*head, "", ""]).encode() + body)
        status, *fields = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(
            field.lower().split(": ", 1) if "cookie" not in field else field.split(": ", 1) for field in fields if field
        )
        answer = await self._reader.readexactly(int(headers["content-length"]))
        if " 200 " not in status:
            raise RuntimeError(f"{path}: {status} {answer.decode()}")
        self.cookie = headers.get("set-cookie", self.cookie).partition(";")[0]
        return answer


class Participant:
    """A simulated participant who completes the study.

    Args:
        pause: mean seconds between events.
    """

    def __init__(self, browser: Browser, seen: Seen, pause: float, seed: int) -> None:
        self._browser, self._seen, self._pause, self._random = browser, seen, pause, random.Random(seed)
        self._ids: list[str] = []

    async def run(self) -> None:
        """Complete the study, and record response times and acknowledged events."""
        content = {"consent": True, "prolific": None, "viewport": VIEWPORT}
        state = json.loads(await self._timed("start", "/api/start", content))
        self._seen.acknowledged[state["participant"]] = self._ids
        await self._do("stage", None, stage="instructions")
        for item in state["practice"]:
            await self._answer(item)
        await self._do("stage", None, stage="practice")
        for item in state["trials"]:
            await self._answer(item)

    async def _timed(self, what: str, path: str, content: Any = None) -> bytes:
        start = time.perf_counter()
        answer = await self._browser.ask(path, content)
        self._seen.seconds[what].append(time.perf_counter() - start)
        return answer

    async def _answer(self, item: dict[str, Any]) -> None:
        await self._timed("image", f"/{item['image']}")
        trial, cells = item["trial"], []
        await self._do("shown", trial)
        for _ in range(item["clicks"]):
            row, col = self._random.randint(1, item["rows"]), self._random.randint(1, item["cols"])
            cells.append([row, col])
            x, y = (col - 0.5) / item["cols"], (row - 0.5) / item["rows"]
            await self._do("click", trial, row=row, col=col, x=x, y=y, by="mouse")
        await self._do("answer", trial, cells=cells)
        if item["explain"]:
            await self._do("explanation", trial, text="They look to the left. " * 5)

    async def _do(self, kind: str, trial: int | None, **value: Any) -> None:
        await asyncio.sleep(self._random.expovariate(1 / self._pause) if self._pause else 0)
        event = {"seq": len(self._ids) + 2, "event": str(uuid.uuid4()), "kind": kind, "trial": trial}
        content = {"events": [{**event, "value": value, "elapsed_ms": 1.0, "viewport": VIEWPORT}]}
        what = "click" if kind == "click" else "other"
        told = json.loads(await self._timed(what, "/api/events", content))
        assert told["seq"] == event["seq"]
        self._ids.append(str(event["event"]))
        if self._random.random() < AGAIN:
            self._seen.again += 1
            assert json.loads(await self._timed(what, "/api/events", content))["seq"] == event["seq"]


def make_study(folder: Path, images: int) -> Path:
    """Create a study with images of the size of photos, and raise the rate limits, as all users share an address."""
    data, study = folder / "data", folder / "study"
    (data / "images").mkdir(parents=True)
    write_images(data / "images", noise=NOISE)
    sports = [f"synthetic-{number}" for number in range(LISTS)]
    scenes = [
        scene.model_copy(
            update={"sport": sport, "path": f"images/{number}.png", "control": number > images, "image": str(number)}
        )
        for sport in sports
        for number, scene in enumerate(synthetic_scenes(images + 1 + CHECKS))
    ]
    write_scenes(scenes, data / "scenes.jsonl")
    init_study(data, study)
    text = (study / CONFIG).read_text(encoding="utf-8")
    text = text.replace("requests_per_minute_address = 12000", "requests_per_minute_address = 1000000")
    text = text.replace("requests_per_minute = 600", "requests_per_minute = 1000000")
    text = text.replace("connections_per_address = 512", "connections_per_address = 1500")
    text = text.replace("starts_per_minute_address = 120", "starts_per_minute_address = 1000000")
    (study / CONFIG).write_text(text, encoding="utf-8")
    return study


@contextmanager
def serving(study: Path, files: int | None = None) -> Iterator[int]:
    """Run the server as a process, and yield its port. If `files` is given, the server may not open more files."""
    limit = None if files is None else lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    line = [sys.executable, "-m", "spotball_core", "study", "serve", str(study), "--port", "0"]
    environment = {**os.environ, "SPOTBALL_STUDY_PASSWORD": PASSWORD}
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=limit) as child:
        assert child.stderr is not None
        try:
            yield next(
                int(found[1]) for said in child.stderr if (found := re.search(r"http://127.0.0.1:(\d+)/$", said))
            )
        finally:
            child.terminate()


async def take_part(port: int, load: Load) -> Seen:
    """Run all participants to the end, and request the admin page at regular intervals until then."""
    seen = Seen()

    async def one(seed: int) -> None:
        await asyncio.sleep(random.Random(f"begin {seed}").uniform(0, load.begin))
        async with Browser(port) as browser:
            await Participant(browser, seen, load.pause, seed).run()

    async def look() -> None:
        credentials = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
        async with Browser(port, f"Basic {credentials}") as browser:
            while True:
                start = time.perf_counter()
                await browser.ask("/admin")
                seen.seconds["admin"].append(time.perf_counter() - start)
                await asyncio.sleep(ADMIN_EVERY)

    async def hold() -> None:
        async with Browser(port) as browser:
            content = {"consent": True, "prolific": None, "viewport": VIEWPORT}
            # This participant does nothing else.
            await browser.ask("/api/start", content)
            head = f"POST /api/events HTTP/1.1\r\nhost: x\r\ncookie: {browser.cookie}\r\n"
        head += "content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"
        while True:
            writers = []
            for _ in range(load.incomplete):
                with suppress(ConnectionError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0))
                    writer.write(head.encode())
                    writers.append(writer)
            await asyncio.sleep(AGAIN_AFTER)
            for writer in writers:
                writer.transport.abort()

    # Turn off garbage collection, because pauses of this process would count as the server's.
    gc.disable()
    others = [asyncio.create_task(look()), *([asyncio.create_task(hold())] if load.incomplete else [])]
    async with asyncio.TaskGroup() as group:
        for seed in range(load.participants):
            group.create_task(one(seed))
    for other in others:
        other.cancel()
    gc.enable()
    return seen


def compare(study: Path, seen: Seen) -> tuple[int, int, int]:
    """Return the numbers of acknowledged events, of those not stored, and of those stored more than once."""
    lost = doubled = 0
    with reading(study) as reader:
        for participant in reader.participants():
            stored = Counter(event.event for event in reader.events(participant.id))
            if participant.participant not in seen.acknowledged:
                continue  # The participant who sends incomplete requests.
            acknowledged = seen.acknowledged[participant.participant]
            lost += sum(event not in stored for event in acknowledged)
            # The server also stores the consent, which is not among the sent events.
            doubled += (
                sum(stored.values()) - len(set(acknowledged)) - 1 + sum(event not in stored for event in acknowledged)
            )
            assert participant.finished_at is not None
    return sum(map(len, seen.acknowledged.values())), lost, doubled


def main() -> None:
    """Print the figures of each load."""
    for load in LOADS:
        name = load.name
        with tempfile.TemporaryDirectory() as folder:
            study = make_study(Path(folder), load.images)
            with serving(study, FILES if load.incomplete else None) as port:
                begin, before = time.perf_counter(), os.getloadavg()[0]
                seen = asyncio.run(take_part(port, load))
                seconds = time.perf_counter() - begin
            events, lost, doubled = compare(study, seen)
        clicks = np.array(seen.seconds["click"]) * 1000
        images = len(seen.seconds["image"])
        note = f"{load.participants:,} participants, {events:,} events and {images:,} images in {seconds:.0f} s"
        busy = f"load average {before:.1f} before, {os.getloadavg()[0]:.1f} after"
        p99 = float(np.quantile(clicks, 0.99))
        figure(
            f"time to acknowledge a click, 99th percentile{name}", p99, "ms", below=load.goal, note=f"{note}; {busy}"
        )
        figure(f"time to acknowledge a click, median{name}", float(np.median(clicks)), "ms")
        figure(f"time to acknowledge a click, maximum{name}", float(clicks.max()), "ms")
        together = "all start at the same time" if not load.begin else f"all start within {load.begin:.0f} s"
        figure(f"time to acknowledge the start, maximum{name}", 1000 * max(seen.seconds["start"]), "ms", note=together)
        figure(f"events per second{name}", events / seconds, "events/s")
        if load.begin:
            looks = f"{len(seen.seconds['admin'])} requests"
            figure(
                f"time to load the admin page, maximum{name}",
                1000 * max(seen.seconds["admin"]),
                "ms",
                below=200.0,
                note=looks,
            )
        again = f"{seen.again} events were sent twice"
        figure(f"events acknowledged but not stored{name}", lost, "events", below=1, note=again)
        figure(f"events stored more than once{name}", doubled, "events", below=1)


if __name__ == "__main__":
    main()
