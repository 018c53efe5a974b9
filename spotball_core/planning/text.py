"""Write a plan as text: a sentence, the numbers of images needed, the cheapest designs, and the standard deviations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from spotball_core.metrics.registry import METRICS
from spotball_core.planning.record import MetricPlan, Plan
from spotball_core.schema.result import Forms
from spotball_core.text.numbers import number, points
from spotball_core.text.tables import Titled, paragraphs, tables_as_html, tables_as_markdown, tables_as_text
from spotball_core.text.words import plural, within

NONE = "-"


def to_text(plan: Plan, *, to_terminal: bool = False) -> str:
    """Return the plan as a sentence and text tables of at most 80 columns, or as wide as the terminal."""
    headline = paragraphs([sentence(plan)], to_terminal=to_terminal)
    return headline + "\n" + tables_as_text(tables(plan), "\n".join(notes(plan)), to_terminal=to_terminal)


def to_markdown(plan: Plan) -> str:
    """Return the plan as a sentence and Markdown tables."""
    return f"**{sentence(plan)}**\n\n{tables_as_markdown(tables(plan), chr(10).join(notes(plan)))}"


def sentence(plan: Plan) -> str:
    """State the design for the first metric with an effect, or what the pilot detects."""
    planned = with_plan(plan)
    key = next((key for key, one in planned.items() if one.effect), next(iter(planned), None))
    if key is None or (pilot := planned[key].pilot) is None:
        return "No metric of the pilot can be planned."
    one, power = planned[key], f"{plan.power:.0%} power"
    what = f"in {within(METRICS[key].title_under(plan.policy))} {between(plan)}"
    if one.effect is None:
        size = "no difference" if pilot.detects is None else f"a difference of {points(pilot.detects, one.unit)}"
        return f"The pilot's {plural(one.n_images, 'image')} detect {size} {what} with {power}."
    goal = f"detect a difference of {points(one.effect, one.unit)} {what} with {power}"
    if one.cheapest:
        design = f"{plural(one.cheapest.images, 'image')} with {plural(one.cheapest.answers, 'answer')} each"
        return f"The cheapest design to {goal} has {design} and costs {one.cheapest.cost:,.2f}."
    with_own = f"{plural(pilot.answers, 'answer')} per image, as in the pilot"
    if one.needed is None:
        return f"No number of images is enough to {goal} with {with_own}. Use more answers per image."
    low, high = one.needed_ci95 or (None, None)
    ends = "" if low is None else f" (95% interval {low:,} to {f'{high:,}' if high else 'infinity'})"
    return f"To {goal}, use {plural(one.needed, 'image')}{ends} with {with_own}."


def between(plan: Plan) -> str:
    """Name the two respondents of the plan."""
    return f"between {plan.a} and {plan.b}" if plan.b else f"between two respondents like {plan.a}"


def with_plan(plan: Plan) -> Mapping[str, MetricPlan]:
    """Return the metrics that have a plan."""
    return {key: one for key, one in plan.metrics.items() if one.reason is None}


def head(plan: Plan, key: str) -> str:
    """Return a metric's title with its unit."""
    unit = plan.metrics[key].unit
    label = {"share": " (points)", "none": "", "ratio": ""}.get(unit, f" ({unit})")
    return METRICS[key].title_under(plan.policy).replace("Wasserstein distance", "Wasserstein") + label


def tables(plan: Plan) -> Iterator[Titled]:
    """Yield the tables of a plan: images needed, cheapest designs, and standard deviations."""
    planned = with_plan(plan)
    goals = {key: one for key, one in planned.items() if one.effect is not None}
    if goals:
        answers = sorted({k for one in goals.values() for k in one.images})
        rows = [
            [
                head(plan, key),
                number(one.effect or 0.0, one.unit),
                _size(one.pilot.detects if one.pilot else None, one.unit),
                *(_whole(one.images.get(k)) for k in answers),
            ]
            for key, one in goals.items()
        ]
        title = "Difference that the pilot detects, and images needed for the effect by answers per image"
        yield title, 1, ["Metric", "Effect", "Pilot", *map(str, answers)], rows
    if any(one.cheapest for one in goals.values()):
        rows = [
            [head(plan, key), f"{best.images:,}", f"{best.answers:,}", f"{best.cost:,.2f}"]
            for key, one in goals.items()
            if (best := one.cheapest)
        ]
        yield "Cheapest design for each metric", 1, ["Metric", "Images", "Answers per image", "Cost"], rows
    rows = []
    for key, one in planned.items():
        for place, (name, parts) in enumerate(one.respondents.items()):
            roots = (
                _root(value, one.unit) for value in (parts.images, parts.answers, parts.participants, parts.prompts)
            )
            rows.append(["" if place else head(plan, key), name, *roots])
        if plan.b:
            rows.append(["", "difference", _root(one.difference, one.unit), *3 * [NONE]])
    heads = ["Metric", "Respondent", "Images", "Answers", "People", "Prompts"]
    shown = [column for column in range(len(heads)) if column < 4 or any(row[column] != NONE for row in rows)]
    if rows:
        yield "Standard deviations", 2, [heads[i] for i in shown], [[row[i] for i in shown] for row in rows]


def _size(value: float | None, unit: str) -> str:
    return NONE if value is None else number(value, unit)


def _whole(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"


def _root(variance: float | None, unit: str) -> str:
    return _size(None if variance is None else math.sqrt(max(variance, 0.0)), unit)


def notes(plan: Plan) -> Iterator[str]:
    """Yield the warnings, the limits of the plan, and the signature."""
    yield from (f"warning: {warning}" for warning in plan.warnings)
    planned = with_plan(plan)
    names = {key: within(METRICS[key].title_under(plan.policy)) for key in plan.metrics}
    yield (
        f"Each test is planned at the level 0.05 / {plan.tests}, because `spotball compare` corrects for "
        f"{plural(plan.tests, 'test')} (Holm)."
    )
    if plan.b is None:
        yield (
            f"The two respondents are assumed to differ on an image as much as {plan.a} differs between images. Two "
            "respondents that find the same images hard need fewer images."
        )
    if any(None in one.images.values() for one in planned.values()):
        yield "A dash: no number of images is enough, or the metric needs more answers, or the pilot has too few."
    enough = "; ".join(f"{names[key]} {one.enough_answers}" for key, one in planned.items() if one.enough_answers)
    if enough:
        yield f"Numbers of answers per image from which more help little: {enough}."
    only = "; ".join(
        names[key] for key, one in planned.items() if one.effect and one.at_best and one.at_best > one.effect
    )
    if only:
        yield f"With the pilot's images, no number of answers is enough. Only more images help: {only}."
    for name in dict.fromkeys(name for one in planned.values() for name in one.respondents):
        parts = {key: one.respondents[name].best_allocation for key, one in planned.items()}
        shares = "; ".join(f"{names[key]} {share:.0%}" for key, share in parts.items() if share is not None)
        if shares:
            yield f"Share of the answers of {name} that an ideal allocation to the same images would need: {shares}."
    yield from (f"No plan for {names[key]}: {one.reason}." for key, one in plan.metrics.items() if one.reason)
    yield plan.signature


COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(("metric", "unit", "a", "b"), str),
    **dict.fromkeys(("images", "answers"), int),
    **dict.fromkeys(("detects", "cost"), float),
    "signature": str,
}
"""Name and type of each column of a plan's data frame: one row per metric and design."""


def _rows(plan: Plan) -> Iterator[tuple[object, ...]]:
    for key, one in plan.metrics.items():
        for design in one.curves:
            numbers = (design.images, design.answers, design.detects, design.cost)
            yield (key, one.unit, plan.a, plan.b, *numbers, plan.signature)


def _html(plan: Plan) -> str:
    return tables_as_html([sentence(plan)], tables(plan), notes(plan))


FORMS = Forms(text=to_text, html=_html, columns=COLUMNS, rows=_rows)
