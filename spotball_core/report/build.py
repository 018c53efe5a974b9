"""Build a report from scored responses: compute its numbers, and write them as JSON and as an HTML page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.io.columns import ReadOptions
from spotball_core.pages.folder import check_installed, check_replaceable, write_folder
from spotball_core.pages.parts import Page, Section
from spotball_core.plots.canvas import plain_style
from spotball_core.reasoning.rationales import example_rationales
from spotball_core.reasoning.records import ReasoningReport
from spotball_core.report.numbers.records import PageReport
from spotball_core.report.sections import (
    changes as sections_changes,
    cues as sections_cues,
    findings as sections_findings,
    gallery as sections_gallery,
    people as sections_people,
    players as sections_players,
    reasoning as sections_reasoning,
    scores as sections_scores,
    tables as sections_tables,
)
from spotball_core.report.view import PageView
from spotball_core.schema.report import named_sports
from spotball_core.service.parallel import THIS_PROCESS, Workers
from spotball_core.text.words import listed, plural

if TYPE_CHECKING:
    from spotball_core.scoring.groups import Scoring

TITLE = "Spot the Ball: report"
GENERATOR = "spotball report"
"""Start of the `generator` metadata in the page's HTML, which identifies a folder as a report."""


def write_page(
    report: PageReport,
    out: str | Path,
    *,
    image_folders: Sequence[str | Path] = (),
    pages: bool = False,
    figures: Sequence[str] = (),
    workers: Workers = THIS_PROCESS,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a report's record and its page into a folder: report.json, report.html and figures/.

    The page shows only the record's content, so a record that was read from report.json gives the same files. The files
    are written to a temporary folder, which is renamed when it is complete. An earlier report at `out` is replaced.

    Args:
        report: the content of report.json.
        out: the report's folder.
        image_folders: folders to search for the scenes' images; the paths in the scenes are relative to these folders.
        pages: whether images are on separate pages, in images/.
        figures: names from `plots.presets.PRESETS`, for figures in addition to those of the page.
        workers: workers that draw the figures and scale the images down.
        tell: called with a description of the current step.

    Raises:
        OptionError: if `out` contains anything other than an earlier report, or cannot be written.
        MissingExtraError: if matplotlib or Jinja2 is not installed.
    """
    check_report(out)
    view = PageView(report)
    with plain_style():
        sections = all_sections(view, [Path(folder) for folder in image_folders], workers)

    write_folder(Path(out).resolve(), page_of(view), sections, view.report, figures, pages, workers, tell)


def check_report(out: str | Path) -> None:
    """Check that a report can be written to a folder, before its numbers are computed.

    Raises:
        OptionError: if `out` contains anything other than an earlier report.
        MissingExtraError: if matplotlib or Jinja2 is not installed.
    """
    check_installed()
    check_replaceable(Path(out).resolve(), GENERATOR)


def page_of(view: PageView) -> Page:
    """Return the page's title and the other parts around its sections."""
    report = view.report
    return Page(
        sections_findings.title(view) or TITLE,
        GENERATOR,
        _intro(view),
        report.signature,
        report.warnings,
        report.provenance.dropped,
        view.reference_words,
        tuple(dict.fromkeys(view.in_words(group.respondent or "") for group in view.scored)),
    )


def all_sections(
    view: PageView, image_folders: Sequence[Path] = (), workers: Workers = THIS_PROCESS
) -> tuple[Section, ...]:
    """Return every section of the page, from top to bottom."""
    images = sections_gallery.images(view, image_folders, workers)
    return (
        sections_findings.findings(view, images.gallery.images if images.gallery else ()),
        *([sections_changes.changes(view, view.page.changes)] if view.page.changes else []),
        images,
        sections_scores.accuracy(view),
        sections_scores.error(view),
        sections_scores.alignment(view),
        sections_people.ceiling(view),
        sections_players.proximity(view),
        sections_scores.center(view),
        sections_people.where(view),
        sections_people.mixture(view),
        *([sections_cues.cues(view, view.page.cues, image_folders)] if view.page.cues else []),
        *([sections_reasoning.words(view.page.reasoning)] if view.page.reasoning else []),
        sections_tables.everything(view),
        sections_players.density(view),
        sections_players.thresholds(view),
    )


def _intro(view: PageView) -> list[str]:
    """Return a sentence on the respondents, their numbers of answers, and the images."""
    kinds: dict[str, set[str]] = {"human": set(), "model": set(), "baseline": set()}
    for group in view.scored:
        if group.kind:
            kinds[group.kind].add(group.respondent or "")
    people = sorted(kinds["human"])
    words = ["people" if len(people) == 1 else f"people ({', '.join(people)})"] if people else []
    words += [plural(len(kinds[kind]), kind) for kind in ("model", "baseline") if kinds[kind]]
    n, images = view.page.n_responses, plural(view.page.n_images, "image")
    of_whom = f" of {listed(words)}" if words else ""
    sports = named_sports(view.sports)
    of_sports = f" of {listed(sports)}" if sports else ""
    return [f"{plural(n, 'response')}{of_whom} to {images}{of_sports}."]


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
    # Writing a page from its record must not load what computes numbers.
    from spotball_core.report.numbers.analyze import analyze
    from spotball_core.report.numbers.gallery import MOST

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
