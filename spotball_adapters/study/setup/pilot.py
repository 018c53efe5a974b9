"""Manage the pilots of a study. Their data are in STUDY/pilot-1, STUDY/pilot-2, ..., separate from the study's data.

The study may still be changed after a pilot. If the study's fixed parts (see `StudyDesign.parts`) have changed, the
next pilot gets a new folder.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spotball_adapters.study.databases import PILOT
from spotball_adapters.study.store import StudyStore, has_data, reading
from spotball_core.errors import OptionError

MARK = PILOT
"""Prefix of the names of pilots' folders and of their participants' labels."""

SIMULATED = "simulated-"
"""Prefix of the labels of simulated participants."""


def pilots(folder: Path) -> list[Path]:
    """Return the folders of a study's pilots, sorted from the first to the latest."""
    folders = (path for path in folder.glob(f"{MARK}*") if re.fullmatch(rf"{MARK}\d+", path.name) and path.is_dir())
    return sorted(folders, key=lambda path: int(path.name.removeprefix(MARK)))


def open_pilot(folder: Path, parts: Mapping[str, Any]) -> Path:
    """Return the folder of the latest pilot if new participants can join it; otherwise, create a new pilot's folder.

    A new pilot is created if there is no pilot, if the latest pilot has no data or has simulated participants, or if
    the fixed parts of the study have changed since the latest pilot.

    Args:
        folder: the study's folder.
        parts: the fixed parts of the study; see `StudyDesign.parts`.
    """
    known = pilots(folder)
    if known and has_data(known[-1]):
        with reading(known[-1]) as reader:
            simulated = any(person.participant.startswith(SIMULATED) for person in reader.participants())
            if not simulated and not reader.changed(parts):
                return known[-1]
    return new_pilot(folder)


def new_pilot(folder: Path) -> Path:
    """Create the folder of a new pilot, and return its path."""
    known = pilots(folder)
    number = int(known[-1].name.removeprefix(MARK)) + 1 if known else 1
    new = folder / f"{MARK}{number}"
    new.mkdir(exist_ok=True)
    return new


def data_folder(folder: Path, *, pilot: bool) -> Path:
    """Return the folder with the data of a study, or, if `pilot` is true, with the data of its latest pilot.

    Raises:
        OptionError: if `pilot` is true, but the study has no pilot.
    """
    if not pilot:
        return folder
    if not (known := pilots(folder)):
        raise OptionError(
            f"there is no pilot. Start one with `spotball study serve {folder} --pilot`",
            code="wrong-folder",
            file=folder,
        )
    return known[-1]


def delete_pilots(folder: Path) -> int:
    """Delete the data of all pilots of a study, and return the number of participants whose data were deleted.

    Raises:
        OptionError: if the study has no pilot, or if a server uses one.
    """
    data_folder(folder, pilot=True)
    n = 0
    for pilot in pilots(folder):
        # Open the store first, because this fails while a server uses the pilot.
        with StudyStore(pilot) as store:
            n += len(store.participants())
            store.drop()
        shutil.rmtree(pilot)
    return n
