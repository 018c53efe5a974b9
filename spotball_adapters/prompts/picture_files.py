"""Store each prompt image as a file named by its SHA-256, for uses that need files instead of bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from spotball_adapters.prompts.picture import encoded
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing


def kept(scene: Scene, dataset: Path, folder: Path) -> Path:
    """Return the path of a PNG file of a scene's image with its grid. Create the file if it is missing.

    Args:
        dataset: the dataset's folder.
        folder: the folder in which to create the file.

    Raises:
        InputError: if the image is missing or invalid; see `picture.encoded`.
    """
    data = encoded(scene, dataset).data
    path = folder / f"{hashlib.sha256(data).hexdigest()}.png"
    if not path.is_file():
        with replacing(path) as beside:
            beside.write_bytes(data)
    return path
