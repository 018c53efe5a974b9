"""The gallery's section: what the failures are, how many images they hold for, and the cards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spotball_core.report.analysis import Analysis
from spotball_core.report.cases import Case, Mode, cases, modes
from spotball_core.report.gallery import gallery
from spotball_core.report.numbers import plural
from spotball_core.report.page_parts import Cell, Rows, Section, Table
from spotball_core.report.sections_scores import NO_REFERENCE
from spotball_core.report.sections_tables import names


def images(analysis: Analysis, folders: Sequence[Path]) -> Section:
    """Image by image, the most disagreeing first (Figure 8), with the failures that are told apart.

    Args:
        analysis: what is shown.
        folders: where the scenes' image files may be.
    """
    title = "Image by image"
    if not analysis.reference:
        return Section("gallery", title, missing=f"Images are sorted by the distance to a reference. {NO_REFERENCE}")
    found = cases(analysis.scoring, analysis.explained)
    if not found:
        why = f"Nobody but {analysis.reference} answered images that {analysis.reference} answered too."
        return Section("gallery", title, missing=why)
    shown = gallery(analysis, found, folders)
    first = (
        f"Where respondents are farthest from {analysis.reference}: one card an image, farthest first, each image once "
        "for each respondent and sport."
    )
    lead = [first]
    if shown.left_out:
        lead.append(shown.left_out)
    if shown.without:
        bare = (
            f"{plural(shown.without, 'image')} drawn without a picture, with the players as boxes: no file that "
            "can be read and drawn on where the scenes say; name its folder with `--image-folder`."
        )
        lead.append(bare)
    known = modes(analysis.scoring)
    tables = (_counts(analysis, found, known),)
    return Section("gallery", title, tuple(lead), tables=tables, gallery=shown)


def _counts(analysis: Analysis, found: Sequence[Case], known: Sequence[Mode]) -> Table:
    """How many images of each group each failure holds for."""
    groups = []
    for sport in analysis.sports:
        rows = []
        for group, _ in analysis.of_sport(sport):
            mine = [case for case in found if case.group.number == group.number]
            if mine:
                fails = [Cell(f"{sum(mode.key in case.failures for case in mine)}") for mode in known]
                rows.append((*names(group), Cell(f"{len(mine)}"), *fails))
        if rows:
            groups.append(Rows(sport, tuple(rows)))
    heads = ("Respondent", "Prompt", "Images compared", *(mode.title for mode in known))
    return Table("failures", "On how many images each failure happens.", heads, 2, tuple(groups))
