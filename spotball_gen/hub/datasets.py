"""Prepare a dataset for publication: scenes, images and responses as Parquet, other files unchanged."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from spotball_core.counting.parse_record import record_of
from spotball_core.errors import InputError, Problem
from spotball_core.io.dataset import SCENES
from spotball_core.io.plain_files import plain_ending
from spotball_core.io.scenes import read_scenes
from spotball_core.io.sources import COUNTS_ENDING, ENDINGS
from spotball_core.schema.faults import expected_of
from spotball_core.schema.scene import Scene
from spotball_core.service.json_file import parse_json
from spotball_core.service.paths import data_file
from spotball_core.text.words import plural
from spotball_gen.dataset.exports.parquet import DATA, in_pieces, piece_name, write_table
from spotball_gen.dataset.exports.rows import PARTS, SceneRow, read_parts, scene_rows
from spotball_gen.hub.manifest import MANIFEST, HubManifest, Kind, StoredFile, stored_file
from spotball_gen.hub.tables import LINES_PER_FILE, RESPONSES_TABLE, SCENES_TABLE, responses_piece
from spotball_gen.quality.splits import TEST


@dataclass
class Staged:
    """The files that an upload will write to a repository.

    Attributes:
        kind: kind of the content: dataset, results or export.
        folder: the pushed folder.
        work: a folder for files created for the upload.
        files: local path of each file to upload, by its path in the repository.
        stored: the manifest's entries: the files that `pull` will restore.
        notes: sentences for the user, for example about files that are not uploaded.
    """

    kind: Kind
    folder: Path
    work: Path
    files: dict[str, Path] = field(default_factory=dict)
    stored: list[StoredFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_unchanged(self, names: Iterable[str]) -> None:
        """Add files of the pushed folder to the upload, unchanged.

        Raises:
            InputError: if a name is not allowed in a repository, or if there is no regular file with this name.
        """
        for name in names:
            place = data_file(self.folder, name, field="file", description="a file")
            self.files[name] = place
            self._list(name, place, "file")

    def add_as_rows(self, name: str, place: Path) -> None:
        """Add a file to the manifest only, because its content is uploaded in Parquet files.

        Raises:
            InputError: if the file's name is not allowed in a repository.
        """
        self._list(name, place, "rows")

    def add_text(self, name: str, text: str) -> None:
        """Write a text file, and add it to the upload but not to the manifest, so `pull` does not restore it."""
        place = self.work / name
        place.write_text(text, encoding="utf-8", newline="\n")
        self.files[name] = place

    def new_file(self, name: str) -> Path:
        """Add a file to the upload but not to the manifest, and return the path where the caller must write it."""
        place = self.work / name
        place.parent.mkdir(parents=True, exist_ok=True)
        self.files[name] = place
        return place

    def finish(self) -> None:
        """Write the manifest. Raise InputError if the names of two files differ only in case."""
        counts = Counter(file.path.casefold() for file in self.stored)
        if twice := [file.path for file in self.stored if counts[file.path.casefold()] > 1]:
            expected = "names that differ in more than upper and lower case"
            raise InputError.of("duplicate", self.folder, "path", ", ".join(twice)[:200], expected)
        manifest = HubManifest(kind=self.kind, files=tuple(sorted(self.stored, key=lambda file: file.path)))
        self.add_text(MANIFEST, manifest.model_dump_json(indent=1) + "\n")

    def _list(self, name: str, place: Path, stored: Literal["file", "rows"]) -> None:
        try:
            self.stored.append(stored_file(name, place, stored))
        except ValidationError as error:
            (detail, *_) = error.errors(include_url=False)
            expected = expected_of(detail)
            raise InputError.of("invalid-path", self.folder / name, "path", repr(name)[:80], expected) from None


KEPT = ("card.json", "card.md", "splits.json", "funnel.csv", "funnel.svg", "positions.svg")
"""Files of a generated dataset that are published unchanged."""


def stage_dataset(folder: Path, work: Path) -> tuple[Staged, list[SceneRow]]:
    """Prepare a dataset for the upload. Return the prepared files, and a row per scene for the dataset's README.

    Args:
        folder: the dataset's folder.
        work: an empty folder for new files.

    Raises:
        InputError: if scenes, images or responses cannot be read, or if a file's name is not allowed in a repository.
    """
    staged = Staged("dataset", folder, work)
    scenes = read_scenes(folder / SCENES)
    # Without a split, all images are test images, because a benchmark is not training data.
    parts = read_parts(folder, scenes) or {f"{scene.sport}/{scene.image}": TEST for scene in scenes}
    rows = list(scene_rows(folder, scenes, parts))
    _stage_scenes(staged, rows)
    files = sorted(path for path in folder.glob("responses*") if _is_responses(path))
    for path in files:
        if path.suffix == ".jsonl":
            _stage_responses(staged, data_file(folder, path.name, field="file", description="a file"), path.name)
        else:
            staged.add_unchanged([path.name])
    records = [record_of(path).name for path in files if record_of(path).is_file()]
    staged.add_unchanged([*(name for name in KEPT if (folder / name).is_file()), *records])
    _note_others(staged)
    return staged, rows


def _is_responses(path: Path) -> bool:
    return plain_ending(path) in (*ENDINGS, COUNTS_ENDING)


def _stage_scenes(staged: Staged, rows: Sequence[SceneRow]) -> None:
    """Write the scenes and images to data/*.parquet, and add these files to the upload.

    Each file contains scenes of one part of the split. scenes.jsonl and the images are not uploaded as files, because
    `pull` restores them from data/*.parquet.
    """
    lines = _lines(staged, staged.folder / SCENES, SCENES)
    images = _images(staged.folder, [row.scene for row in rows])
    for path, place in {row.scene.path: image for row, image in zip(rows, images, strict=True)}.items():
        if path is not None and place is not None:
            staged.add_as_rows(path, place)
    complete = list(enumerate(zip(rows, images, lines, strict=True)))
    for part in PARTS:
        inside = [row for row in complete if row[1][0].part == part]
        sizes = [0 if image is None else image.stat().st_size for _, (_, image, _) in inside]
        pieces = list(in_pieces(inside, sizes))
        for number, piece in enumerate(pieces):
            place = staged.new_file(f"{DATA}/{piece_name(part, number, len(pieces))}")
            write_table((_scene_record(*row, position) for position, row in piece), SCENES_TABLE, place)


def _images(folder: Path, scenes: Sequence[Scene]) -> list[Path | None]:
    """Return the image file of each scene, or None for a scene without an image. Raise InputError for missing files."""
    images: list[Path | None] = []
    problems: list[Problem] = []
    for scene in scenes:
        try:
            images.append(None if scene.path is None else data_file(folder, scene.path))
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return images


def _scene_record(row: SceneRow, image: Path | None, line: str, position: int) -> dict[str, object]:
    pixels = None if image is None else {"bytes": image.read_bytes(), "path": image.name}
    return {"image": pixels, **row.record(), "control": row.scene.control, "position": position, "line": line}


def _stage_responses(staged: Staged, path: Path, name: str) -> None:
    lines = _lines(staged, path, name)
    pieces = [lines[start : start + LINES_PER_FILE] for start in range(0, len(lines), LINES_PER_FILE)]
    for number, piece in enumerate(pieces):
        start = number * LINES_PER_FILE
        records = (_response_record(name, line, position) for position, line in enumerate(piece, start))
        write_table(records, RESPONSES_TABLE, staged.new_file(responses_piece(name, number, len(pieces))))


def _response_record(name: str, line: str, position: int) -> dict[str, object]:
    try:
        content = parse_json(line)
    except ValueError:
        content = None  # Scoring reports it, with the line.
    fields: dict[str, Any] = content if isinstance(content, dict) else {}
    record: dict[str, object] = {"file": name, "position": position, "line": line}
    for column in RESPONSES_TABLE:
        if column.name in record:
            continue
        value = fields.get(column.name)
        if column.name == "sample":
            record[column.name] = value if isinstance(value, int) and abs(value) < 2**63 else None
        else:
            record[column.name] = value if value is None or isinstance(value, str) else json.dumps(value)
    return record


def _lines(staged: Staged, path: Path, name: str) -> list[str]:
    """Return the non-empty lines of a JSON Lines file, and add the file to the manifest.

    The manifest describes the file that `pull` restores, without blank lines and with line endings of Unix.
    """
    content = path.read_bytes()
    text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    lines = [line for line in text.split("\n") if line.strip()]
    pulled = joined(lines)
    place = path
    if pulled != content:
        staged.notes.append(
            f"{name}: `spotball pull` restores the same lines, but line endings and blank lines may differ."
        )
        place = staged.work / f"{hashlib.sha256(name.encode()).hexdigest()}.jsonl"
        place.write_bytes(pulled)
    staged.add_as_rows(name, place)
    return lines


def joined(lines: Sequence[str]) -> bytes:
    """Return the content of a JSON Lines file with these lines."""
    return "".join(f"{line}\n" for line in lines).encode()


def _note_others(staged: Staged) -> None:
    """Add a note about files in the folder that are not published."""
    known = {file.path for file in staged.stored}
    others = Counter(name.split("/")[0] for name in _visible_files(staged.folder) if name not in known)
    if others:
        listed = ", ".join(
            name if (staged.folder / name).is_file() else f"{name}/ ({plural(count, 'file')})"
            for name, count in sorted(others.items())
        )
        staged.notes.append(f"Not uploaded: {listed}.")


def _visible_files(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if not name.startswith(".") and path.is_file():
            yield name
