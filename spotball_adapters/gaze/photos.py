"""Photos as they are shown: square, of one size, padded with black, as the study's were."""

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
"""What stands in a run's store in the place of a sport."""

SIZE = 448
"""Pixels of a side: what people and models were shown in the study."""

STYLE = 1
"""Of how photos are made to fit."""

_SENT_AS_THEY_ARE = {"JPEG": "image/jpeg", "PNG": "image/png"}
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True)
class Photo:
    """A stimulus as something to ask about."""

    stimulus: Stimulus

    @property
    def key(self) -> tuple[str, str]:
        """The task, and the stimulus' name."""
        return TASK, self.stimulus.stimulus_id


@dataclass(frozen=True, slots=True)
class _Kept:
    data: Path | bytes
    media_type: str
    side: int


@dataclass(frozen=True, slots=True)
class _Header:
    """Of a file: width and height once it is upright, and its media type if it may be sent as it is."""

    size: tuple[int, int]
    media_type: str | None


class Photos:
    """Photos of a folder. One that is square and small enough already is sent as its file is; none is made larger.

    Args:
        folder: to which the stimuli's paths are relative, and out of which they do not lead.
        side: pixels of a side, at most.
        cache: where photos that were made to fit are kept; None keeps none.
    """

    def __init__(self, folder: Path, side: int, cache: Path | None) -> None:
        self._folder, self._side = folder, side
        self._drawings = Drawings(cache)
        self._prepared: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def of(self, photo: Photo) -> Picture:
        """A photo as it is shown. Threads may call it side by side.

        Raises:
            InputError: if there is no such file, or it is no image in 8 bits of gray or RGB without transparent parts.
        """
        with self._lock:
            name = photo.stimulus.stimulus_id
            stored = self._prepared.get(name)
            if stored is None:
                stored = self._prepared[name] = self._keep(self.path(photo))
            data = stored.data if isinstance(stored.data, bytes) else stored.data.read_bytes()
            return Picture(data, stored.media_type, stored.side, stored.side)

    def path(self, photo: Photo) -> Path:
        """The file of a photo; InputError if there is none."""
        stimulus = photo.stimulus
        if stimulus.image is None:
            raise unusable(self._folder, f"no path of an image for {stimulus.stimulus_id}", "a stimulus with its image")
        return data_file(self._folder, stimulus.image)

    def size(self, photo: Photo) -> tuple[int, int]:
        """Width and height of a photo as it is shown, in pixels."""
        path = self.path(photo)
        side = min(max(_header(path, content_of(path)).size), self._side)
        return side, side

    def _keep(self, path: Path) -> _Kept:
        content = content_of(path)
        header = _header(path, content)
        side = min(max(header.size), self._side)
        if header.size == (side, side) and header.media_type:
            # To see that there are pixels behind the header.
            read_image(path, content)
            return _Kept(path, header.media_type, side)
        drawing = self._drawings.of(
            content, f"photo {side}, style {STYLE}", lambda: as_png(fitted(read_image(path, content), side))
        )
        return _Kept(drawing, MEDIA_TYPE, side)


def fitted(image: Image, side: int) -> Image:
    """An image in the middle of a black square of this side, made smaller if it has to be."""
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
        raise MissingExtraError("showing images", "adapters") from error
    try:
        with open_image(io.BytesIO(content)) as image:
            orientation = image.getexif().get(_ORIENTATION, 1)
            size = image.size[::-1] if orientation in (5, 6, 7, 8) else image.size
            plain = orientation == 1 and image.mode in ("L", "RGB") and not image.has_transparency_data
            return _Header(size, _SENT_AS_THEY_ARE.get(image.format or "") if plain else None)
    except (OSError, ValueError, SyntaxError, Images.DecompressionBombError) as error:
        raise unusable(path, str(error), "an image") from error
