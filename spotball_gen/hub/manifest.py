"""The manifest spotball.json: the files that `spotball pull` restores from a repository, with checksums."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, NonNegativeInt, model_validator

from spotball_core.schema.record import Record, RelativePath
from spotball_core.service.files import file_digest

MANIFEST: Final = "spotball.json"
"""Name of the manifest in the root of a repository."""

Kind = Literal["dataset", "results", "export"]
"""The content of a repository: a dataset, score reports, or an export from `spotball gen export`."""


def is_visible(path: str) -> bool:
    """Return whether no file or folder name in a path starts with a dot.

    Hidden files such as .git/config are not allowed, because programs that run in the folder would obey them.

    Examples:
        >>> is_visible("images/1.png"), is_visible(".git/config"), is_visible("images/.1.png")
        (True, False, False)
    """
    return not any(part.startswith(".") for part in path.split("/"))


def _visible(path: str) -> str:
    if not is_visible(path):
        raise ValueError("expected a path without hidden folders and files (names that start with a dot)")
    return path


HubPath = Annotated[
    RelativePath,
    AfterValidator(_visible),
    Field(json_schema_extra={"not": {"pattern": r"(^|/)\."}}),
]
"""A file path in a repository: relative, without hidden files or folders (names that start with a dot)."""


class StoredFile(Record):
    """A file that was pushed.

    Attributes:
        path: path of the file in the pushed folder and in the restored folder.
        stored: `file` if the repository contains the same file; `rows` if its content is in Parquet files.
        bytes: size of the file in bytes.
        sha256: SHA-256 of the file in hexadecimal.
    """

    path: HubPath
    stored: Literal["file", "rows"]
    bytes: NonNegativeInt
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class HubManifest(Record):
    """The manifest of a repository: the files that `spotball pull` restores.

    Attributes:
        format: version of the manifest's format.
        kind: content of the repository: dataset, results or export.
        files: the files that `spotball pull` writes.
    """

    format: Literal[1] = 1
    kind: Kind
    files: Annotated[tuple[StoredFile, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _each_once(self) -> HubManifest:
        # Some file systems ignore case, so the second file would replace the first.
        if len({file.path.casefold() for file in self.files}) < len(self.files):
            raise ValueError("expected paths that differ in more than upper and lower case")
        return self


def stored_file(path: str, place: Path, stored: Literal["file", "rows"]) -> StoredFile:
    """Return a file's entry in the manifest, with its size and checksum.

    Args:
        path: path of the file in the pushed folder.
        place: path of the file on this machine.
        stored: how the repository stores the file; see `StoredFile`.
    """
    return StoredFile(path=path, stored=stored, bytes=place.stat().st_size, sha256=file_digest(place))
