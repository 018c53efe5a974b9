"""Create datasets, run `spotball run`, and read the folder of a run."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from spotball_adapters.runs.store import STORE
from spotball_core.io.scenes import write_scenes
from tests.builders import scene
from tests.cli.process import spotball
from tests.failures import codes

KEY = "sk-planted-0123456789"
MODEL = "test-model"
ENV = {"OPENAI_API_KEY": KEY}

Done = subprocess.CompletedProcess[str]
Sample = tuple[str, str, str, int, int]
"""(sport, image, prompt, step, sample)."""

STEPS = {"base": 1, "cue": 1, "cot": 4}


def dataset(folder: Path, *, images: int = 3, controls: int = 0) -> Path:
    """Write scenes of two sports in turn, with images of different colors; the last `controls` scenes are controls."""
    known = []
    for number in range(images):
        sport, name = ("soccer", "volleyball")[number % 2], str(number // 2 + 1)
        path = Path("images", sport, f"{name}.png")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (640, 360), (number % 256, number // 256, 99)).save(folder / path)
        known.append(scene(name, sport, path=str(path), control=number >= images - controls))
    write_scenes(known, folder / "scenes.jsonl")
    return folder


def command(data: Path, out: Path, url: str, *options: str | Path) -> list[str]:
    start = [sys.executable, "-m", "spotball_core", "run", str(data), "--provider", "openai", "--model", MODEL]
    return [*start, "--base-url", url, "--out", str(out), *map(str, options)]


def run(data: Path, out: Path, url: str, *options: str | Path) -> Done:
    """Run `spotball run` in this process and return its result."""
    return here(*command(data, out, url, *options)[3:])


def here(*arguments: str | Path, env: Mapping[str, str] = ENV) -> Done:
    """Run the command `spotball` in this process, with a key in its environment."""
    return spotball(*arguments, env=env)


def good(*arguments: str | Path, env: Mapping[str, str] = ENV) -> Done:
    """Run the command as `here` does, check that it succeeds, and return its result."""
    done = here(*arguments, env=env)
    assert done.returncode == 0, said(done)
    return done


def check_error(done: Done, code: str, *parts: str) -> None:
    """Check for exit status 2, only this error code, a message with these parts, and no traceback."""
    assert (done.returncode, codes(done.stderr)) == (2, [code]), said(done)
    assert "Traceback" not in done.stderr
    missing = [part for part in parts if part not in done.stderr]
    assert missing == [], said(done)


def run_process(data: Path, out: Path, url: str, *options: str | Path) -> Done:
    """Run `spotball run` in a separate process and return its result."""
    line = command(data, out, url, *options)
    return subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, **ENV})


def query(out: Path, sql: str) -> list[Any]:
    connection = sqlite3.connect(out / STORE)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def replies(out: Path) -> dict[Sample, str]:
    """Return the stored replies by sample."""
    rows = query(out, "SELECT sport, image, prompt, step, sample, text FROM replies")
    return {row[:5]: row[5] for row in rows}


def expected(images: int, **samples: int) -> set[Sample]:
    """Return the keys of the replies that a run on the first `images` images of `dataset` should store."""
    return {
        (("soccer", "volleyball")[number % 2], str(number // 2 + 1), prompt, step, sample)
        for number in range(images)
        for prompt, n in samples.items()
        for step in range(STEPS[prompt])
        for sample in range(1, n + 1)
    }


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "responses.jsonl").read_text(encoding="utf-8").splitlines()]


def said(done: Done) -> str:
    """Return exit status and output of a command, as a message for failed assertions."""
    return f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
