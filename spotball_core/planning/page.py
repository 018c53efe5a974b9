"""Write a plan as a page with curves of the smallest detectable difference, and the numbers as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from spotball_core.metrics.registry import METRICS
from spotball_core.pages.folder import check_installed, check_replaceable, write_folder
from spotball_core.pages.parts import Page, PagePicture, PageTable, Section, TableCell, TableRows
from spotball_core.planning.record import MetricPlan, Plan
from spotball_core.planning.text import between, notes, sentence, tables, with_plan
from spotball_core.plots.theme import FAINT, THEME
from spotball_core.plots.trends import TrendChart, TrendLine, TrendPanel, TrendPoint, trend_alts
from spotball_core.service.safe_text import printable
from spotball_core.text.numbers import points
from spotball_core.text.words import plural

GENERATOR = "spotball plan"

_LOOKS = (("model-1", "o"), ("model-2", "s"), ("model-3", "^"), ("model-4", "D"), ("people", "v"))
"""Color and marker of the lines, by increasing number of answers."""


def check_page(out: Path) -> None:
    """Raise an error if the page cannot be written to this folder; call this before a long computation."""
    check_installed("The page")
    check_replaceable(out.resolve(), GENERATOR)


def write_page(plan: Plan, out: Path) -> None:
    """Write report.html, report.json and figures/ into a folder; an earlier page there is replaced.

    Raises:
        OptionError: if the folder cannot be written, or contains other files.
        MissingExtraError: if matplotlib or Jinja2 is not installed.
    """
    check_page(out)
    page = Page(
        printable(sentence(plan)),
        GENERATOR,
        [f"Plan for a comparison {printable(between(plan))}, from a pilot."],
        plan.signature,
        plan.warnings,
        plan.provenance.dropped,
        remarks=[printable(note) for note in notes(plan) if note != plan.signature],
    )
    write_folder(out.resolve(), page, list(_sections(plan)), plan)


def _sections(plan: Plan) -> Iterator[Section]:
    made = tuple(
        PageTable(
            f"table-{number}",
            title,
            tuple(heads),
            n_names,
            (TableRows("", tuple(tuple(map(TableCell, row)) for row in rows)),),
        )
        for number, (title, n_names, heads, rows) in enumerate(tables(plan), start=1)
    )
    for key, one in with_plan(plan).items():
        title = METRICS[key].title_under(plan.policy)
        lines = tuple(_lines(one))
        if not lines:
            continue
        panel = TrendPanel(title, "", lines)
        unit = "points" if one.unit == "share" else one.unit
        chart = TrendChart(
            (panel,),
            "number of images",
            f"smallest difference ({unit})",
            start=0.0,
            step=lambda step: f"{2**step * 25:.0f}",
        )
        caption = (
            f"Smallest true difference that is detected with {plan.power:.0%} power, by the number of images. Each "
            "line is a number of answers per image of each respondent."
        )
        picture = PagePicture(f"plan-{key}", title, caption, chart, trend_alts((panel,), percent=False))
        yield Section(f"metric-{key}", title, points=tuple(_points(one)), pictures=(picture,))
    yield Section("numbers", "Designs and variances", tables=made)


def _lines(one: MetricPlan) -> Iterator[TrendLine]:
    scale = 100 if one.unit == "share" else 1
    numbers = [
        k
        for k in sorted({design.answers for design in one.curves})
        if any(d.detects for d in one.curves if d.answers == k)
    ]
    steps = [math.log2(design.images / 25) for design in one.curves]
    for k, (color, marker) in zip(numbers, _LOOKS, strict=False):
        marks = tuple(
            TrendPoint(math.log2(d.images / 25), scale * d.detects) for d in one.curves if d.answers == k and d.detects
        )
        yield TrendLine(plural(k, "answer"), THEME[color][0], marker, marks)
    if numbers and one.effect is not None:
        ends = tuple(TrendPoint(step, scale * one.effect) for step in (min(steps), max(steps)))
        yield TrendLine("effect", FAINT, "", ends, dashed=True)


def _points(one: MetricPlan) -> Iterator[str]:
    if one.pilot and one.pilot.detects is not None:
        size = f"{plural(one.n_images, 'image')}, {plural(one.pilot.answers, 'answer')} each"
        yield f"The pilot ({size}) detects {points(one.pilot.detects, one.unit)}."
    if one.at_best is not None:
        yield f"With these images, even infinitely many answers detect only {points(one.at_best, one.unit)}."
    if one.enough_answers is not None:
        yield f"More than {plural(one.enough_answers, 'answer')} per image help little."
