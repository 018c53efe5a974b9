"""Format a study's attrition as text, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from spotball_adapters.study.results.attrition import ALL, Attrition, Times
from spotball_adapters.study.results.exclusion import RULES, Exclusion
from spotball_core.text.first_screen import FirstScreen
from spotball_core.text.tables import Titled, tables_as_markdown, tables_as_text
from spotball_core.text.words import plural

AGREES = "The stored data agree with study.toml and its dataset."

MORE = (
    "Add --full to see every step, every rule and completion times. Add --format markdown or json to choose the format."
)


def headline(attrition: Attrition) -> str:
    """Return a sentence that states how many participants are kept (they finished and are not excluded), how many are
    excluded, and how many have not finished.
    """
    n = {label: numbers[ALL] for label, numbers in attrition.rows.items()}
    if not n["took part"]:
        return "No participant has taken part yet."
    parts = [f"{n['kept']:,} of {plural(n['took part'], 'participant')} finished and {_are(n['kept'])} kept"]
    if excluded := n["excluded in all"]:
        parts.append(f"{excluded:,} finished and {_are(excluded)} excluded")
    screened = n.get("screened out", 0)
    if screened:
        parts.append(f"{screened:,} {'was' if screened == 1 else 'were'} screened out by the quiz")
    if left := n["took part"] - n["finished"] - screened:
        parts.append(f"{left:,} {'has' if left == 1 else 'have'} not finished")
    return "; ".join(parts) + "."


def to_summary(attrition: Attrition, exclusion: Exclusion, faults: Sequence[str], *, to_terminal: bool = False) -> str:
    """Return a short text: the headline, a table with a row per list, reasons for exclusion, and how to see all tables.

    Args:
        attrition: the study's attrition.
        exclusion: the exclusion rules that were applied.
        faults: warnings about stored data that do not agree with study.toml and its dataset; see `agreement`.
        to_terminal: whether the text is printed to a terminal, whose width then limits the table's width.
    """
    n = attrition.rows
    steps = ("took part", *(["screened out"] if "screened out" in n else []), "finished", "excluded in all", "kept")
    by_rule = [f"{rule} {n[f'excluded: {rule}'][ALL]:,}" for rule in exclusion.rules if n[f"excluded: {rule}"][ALL]]
    notes = ["The column `minutes` shows the mean time of finished participants from consent to the last answer."]
    if by_rule:
        notes.append(f"Exclusions by rule (a participant may break several): {', '.join(by_rule)}.")
    if not faults:
        notes.append(AGREES)
    screen = FirstScreen(
        headline(attrition),
        ["list", *(step.removesuffix(" in all") for step in steps), "minutes"],
        [
            [name, *(f"{n[step][name]:,}" for step in steps), _minutes(times, "mean")]
            for name, times in attrition.finished.items()
        ],
        n_names=1,
        warnings=faults,
        notes=[*notes, MORE],
    )
    return screen.text(to_terminal=to_terminal)


def to_text(attrition: Attrition, exclusion: Exclusion, faults: Sequence[str]) -> str:
    """Return all tables and the exclusion rules as text for a terminal."""
    return tables_as_text(_tables(attrition), _foot(exclusion, faults), to_terminal=True)


def to_markdown(attrition: Attrition, exclusion: Exclusion, faults: Sequence[str]) -> str:
    """Return all tables and the exclusion rules in Markdown."""
    return tables_as_markdown(_tables(attrition), _foot(exclusion, faults))


def to_json(attrition: Attrition, exclusion: Exclusion, faults: Sequence[str]) -> str:
    """Return a JSON text with the numbers of participants and the completion times in minutes by list, the exclusion
    rules, and the `faults`.
    """
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


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _foot(exclusion: Exclusion, faults: Sequence[str]) -> str:
    lines = [f"{rule}: {RULES[rule].description}" for rule in exclusion.rules] or ["no rule excludes participants"]
    if "fast" in exclusion.rules:
        lines.append(f"min_seconds_per_image: {exclusion.min_seconds:g}")
    return "\n".join([*lines, *faults] if faults else [*lines, AGREES])
