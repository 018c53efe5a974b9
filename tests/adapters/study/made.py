"""Small studies of synthetic images, simulated participants, and the server as a process."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from PIL import Image

from spotball_adapters.study.events import Event
from spotball_adapters.study.server.serve import in_background, opened
from spotball_adapters.study.setup.config import CONFIG
from spotball_adapters.study.setup.init import init_study
from spotball_core.io.scenes import write_scenes
from tests.builders import scene

VIEWPORT = [1280, 720, 2]

Json = dict[str, Any]

START: Json = {"consent": True, "viewport": VIEWPORT}
"""What a browser sends when a participant gives consent."""

LENIENT = {
    # Tests start up to 200 participants at once from one address.
    "starts_per_minute_address = 120": "starts_per_minute_address = 6000",
    # Simulated participants answer immediately.
    "min_seconds_per_image = 1": "min_seconds_per_image = 0",
    'also = ["clock"]': "also = []",
}
"""Changes that tests make to the study.toml written by `init`."""


def dataset(
    folder: Path, *, sports: tuple[str, ...] = ("soccer",), images: int = 6, checks: int = 2, practice: bool = False
) -> Path:
    """Write scenes with the ball in C2 and single-color pictures; the last `checks` scenes per sport are controls.

    With `practice`, each sport has one more image, which comes last.
    """
    known = []
    for at, sport in enumerate(sports):
        for number in range(1, images + checks + practice + 1):
            path = Path("images", sport, f"{number}.png")
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (640, 360), (number, at, 99)).save(folder / path)
            known.append(scene(str(number), sport, path=str(path), control=images < number <= images + checks))
    write_scenes(known, folder / "scenes.jsonl")
    return folder


def study(folder: Path, *, changes: Mapping[str, str] | None = None, **kwargs: Any) -> Path:
    """Create a study of such a dataset in FOLDER/study, and apply `changes` to the text of study.toml.

    Its lists show all images, with one more image for practice. With `listed`, they show this number of images,
    drawn at random.
    """
    for name, content in _study_files(**kwargs).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    change(folder / "study", {**LENIENT, **(changes or {})})
    return folder / "study"


@cache
def _study_files(*, listed: int | None = None, **kwargs: Any) -> Mapping[Path, bytes]:
    """Return the files of a study and its dataset, which take long to draw."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = dataset(folder / "data", practice=listed is None, **kwargs)
        init_study(data, folder / "study", sports=kwargs.get("sports", ("soccer",)), images=listed)
        if listed is None:
            images, checks = kwargs.get("images", 6), kwargs.get("checks", 2)
            names = [str(number) for number in range(1, images + 1)]
            rewrite(folder / "study" / CONFIG, r"^images = .*$", f"images = {json.dumps(names)}")
            rewrite(folder / "study" / CONFIG, r"^practice = .*$", f'practice = ["{images + checks + 1}"]')
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def choices(
    folder: Path, *, photos: int = 8, checks: int = 3, lists: int = 2, options: str = "cup+vase+kettle"
) -> Path:
    """Create a choice study of photos, which are distributed over lists, and checks; the first option is right."""
    data = folder / "data"
    data.mkdir()
    with (data / "stimuli.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Stimulus_ID", "Angle", "Proximity", "Candidates", "path", "label", "list_id"])
        for number in range(photos + checks):
            Image.new("RGB", (300, 200), (number, 9, 9)).save(data / f"{number}.png")
            group = -1 if number >= photos else number % lists
            writer.writerow([number, "front", 1, options, f"{number}.png", options.split("+")[0], group])
    init_study(data, folder / "study", task="choice")
    return folder / "study"


def change(folder: Path, changes: Mapping[str, str], *, file: str | Path = CONFIG) -> None:
    """Replace text in study.toml or in another file of the folder."""
    text = (folder / file).read_text(encoding="utf-8")
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    (folder / file).write_text(text, encoding="utf-8")


def rewrite(path: Path, pattern: str, becomes: str, *, flags: int = re.MULTILINE) -> None:
    """Replace all matches of a pattern in a file."""
    text, n = re.subn(pattern, becomes, path.read_text(encoding="utf-8"), flags=flags)
    assert n
    path.write_text(text, encoding="utf-8")


def middle(row: int, col: int, *, rows: int = 6, cols: int = 10) -> Json:
    """Return the value of a click in the middle of a cell."""
    return {"row": row, "col": col, "x": (col - 0.5) / cols, "y": (row - 0.5) / rows, "by": "mouse"}


def sent(seq: int, kind: str, trial: int | None = None, elapsed: float = 0.0, **value: Any) -> Json:
    """Return an event in the form a browser sends."""
    fields = {"kind": kind, "trial": trial, "value": value, "elapsed_ms": elapsed, "viewport": VIEWPORT}
    return {"seq": seq, "event": str(uuid.uuid4()), **fields}


def stored(seq: int, kind: Any, trial: int | None = None, elapsed: float = 0.0, **value: Any) -> Event:
    """Return an event in the form the store returns."""
    at = f"2030-01-01T00:00:{seq:02}.000+00:00"
    return Event(seq, str(uuid.uuid4()), kind, trial, value, elapsed, (1280, 720, 2), at)


class Person:
    """A participant of the study, with their own HTTP client."""

    def __init__(self, client: httpx.Client, *, prolific: Json | None = None) -> None:
        self.client, self.prolific = client, prolific
        self.state: Json = {}

    def start(self) -> httpx.Response:
        """Give consent, and keep the state that the server returns."""
        response = self.client.post("/api/start", json={**START, "prolific": self.prolific})
        if response.is_success:
            self.state = response.json()
        return response

    def reload(self) -> Json:
        """Request the current state from the server."""
        response = self.client.get("/api/state")
        assert response.status_code == 200, response.text
        self.state = response.json()
        return self.state

    def post(self, *events: Json) -> httpx.Response:
        """Send events unchanged."""
        response = self.client.post("/api/events", json={"events": events})
        if "seq" in response.json():
            self.state["seq"] = response.json()["seq"]
        return response

    def send(self, kind: str, trial: int | None = None, elapsed: float = 0.0, **value: Any) -> httpx.Response:
        """Send the next event."""
        return self.post(sent(self.state["seq"] + 1, kind, trial, elapsed, **value))

    def do(self, kind: str, trial: int | None = None, elapsed: float = 0.0, **value: Any) -> Json:
        """Send the next event, which the server must accept."""
        response = self.send(kind, trial, elapsed, **value)
        assert response.status_code == 200, response.text
        answer: Json = response.json()
        return answer

    def answer(self, item: Json, *, row: int = 3, col: int = 2, text: str | None = "They all look there.") -> Json:
        """Answer an item: click a cell, confirm, and explain with a text. Return the server's last answer."""
        trial = item["trial"]
        self.do("shown", trial)
        if item["type"] == "choice":
            told = self.do("choice", trial, 800.0, option=0)
        else:
            for number in range(item["clicks"]):
                self.do("click", trial, 300.0 * (number + 1), **middle(row, col))
            told = self.do("answer", trial, 1500.0, cells=[[row, col]] * item["clicks"])
        if item["explain"] and text is not None:
            told = self.do("explanation", trial, 9000.0, text=text)
        return told

    def to_trials(self) -> None:
        """Go to the first image."""
        self.do("stage", stage="instructions")
        for item in self.state["practice"]:
            self.answer(item)
        if self.state["practice"]:
            self.do("stage", stage="practice")

    def begin(self) -> Person:
        """Give consent, and go to the first image."""
        self.start()
        self.to_trials()
        return self

    def finish(self, *, row: int = 3, col: int = 2) -> None:
        """Answer all images."""
        for item in self.state["trials"]:
            self.answer(item, row=row, col=col)

    def whole(self) -> None:
        """Complete the whole study."""
        self.begin().finish()


@contextmanager
def running(folder: Path, *, password: str | None = None, proxies: Sequence[str] = (), **options: Any) -> Iterator[str]:
    """Run a study's server on the loopback interface in a thread, and yield its address."""
    with opened(folder, password=password, **options) as server, in_background(server, proxies) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def people(folder: Path, *ids: Json | None, **options: Any) -> Iterator[list[Person]]:
    """Run a study's server like `running`, and yield one participant per platform id, each with their own client."""
    with running(folder, **options) as url, ExitStack() as stack:
        yield [Person(stack.enter_context(httpx.Client(base_url=url)), prolific=one) for one in ids]


def serve_line(*arguments: str | Path, port: int = 0) -> list[str]:
    """Return the command line of `spotball study serve`, by default at a free port."""
    return [sys.executable, "-m", "spotball_core", "study", "serve", *map(str, arguments), "--port", str(port)]


@contextmanager
def serving(
    *arguments: str | Path, port: int = 0, env: Mapping[str, str] | None = None, **options: Any
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `spotball study serve` as a process with options of `Popen`; yield its address and the process."""
    line = serve_line(*arguments, port=port)
    env = {**os.environ, **(env or {})}
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=env, **options) as child:
        try:
            yield address_of(child), child
        finally:
            child.terminate()
            child.communicate(timeout=60)


def address_of(child: subprocess.Popen[str]) -> str:
    """Return the address of a server, as soon as it prints it."""
    assert child.stderr is not None
    said = ""
    for line in child.stderr:
        said += line
        if found := re.search(r"(http://[^/]+)/$", line.strip()):
            return found[1]
    raise AssertionError(said)
