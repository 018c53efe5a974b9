"""Plan without a pilot: what the published answers to the soccer images show about people and Gemini.

`published.json` contains variances, and no answers. `scripts/published_pilots.py` computes it from the release.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from spotball_core.errors import OptionError, unknown_name
from spotball_core.planning.plan import Goal, metric_keys, plan_of
from spotball_core.planning.record import Pilot, Plan

FILE = "published.json"
PAIRS = (("gemini", None), ("human", None), ("gemini", "human"))
"""The respondents of the published pilots, with people as the reference."""


def plan_published(
    goal: Goal, *, a: str | None = None, b: str | None = None, metrics: Sequence[str] | None = None
) -> Plan:
    """Plan a comparison of two respondents like those of the paper; see `spotball_core.planning.plan.plan`.

    Args:
        goal: the effect, the power, the number of tests and the prices.
        a: gemini (the default) or human.
        b: the other one; without it, the plan is for two respondents like a.
        metrics: keys of the metrics. Default: those of the paper, or their matched versions.

    Raises:
        OptionError: for other respondents, or metrics that are not in the published pilots.
    """
    pilot = published_pilot(a, b)
    keys = metric_keys(metrics, goal)
    if unknown := [key for key in keys if key not in pilot.metrics]:
        raise OptionError(
            unknown_name("metric", unknown[0], list(pilot.metrics)), code="unknown-name", field="--published"
        )
    return plan_of(pilot.model_copy(update={"metrics": {key: pilot.metrics[key] for key in keys}}), goal)


def published_pilot(a: str | None, b: str | None) -> Pilot:
    """Return what the published answers of two respondents show; without b, of two respondents like a.

    Args:
        a: gemini (the default) or human.
        b: the other one, or None.

    Raises:
        OptionError: for other respondents.
    """
    a = a or "gemini"
    for pilot in _pilots():
        if {pilot.a, pilot.b} == {a, b}:
            return pilot
    raise OptionError(
        f"found {a if b is None else f'{a} and {b}'}, expected gemini, human, or both. Only their answers to soccer "
        "images are published",
        code="unknown-name",
        field="--published",
    )


@cache
def _pilots() -> tuple[Pilot, ...]:
    content = json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    return tuple(Pilot.model_validate(pilot) for pilot in content)
