"""Display the progress of a generation as one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spotball_core.service.progress import progress_display
from spotball_gen.pipeline.ledger import FRAMES

if TYPE_CHECKING:
    from spotball_gen.pipeline.engines.tally import GenerationTally


def line(tally: GenerationTally, stages: Sequence[str]) -> str:
    """Return the progress as one line, with the number of items that each stage kept.

    Examples:
        >>> from collections import Counter
        >>> from spotball_gen.pipeline.engines.tally import GenerationTally
        >>> tally = GenerationTally(3, 1, Counter(frames=40, filter=38), Counter(frames=39, filter=30), failed=1)
        >>> line(tally, ["filter", "detect"])
        '1 of 3 videos, 39 of 40 frames, filter 30 of 38, detect 0 of 0, 1 failed'
    """
    parts = [f"{tally.videos_done:,} of {tally.videos:,} videos"]
    parts.append(f"{tally.kept[FRAMES]:,} of {tally.seen[FRAMES]:,} frames")
    parts += [f"{stage} {tally.kept[stage]:,} of {tally.seen[stage]:,}" for stage in stages]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    return ", ".join(parts)


@contextmanager
def show_progress(tally: GenerationTally, stages: Sequence[str], *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Yield a callback that displays the progress. Call it often."""
    with progress_display(lambda: line(tally, stages), quiet=quiet) as on_progress:
        yield lambda: on_progress(tally.videos_done, tally.videos)
