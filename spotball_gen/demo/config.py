"""Write the demo's videos, and the configuration file from which `spotball gen run --demo` generates a dataset."""

from __future__ import annotations

from pathlib import Path

from spotball_core.service.files import replacing
from spotball_gen.demo.video import write_demo

_HEAD = """\
# The configuration of `spotball gen run --demo`. Copy and change it as you like.
[run]
seed = 0
"""

_SOURCE = """
[[sources]]
sport = "{sport}"
path = "{name}"
license = "synthetic"
"""

_STAGES = """
[detect]
kind = "color"
"""


def write_demo_config(folder: Path) -> Path:
    """Write the demo's videos unless they exist, write its configuration, and return the path of the configuration.

    Raises:
        OSError: if a file cannot be written.
    """
    videos = write_demo(folder)
    path = folder / "config.toml"
    sources = "".join(_SOURCE.format(sport=sport, name=video.name) for sport, video in videos.items())
    with replacing(path) as beside:
        beside.write_text(f"{_HEAD}{sources}{_STAGES}", encoding="utf-8", newline="\n")
    return path
