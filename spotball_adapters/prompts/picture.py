"""Create the image of a prompt: a scene's image with the labeled grid drawn on it.

Participants of the human study and models see the same drawing, `spotball_core.overlay.gridded`, encoded as PNG.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_adapters.providers.protocol import Picture
from spotball_core.error_codes import Code
from spotball_core.errors import GridError, InputError, MissingExtraError
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
    """Return a scene's image with its grid, as PNG. The same image and grid always give the same bytes.

    Args:
        scene: a scene with the path of its image.
        folder: the dataset's folder. The path is relative to it and must stay inside it.

    Raises:
        InputError: if the file does not exist; if it is not an opaque image with 8 bits per channel in gray or RGB; if
            its size differs from the scene's; or if its grid cannot be drawn.
        MissingExtraError: if Pillow is not installed.
    """
    path = _path(scene, folder)
    return _picture(_drawn(path, content_of(path), scene), scene)


class ScenePictures:
    """Create the images of a dataset with their grids, and store them, so that each is drawn only once.

    Args:
        folder: the dataset's folder.
        cache: folder that stores the drawings for this and later runs, named by a digest of their sources; None keeps
            them in memory.
    """

    def __init__(self, folder: str | Path, cache: str | Path | None) -> None:
        self._folder = Path(folder)
        self._drawings = Drawings(cache)
        self._prepared: dict[tuple[str, str], Path | bytes] = {}
        self._lock = threading.Lock()

    def of(self, scene: Scene) -> Picture:
        """Return a scene's image with its grid; see `encoded` for the format and the errors. Thread-safe."""
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
    """Store drawings as PNG files, so that each is made only once.

    Args:
        cache: folder that stores the drawings for this and later runs, named by a digest of their sources; None stores
            none.
    """

    def __init__(self, cache: str | Path | None) -> None:
        self._cache = None if cache is None else Path(cache)

    def of(self, content: bytes, style: str, draw: Callable[[], bytes]) -> Path | bytes:
        """Return the path of a drawing's file, or the drawing's bytes if there is no cache folder.

        Args:
            content: bytes of the source file.
            style: text that describes everything else that the drawing depends on, such as the grid.
            draw: function that makes the drawing.
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
        raise unusable(
            "missing-value", folder, f"the scene {scene.sport}/{scene.image} without an image path", "an image path"
        )
    return data_file(folder, scene.path)


def content_of(path: Path) -> bytes:
    """Return the bytes of an image file. Raise InputError if the file cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise unusable("unreadable-file", path, str(error), "a readable file") from error


def _drawn(path: Path, content: bytes, scene: Scene) -> bytes:
    """Return a scene's image with its grid, encoded as PNG."""
    owner = f"the scene {scene.sport}/{scene.image}"
    image = read_image(path, content, size=(scene.width, scene.height), owner=owner)
    try:
        with_grid = gridded(image, scene.layout)
    except GridError as error:
        raise unusable("invalid-grid", path, str(error), "a grid that can be drawn") from error
    return as_png(with_grid)


def as_png(image: Image) -> bytes:
    """Return the image, encoded as PNG."""
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def read_image(path: Path, content: bytes, *, size: tuple[int, int] | None = None, owner: str = "") -> Image:
    """Return an image in RGB, rotated according to its EXIF data.

    Args:
        path: path of the image file, for error messages only.
        content: bytes of the image file.
        size: the required width and height in pixels, or None to accept any size.
        owner: what requires this size, for error messages.

    Raises:
        InputError: if the file is not an opaque image with 8 bits per channel in gray or RGB, or does not have `size`.
        MissingExtraError: if Pillow is not installed.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise MissingExtraError("sending images", "adapters") from error
    try:
        with open_image(io.BytesIO(content)) as image:
            frames = getattr(image, "n_frames", 1)
            if frames > 1 and image.format != "MPO":
                raise unusable("invalid-value", path, f"{frames} images in one file", "one image")
            if image.mode not in _MODES:
                raise unusable("invalid-value", path, f"the pixel format {image.mode}", "8-bit gray or RGB pixels")
            # Checked before the pixels are read, because a small file may claim to be a huge image.
            sideways = image.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8)
            width, height = image.size[::-1] if sideways else image.size
            if size is not None and (width, height) != size:
                raise unusable(
                    "invalid-value", path, f"{width} x {height} pixels", f"{size[0]} x {size[1]}, as in {owner}"
                )
            turned = ImageOps.exif_transpose(image)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise unusable("unreadable-file", path, str(error), f"an image ({', '.join(FORMATS)})") from error
    if turned.has_transparency_data:
        turned = turned.convert("RGBA")
        if turned.getchannel("A").getextrema() != (255, 255):
            raise unusable("invalid-value", path, "transparent pixels", "an image without transparency")
    return turned.convert("RGB")


def unusable(code: Code, path: Path, found_: str, expected: str) -> InputError:
    """Return an InputError that states what was found in an image file and what was expected."""
    return InputError.of(code, path, "image", found_, expected)


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
