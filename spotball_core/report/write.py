"""A page's record as files: the page, its figures and its numbers, whole or not there. It computes no number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.io.files import replacing_folder
from spotball_core.page_numbers.records import CellMap, PageReport
from spotball_core.report import (
    sections_gallery,
    sections_people,
    sections_players,
    sections_reasoning,
    sections_scores,
    sections_tables,
)
from spotball_core.report.canvas import Frame, plain_style
from spotball_core.report.inline import Inline, inline_svg
from spotball_core.report.map_figure import MapPanel, draw_maps
from spotball_core.report.numbers import plural
from spotball_core.report.page import GENERATOR, render
from spotball_core.report.page_parts import Picture, Section
from spotball_core.report.saving import save_figure
from spotball_core.report.view import PageView

PAGE, NUMBERS, FIGURES = "report.html", "report.json", "figures"
MAPS = "guess-maps"


def write_page(
    report: PageReport,
    out: str | Path,
    *,
    image_folders: Sequence[str | Path] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a report's record and its page into a folder: report.json, report.html and figures/.

    The page shows only what the record holds, so a record that was read from report.json gives the same files. The
    folder is written to a temporary name and renamed. An earlier report at `out` is replaced.

    Args:
        report: the record.
        out: the folder.
        image_folders: where the scenes' image files may be; their paths are relative to one of these.
        tell: called with what is being done.

    Raises:
        OptionError: if `out` holds anything but an earlier report, or cannot be written.
        MissingExtraError: without matplotlib or Jinja2.
    """
    check_installed()
    out = Path(out).resolve()
    check_replaceable(out)
    view = PageView(report)
    with plain_style():
        sections = all_sections(view, [Path(folder) for folder in image_folders])
        try:
            with replacing_folder(out) as beside:
                _fill(beside, view, sections, tell)
        except OSError as error:
            raise OptionError(f"{out}: the report cannot be written: {error}") from error


def check_installed() -> None:
    """Raise MissingExtraError if the report cannot be made for want of packages."""
    try:
        for name in ("matplotlib", "jinja2", "PIL"):
            import_module(name)
    except ImportError as error:
        raise MissingExtraError("The report", "report") from error


def all_sections(view: PageView, image_folders: Sequence[Path] = ()) -> tuple[Section, ...]:
    """Every section of the page, in its order."""
    return (
        sections_tables.headline(view),
        sections_scores.accuracy(view),
        sections_scores.error(view),
        sections_scores.alignment(view),
        sections_people.ceiling(view),
        sections_players.proximity(view),
        sections_scores.center(view),
        sections_people.where(view),
        sections_people.mixture(view),
        *([sections_reasoning.words(view.page.reasoning)] if view.page.reasoning else []),
        sections_players.density(view),
        sections_players.thresholds(view),
        sections_gallery.images(view, image_folders),
        sections_tables.everything(view),
    )


def check_replaceable(out: Path, generator: str = GENERATOR) -> None:
    """Raise OptionError if the folder holds anything but an earlier report of a command."""
    if out.exists() and not out.is_dir():
        raise OptionError(f"{out} is a file, expected a folder for the report")
    if not out.exists() or not any(out.iterdir()):
        return
    held = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_symlink() or not path.is_dir()}
    page = out / PAGE
    is_ours = page.is_file() and f'content="{generator} ' in page.read_text(encoding="utf-8", errors="replace")[:2000]
    others = sorted(name for name in held if not _is_ours(name))
    if not is_ours or others:
        found = f"; it holds {', '.join(others[:5])}" if others else ""
        raise OptionError(f"{out} is neither empty nor an earlier report{found}: give another folder, or empty it")


def _is_ours(name: str) -> bool:
    folder, _, file = name.rpartition("/")
    if folder:
        return folder == FIGURES and file.endswith((".png", ".svg"))
    return name in (PAGE, NUMBERS)


def _fill(folder: Path, view: PageView, sections: Sequence[Section], tell: Callable[[str], None]) -> None:
    figures, signature = folder / FIGURES, view.report.signature
    svgs = draw_figures(figures, sections, signature, tell)
    tell(f"drawing {MAPS}")
    maps = {
        sport: [
            _map("the ball", one.ball, "cell"),
            *(_map(view.name(g), g.cells, "guess") for g in view.answers_of(sport)),
        ]
        for sport, one in view.by_sport.items()
    }
    drawn = draw_maps(maps, view.grid, view.page.window, signature)
    for ending in (".png", ".svg"):
        save_figure(drawn, figures / f"{MAPS}{ending}")
    tell("writing the page")
    (folder / PAGE).write_text(render(view, sections, svgs), encoding="utf-8")
    (folder / NUMBERS).write_text(view.report.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _map(name: str, cells: CellMap, what: str) -> MapPanel:
    return MapPanel(name, f"{plural(cells.n, what)}, {plural(cells.n_images, 'image')}", cells.shares)


def draw_figures(
    folder: Path, sections: Sequence[Section], signature: str, tell: Callable[[str], None]
) -> dict[str, list[Inline]]:
    """Draw every picture into a new folder, and its panels for the page, by the picture's name."""
    folder.mkdir()
    svgs = {}
    for own, picture in ((section.signature, one) for section in sections for one in section.pictures):
        tell(f"drawing {picture.name}")
        svgs[picture.name] = _panels(picture)
        figure = picture.chart.draw(range(picture.chart.n), Frame(picture.title, (picture.caption, own or signature)))
        for ending in (".png", ".svg"):
            save_figure(figure, folder / f"{picture.name}{ending}")
    return svgs


def _panels(picture: Picture) -> list[Inline]:
    chart, name = picture.chart, picture.name
    return [inline_svg(chart.draw([place]), f"{name}-{place}", alt) for place, alt in enumerate(picture.alts)]
