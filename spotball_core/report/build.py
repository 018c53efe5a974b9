"""Build a report from scored responses: compute its numbers, and write them as JSON and as an HTML page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from spotball_core.io.columns import ReadOptions
from spotball_core.reasoning.rationales import example_rationales
from spotball_core.reasoning.records import ReasoningReport
from spotball_core.report.numbers.analyze import analyze
from spotball_core.report.numbers.gallery import MOST
from spotball_core.report.numbers.records import PageReport
from spotball_core.report.write import check_report, write_page
from spotball_core.scoring.groups import Scoring
from spotball_core.service.parallel import THIS_PROCESS, Workers


def write_report(
    scoring: Scoring,
    out: str | Path,
    *,
    image_folders: Sequence[str | Path] = (),
    reasoning: ReasoningReport | None = None,
    response_files: Sequence[str | Path] = (),
    reading: ReadOptions | None = None,
    pages: bool = False,
    before: Scoring | None = None,
    figures: Sequence[str] = (),
    workers: Workers = THIS_PROCESS,
    tell: Callable[[str], None] = lambda _: None,
) -> PageReport:
    """Compute the report of scored responses and write it into a folder: report.json, report.html and figures/.

    Args:
        scoring: the scored groups, by sport, respondent and prompt. The noise ceiling requires counts that name the
            participants.
        out: the report's folder.
        image_folders: folders to search for the scenes' images; the paths in the scenes are relative to these folders.
        reasoning: the analysis of rationales, for an additional section; None for no section.
        response_files: response files; examples of the rationales in them are shown with the images.
        reading: how these files are read.
        pages: whether images are on separate pages, in images/, so that all images of a large dataset can be shown.
        before: an earlier run, for a section on what changed since then (see `run_changes`); None for no section.
        figures: names from `plots.presets.PRESETS`, for figures in addition to those of the page.
        workers: workers for the computations and figures. They do not change the report. A script that starts workers
            needs `if __name__ == "__main__":` around its code, because worker processes import the script.
        tell: called with a description of the current step.

    Returns:
        The content of report.json.

    Raises:
        OptionError: if `out` contains anything other than an earlier report, or cannot be written; if `scoring` is not
            grouped by sport, respondent and prompt; if there is nothing to score; or if `run_changes` cannot compare
            the runs.
        MissingExtraError: if matplotlib or Jinja2 is not installed.
        WorkerError: if a worker process is killed.
    """
    check_report(out)
    rationales = example_rationales(response_files, scoring.arrays.scenes, **(reading or {}))
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
