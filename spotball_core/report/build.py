"""A report of a scoring: its numbers are computed, then written and rendered as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from spotball_core.pages.figures import PAGE_ONLY, FigureOptions
from spotball_core.reasoning.records import ReasoningReport
from spotball_core.report.numbers.analyze import analyze
from spotball_core.report.numbers.gallery import MOST, CaseKey
from spotball_core.report.numbers.records import PageReport
from spotball_core.report.write import check_report, write_page
from spotball_core.scoring.groups import Scoring
from spotball_core.service.parallel import Workers

LEAST_GROUPS = 12
"""Groups from which several processes are used. With fewer, they take longer to start than they save."""


def write_report(
    scoring: Scoring,
    out: str | Path,
    *,
    image_folders: Sequence[str | Path] = (),
    reasoning: ReasoningReport | None = None,
    rationales: Mapping[CaseKey, Sequence[str]] | None = None,
    pages: bool = False,
    before: Scoring | None = None,
    figures: FigureOptions = PAGE_ONLY,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> PageReport:
    """Compute the report of a scoring and write it into a folder: report.json, report.html and figures/.

    Args:
        scoring: of groups by sport, respondent and prompt; with participants, for the noise ceiling.
        out: the folder.
        image_folders: where the scenes' image files may be; their paths are relative to one of these.
        reasoning: what rationales speak of, for a section of its own; none without.
        rationales: some of each group's rationales for an image, as `example_rationales` returns them.
        pages: whether images are on pages of their own, in images/, so that all of a large dataset can be shown.
        before: an earlier run, for a section that states what changed since; see `run_changes`. None without.
        figures: which figures are written in addition to those of the page.
        jobs: how many processes share the work if there are many groups. The report is the same. A script that passes
            more than 1 needs `if __name__ == "__main__":` around its work, as processes load it.
        tell: called with what is being done.

    Returns:
        The record that report.json holds.

    Raises:
        OptionError: if `out` holds anything but an earlier report, or cannot be written; for groups made in another
            way; if nothing is left to score; or if the earlier run cannot be compared.
        MissingExtraError: without matplotlib or Jinja2.
        WorkerError: if a process is ended from outside.
    """
    check_report(out)
    with Workers(jobs if len(scoring.groups) >= LEAST_GROUPS else 1) as workers:
        import_module("matplotlib.figure")  # while the processes start
        report = analyze(
            scoring,
            reasoning=reasoning,
            rationales=rationales,
            most_images=None if pages else MOST,
            before=before,
            workers=workers,
            tell=tell,
        )
        write_page(report, out, image_folders=image_folders, pages=pages, figures=figures, workers=workers, tell=tell)
    return report
