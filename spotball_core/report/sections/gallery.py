"""Write the section with the gallery: failure modes, the numbers of images that they apply to, and cards of images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spotball_core.pages.parts import PageTable, Section, TableCell, TableRows
from spotball_core.report.gallery import gallery
from spotball_core.report.numbers.records import GalleryNumbers
from spotball_core.report.sections.tables import names
from spotball_core.report.view import PageView, same_group
from spotball_core.service.parallel import THIS_PROCESS, Workers
from spotball_core.text.words import plural


def images(view: PageView, folders: Sequence[Path], workers: Workers = THIS_PROCESS) -> Section:
    """Return the section that shows every image, as in Figure 8 of *Spot the Ball*, and the counts of failures.

    Args:
        view: the report with the names and looks of its groups.
        folders: folders to search for the scenes' image files.
        workers: workers that scale the images down.
    """
    title = "Images"
    numbers = view.page.gallery
    if numbers is None:
        return Section("gallery", title, missing="No image has guesses.")
    shown = gallery(view, numbers, folders, workers)
    sorted_by = "difficulty: images on which the ball is found least often come first."
    if view.reference and numbers.failures:
        sorted_by = (
            "disagreement, which is the mean distance between the guesses of the respondents and those of "
            f"{view.reference_words}."
        )
    lead = (f"The images of a sport are sorted by {sorted_by} Click an image for the guesses of all respondents.",)
    points = [shown.left_out] if shown.left_out else []
    if shown.without:
        points.append(
            f"{plural(shown.without, 'image')} {'is' if shown.without == 1 else 'are'} shown without a picture, with "
            "boxes for the players, because the file is missing or cannot be read. Give the folder of the images with "
            "`--image-folder`."
        )
    tables = (_counts(view, numbers),) if numbers.failures else ()
    return Section("gallery", title, lead, tuple(points), tables=tables, gallery=shown)


def _counts(view: PageView, numbers: GalleryNumbers) -> PageTable:
    """Return the table with the number of images of each group that each failure mode applies to."""
    groups = []
    for sport in view.sports:
        rows = tuple(
            (
                *names(failures, view),
                TableCell(f"{failures.n_images}"),
                *(TableCell(f"{failures.failed[mode.key].n}") for mode in numbers.modes),
            )
            for group in view.of_sport(sport)
            for failures in numbers.failures
            if same_group(failures, group)
        )
        if rows:
            groups.append(TableRows(sport, rows))
    heads = ("Respondent", "Prompt", "Images compared", *(mode.title for mode in numbers.modes))
    text = "Number of images with each kind of failure."
    return PageTable("failures", text, heads, 2, tuple(groups), "Table of the kinds of failure")
