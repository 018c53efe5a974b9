"""Small studies of synthetic images, participants who answer, and the server as a process."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from PIL import Image

from spotball_adapters.study.events import Event, StudyTrial
from spotball_adapters.study.server.serve import in_background, opened
from spotball_adapters.study.setup.config import CONFIG
from spotball_adapters.study.setup.init import init_study
from spotball_core.io.scenes import write_scenes
from tests.builders import scene

VIEWPORT = [1280, 720, 2]

Json = dict[str, Any]

LENIENT = {
    # As many as 200 at once from one address.
    "starts_per_minute_address = 120": "starts_per_minute_address = 6000",
    # Participants of tests answer at once.
    "min_seconds_per_image = 1": "min_seconds_per_image = 0",
    'also = ["clock"]': "also = []",
}
"""What tests change of the study.toml that `init` writes."""


def dataset(
    folder: Path, *, sports: tuple[str, ...] = ("soccer",), images: int = 6, checks: int = 2, practice: bool = False
) -> Path:
    """Scenes with the ball in C2, whose pictures are of one color each; the last ones of a sport are controls.

    With `practice`, each sport has one more image, the last.
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
    """A study of such a dataset, in FOLDER/study; `changes` are to the text of study.toml.

    Its lists show all images, and one more for practice; or `listed` images, drawn at random.
    """
    sports = kwargs.get("sports", ("soccer",))
    listed = kwargs.pop("listed", None)
    out = folder / "study"
    init_study(dataset(folder / "data", practice=listed is None, **kwargs), out, sports=sports, images=listed)
    if listed is None:
        images, checks = kwargs.get("images", 6), kwargs.get("checks", 2)
        names = [str(number) for number in range(1, images + 1)]
        text = (out / CONFIG).read_text(encoding="utf-8")
        text = re.sub(r"^images = .*$", f"images = {json.dumps(names)}", text, flags=re.MULTILINE)
        text = re.sub(r"^practice = .*$", f'practice = ["{images + checks + 1}"]', text, flags=re.MULTILINE)
        (out / CONFIG).write_text(text, encoding="utf-8")
    change(out, {**LENIENT, **(changes or {})})
    return out


def choices(folder: Path) -> Path:
    """A study of choices: two lists of four photos, and three checks."""
    data = folder / "data"
    data.mkdir()
    with (data / "stimuli.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Stimulus_ID", "Angle", "Proximity", "Candidates", "path", "label", "list_id"])
        for number in range(11):
            Image.new("RGB", (300, 200), (number, 9, 9)).save(data / f"{number}.png")
            group = -1 if number >= 8 else number % 2
            writer.writerow([number, "front", 1, "cup+vase+kettle", f"{number}.png", "cup", group])
    init_study(data, folder / "study", task="choice")
    return folder / "study"


def change(folder: Path, changes: Mapping[str, str]) -> None:
    """Put other words into study.toml."""
    text = (folder / CONFIG).read_text(encoding="utf-8")
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    (folder / CONFIG).write_text(text, encoding="utf-8")


def new_id() -> str:
    return str(uuid.uuid4())


def middle(row: int, col: int, *, rows: int = 6, cols: int = 10) -> Json:
    """The value of a click in the middle of a cell."""
    return {"row": row, "col": col, "x": (col - 0.5) / cols, "y": (row - 0.5) / rows, "by": "mouse"}


def sent(seq: int, kind: str, trial: int | None = None, elapsed: float = 0.0, **value: Any) -> Json:
    """An event as a browser sends it."""
    return {
        "seq": seq,
        "event": new_id(),
        "kind": kind,
        "trial": trial,
        "value": value,
        "elapsed_ms": elapsed,
        "viewport": VIEWPORT,
    }


def stored(seq: int, kind: Any, trial: int | None = None, elapsed: float = 0.0, **value: Any) -> Event:
    """An event as the store has it."""
    return Event(seq, new_id(), kind, trial, value, elapsed, (1280, 720, 2), f"2030-01-01T00:00:{seq:02}.000+00:00")


class Person:
    """Somebody at the study, with a browser of their own."""

    def __init__(self, client: httpx.Client, *, prolific: Json | None = None) -> None:
        self.client, self.prolific = client, prolific
        self.state: Json = {}

    def start(self) -> httpx.Response:
        """Consent; the state is what is answered."""
        body = {"consent": True, "prolific": self.prolific, "viewport": VIEWPORT}
        response = self.client.post("/api/start", json=body)
        if response.is_success:
            self.state = response.json()
        return response

    def reload(self) -> Json:
        """Ask where I am."""
        response = self.client.get("/api/state")
        assert response.status_code == 200, response.text
        self.state = response.json()
        return self.state

    def post(self, *events: Json) -> httpx.Response:
        """Send events as they are."""
        response = self.client.post("/api/events", json={"events": events})
        if "seq" in response.json():
            self.state["seq"] = response.json()["seq"]
        return response

    def do(self, kind: str, trial: int | None = None, elapsed: float = 0.0, **value: Any) -> Json:
        """Send the next event, which is taken."""
        response = self.post(sent(self.state["seq"] + 1, kind, trial, elapsed, **value))
        assert response.status_code == 200, response.text
        answer: Json = response.json()
        return answer

    def answer(self, item: Json, *, row: int = 3, col: int = 2) -> Json:
        """See an item, click a cell as often as it takes, confirm, and explain if asked to; what confirming told."""
        trial = item["trial"]
        self.do("shown", trial)
        if item["type"] == "choice":
            told = self.do("choice", trial, 800.0, option=0)
        else:
            for number in range(item["clicks"]):
                self.do("click", trial, 300.0 * (number + 1), **middle(row, col))
            told = self.do("answer", trial, 1500.0, cells=[[row, col]] * item["clicks"])
        if item["explain"]:
            told = self.do("explanation", trial, 9000.0, text="They all look there.")
        return told

    def to_trials(self) -> None:
        """Up to the first image."""
        self.do("stage", stage="instructions")
        for item in self.state["practice"]:
            self.answer(item)
        if self.state["practice"]:
            self.do("stage", stage="practice")

    def whole(self) -> None:
        """Everything, to the end."""
        self.start()
        self.to_trials()
        for item in self.state["trials"]:
            self.answer(item)


@contextmanager
def running(folder: Path, *, password: str | None = None, proxies: Sequence[str] = (), **options: Any) -> Iterator[str]:
    """A study's server on loopback, in a thread; its address."""
    with opened(folder, password=password, **options) as server, in_background(server, proxies) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def serving(folder: Path, *, env: Mapping[str, str] | None = None) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`spotball study serve` as a process, at an address of its own; ended as Ctrl-C does."""
    line = [sys.executable, "-m", "spotball_core", "study", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}) as child:
        try:
            yield address_of(child), child
        finally:
            child.terminate()
            child.communicate()


def address_of(child: subprocess.Popen[str]) -> str:
    """Where a server listens, as soon as it says so."""
    assert child.stderr is not None
    said = ""
    for line in child.stderr:
        said += line
        if found := re.search(r"(http://[^/]+)/$", line.strip()):
            return found[1]
    raise AssertionError(said)


def keys(trials: list[StudyTrial]) -> list[str]:
    """Their images."""
    return [trial.image for trial in trials]


def body(value: object) -> bytes:
    """JSON as a browser sends it."""
    return json.dumps(value).encode()
