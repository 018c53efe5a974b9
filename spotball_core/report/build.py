"""A report as files: the page, its figures and its numbers, all from the same scoring, whole or not there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.groups import Scoring
from spotball_core.io.files import replacing_folder
from spotball_core.reasoning.records import ReasoningReport
from spotball_core.report import (
    sections_gallery,
    sections_people,
    sections_players,
    sections_reasoning,
    sections_scores,
    sections_tables,
)
from spotball_core.report.analysis import Analysis, analyze
from spotball_core.report.canvas import Frame, plain_style
from spotball_core.report.guess_maps import guess_maps
from spotball_core.report.inline import Inline, inline_svg
from spotball_core.report.page import GENERATOR, render
from spotball_core.report.page_parts import Picture, Section
from spotball_core.report.saving import save_figure
from spotball_core.schema.report import ScoreReport
from spotball_core.schema.scene import Scene

PAGE, NUMBERS, FIGURES = "report.html", "report.json", "figures"
MAPS = "guess-maps"


def write_report(
    scoring: Scoring,
    scenes: Sequence[Scene],
    out: str | Path,
    *,
    image_folders: Sequence[str | Path] = (),
    reasoning: ReasoningReport | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> ScoreReport:
    """Write the report of a scoring into a folder: report.html, report.json and figures/.

    The folder is whole or not there: it is written beside `out` and renamed. An earlier report at `out` is replaced.

    Args:
        scoring: of groups by sport, respondent and prompt; with participants, for the noise ceiling.
        scenes: those of the scoring, in its order.
        out: the folder.
        image_folders: where the scenes' image files may be; their paths are relative to one of these.
        reasoning: what rationales speak of, for a section of its own; none without.
        tell: hears what is being done.

    Returns:
        The scores, as report.json has them.

    Raises:
        OptionError: if `out` holds anything but an earlier report, or cannot be written; for groups made in another
            way; or if nothing is left to score.
        MissingExtraError: without matplotlib or Jinja2.
    """
    check_installed()
    out = Path(out).resolve()
    check_replaceable(out)
    with plain_style():
        analysis = analyze(scoring, scenes, tell)
        sections = all_sections(analysis, [Path(folder) for folder in image_folders], reasoning)
        try:
            with replacing_folder(out) as beside:
                _fill(beside, analysis, sections, tell)
        except OSError as error:
            raise OptionError(f"{out}: the report cannot be written: {error}") from error
    return analysis.report


def check_installed() -> None:
    """Raise MissingExtraError if the report cannot be made for want of packages."""
    try:
        for name in ("matplotlib", "jinja2", "PIL"):
            import_module(name)
    except ImportError as error:
        raise MissingExtraError("The report", "report") from error


def all_sections(
    analysis: Analysis, image_folders: Sequence[Path] = (), reasoning: ReasoningReport | None = None
) -> tuple[Section, ...]:
    """Every section of the page, in its order."""
    return (
        sections_tables.headline(analysis),
        sections_scores.accuracy(analysis),
        sections_scores.error(analysis),
        sections_scores.alignment(analysis),
        sections_people.ceiling(analysis),
        sections_players.proximity(analysis),
        sections_scores.center(analysis),
        sections_people.where(analysis),
        sections_people.mixture(analysis),
        *([sections_reasoning.words(reasoning)] if reasoning else []),
        sections_players.density(analysis),
        sections_players.thresholds(analysis),
        sections_gallery.images(analysis, image_folders),
        sections_tables.everything(analysis),
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


def _fill(folder: Path, analysis: Analysis, sections: Sequence[Section], tell: Callable[[str], None]) -> None:
    figures = folder / FIGURES
    svgs = draw_figures(figures, sections, analysis.report.signature, tell)
    tell(f"drawing {MAPS}")
    guesses, truth = sections_people.pooled(analysis)
    maps = guess_maps(guesses, truth, analysis.scoring.arrays.grids[0], note=analysis.report.signature)
    for ending in (".png", ".svg"):
        save_figure(maps, figures / f"{MAPS}{ending}")
    tell("writing the page")
    (folder / PAGE).write_text(render(analysis, sections, svgs), encoding="utf-8")
    (folder / NUMBERS).write_text(analysis.report.model_dump_json(indent=1) + "\n", encoding="utf-8")


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
