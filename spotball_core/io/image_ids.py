"""Match image ids of other tools, such as file names, to the ids of scenes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from spotball_core.schema.scene import Scene

_EXTENSION = re.compile(r"\.(jpe?g|png|webp|gif|bmp|tiff?)", re.I)
_WHOLE = re.compile(r"(\d+)\.0+")


def known_as(unknown: Iterable[str], scenes: Sequence[Scene]) -> dict[str, tuple[str | None, str]]:
    """Return the sport (None if the id does not name it) and the image of each id that means exactly one image id.

    An id may be the path of the scene's image or the end of it, or have a folder (which may name the sport), a file
    extension, or the `.0` that pandas adds to numbers if a value is missing.

    Args:
        unknown: ids that no scene has.
        scenes: the scenes.

    Examples:
        >>> from spotball_core.grid import Grid
        >>> scenes = [Scene(image="0", sport=sport, grid=Grid.standard()) for sport in ("soccer", "tennis")]
        >>> known_as(["0.0", "0.jpg", "images/soccer/0.jpg", "golf/1.jpg"], scenes)
        {'0.0': (None, '0'), '0.jpg': (None, '0'), 'images/soccer/0.jpg': ('soccer', '0')}
        >>> known_as(["train/soccer/0.jpg", "val/soccer/0.jpg"], scenes)
        {}
    """
    sports: defaultdict[str, set[str]] = defaultdict(set)
    ends: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for scene in scenes:
        sports[scene.image].add(scene.sport)
        parts = scene.path.split("/") if scene.path else []
        for start in range(len(parts)):
            ends["/".join(parts[start:])].add(scene.key)
    known: dict[str, tuple[str | None, str]] = {}
    folders_of: defaultdict[tuple[str | None, str], set[tuple[str, ...]]] = defaultdict(set)
    for given in unknown:
        parts = [part for part in given.replace("\\", "/").split("/") if part not in ("", ".")]
        if not parts:
            continue
        by_path = [keys for start in range(len(parts)) if (keys := ends.get("/".join(parts[start:])))]
        if by_path and len(by_path[0]) == 1:
            ((sport, image),) = by_path[0]
            known[given] = (sport, image)
            continue
        *folders, name = parts
        image = match[1] if (match := _WHOLE.fullmatch(name)) else name
        if image not in sports and (match := _EXTENSION.search(name)) and match.end() == len(name):
            image = name[: match.start()]
        if image not in sports:
            continue
        named = sports[image].intersection(folders)
        if not folders or len(sports[image]) == 1:
            known[given] = (None, image)
        elif len(named) == 1:
            known[given] = (named.pop(), image)
        if folders and given in known:
            folders_of[known[given]].add(tuple(folders))
    # Files of the same name in several folders, such as train/1.png and val/1.png, are different images.
    ambiguous = {key for key, of_image in folders_of.items() if len(of_image) > 1}
    return {given: key for given, key in known.items() if key not in ambiguous}
