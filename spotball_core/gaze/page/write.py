"""The report of an analysis as files: the page, its figures and its numbers, whole or not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from spotball_core.gaze.analysis import GazeReport
from spotball_core.gaze.data.trials import Trials
from spotball_core.gaze.page.photos import PhotoSource
from spotball_core.gaze.page.sections import all_sections
from spotball_core.pages.folder import check_installed, check_replaceable, write_folder
from spotball_core.pages.page import Page
from spotball_core.text.numbers import plural

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
    trials: Trials | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Write report.html, report.json and figures/ into a folder; an earlier report there is replaced.

    Args:
        report: what is shown.
        out: the folder.
        trials: for the photo browser; those of `photos` by default, and no browser without either.
        photos: of which some are shown on the page, where their files are there; none without.
        tell: called with what is being done.

    Raises:
        OptionError: if `out` holds anything but an earlier report of this kind, or cannot be written.
        MissingExtraError: without matplotlib or Jinja2.
    """
    out = Path(out).resolve()
    check_report(out)
    sections = all_sections(report, photos, trials)
    n_trials = sum(result.n_trials for result in report.respondents)
    n_photos = sum(n for by_objects in report.n_stimuli.values() for n in by_objects.values())
    respondents = plural(len(report.respondents), "respondent")
    intro = [f"{respondents}: {plural(n_trials, 'trial')} with {plural(n_photos, 'photo')}."]
    page = Page(TITLE, GENERATOR, intro, report.signature, report.warnings, report.provenance.dropped)
    write_folder(out, page, sections, report, tell=tell)
