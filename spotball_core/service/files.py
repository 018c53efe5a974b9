"""Writing a file so that it is either whole or not there."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LEFTOVER = re.compile(r"\..+\.[a-z0-9_]{8}(\.[^.]+)?")
"""Names of temporary files and folders made here: `.STEM.RANDOM.ENDING`."""


@contextmanager
def replacing(path: str | Path, *, mode: int | None = None) -> Iterator[Path]:
    """A path beside `path` to write to; renamed to `path` at the end, removed if anything goes wrong.

    Missing folders are made. Readers see the old file or the new one, never a part. A link stays a link, to what is
    then the new file. What is neither a file nor a folder, such as /dev/stdout, is written to as it is.

    Args:
        path: of the file.
        mode: its permissions; None for those of any new file.

    Raises:
        OSError: if there is a folder at `path`, or no file can be written there.

    Examples:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(Path(folder) / "a.txt") as beside:
        ...         _ = beside.write_text("whole")
        ...     [path.name for path in Path(folder).iterdir()]
        ['a.txt']
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        yield path
        return
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    # The ending is kept: some writers choose their format by it.
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        beside.chmod(0o666 & ~_umask() if mode is None else mode)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def replacing_folder(out: Path) -> Iterator[Path]:
    """A folder to fill that becomes `out` at the end, and is removed if anything goes wrong.

    What was at `out` is moved aside first, and put back if the renaming fails.
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
    """Remove the temporary files and folders that `replacing` and `replacing_folder` leave if a process is killed.

    No process may be writing to the folder.

    Args:
        folder: where to look.
        below: whether to look in the folders below it, too.

    Returns:
        How many were removed.

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
