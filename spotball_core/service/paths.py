"""Build safe paths for files that a dataset names, and for files that are named after records of a dataset.

Datasets may be untrusted. A file that a dataset names must be inside its folder. A file named after a record must be
inside the output folder, and must not overwrite another record's file.
"""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Sequence
from pathlib import Path, PureWindowsPath
from typing import Final

from spotball_core.error_codes import Code
from spotball_core.errors import InputError

MOST_SIGNS_OF_PATH: Final = 1024
"""Maximum length of a path, in characters."""

CONTROLS: Final = r"\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
"""Characters that names must not contain, as part of a regular expression's character class.

They change how a terminal or an editor shows the surrounding text: control characters, line separators, and characters
that change the text direction.
"""

PATH_RULE: Final = (
    "a path relative to the dataset's folder, with `/` between folders, without `..`, drive letters and control "
    f"characters, and with at most {MOST_SIGNS_OF_PATH} characters"
)
"""The rule for paths in a dataset, as error messages state it."""

_CONTROL = re.compile(f"[{CONTROLS}]")

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

_PLAIN = re.compile(r"[a-z0-9_][a-z0-9._-]{0,99}(?<!\.)")
_ENDING = re.compile(r"\.[a-z0-9]{1,8}")
_DEVICES = frozenset({"aux", "con", "conin$", "conout$", "nul", "prn"}) | {
    f"{port}{number}" for port in ("com", "lpt") for number in range(10)
}


def is_relative(text: str) -> bool:
    """Return whether a text is a valid relative path, as described by `PATH_RULE`.

    Examples:
        >>> [is_relative(text) for text in ("images/163.jpg", "../163.jpg", "/163.jpg", "C:163.jpg", "a\\\\163.jpg")]
        [True, False, False, False, False]
    """
    # Windows' rules apply everywhere, so that a dataset means the same on each system. They include those of POSIX.
    leads_out = "\\" in text or PureWindowsPath(text).anchor != "" or ".." in text.split("/")
    return 0 < len(text) <= MOST_SIGNS_OF_PATH and not leads_out and not _CONTROL.search(text)


def data_file(folder: Path, name: str | None, *, field: str = "image", description: str = "an image file") -> Path:
    """Return the path of a regular file that a dataset names, with links resolved.

    Args:
        folder: the dataset's folder.
        name: the name in the data, relative to the folder.
        field: the field that contains the name, for the error message.
        description: the expected file, for the error message.

    Raises:
        InputError: if the name is not a relative path, the file is missing or not a regular file, or a link leads out
            of the folder.
    """
    if name is None:
        raise _refused("missing-value", folder, "", field, "no path", f"the path of {description}")
    path = confined(folder, name, field=field)
    if fault := file_fault(path):
        raise _refused("missing-file", folder, name, field, fault, f"{description} in {folder}")
    return path


def folder_of(path: Path) -> Path:
    """Return a folder itself, or the folder that contains a file."""
    return path if path.is_dir() else path.parent


def find_file(folders: Sequence[Path], name: str | None) -> Path | None:
    """Return the path of a file that a dataset names, in the first folder that has it; None if no folder has it."""
    for folder in folders if name else ():
        try:
            return data_file(folder, name)
        except InputError:
            continue
    return None


def confined(folder: Path, name: str, *, field: str = "path") -> Path:
    """Return the path of a file that a dataset names, with links resolved. The file may be missing.

    Raises:
        InputError: if the name is not a relative path, or a link leads out of the folder.
    """
    if not is_relative(name):
        raise _refused("invalid-path", folder, name, field, repr(name)[:80], PATH_RULE)
    try:
        path = (folder / name).resolve()
        inside = path.is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:
        # RuntimeError: links form a loop.
        raise _refused("invalid-path", folder, name, field, str(error), f"a file in {folder}") from error
    if not inside:
        raise _refused(
            "invalid-path", folder, name, field, "a link to a place outside the folder", f"a file in {folder}"
        )
    return path


def file_fault(path: Path) -> str | None:
    """Describe why a path is not a regular file; return None for a regular file. The path is not opened.

    Examples:
        >>> file_fault(Path("/dev/null")), file_fault(Path("/")), file_fault(Path("/nothing"))
        ('a device', 'a folder', 'no such file')
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "a link to nothing" if path.is_symlink() else "no such file"
    except OSError as error:
        return error.strerror or str(error)
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no regular file")


def output_name(*names: str, ending: str = "") -> str:
    """Return a relative path for an output file, built from names in data: folders, and last the file's name.

    A name of lowercase ASCII letters, digits, dots, underscores and hyphens is kept. Any other name is simplified and
    extended by a `~` and the first 32 digits of its SHA-256. Different names therefore give different paths, also on
    systems that ignore case or store accents in several ways. No path leads out of the folder or is the name of a
    Windows device.

    Args:
        names: folders, and last the file without its ending.
        ending: the file's ending, such as `.png`.

    Examples:
        >>> output_name("soccer", "163", ending=".png")
        'soccer/163.png'
        >>> output_name("..", ending=".png"), output_name("Qwen/VL", ending=".jsonl")
        ('~5ec1f7e700f37c3d0b2981d04855fc34.png', 'qwen-vl~c1db2e98b424ec0b62d51d353f1360b8.jsonl')
    """
    return "/".join(map(_plain, names)) + ending


def image_ending(path: str) -> str:
    """Return the ending of an image's path in lowercase; `.image` if it has no simple ending.

    Examples:
        >>> image_ending("images/163.JPG"), image_ending("images/163")
        ('.jpg', '.image')
    """
    ending = Path(path).suffix.lower()
    return ending if _ENDING.fullmatch(ending) else ".image"


def _plain(name: str) -> str:
    if _PLAIN.fullmatch(name) and name.split(".")[0] not in _DEVICES:
        return name
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
    return f"{readable}~{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _refused(code: Code, folder: Path, name: str, field: str, actual: str, expected: str) -> InputError:
    return InputError.of(code, folder / name, field, actual, expected)
