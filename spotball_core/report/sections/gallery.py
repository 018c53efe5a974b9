"""Write the gallery's section: the failure modes, their numbers of images, and the cards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spotball_core.pages.parts import PageTable, Section, TableCell, TableRows
from spotball_core.report.gallery import gallery
from spotball_core.report.numbers.records import GalleryNumbers
from spotball_core.report.sections.scores import NO_REFERENCE
from spotball_core.report.sections.tables import names
from spotball_core.report.view import PageView, same_group
from spotball_core.service.parallel import THIS_PROCESS, Workers
from spotball_core.text.numbers import plural


def images(view: PageView, folders: Sequence[Path], workers: Workers = THIS_PROCESS) -> Section:
    """Return the section with each image, sorted by disagreement (Figure 8), and the counts of failures.

    Args:
        view: the report's view.
        folders: folders that may contain the scenes' image files.
        workers: workers that scale the images down.
    """
    title = "Image by image"
    if not view.reference:
        return Section("gallery", title, missing=f"Images are sorted by the distance to a reference. {NO_REFERENCE}")
    numbers = view.page.gallery
    if numbers is None:
        why = f"No other respondent answered images that {view.reference} answered."
        return Section("gallery", title, missing=why)
    shown = gallery(view, numbers, folders, workers)
    first = (
        f"For each image, this section shows the ball, the guesses of {view.reference}, and the guesses of all "
        "respondents side by side. The images of a sport are sorted by disagreement, which is the mean distance "
        f"between the guesses of the respondents and those of {view.reference}."
    )
    lead = [first]
    if shown.left_out:
        lead.append(shown.left_out)
    if shown.without:
        lead.append(
            f"{plural(shown.without, 'image')} {'is' if shown.without == 1 else 'are'} shown without a picture, with "
            "boxes for the players, because the file is missing or cannot be read. Name the folder of the images with "
            "`--image-folder`."
        )
    tables = (_counts(view, numbers),)
    return Section("gallery", title, tuple(lead), tables=tables, gallery=shown)


def _counts(view: PageView, numbers: GalleryNumbers) -> PageTable:
    """Return the table of how many of each group's images each failure mode applies to."""
    groups = []
    for sport in view.sports:
        rows = tuple(
            (
                *names(failures),
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
    return PageTable("failures", "Number of images with each failure.", heads, 2, tuple(groups))
