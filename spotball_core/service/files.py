"""Write files and folders atomically: they are either complete or missing."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LEFTOVER = re.compile(r"\..+\.[a-z0-9_]{8}(\.[^.]+)?")
"""Matches the names of temporary files and folders made by this module: `.STEM.RANDOM.ENDING`."""


@contextmanager
def replacing(path: str | Path, *, mode: int | None = None) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `path` at the end, or removed if an exception is raised.

    Missing folders are created. Readers see either the old file or the new one, never a part. If `path` is a link, the
    link's target is replaced. A path that is neither a file nor a folder, such as /dev/stdout, is written directly.

    Args:
        path: path of the file.
        mode: its permissions; None for the default of new files.

    Raises:
        OSError: if `path` is a folder, or no file can be written there.

    Examples:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(Path(folder) / "a.txt") as beside:
        ...         _ = beside.write_text("whole")
        ...     [path.name for path in Path(folder).iterdir()]
        ['a.txt']
    """
    # Datasets contain many small files, so this function makes as few system calls as possible.
    path = Path(path).absolute()
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        kind = stat.S_IFREG
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(kind):
        yield path
        return
    if path.is_symlink():
        path = path.resolve()
    # Keep the ending, because some writers choose their format by it.
    prefix, suffix = f".{path.stem}.", path.suffix
    try:
        handle, name = tempfile.mkstemp(suffix, prefix, path.parent)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(suffix, prefix, path.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        beside.chmod(0o666 & ~_umask() if mode is None else mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def replacing_folder(out: Path) -> Iterator[Path]:
    """Yield a new folder that becomes `out` at the end, or is removed if an exception is raised.

    At the end, an existing `out` is moved aside, and restored if the new folder cannot be renamed.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as beside:
        new, old = Path(beside, "new"), Path(beside, "old")
        new.mkdir()
        yield new
        try:
            if out.exists():
                out.rename(old)
            new.rename(out)
        except BaseException:
            if old.exists() and not out.exists():
                old.rename(out)
            raise


def remove_leftovers(folder: Path, *, below: bool = True) -> int:
    """Remove temporary files and folders of `replacing` and `replacing_folder` that a killed process left.

    Call it only while no other process writes to the folder.

    Args:
        folder: the folder to search.
        below: whether to search its subfolders, too.

    Returns:
        The number of removed files and folders.

    Examples:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in (".a.x1y2z3_4.png", ".hidden", "a.png"):
        ...         Path(folder, name).touch()
        ...     removed = remove_leftovers(Path(folder))
        ...     removed, sorted(path.name for path in Path(folder).iterdir())
        (1, ['.hidden', 'a.png'])
    """
    removed = 0
    for path in sorted(folder.rglob(".*") if below else folder.glob(".*")):
        if _LEFTOVER.fullmatch(path.name) and path.exists():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            removed += 1
    return removed


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(folder: Path) -> str:
    """Return a SHA-256 of the names and contents of all files in a folder and its subfolders."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        total.update(f"{path.relative_to(folder).as_posix()}\n{file_digest(path)}\n".encode())
    return total.hexdigest()
