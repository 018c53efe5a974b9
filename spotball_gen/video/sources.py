"""Find the videos of a run: files, folders, and downloads with yt-dlp."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotball_core.errors import InputError, OptionError, Problem, SpotballError
from spotball_core.service.json_file import parse_json
from spotball_core.service.paths import find_file
from spotball_core.service.progress import OnProgress, counted
from spotball_gen.items.item import VideoSource
from spotball_gen.pipeline.config import GenerationPlan, SourceSettings
from spotball_gen.pipeline.ledger import Ledger, Video

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


ENDINGS = frozenset(
    {".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".ogv", ".ts", ".webm", ".wmv"}
)
"""Extensions of video files in a folder."""

DOWNLOADS = "downloads"
"""Subfolder of the work folder for downloads."""


@dataclass(frozen=True, slots=True)
class FoundVideo:
    """A video file that was found but not read yet."""

    path: Path
    sport: str
    license: str
    origin: str


def settle_videos(
    plan: GenerationPlan, ledger: Ledger, tell: Callable[[str], None], on_progress: OnProgress
) -> tuple[Video, ...]:
    """Return the run's videos in the order in which their frames are read. The first call finds them and stores them in
    the ledger.

    Args:
        tell: called with each message for the user.
        on_progress: called with the number of videos read and their total.

    Raises:
        InputError: if there is no video, or if a video is missing or has changed since the start of the run.
        OptionError: if yt-dlp is needed but not installed, or if there are new videos since the start of the run.
    """
    if recorded := ledger.videos():
        _check_same(plan, ledger, recorded)
        return ledger.videos()
    found_videos = [*_local(plan), *_downloaded(plan, ledger.work / DOWNLOADS, tell)]
    videos: list[Video] = []
    for found_video in counted(found_videos, len(found_videos), on_progress):
        video = _read(found_video)
        if video.source.sha256 in {earlier.source.sha256 for earlier in videos}:
            tell(f"{found_video.path}: excluded, because another file contains the same video")
        else:
            videos.append(video)
    if not videos:
        where = [source.path or source.query or f"search for {source.sport}" for source in plan.sources]
        fix = f"Use a video or a folder of videos ({', '.join(sorted(ENDINGS))})"
        raise InputError(
            [Problem("no-data", str(place), None, "videos", "none", "at least one", fix=fix) for place in where]
        )
    ledger.add_videos(videos)
    return ledger.videos()


def _local(plan: GenerationPlan) -> list[FoundVideo]:
    videos: list[FoundVideo] = []
    for source in plan.sources:
        if source.path is None:
            continue
        place = plan.folder / source.path
        inside = sorted(path for path in place.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
        for path in inside if place.is_dir() else [place]:
            # Use the name in the configuration, because absolute paths are private.
            origin = Path(source.path, path.relative_to(place)) if place.is_dir() else Path(source.path)
            videos.append(FoundVideo(path, source.sport, source.license, origin.as_posix()))
    return videos


def _downloaded(plan: GenerationPlan, folder: Path, tell: Callable[[str], None]) -> Iterator[FoundVideo]:
    for number, source in enumerate(plan.sources, start=1):
        if source.path is not None:
            continue
        for query in _queries(source, plan):
            tell(f"searching: {query}")
            into = folder / f"{number}-{hashlib.sha256(query.encode()).hexdigest()[:8]}"
            for download in fetch(query, into, match=source.match, tell=tell):
                yield FoundVideo(download.path, source.sport, download.license or source.license, download.address)


def _queries(source: SourceSettings, plan: GenerationPlan) -> list[str]:
    """Return the addresses and searches to pass to yt-dlp: the source's own query, or the queries of its sport."""
    queries = [source.query] if source.query is not None else list(plan.sports[source.sport].queries)
    return [query if re.match(r"\w+://", query) else f"ytsearch{source.count}:{query}" for query in queries]


def _read(found_video: FoundVideo) -> Video:
    status = found_video.path.stat()
    sha256 = _sha256(found_video.path)
    name = re.sub(r"[^A-Za-z0-9]+", "-", found_video.path.stem).strip("-").lower()[:40] or "video"
    source = VideoSource(
        f"{name}-{sha256[:8]}",
        str(found_video.path.absolute()),
        found_video.sport,
        found_video.license,
        found_video.origin,
        sha256,
    )
    return Video(source, status.st_size, status.st_mtime_ns)


def _check_same(plan: GenerationPlan, ledger: Ledger, videos: Sequence[Video]) -> None:
    """Check that the videos are the same as at the start of the run. Their files may have been moved.

    A video may be missing if all its frames were read.
    """
    present = {found_video.origin: found_video for found_video in _local(plan)}
    problems = []
    for video in videos:
        source = video.source
        path = (present[source.origin].path if source.origin in present else Path(source.path)).absolute()
        if not path.exists():
            if video.state == "waiting":
                expected = "the video, which the run has not read completely. Restore the file"
                problems.append(Problem("missing-file", str(path), None, "video", "no such file", expected))
            continue
        status = path.stat()
        unchanged = (status.st_size, status.st_mtime_ns) == (video.size, video.modified)
        if not unchanged and _sha256(path) != source.sha256:
            problems.append(
                Problem(
                    "changed-file",
                    str(path),
                    None,
                    "video",
                    "changed content",
                    "the content from the start of the run. Restore the file",
                )
            )
        elif not unchanged or path != Path(source.path).absolute():
            ledger.moved(source.video, str(path), status.st_size, status.st_mtime_ns)
    if problems:
        raise InputError(problems)
    recorded = {video.source.origin for video in videos}
    contents = {video.source.sha256 for video in videos}
    new = [origin for origin in sorted(set(present) - recorded) if _sha256(present[origin].path) not in contents]
    if new:
        listed = ", ".join(new[:5]) + (f" and {len(new) - 5} more" if len(new) > 5 else "")
        raise OptionError(
            f"{ledger.dataset} was started without the videos {listed}. Use a new folder to include them",
            code="output-exists",
            field="--out",
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
