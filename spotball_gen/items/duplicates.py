"""Find near duplicates among perceptual hashes. An index over groups of bits (bands) avoids comparing all pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.pictures import opencv

_BITS = 256
_RECENT = 2048
"""Number of hashes that are compared one by one before they are sorted into the index."""
_MOST_BANDS = 17
"""Maximum number of bands. If more were needed, they would have too few bits, so all hashes are compared instead."""
_WIDEST = 32
"""Maximum number of bits of a band in the index. Of wider bands, only the first bits are used."""


@dataclass(frozen=True, slots=True)
class _Level:
    """A part of the index: some of the hashes, with the sorted keys of their bands.

    Attributes:
        keys: sorted keys, each composed of a band's number and the bits of that band of one hash.
        places: index of the hash of each key.
        size: number of hashes.
    """

    keys: NDArray[np.int64]
    places: NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, keys: NDArray[np.int64], places: NDArray[np.int64], size: int) -> _Level:
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], places[order], size)

    def agreeing(self, keys: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return arrays with the indices of the hashes that have one of these keys."""
        first, last = (np.searchsorted(self.keys, keys, side=side) for side in ("left", "right"))
        return [self.places[start:end] for start, end in zip(first.tolist(), last.tolist(), strict=True) if end > start]


class Seen:
    """Index of the perceptual hashes of all previous frames, to find near duplicates.

    The bits of a hash are divided into `bits + 1` bands. Two hashes that differ in at most `bits` bits agree in at
    least one band, so only hashes that agree in a band are compared. The bands are stored in sorted arrays of doubling
    sizes, so looking up a band takes about log(n) binary searches.

    Args:
        bits: maximum number of bits in which near duplicates differ.
        known: ids and hashes of earlier frames.

    Source:
        Norouzi, Punjani, Fleet (2012). Fast search in Hamming space with multi-index hashing. CVPR.

    Examples:
        >>> seen = Seen(2, [("a", bytes(32))])
        >>> seen.near(bytes(31) + b"\\x03"), seen.near(bytes(31) + b"\\x07")
        (('a', 2), None)
    """

    def __init__(self, bits: int, known: Iterable[tuple[str, bytes]] = ()) -> None:
        self._cv2, self._bits = opencv(), bits
        self._names: list[str] = []
        self._hashes: NDArray[np.uint8] = np.empty((_RECENT, _BITS // 8), dtype=np.uint8)
        self._levels: list[_Level] = []
        self._sorted = 0
        self._weights = _band_weights(bits + 1) if bits < _MOST_BANDS else None
        for name, frame_hash in known:
            self.add(name, frame_hash)

    def add(self, name: str, frame_hash: bytes) -> None:
        """Add a frame's hash."""
        count = len(self._names)
        if count == len(self._hashes):
            self._hashes = np.concatenate([self._hashes, np.empty_like(self._hashes)])
        self._hashes[count] = np.frombuffer(frame_hash, dtype=np.uint8)
        self._names.append(name)
        if self._weights is not None and count + 1 - self._sorted == _RECENT:
            self._sort()

    def near(self, frame_hash: bytes) -> tuple[str, int] | None:
        """Return the frame whose hash differs in the fewest bits (the first if tied), and the number of these bits.

        Return None if all frames differ in more than `bits` bits.
        """
        query = np.frombuffer(frame_hash, dtype=np.uint8)[None]
        recent = np.arange(self._sorted, len(self._names))
        places = recent
        if self._levels:
            keys = self._keys(query)[0]
            agreeing = [part for level in self._levels for part in level.agreeing(keys)]
            places = np.concatenate([np.unique(np.concatenate(agreeing)), recent]) if agreeing else recent
        if not len(places):
            return None
        hashes = self._hashes[places] if len(places) > len(recent) else self._hashes[self._sorted : len(self._names)]
        distance, place = self._cv2.batchDistance(query, hashes, self._cv2.CV_32S, normType=self._cv2.NORM_HAMMING, K=1)
        bits = int(distance[0, 0])
        return (self._names[int(places[place[0, 0]])], bits) if bits <= self._bits else None

    def _sort(self) -> None:
        """Sort the recent hashes into the index, and merge levels of equal size."""
        new = np.arange(self._sorted, len(self._names))
        keys = self._keys(self._hashes[new[0] : new[-1] + 1])
        level = _Level.of(keys.ravel(), np.repeat(new, keys.shape[1]), len(new))
        while self._levels and self._levels[-1].size == level.size:
            before = self._levels.pop()
            both = np.concatenate([before.keys, level.keys]), np.concatenate([before.places, level.places])
            level = _Level.of(*both, before.size + level.size)
        self._levels.append(level)
        self._sorted = len(self._names)

    def _keys(self, hashes: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the key of each band of each hash, shape (n, bands)."""
        assert self._weights is not None
        bits = np.unpackbits(hashes, axis=1).astype(np.float64)
        # Sums of powers of two below 2**32 are exact.
        values = (bits @ self._weights).astype(np.int64)
        keys: NDArray[np.int64] = values + (np.arange(values.shape[1], dtype=np.int64) << _WIDEST)
        return keys


def _band_weights(bands: int) -> NDArray[np.float64]:
    """Return the matrix that maps the bits of a hash to the values of its bands, shape (256, bands)."""
    weights = np.zeros((_BITS, bands))
    for band, bits in enumerate(np.array_split(np.arange(_BITS), bands)):
        bits = bits[:_WIDEST]
        weights[bits, band] = 2.0 ** np.arange(len(bits))
    return weights
