"""Format a study's attrition as text, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from spotball_adapters.study.results.attrition import Attrition, Times
from spotball_adapters.study.results.exclusion import RULES, Exclusion
from spotball_core.text.tables import Titled, tables_as_markdown, tables_as_text

AGREES = "agrees with study.toml and its dataset, orders with their seeds"


def to_text(attrition: Attrition, exclusion: Exclusion, faults: Sequence[str]) -> str:
    """Return the tables as text for a terminal."""
    return tables_as_text(_tables(attrition), _foot(exclusion, faults), to_terminal=True)


def to_markdown(attrition: Attrition, exclusion: Exclusion, faults: Sequence[str]) -> str:
    """Return the tables in Markdown."""
    return tables_as_markdown(_tables(attrition), _foot(exclusion, faults))


def to_json(attrition: Attrition, exclusion: Exclusion, faults: Sequence[str]) -> str:
    """Return JSON with `participants` and `minutes` by list, the rules, and deviations from the plan."""
    content = {
        "participants": attrition.rows,
        "minutes": {
            "finished": {name: asdict(times) for name, times in attrition.finished.items()},
            "kept": {name: asdict(times) for name, times in attrition.kept.items()},
        },
        "exclusion": {"rules": exclusion.rules, "min_seconds": exclusion.min_seconds},
        "disagreements": list(faults),
    }
    return json.dumps(content, indent=1) + "\n"


def _tables(attrition: Attrition) -> Iterator[Titled]:
    lists = list(attrition.finished)
    rows = [[label, *(f"{numbers[name]:,}" for name in lists)] for label, numbers in attrition.rows.items()]
    yield "Participants", 1, ["", *lists], rows
    rows = [
        [f"{label}, {figure}", *(_minutes(times[name], figure) for name in lists)]
        for label, times in _groups(attrition).items()
        for figure in ("mean", "sd")
    ]
    yield "Minutes from consent to the last answer", 1, ["", *lists], rows


def _groups(attrition: Attrition) -> Mapping[str, Mapping[str, Times]]:
    return {"finished": attrition.finished, "kept": attrition.kept}


def _minutes(times: Times, figure: str) -> str:
    value = times.mean if figure == "mean" else times.sd
    return "-" if value is None else f"{value:.1f}"


def _foot(exclusion: Exclusion, faults: Sequence[str]) -> str:
    lines = [f"{rule}: {RULES[rule].description}" for rule in exclusion.rules] or ["nobody is excluded"]
    if "fast" in exclusion.rules:
        lines.append(f"--min-seconds: {exclusion.min_seconds:g}")
    return "\n".join([*lines, *faults] if faults else [*lines, AGREES])
