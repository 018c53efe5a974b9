"""Read the remaining frames of a video, and report how the video ended, for all engines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spotball_gen.items.frames import FrameReader, Mark, VideoError, VideoFrame
from spotball_gen.items.item import VideoSource
from spotball_gen.items.stage import said, spares_no_other


@dataclass(frozen=True, slots=True)
class End:
    """The end of a video's frames, with the problem if reading the video failed.

    Attributes:
        detail: problem with the video, or None if there was none.
        failed: whether no frame could be read.
    """

    detail: str | None = None
    failed: bool = False


def frames_left(reader: FrameReader, source: VideoSource, mark: Mark | None) -> Iterator[VideoFrame | End]:
    """Yield the frames after the position `mark` (None: all frames), and finally an `End`, which reports any problem.

    Raises:
        Exception: if reading fails with an error that would also affect the next video.
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
