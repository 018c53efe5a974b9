"""Serve a study's images under addresses that do not reveal file names, or which images are attention checks."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Literal

from spotball_adapters.study.items import Key
from spotball_adapters.study.metadata import without_metadata
from spotball_adapters.study.setup.design import StudyImage

HELD = 64 * 1024 * 1024
"""Maximum total size of the images kept in memory, in bytes."""

Role = Literal["trial", "practice", "example"]
"""The use of an image: as a trial, as practice, or as the example in the instructions. An attention check that is also
shown as practice has a different address for each use, so that participants cannot recognize it by its address."""


class Images:
    """Find a study's images by address. The addresses are derived from the study's secret key.

    Args:
        pictures: images by (sport, image).
        example: the example images of the instructions.
        secret: the study's secret key.
    """

    def __init__(self, pictures: Mapping[Key, StudyImage], example: tuple[StudyImage, ...], secret: bytes) -> None:
        self._secret = secret
        self._known: dict[str, StudyImage] = {}
        for key, picture in pictures.items():
            self._known[self.name(key, "trial")] = self._known[self.name(key, "practice")] = picture
        for number, picture in enumerate(example):
            self._known[self.name(("", str(number)), "example")] = picture
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def name(self, key: Key, role: Role) -> str:
        """Return the last part of the address of an image for the given use."""
        return hmac.new(self._secret, json.dumps([role, *key]).encode(), hashlib.sha256).hexdigest()[:32]

    def address(self, key: Key, role: Role) -> str:
        """Return the address of an image for the given use, relative to the address of the page."""
        return f"images/{self.name(key, role)}"

    def find(self, name: str) -> StudyImage | None:
        """Return the image whose address ends in `name`, or None if there is none."""
        return self._known.get(name)

    def content(self, picture: StudyImage) -> bytes:
        """Return the bytes to send: the image's file without metadata. Several threads may call this method at the same
        time."""
        with self._lock:
            if (data := self._held.get(picture.digest)) is not None:
                self._held.move_to_end(picture.digest)
                return data
        try:
            data = without_metadata(picture.path.read_bytes(), picture.media_type, picture.orientation)
        except ValueError as error:
            raise OSError(f"{picture.path}: {error}") from error
        with self._lock:
            if picture.digest not in self._held:
                self._held[picture.digest] = data
                self._size += len(data)
            while self._size > HELD:
                self._size -= len(self._held.popitem(last=False)[1])
        return data

    def in_memory(self, picture: StudyImage) -> bytes | None:
        """Return the bytes to send if they are in memory, otherwise None."""
        with self._lock:
            return self._held.get(picture.digest)
