"""The picture that is asked about: a scene's image with the alphanumeric grid drawn on it.

People in the study and models see the same drawing, `spotball_core.overlay.gridded`, encoded as PNG.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_adapters.providers.protocol import Picture
from spotball_core.errors import GridError, InputError, MissingExtraError, Problem
from spotball_core.overlay import STYLE, gridded, layout
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing
from spotball_core.service.images import FORMATS, open_image
from spotball_core.service.paths import data_file

if TYPE_CHECKING:
    from PIL.Image import Image

MEDIA_TYPE = "image/png"

_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA")
_ORIENTATION = 0x0112


def encoded(scene: Scene, folder: str | Path) -> Picture:
    """A scene's image with its grid, as PNG. The same image and grid give the same bytes.

    Args:
        scene: with the path of its image.
        folder: the dataset's, to which the path is relative and out of which it does not lead.

    Raises:
        InputError: if there is no such file, it is no image in 8 bits of gray or RGB without transparent parts, it
            has another size than the scene, or its grid cannot be drawn.
        MissingExtraError: without Pillow.
    """
    path = _path(scene, folder)
    return _picture(_drawn(path, content_of(path), scene), scene)


class ScenePictures:
    """The pictures of a dataset, each drawn once.

    Args:
        folder: the dataset's.
        cache: where drawings are kept, for this run and all later ones, named by what they were drawn from; None
            keeps them in memory.
    """

    def __init__(self, folder: str | Path, cache: str | Path | None) -> None:
        self._folder = Path(folder)
        self._drawings = Drawings(cache)
        self._prepared: dict[tuple[str, str], Path | bytes] = {}
        self._lock = threading.Lock()

    def of(self, scene: Scene) -> Picture:
        """A scene's picture; see `encoded` for what it is and what it raises. Threads may call it side by side."""
        with self._lock:
            stored = self._prepared.get(scene.key)
            if stored is None:
                stored = self._prepared[scene.key] = self._keep(scene)
            return _picture(stored if isinstance(stored, bytes) else stored.read_bytes(), scene)

    def _keep(self, scene: Scene) -> Path | bytes:
        path = _path(scene, self._folder)
        content = content_of(path)
        style = f"{scene.layout}, style {STYLE}"
        return self._drawings.of(content, style, lambda: _drawn(path, content, scene))


class Drawings:
    """Drawings as PNG, each made once.

    Args:
        cache: where they are kept, for this run and all later ones, by what they were drawn from; None keeps none.
    """

    def __init__(self, cache: str | Path | None) -> None:
        self._cache = None if cache is None else Path(cache)

    def of(self, content: bytes, style: str, draw: Callable[[], bytes]) -> Path | bytes:
        """The file of a drawing, or the drawing itself where none is kept.

        Args:
            content: of the file that it is drawn from.
            style: whatever else it depends on.
            draw: makes it.
        """
        if self._cache is None:
            return draw()
        source = hashlib.sha256(content)
        source.update(style.encode())
        cached = self._cache / f"{source.hexdigest()}.png"
        if not cached.is_file():
            with replacing(cached) as beside:
                beside.write_bytes(draw())
        return cached


def _picture(data: bytes, scene: Scene) -> Picture:
    width, height = layout(scene.layout).size
    return Picture(data, MEDIA_TYPE, width, height)


def _path(scene: Scene, folder: str | Path) -> Path:
    folder = Path(folder)
    if scene.path is None:
        raise unusable(folder, f"no path of an image for {scene.sport}/{scene.image}", "a scene with its image")
    return data_file(folder, scene.path)


def content_of(path: Path) -> bytes:
    """What is in a file; InputError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise unusable(path, str(error), "a readable file") from error


def _drawn(path: Path, content: bytes, scene: Scene) -> bytes:
    """The PNG of an image with its grid."""
    owner = f"the scene {scene.sport}/{scene.image}"
    image = read_image(path, content, size=(scene.width, scene.height), owner=owner)
    try:
        with_grid = gridded(image, scene.layout)
    except GridError as error:
        raise unusable(path, str(error), "a grid that can be drawn") from error
    return as_png(with_grid)


def as_png(image: Image) -> bytes:
    """An image as PNG."""
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def read_image(path: Path, content: bytes, *, size: tuple[int, int] | None = None, owner: str = "") -> Image:
    """An image in RGB, turned as its EXIF says.

    Args:
        path: as errors name it.
        content: of the file.
        size: that it has to have, in pixels.
        owner: what states the size, for the error.

    Raises:
        InputError: if it is no image in 8 bits of gray or RGB without transparent parts, or has another size.
        MissingExtraError: without Pillow.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise MissingExtraError("showing images", "adapters") from error
    try:
        with open_image(io.BytesIO(content)) as image:
            frames = getattr(image, "n_frames", 1)
            if frames > 1 and image.format != "MPO":
                raise unusable(path, f"{frames} images in one file", "one")
            if image.mode not in _MODES:
                raise unusable(path, f"pixels of the kind {image.mode}", "8 bits of gray or RGB")
            # Asked for before the pixels are read: a small file may claim to be a huge image.
            sideways = image.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8)
            width, height = image.size[::-1] if sideways else image.size
            if size is not None and (width, height) != size:
                raise unusable(path, f"{width} x {height} pixels", f"{size[0]} x {size[1]}, as {owner} says")
            turned = ImageOps.exif_transpose(image)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise unusable(path, str(error), f"an image ({', '.join(FORMATS)})") from error
    if turned.has_transparency_data:
        turned = turned.convert("RGBA")
        if turned.getchannel("A").getextrema() != (255, 255):
            raise unusable(path, "transparent parts", "an image that covers its whole area")
    return turned.convert("RGB")


def unusable(path: Path, found_: str, expected: str) -> InputError:
    """An error about an image's file."""
    return InputError([Problem(str(path), None, "image", found_, expected)])
