"""Read the texts of a figure and find texts that overlap."""

from __future__ import annotations

from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox


def texts(artist: Artist) -> list[str]:
    """Return every non-empty text in a figure or axes."""
    return [text.get_text() for text in artist.findobj(Text) if text.get_text()]


def _boxes(figure: Figure) -> tuple[list[tuple[str, Bbox]], RendererAgg]:
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    shown = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    # This calls the method of `Text`, because the extent of an annotation would also include its anchor.
    return [(text.get_text(), Text.get_window_extent(text, renderer)) for text in shown], renderer


def touching(figure: Figure) -> list[tuple[str, str]]:
    """Return pairs of texts that overlap, and texts that extend beyond the figure."""
    boxes, _ = _boxes(figure)
    wide, high = figure.get_size_inches() * figure.dpi
    found = [(name, "outside") for name, b in boxes if b.x0 < 0 or b.y0 < 0 or b.x1 > wide or b.y1 > high]
    for i, (name, a) in enumerate(boxes):
        for other, b in boxes[i + 1 :]:
            # Allow half a pixel for rounding.
            if a.x0 < b.x1 - 0.5 and b.x0 < a.x1 - 0.5 and a.y0 < b.y1 - 0.5 and b.y0 < a.y1 - 0.5:
                found.append((name, other))
    return found


def covered(figure: Figure) -> list[str]:
    """Return texts that overlap the line of an interval."""
    boxes, _ = _boxes(figure)
    lines = [
        Bbox(collection.get_transform().transform(segment)).padded(0.1)
        for axes in figure.axes
        for collection in axes.collections
        if isinstance(collection, LineCollection)
        for segment in collection.get_segments()
    ]
    lines = [Bbox.from_extents(min(b.x0, b.x1), min(b.y0, b.y1), max(b.x0, b.x1), max(b.y0, b.y1)) for b in lines]
    return [name for name, box in boxes if any(box.overlaps(line) for line in lines)]
