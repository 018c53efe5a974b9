"""Count a study's answers as they arrive, and draw the charts of the admin page: answers over time, stages, images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from spotball_adapters.study.items import Key
from spotball_adapters.study.progress import AnsweredTrial
from spotball_adapters.study.setup.design import StudyDesign
from spotball_core.text.words import plural

_BINS = 60
"""Maximum number of bars in the chart of answers over time."""

_MINUTES = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440)
"""Possible widths of a bar, in minutes; longer studies have bars of more days."""

_SHADES = 4
"""Number of shades of a heat map."""


class AnswerCounts:
    """Count answers by minute, and by image and cell.

    Args:
        design: the study's design.
        address: function that returns the address of an image.
    """

    def __init__(self, design: StudyDesign, address: Callable[[Key], str]) -> None:
        self.minutes: Counter[int] = Counter()
        self.images: Counter[Key] = Counter()
        self._cells: dict[Key, Counter[tuple[int, int]]] = {}
        self._design, self._address = design, address
        self._thumbs: dict[Key, str] = {}

    def add(self, answers: Iterable[AnsweredTrial], sign: int = 1) -> None:
        """Count answers; with the sign -1, remove the answers of a deleted participant."""
        for answered in answers:
            key = answered.trial.key
            self.minutes[int(datetime.fromisoformat(answered.answered_at).timestamp()) // 60] += sign
            self.images[key] += sign
            cells = self._cells.setdefault(key, Counter())
            for click in answered.answer.clicks:
                cells[click.cell] += sign
            self._thumbs.pop(key, None)

    def wall(self) -> str:
        """Return the images of all lists with their numbers of answers and heat maps, without checks, as HTML."""
        lists = self._design.config.lists
        shown = dict.fromkeys((study_list.sport, image) for study_list in lists for image in study_list.images)
        for key in shown:
            if key not in self._thumbs:
                self._thumbs[key] = self._thumb(key)
        numbers = [self.images[key] for key in shown]
        least, most = (min(numbers), max(numbers)) if numbers else (0, 0)
        range_of = plural(most, "answer") if least == most else f"{least} to {most} answers"
        items = "\n".join(self._thumbs[key] for key in shown)
        return f'<h2>Images</h2>\n<p>Each image has {range_of}.</p>\n<ul class="wall">\n{items}\n</ul>'

    def _thumb(self, key: Key) -> str:
        picture, n, name = self._design.pictures[key], self.images[key], " ".join(key)
        heat, scene = "", self._design.scenes.get(key)
        if scene is not None:
            box = f"0 0 {scene.grid.cols} {scene.grid.rows}"
            heat = f'<svg viewBox="{box}" preserveAspectRatio="none" aria-hidden="true">{self._heat(key)}</svg>'
        return (
            f'<li><div><img src="{escape(self._address(key))}" alt="" loading="lazy" width="{picture.width}" '
            f'height="{picture.height}">{heat}</div><span>{escape(name)}</span> <strong>{n:,}</strong></li>'
        )

    def _heat(self, key: Key) -> str:
        """Return the clicked cells as one path per shade."""
        cells = self._cells.get(key, Counter())
        most = max(cells.values(), default=0)
        paths: dict[int, str] = {}
        for (row, col), n in cells.items():
            if n > 0:
                shade = -(-_SHADES * n // most)
                paths[shade] = paths.get(shade, "") + f"M{col - 1} {row - 1}h1v1h-1z"
        return "".join(f'<path opacity="{0.7 * shade / _SHADES:.2f}" d="{d}"/>' for shade, d in sorted(paths.items()))


def over_time(minutes: Mapping[int, int]) -> str:
    """Return a bar chart of the number of answers over time, as HTML.

    Args:
        minutes: number of answers by minute, counted from 1970 in UTC.
    """
    given = {minute: n for minute, n in minutes.items() if n > 0}
    if not given:
        return ""
    first, last = min(given), max(given)
    width = next((size for size in _MINUTES if (last - first) // size < _BINS), 1440 * ((last - first) // 86400 + 1))
    bars: Counter[int] = Counter()
    for minute, n in given.items():
        bars[(minute - first) // width] += n
    n_bars, most = (last - first) // width + 1, max(bars.values())
    rects = "".join(
        f'<rect x="{600 * place / n_bars:.1f}" width="{510 / n_bars:.1f}" y="{100 - 100 * n / most:.1f}" '
        f'height="{100 * n / most:.1f}"/>'
        for place, n in sorted(bars.items())
    )
    per = f"{width} min" if width < 60 else f"{width // 60} h" if width < 1440 else f"{width // 1440} d"
    alt = f"{plural(sum(given.values()), 'answer')}, at most {most:,} per {per}"
    return (
        f'<figure>\n<figcaption>Answers per {per}, at most {most:,}</figcaption>\n<svg class="bars" '
        f'viewBox="0 0 600 100" preserveAspectRatio="none" role="img" aria-label="{alt}">{rects}</svg>\n'
        f'<p class="axis"><span>{_time(first)}</span> <span>{_time(last)}</span></p>\n</figure>'
    )


def _time(minute: int) -> str:
    return datetime.fromtimestamp(60 * minute, UTC).strftime("%Y-%m-%d %H:%M UTC")


def stages(rows: Sequence[tuple[str, Mapping[str, int]]]) -> str:
    """Return a table with a bar for the number of participants in each stage, as HTML.

    Args:
        rows: for each stage, its name and the number of participants by state: `active`, `silent` or `ended`.
    """
    most = max((sum(counts.values()) for _, counts in rows), default=0) or 1
    lines = []
    for name, counts in rows:
        x, rects = 0.0, ""
        for state, n in counts.items():
            rects += f'<rect class="{state}" x="{x:.1f}" width="{100 * n / most:.1f}" height="10"/>'
            x += 100 * n / most
        numbers = ", ".join(f"{n:,}{' silent' * (state == 'silent')}" for state, n in counts.items() if n) or "0"
        lines.append(
            f'<tr><th scope="row">{escape(name)}</th><td><svg viewBox="0 0 100 10" preserveAspectRatio="none" '
            f'aria-hidden="true">{rects}</svg></td><td>{numbers}</td></tr>'
        )
    return '<table class="stages">\n<caption>Participants by stage</caption>\n' + "\n".join(lines) + "\n</table>"
