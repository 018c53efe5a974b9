"""All frames of a video that are left, and how it ended, on whatever engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spotball_gen.items.frames import FrameReader, Mark, VideoError, VideoFrame
from spotball_gen.items.item import VideoSource
from spotball_gen.items.stage import said, spares_no_other


@dataclass(frozen=True, slots=True)
class End:
    """A video has no more frames.

    Attributes:
        detail: what is wrong with it.
        failed: whether nothing could be had of it.
    """

    detail: str | None = None
    failed: bool = False


def frames_left(reader: FrameReader, source: VideoSource, mark: Mark | None) -> Iterator[VideoFrame | End]:
    """The frames after a mark, in order, and in the end how it ended. What is wrong with a video is its own matter.

    Raises:
        Exception: what the next video would meet, too.
    """
    any_read = mark is not None
    try:
        for frame in reader.read(source, mark):
            any_read = True
            yield frame
    except VideoError as error:
        yield End(str(error), failed=not any_read)
    except Exception as error:
        if spares_no_other(error):
            raise
        yield End(said(error), failed=not any_read)
    else:
        yield End()
