"""Build items from pixels for tests of single stages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_core.grid import Grid
from spotball_gen.items.item import Item, VideoSource
from spotball_gen.items.pictures import PictureFile
from spotball_gen.items.stage import Context


def item_of(
    pixels: NDArray[np.uint8], work: Path, ident: str = "match-000001000", sport: str = "soccer", **fields: Any
) -> Item:
    """Return an item whose frame is a file in the work folder, as after the frames stage."""
    source = VideoSource("match", "match.avi", sport, "made up", "match.avi", "0" * 64)
    frame = PictureFile.write(work / "frames" / f"{ident}.png", pixels)
    return Item(ident, source, time=1.0, shot=0, frame=frame, **fields)


def context_of(work: Path, width: int = 640, height: int = 360, **fields: Any) -> Context:
    """Return the context of a run in a work folder."""
    return Context(work, Grid(6, 10, width, height), **fields)


def printed_offline(code: str, folder: Path) -> str:
    """Return the output of code in a process without network.

    A new process is needed because the Hugging Face libraries read their settings only once. It has a secret
    token, which it must not print. Its argument is the folder.
    """
    settings = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder), "HF_TOKEN": "hf_thisIsSecret", "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(line, capture_output=True, text=True, env=os.environ | settings, check=True)
    assert "thisIsSecret" not in done.stdout + done.stderr
    return done.stdout
