"""Write the report of an analysis as files: the page, its figures and its numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from spotball_core.gaze.data.trials import Trials
from spotball_core.gaze.page.photos import PhotoSource
from spotball_core.gaze.page.sections import all_sections
from spotball_core.gaze.result import GazeReport
from spotball_core.gaze.summary import finding
from spotball_core.pages.folder import check_installed, check_replaceable, write_folder
from spotball_core.pages.parts import Page
from spotball_core.text.words import plural

TITLE: Final = "Gaze report:"
GENERATOR: Final = "spotball gaze analyze"


def check_report(out: Path) -> None:
    """Check that a report can be written to the folder `out`. Call this before a long analysis starts.

    Raises:
        OptionError: if `out` is a file, or contains files that are not part of an earlier gaze report.
        MissingExtraError: if matplotlib or Jinja2 is not installed.
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
        report: the report.
        out: the folder.
        trials: trials for the photo browser (default: those of `photos`); if both are missing, the page has no photo
            browser.
        photos: photos of which the page shows some, if their files exist; None for no photos.
        tell: called with a description of each step when it starts.

    Raises:
        OptionError: if `out` is a file, contains files that are not part of an earlier gaze report, or cannot be
            written.
        MissingExtraError: if matplotlib or Jinja2 is not installed.
    """
    out = Path(out).resolve()
    check_report(out)
    sections = all_sections(report, photos, trials)
    n_trials = sum(result.n_trials for result in report.respondents)
    n_photos = sum(n for by_objects in report.n_stimuli.values() for n in by_objects.values())
    respondents = plural(len(report.respondents), "respondent")
    intro = [f"{TITLE} {respondents}, {plural(n_trials, 'trial')} with {plural(n_photos, 'photo')}."]
    page = Page(
        finding(report),
        GENERATOR,
        intro,
        report.signature,
        report.warnings,
        report.provenance.dropped,
        remarks=report.remarks,
    )
    write_folder(out, page, sections, report, tell=tell)
