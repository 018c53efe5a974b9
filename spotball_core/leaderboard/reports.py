"""Find and read score reports: files of `spotball score --format json` and `spotball report`."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from spotball_core.error_codes import Code
from spotball_core.errors import InputError, Problem
from spotball_core.schema.report import SCHEMA_VERSION, ScoreReport
from spotball_core.service.json_file import parse_json
from spotball_core.service.paths import file_fault
from spotball_core.service.progress import OnProgress, counted, ignore_progress
from spotball_core.service.safe_text import printable

EXPECTED = "a score report from `spotball score --format json` or `spotball report`"

_KEYS = ("schema_version", "signature", "provenance", "policy", "groups")
"""Keys that every score report has; comparisons and reports on reasoning or gaze lack at least one of them."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """A score report and the name of its file, such as reports/gemini.json."""

    source: str
    report: ScoreReport


@dataclass(frozen=True, slots=True)
class Collection:
    """The score reports that were read from files; identical reports are included once.

    Attributes:
        reports: reports in the order of the arguments; within a folder, by path.
        notes: sentences about files that are not used.
    """

    reports: tuple[SourceReport, ...]
    notes: tuple[str, ...]


def read_reports(
    paths: Sequence[str | Path], *, exclude: Path | None = None, on_progress: OnProgress = ignore_progress
) -> Collection:
    """Read all score reports in the given folders and files.

    Args:
        paths: folders, which are searched with their subfolders for *.json, and files, which must be score reports.
        exclude: a folder that is not searched.
        on_progress: called with the number of files read, and their total.

    Raises:
        InputError: if there is no score report, a given file is not a score report, or a report is damaged or from a
            newer version.
    """
    files = _files([Path(path) for path in paths], exclude)
    names = _names([path for path, _ in files])
    reports: dict[bytes, SourceReport] = {}
    notes: list[str] = []
    problems: list[Problem] = []
    n_others = 0
    for (path, must_be), name in counted(zip(files, names, strict=True), len(files), on_progress):
        try:
            report = _read(path, must_be)
        except InputError as error:
            problems += error.problems
            continue
        if report is None:
            n_others += 1
            continue
        content = hashlib.sha256(report.model_dump_json().encode()).digest()
        if content in reports:
            notes.append(f"{name} is identical to {reports[content].source}, so only one of them is used.")
        else:
            reports[content] = SourceReport(name, report)
    if problems:
        raise InputError(problems)
    if not reports:
        places = ", ".join(map(str, paths))
        others = f"; {n_others} other JSON {'file' if n_others == 1 else 'files'}" if n_others else ""
        raise InputError([Problem("no-data", places, None, "reports", f"none{others}", EXPECTED)])
    if n_others:
        what = "file was skipped, because it is" if n_others == 1 else "files were skipped, because they are"
        notes.append(f"{n_others} JSON {what} not {'a score report' if n_others == 1 else 'score reports'}.")
    return Collection(tuple(reports.values()), tuple(notes))


def report_files(folder: Path) -> list[Path]:
    """Return the paths of the score reports in a folder and its subfolders, sorted within each folder.

    Raises:
        InputError: if a report is damaged or from a newer version.
    """
    return [path for path in _json_files(folder, None) if _read(path, must_be=False) is not None]


def _files(paths: Iterable[Path], exclude: Path | None) -> list[tuple[Path, bool]]:
    """Return each file once, and whether it must be a score report."""
    files: dict[Path, tuple[Path, bool]] = {}
    for path in paths:
        if not path.is_dir():
            files[path.resolve()] = (path, True)
            continue
        for file in _json_files(path, exclude):
            files.setdefault(file.resolve(), (file, False))
    return list(files.values())


def _json_files(folder: Path, exclude: Path | None) -> Iterator[Path]:
    """Yield the *.json files in a folder and its subfolders, except those that are hidden or in a hidden folder."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and (exclude is None or Path(parent, name).resolve() != exclude.resolve())
        )
        for name in sorted(files):
            path = Path(parent, name)
            if name.endswith(".json") and not name.startswith(".") and file_fault(path) is None:
                yield path


def _names(paths: Sequence[Path]) -> list[str]:
    """Name each file by its path, starting with the last folder that contains all files."""
    absolute = [path.absolute() for path in paths]
    if not absolute:
        return []
    shared = Path(os.path.commonpath([path.parent for path in absolute])).parent
    return [printable(path.relative_to(shared).as_posix()) for path in absolute]


def _read(path: Path, must_be: bool) -> ScoreReport | None:
    """Read a score report; if the file is not one, return None, or raise InputError if it must be one."""

    def refuse(code: Code, field: str, found: str, expected: str = EXPECTED) -> InputError:
        return InputError([Problem(code, str(path), None, field, found, expected)])

    if fault := file_fault(path):
        raise refuse("missing-file" if not path.exists() else "wrong-file", "file", fault)
    try:
        # Search for the keys before parsing, so that a large file of another kind costs no memory.
        if not _has_keys(path):
            if must_be:
                raise refuse("wrong-file", "file", "a file without the keys of a report")
            return None
        content = parse_json(path.read_bytes())
    except OSError as error:
        raise refuse("unreadable-file", "file", error.strerror or str(error), "a readable file") from error
    except ValueError as error:
        raise refuse("invalid-json", "file", f"damaged JSON: {error}") from error
    if not isinstance(content, dict) or not content.keys() >= set(_KEYS):
        if must_be:
            raise refuse("wrong-file", "file", "JSON without the keys of a report")
        return None
    version = content["schema_version"]
    if isinstance(version, int) and version > SCHEMA_VERSION:
        expected = f"{SCHEMA_VERSION}. Update spotball-core to read newer reports"
        raise refuse("newer-version", "schema_version", str(version), expected)
    return _validated(path, content)


def _validated(path: Path, content: dict[str, Any]) -> ScoreReport:
    # `page` is an additional field in report.json of `spotball report`.
    fields = {key: value for key, value in content.items() if key != "page"}
    try:
        # Encode as JSON again, because Python strings may contain half of a surrogate pair, which files cannot.
        return ScoreReport.model_validate_json(json.dumps(fields))
    except ValidationError as error:
        problems = (
            Problem(
                "invalid-value",
                str(path),
                None,
                ".".join(map(str, wrong["loc"])) or "file",
                repr(wrong["input"])[:80],
                wrong["msg"],
            )
            for wrong in error.errors()
        )
        raise InputError(problems) from error


def _has_keys(path: Path) -> bool:
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return all(content.find(f'"{key}"'.encode()) >= 0 for key in _KEYS)
