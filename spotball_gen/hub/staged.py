"""Collect the files of an upload, with their local paths, and write the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from spotball_core.errors import InputError, Problem
from spotball_core.schema.faults import expected_of
from spotball_core.service.paths import data_file
from spotball_gen.hub.manifest import MANIFEST, HubManifest, Kind, StoredFile, stored_file


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
            raise InputError([Problem("duplicate", str(self.folder), None, "path", ", ".join(twice)[:200], expected)])
        manifest = HubManifest(kind=self.kind, files=tuple(sorted(self.stored, key=lambda file: file.path)))
        self.add_text(MANIFEST, manifest.model_dump_json(indent=1) + "\n")

    def _list(self, name: str, place: Path, stored: Literal["file", "rows"]) -> None:
        try:
            self.stored.append(stored_file(name, place, stored))
        except ValidationError as error:
            (detail, *_) = error.errors(include_url=False)
            expected = expected_of(detail)
            raise InputError(
                [Problem("invalid-path", str(self.folder / name), None, "path", repr(name)[:80], expected)]
            ) from None
