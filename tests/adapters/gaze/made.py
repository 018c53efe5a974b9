"""Create synthetic stimuli with photos, run `spotball gaze`, and simulate models that choose an option."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from spotball_core.gaze.data.stimuli import Stimulus, write_stimuli
from tests.adapters.run_process import Done, here
from tests.adapters.speech import ReceivedRequest

SETS = (("kettle", "bunny"), ("keys", "remote control", "bottle"), ("kettle", "bunny", "tulips", "bottle"))
MODEL = "gaze-model"
OPTION = re.compile(r"^([A-Z])\. (.+)$", re.MULTILINE)


def stimulus(number: int, **fields: Any) -> Stimulus:
    """Return a stimulus; the number determines the two to four objects and the condition."""
    objects = SETS[number % 3]
    gaze = objects[number % len(objects)]
    heads = (None, gaze, objects[(number + 1) % len(objects)])
    given = {"stimulus_id": str(1000 + number), "objects": objects, "gaze_target": gaze, "proximity": 1 + number % 3}
    given |= {"view": ("front", "left", "right")[number % 3], "head_target": heads[number // 3 % 3]}
    return Stimulus.model_validate(given | {"image": f"photos/{number}.png", **fields})


def made(folder: Path, n: int = 6, *, size: tuple[int, int] = (64, 64), checks: int = 0) -> Path:
    """Write a file of stimuli and their photos in different colors; the last `checks` are attention checks."""
    (folder / "photos").mkdir(parents=True)
    for number in range(n):
        Image.new("RGB", size, (number % 256, 40, 90)).save(folder / "photos" / f"{number}.png")
    path = folder / "stimuli.csv"
    write_stimuli([stimulus(number, attention_check=number >= n - checks) for number in range(n)], path)
    return path


def ask(stimuli: Path, out: Path, url: str, *options: str | Path) -> Done:
    model = ("--provider", "openai", "--model", MODEL, "--base-url", url)
    return here("gaze", "ask", stimuli, "--images", stimuli.parent, *model, "--out", out, *options)


def match(out: Path, *options: str | Path) -> Done:
    return here("gaze", "ask", out, *options)


def offered(asked: ReceivedRequest) -> dict[str, str]:
    """Return the options that the request lists, by letter."""
    return dict(OPTION.findall(asked.turns[-1][1]))


def choosing(choose: Callable[[dict[str, str], ReceivedRequest], str]) -> Callable[[ReceivedRequest, int], str]:
    """Return a simulated model whose reply is the result of `choose` for the options and the request."""
    return lambda asked, number: choose(offered(asked), asked)


def first_letter(options: dict[str, str], asked: ReceivedRequest) -> str:
    """Return the letter of the option that is first in alphabetical order."""
    return min(options, key=lambda letter: options[letter], default="Cell: D5")


def replies(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "replies.jsonl").read_text(encoding="utf-8").splitlines()]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, filled: Sequence[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(filled[0]))
        writer.writeheader()
        writer.writerows(filled)
    return path
