"""Prepare photos for models as in the gaze paper: square, padded with black, and limited in size."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_adapters.prompts.picture import MEDIA_TYPE, Drawings, as_png, content_of, read_image, unusable
from spotball_adapters.providers.protocol import Picture
from spotball_core.errors import MissingExtraError
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.service.images import open_image
from spotball_core.service.paths import data_file

if TYPE_CHECKING:
    from PIL.Image import Image

TASK = "gaze"
"""Value that a gaze run stores in the field in which a Spot the Ball run stores the sport."""

SIZE = 448
"""Side length in pixels of the photos that people and models saw in the gaze paper."""

STYLE = 1
"""Version of the method that pads photos to squares and downscales them. It is part of the cache's keys."""

_SENT_AS_THEY_ARE = {"JPEG": "image/jpeg", "PNG": "image/png"}
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True)
class Photo:
    """The photo of a stimulus, about which a gaze run sends its prompts."""

    stimulus: Stimulus

    @property
    def key(self) -> tuple[str, str]:
        """Return (`gaze`, ID of the stimulus)."""
        return TASK, self.stimulus.stimulus_id


@dataclass(frozen=True, slots=True)
class _Kept:
    data: Path | bytes
    media_type: str
    side: int


@dataclass(frozen=True, slots=True)
class _Header:
    """An image's width and height after rotation by EXIF; its media type, or None if the file must be converted."""

    size: tuple[int, int]
    media_type: str | None


class Photos:
    """Convert a folder's photos to the images that are sent to models. Square photos that are small enough are sent
    unchanged; no photo is enlarged.

    Args:
        folder: the folder that the stimuli's paths are relative to. Paths must stay inside it.
        side: maximum side length in pixels.
        cache: folder that stores the padded or downscaled photos, or None to keep them in memory only.
    """

    def __init__(self, folder: Path, side: int, cache: Path | None) -> None:
        self._folder, self._side = folder, side
        self._drawings = Drawings(cache)
        self._prepared: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def of(self, photo: Photo) -> Picture:
        """Return the image that is sent for a photo. Several threads may call this method.

        Raises:
            InputError: if the file does not exist, or is not an opaque image with 8 bits per channel in gray or RGB.
        """
        with self._lock:
            name = photo.stimulus.stimulus_id
            stored = self._prepared.get(name)
            if stored is None:
                stored = self._prepared[name] = self._keep(self.path(photo))
            data = stored.data if isinstance(stored.data, bytes) else stored.data.read_bytes()
            return Picture(data, stored.media_type, stored.side, stored.side)

    def path(self, photo: Photo) -> Path:
        """Return the file of a photo. Raise InputError if the stimulus names no file or the file does not exist."""
        stimulus = photo.stimulus
        if stimulus.image is None:
            raise unusable(
                "missing-value",
                self._folder,
                f"the stimulus {stimulus.stimulus_id} without an image path",
                "an image path",
            )
        return data_file(self._folder, stimulus.image)

    def size(self, photo: Photo) -> tuple[int, int]:
        """Return width and height of the image that is sent for a photo, in pixels."""
        path = self.path(photo)
        side = min(max(_header(path, content_of(path)).size), self._side)
        return side, side

    def _keep(self, path: Path) -> _Kept:
        content = content_of(path)
        header = _header(path, content)
        side = min(max(header.size), self._side)
        if header.size == (side, side) and header.media_type:
            # Check that the file contains pixels, not only a header.
            read_image(path, content)
            return _Kept(path, header.media_type, side)
        drawing = self._drawings.of(
            content, f"photo {side}, style {STYLE}", lambda: as_png(fitted(read_image(path, content), side))
        )
        return _Kept(drawing, MEDIA_TYPE, side)


def fitted(image: Image, side: int) -> Image:
    """Return an image centered in a black square with `side` pixels per side, downscaled if necessary."""
    from PIL import Image as Images

    scale = min(1.0, side / max(image.size))
    width, height = (max(1, round(scale * length)) for length in image.size)
    small = image.resize((width, height), Images.Resampling.LANCZOS) if scale < 1 else image
    square = Images.new("RGB", (side, side))
    square.paste(small, ((side - width) // 2, (side - height) // 2))
    return square


def _header(path: Path, content: bytes) -> _Header:
    try:
        from PIL import Image as Images
    except ImportError as error:
        raise MissingExtraError("sending images", "adapters") from error
    try:
        with open_image(io.BytesIO(content)) as image:
            orientation = image.getexif().get(_ORIENTATION, 1)
            size = image.size[::-1] if orientation in (5, 6, 7, 8) else image.size
            plain = orientation == 1 and image.mode in ("L", "RGB") and not image.has_transparency_data
            return _Header(size, _SENT_AS_THEY_ARE.get(image.format or "") if plain else None)
    except (OSError, ValueError, SyntaxError, Images.DecompressionBombError) as error:
        raise unusable("unreadable-file", path, str(error), "an image") from error
