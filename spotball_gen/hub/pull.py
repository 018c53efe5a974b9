"""Download a repository that `spotball push` uploaded. Its content is not trusted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from spotball_core.errors import InputError, OptionError, Problem, SpotballError
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes
from spotball_core.leaderboard.reports import report_files
from spotball_core.schema.faults import record_of_json
from spotball_core.service.files import replacing_folder
from spotball_core.service.paths import is_relative
from spotball_core.text.words import plural
from spotball_gen.dataset.exports.parquet import DATA
from spotball_gen.hub.client import Hub, RemoteFile
from spotball_gen.hub.manifest import MANIFEST, HubManifest, is_visible, stored_file
from spotball_gen.hub.restore import restore_lines, restore_scenes
from spotball_gen.hub.tables import content_of

MOST_BYTES = 50 * 10**9
"""Default maximum size of a download in bytes."""

_MOST_OF_MANIFEST = 10**9


def pull(
    repo: str,
    out: Path,
    *,
    revision: str | None = None,
    most_bytes: int = MOST_BYTES,
    tell: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Download a repository into a new folder, and restore the files of the pushed folder.

    The folder is written under a temporary name and renamed.

    Args:
        repo: the repository, such as me/my-balls.
        out: a folder that is empty or does not exist yet.
        revision: a branch, tag or commit, or None for the main branch.
        most_bytes: maximum size of the download in bytes.
        tell: called with a progress message at each step.

    Returns:
        One sentence for each file that differs from the pushed one; an empty list if all files are equal.

    Raises:
        InputError: if `push` did not write the repository, if it contains unsafe file names, or if its size
            exceeds `most_bytes` or half of the free disk space.
        MissingExtraError: if huggingface-hub is not installed.
        OptionError: if `out` exists and is not an empty folder, or if the repository's name is invalid.
        SpotballError: if the repository does not exist, or if the Hub cannot be reached.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OptionError(f"{out} exists already. Use a new folder", code="output-exists", field="--out")
    hub = Hub("pull")
    commit, remote = hub.files(repo, revision)
    target = out.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as work, replacing_folder(target) as new:
        download = _Download(hub, repo, commit, remote, Path(work))
        manifest = _manifest(download)
        wanted = _wanted(manifest, remote, repo)
        download.check(wanted, most_bytes)
        tell(f"Downloading {plural(len(wanted), 'file')}, {sum(remote[name].size for name in wanted):,} bytes.")
        for file in manifest.files:
            if file.stored == "file":
                # Download and move one file at a time, so that the disk never holds a file twice.
                place = new / file.path
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(download.get(file.path), place)
        _restore(manifest, {name: download.get(name) for name in wanted if content_of(name)}, new, repo)
        return _differences(manifest, new)


class _Download:
    """Check and download files of one commit."""

    def __init__(self, hub: Hub, repo: str, commit: str, remote: Mapping[str, RemoteFile], work: Path) -> None:
        self._hub, self.repo, self._commit, self._remote, self._work = hub, repo, commit, remote, work

    def check(self, names: list[str], most_bytes: int) -> None:
        """Check the files to download. Raise InputError if a name is unsafe, or if the total size of the
        files exceeds `most_bytes` or half of the free disk space.
        """
        problems = [
            Problem(
                "invalid-path",
                self.repo,
                None,
                "path",
                repr(name)[:80],
                "a relative path without .. and without hidden folders and files",
            )
            for name in names
            if not is_relative(name) or not is_visible(name)
        ]
        size = sum(self._remote[name].size for name in names)
        free = shutil.disk_usage(self._work).free
        if size > most_bytes:
            expected = f"at most {most_bytes:,} bytes. Increase --max-size to allow more"
            problems.append(Problem("too-large", self.repo, None, "size", f"{size:,} bytes", expected))
        elif 2 * size > free:
            expected = f"at most half of the {free:,} bytes that are free on the disk. Free more space"
            problems.append(Problem("too-large", self.repo, None, "size", f"{size:,} bytes", expected))
        if problems:
            raise InputError(problems)

    def get(self, name: str) -> Path:
        """Download a file, and return its local path."""
        return self._hub.download(self.repo, name, self._commit, self._remote[name], self._work)

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes, or None if the repository does not contain it."""
        return self._remote[name].size if name in self._remote else None


def _manifest(download: _Download) -> HubManifest:
    size = download.size(MANIFEST)
    if size is None:
        expected, fix = "a repository that `spotball push` wrote", "Check the name of the repository"
        raise InputError.of("wrong-folder", download.repo, "repository", f"no file {MANIFEST}", expected, fix=fix)
    if size > _MOST_OF_MANIFEST:
        expected = f"at most {_MOST_OF_MANIFEST:,} bytes"
        raise InputError.of("too-large", f"{download.repo}: {MANIFEST}", "file", f"{size:,} bytes", expected)
    name, content = f"{download.repo}: {MANIFEST}", download.get(MANIFEST).read_bytes()
    return record_of_json(HubManifest, content, name)


def _wanted(manifest: HubManifest, remote: Mapping[str, RemoteFile], repo: str) -> list[str]:
    """Return the names of the files to download. Raise InputError if the repository lacks one of them."""
    unchanged = [file.path for file in manifest.files if file.stored == "file"]
    if missing := [name for name in unchanged if name not in remote]:
        expected, fix = f"the file that {MANIFEST} lists", "The repository must be pushed again"
        raise InputError(
            [Problem("missing-file", repo, None, name, "no such file", expected, fix=fix) for name in missing]
        )
    if manifest.kind != "dataset":
        return sorted(unchanged)
    return sorted({*unchanged, *(name for name in remote if content_of(name))})


def _restore(manifest: HubManifest, tables: Mapping[str, Path], new: Path, repo: str) -> None:
    """Restore files from the content of the Parquet files, and check that the restored files can be read."""
    if manifest.kind == "dataset":
        restore_scenes([place for name, place in sorted(tables.items()) if content_of(name) == DATA], new)
        listed = {file.path for file in manifest.files if file.stored == "rows"}
        for name in sorted({str(content_of(name)) for name in tables} - {DATA}):
            if name in listed:
                restore_lines([place for path, place in sorted(tables.items()) if content_of(path) == name], new, name)
    try:
        if manifest.kind == "dataset":
            read_scenes(new / SCENES)
        elif manifest.kind == "results":
            report_files(new)
    except InputError as error:
        raise SpotballError(str(error).replace(str(new), repo), code="download-failed") from error


def _differences(manifest: HubManifest, new: Path) -> list[str]:
    present = {path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()}
    listed = {file.path: file for file in manifest.files}
    differences = [f"{name}: the repository does not contain this file." for name in sorted(listed.keys() - present)]
    differences += [f"{name}: {MANIFEST} does not list this file." for name in sorted(present - listed.keys())]
    for name in sorted(present & listed.keys()):
        if stored_file(name, new / name, listed[name].stored) != listed[name]:
            differences.append(f"{name}: the content differs from the pushed file.")
    return differences
