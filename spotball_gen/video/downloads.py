"""Download videos with the command yt-dlp.

yt-dlp is run as a separate program and is not imported, because its package changes whenever the video sites change.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotball_core.errors import OptionError, SpotballError
from spotball_core.service.json_file import parse_json
from spotball_core.service.paths import find_file

FORMAT = "bestvideo*[height<=1080][ext=mp4]/bestvideo*[height<=1080]/best"
"""Video format that yt-dlp selects: if possible at most 1080 pixels high, which suffices for items, and without sound,
because adding sound would need ffmpeg.
"""

_INFO = ".info.json"


@dataclass(frozen=True, slots=True)
class Download:
    """A downloaded video, with information from its site.

    Attributes:
        address: address of the video's page.
        license: license in the site's words; empty if the site states no license.
    """

    path: Path
    address: str
    license: str


def fetch(query: str, folder: Path, *, match: str | None, tell: Callable[[str], None]) -> tuple[Download, ...]:
    """Download the videos that yt-dlp finds. Existing files are not downloaded again, and interrupted downloads are
    resumed.

    Args:
        query: an address, or a search such as `ytsearch10:soccer highlights`.
        folder: the output folder.
        match: filter in the syntax of yt-dlp's option `--match-filters`, or None for no filter.
        tell: called with a message about each failed download.

    Returns:
        The videos, sorted by file name.

    Raises:
        OptionError: if yt-dlp is not installed.
        SpotballError: if yt-dlp fails, and the folder contains no completely downloaded video.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        *(_program(), "--ignore-config", "--quiet", "--no-warnings", "--no-progress", "--write-info-json"),
        *("--format", FORMAT, "--output", str(folder / "%(id)s.%(ext)s")),
        *(["--match-filters", match] if match else []),
        *("--", query),
    ]
    process = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    downloads = _there(folder)
    if process.returncode:
        message = "\n".join(process.stderr.strip().splitlines()[-5:]) or f"exit status {process.returncode}"
        if not downloads:
            raise SpotballError(f"yt-dlp could not download {query}:\n{message}", code="download-failed")
        tell(f"yt-dlp could not download all of {query}:\n{message}")
    return downloads


def _program() -> str:
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    program = shutil.which("yt-dlp", path=beside)
    if program is None:
        raise OptionError(
            "searching for videos needs the command yt-dlp. Install it: pip install yt-dlp", code="missing-package"
        )
    return program


def _there(folder: Path) -> tuple[Download, ...]:
    """Return the complete downloads: videos under their final name, with the information from their site."""
    downloads = []
    for info in sorted(folder.glob(f"*{_INFO}")):
        try:
            record: dict[str, Any] = parse_json(info.read_text(encoding="utf-8"))
        except ValueError:
            continue  # Writing this file was interrupted, and the video's download had not begun.
        path = find_file([folder], f"{info.name.removesuffix(_INFO)}.{record.get('ext')}")
        if path:
            address = record.get("webpage_url") or record.get("original_url") or ""
            downloads.append(Download(path, str(address), str(record.get("license") or "")))
    return tuple(downloads)
