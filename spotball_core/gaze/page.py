"""The report of an analysis as files: the page, its figures and its numbers, whole or not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from spotball_core.errors import OptionError
from spotball_core.gaze.analysis import GazeReport
from spotball_core.gaze.photos import PhotoSource
from spotball_core.gaze.sections import all_sections
from spotball_core.io.files import replacing_folder
from spotball_core.report.canvas import plain_style
from spotball_core.report.numbers import plural
from spotball_core.report.page import Page, render_page
from spotball_core.report.write import FIGURES, NUMBERS, PAGE, check_installed, check_replaceable, draw_figures

TITLE: Final = "Eyes or head: report"
GENERATOR: Final = "spotball gaze analyze"


def check_report(out: Path) -> None:
    """Raise before the work is done if the report could not be written.

    Raises:
        OptionError: if `out` holds anything but an earlier report of this kind.
        MissingExtraError: without matplotlib or Jinja2.
    """
    check_installed()
    check_replaceable(out.resolve(), GENERATOR)


def write_gaze_report(
    report: GazeReport,
    out: str | Path,
    *,
    photos: PhotoSource | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Write report.html, report.json and figures/ into a folder; an earlier report there is replaced.

    Args:
        report: what is shown.
        out: the folder.
        photos: of which some are shown on the page, where their files are there; none without.
        tell: hears what is being done.

    Raises:
        OptionError: if `out` holds anything but an earlier report of this kind, or cannot be written.
        MissingExtraError: without matplotlib or Jinja2.
    """
    out = Path(out).resolve()
    check_report(out)
    sections = all_sections(report, photos)
    n_trials = sum(one.n_trials for one in report.respondents)
    n_photos = sum(n for by_objects in report.n_stimuli.values() for n in by_objects.values())
    who = plural(len(report.respondents), "respondent")
    intro = [f"{who}: {plural(n_trials, 'trial')} with {plural(n_photos, 'photo')}."]
    page = Page(TITLE, GENERATOR, intro, report.signature, report.warnings, report.provenance.dropped)
    with plain_style():
        try:
            with replacing_folder(out) as beside:
                svgs = draw_figures(beside / FIGURES, sections, report.signature, tell)
                (beside / PAGE).write_text(render_page(page, sections, svgs), encoding="utf-8")
                (beside / NUMBERS).write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise OptionError(f"{out}: the report cannot be written: {error}") from error
