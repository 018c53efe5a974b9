"""Build results with synthetic figures, which were not measured."""

from __future__ import annotations

from results import Figure, Result, Setting

SETTING = Setting("a made-up machine", "Python 0.0", "1900-01-01", 2, 0.1)


def figure(name: str, value: float, *, unit: str = "s", goal: str = "", met: bool | None = None) -> Figure:
    return Figure(name, value, unit, goal, met, "made up")


def result(name: str, *figures: Figure, finished: bool = True) -> Result:
    return Result(name, f"Claim: {name} is fast.\n\nThe data is made up.", 60.0, figures, SETTING, finished)
