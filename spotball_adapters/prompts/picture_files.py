"""Pictures as files, for whoever is not handed their bytes: each once, by the SHA-256 of what is in it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from spotball_adapters.prompts.picture import encoded
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing


def kept(scene: Scene, dataset: Path, folder: Path) -> Path:
    """The file of a scene's image with its grid, made if it is missing.

    Args:
        dataset: the folder with the scene's image.
        folder: where the file is.

    Raises:
        InputError: if the image cannot be used.
    """
    data = encoded(scene, dataset).data
    path = folder / f"{hashlib.sha256(data).hexdigest()}.png"
    if not path.is_file():
        with replacing(path) as beside:
            beside.write_bytes(data)
    return path
