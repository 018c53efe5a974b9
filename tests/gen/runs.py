"""Run a generation with the stages of `tests.gen.plain_stages`, in this process or in a new one."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from spotball_gen.demo.match import Shot
from spotball_gen.demo.video import write_match
from spotball_gen.pipeline.folder import LEDGER, WORK
from tests.conftest import ROOT
from tests.packages import install_package

ENTRIES = {
    "filter.plain": "tests.gen.plain_stages:Plain",
    "filter.best": "tests.gen.plain_stages:Best",
    "filter.forgets": "tests.gen.plain_stages:Forgets",
    "detect.plain": "tests.gen.plain_stages:Detect",
    "track.plain": "tests.gen.plain_stages:Plain",
    "plausibility.plain": "tests.gen.plain_stages:Plain",
    "inpaint.plain": "tests.gen.plain_stages:Paint",
    "check.plain": "tests.gen.plain_stages:Plain",
    "label.plain": "tests.gen.plain_stages:Label",
}

SIZE = {"width": 160, "height": 96}


def install(folder: Path) -> Path:
    """Return a folder that registers the test stages, as an installed package does, once it is on the path."""
    return install_package(folder, "spotball-test-stages", "spotball.stages", ENTRIES)


def write_videos(folder: Path, seconds: Mapping[str, int]) -> None:
    """Write one synthetic match per name, with the given length in seconds and a seed derived from the name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, length in seconds.items():
        seed = int.from_bytes(name.encode())
        shots = (Shot("play", length, seed),)
        write_match(folder / f"{name}.avi", "synthetic-soccer", shots, seed=seed, width=160, height=96, rate=5)


def write_config(path: Path, *, source: str = "videos", **tables: Mapping[str, Any]) -> Path:
    """Write a configuration with the test stages. `tables` add settings to a stage or replace its kind."""
    stages = ("filter", "detect", "track", "plausibility", "inpaint", "check", "label")
    together: dict[str, dict[str, Any]] = {
        "run": {"seed": 3, **SIZE},
        "frames": {"duplicate_bits": 2},
        **{stage: {"kind": "plain"} for stage in stages},
    }
    lines = ["[[sources]]", 'sport = "soccer"', f'path = "{source}"', 'license = "CC0"']
    for name in {**together, **tables}:
        entries = {**together.get(name, {}), **tables.get(name, {})}
        lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in entries.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(list(value) if isinstance(value, tuple) else value)


def command(config: Path, out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "spotball_core", "gen", "run", str(config), "--out", str(out), *options]


def environment(plugins: Path) -> dict[str, str]:
    path = os.pathsep.join([str(plugins), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def run_process(config: Path, out: Path, plugins: Path, *options: str) -> subprocess.CompletedProcess[str]:
    line, env = command(config, out, *options), environment(plugins)
    return subprocess.run(line, capture_output=True, text=True, check=False, env=env)


def query(out: Path, text: str) -> list[Any]:
    # Open read-only, because SQLite otherwise creates an empty file if the file does not exist.
    with closing(sqlite3.connect(f"file:{out / WORK / LEDGER}?mode=ro", uri=True)) as connection:
        return connection.execute(text).fetchall()


def count_results(out: Path, stage: str = "%") -> int:
    """Return the number of results of a stage, or of all stages; 0 while the ledger is being created."""
    try:
        return int(query(out, f"SELECT count(*) FROM results WHERE stage LIKE '{stage}'")[0][0])
    except sqlite3.OperationalError:
        return 0


def files(out: Path) -> dict[str, bytes]:
    """Return the content of each file of the dataset by relative path, without the work folder."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.relative_to(out).parts[0] != WORK
    }
