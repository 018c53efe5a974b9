"""Find the scenes that the image ids in other tools' files refer to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from spotball_adapters.outputs.layouts import IDS
from spotball_adapters.outputs.records import read_records
from spotball_core.errors import InputError, Problem
from spotball_core.schema.scene import Scene


@dataclass(frozen=True, slots=True)
class Target:
    """The scene that an id identifies, and its prompt in the index table (None if the table does not name one)."""

    scene: Scene
    prompt: str | None = None


class SceneIndex:
    """Find the scene that an id identifies.

    Without an index table, an id is `image`, `sport/image`, or the path of the image file. With an index table, only
    its ids are valid.

    Args:
        scenes: the scenes of the dataset.
        table: an index table, which is a file that maps ids to images. It has a column of ids, such as `index`, `id` or
            `custom_id`, the column `image`, and optionally `sport` and `prompt`. Without a column of ids, the ids are
            the row numbers from 0.

    Raises:
        InputError: if the table cannot be read, repeats an id, or names an image that is not among the scenes.
    """

    def __init__(self, scenes: Sequence[Scene], table: Path | None = None) -> None:
        self._by_name: dict[str, Scene | None] = {}
        for scene in scenes:
            names = {scene.image, f"{scene.sport}/{scene.image}"}
            if scene.path:
                path = PurePosixPath(scene.path)
                names |= {str(path), path.name, path.stem, f"{scene.sport}/{path.name}"}
            for name in names:
                # A name that several scenes share is ambiguous, so it identifies none.
                self._by_name[name] = None if self._by_name.get(name, scene) is not scene else scene
        self._table: dict[str, Target] = {}
        if table:
            self._table = self._read(table)

    def find(self, ids: Sequence[str], sport: str | None = None, index: str | None = None) -> Target | None:
        """Return the scene of the first id that identifies exactly one scene, or None if no id does.

        Args:
            ids: possible ids of an image, the preferred id first.
            sport: the image's sport, or None if it is unknown.
            index: the id in the table of ids, or None if it is one of `ids`.
        """
        for name in ids if index is None else [index, *ids]:
            if name in self._table:
                return self._table[name]
        if self._table:
            return None
        for name in ids:
            path = PurePosixPath(name.replace("\\", "/"))
            parents = [sport] if sport else [path.parent.name] if path.parent.name else []
            spellings = [f"{parent}/{end}" for parent in parents for end in (path.name, path.stem)]
            if not sport:
                spellings = [name, *spellings, path.name, path.stem]
            for spelling in spellings:
                if (scene := self._by_name.get(spelling)) is not None:
                    return Target(scene)
        return None

    def _read(self, path: Path) -> dict[str, Target]:
        rows = read_records(path).rows
        id_column = next((name for name in IDS if name != "image" and name in rows[0][1]), None)
        table: dict[str, Target] = {}
        problems = []
        for place, (line, record) in enumerate(rows):
            image, sport, prompt = (record.get(name) for name in ("image", "sport", "prompt"))
            key = str(record[id_column]).strip() if id_column else str(place)
            target = (
                self.find([str(image).strip()], str(sport).strip() if sport else None) if image is not None else None
            )
            if target is None:
                problems.append(
                    Problem(
                        "unknown-image", str(path), line, "image", repr(image), "the id of an image in the scenes file"
                    )
                )
            elif key in table:
                problems.append(Problem("duplicate", str(path), line, str(id_column), repr(key), "each id once"))
            else:
                table[key] = Target(target.scene, str(prompt) if prompt else None)
        if problems:
            raise InputError(problems)
        return table
