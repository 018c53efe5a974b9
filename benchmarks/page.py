"""The documentation's page of benchmarks, written by `make bench`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from results import NOISE, Result, amount, moved, summary, verdict

HEAD = f"""# Benchmarks

Written by `make bench`, which ran `benchmarks/`: one file a claim, measured beside what one would use instead, in the
same run. Ways that are compared take turns. Data is synthetic. A ratio says more than a time: times are this machine's.
Figures that differ from those last kept by more than {NOISE:.0%} are called better, worse or moved; `make bench KEEP=1`
keeps. [Where the time goes](performance.md) takes whole commands apart.
"""


def write_page(
    file: Path, results: Sequence[Result], kept: Mapping[str, Result], plots: Mapping[str, Path | None]
) -> None:
    """Write all results as a page.

    Args:
        file: the page, at the top of the documentation's folder.
        results: of a run of all benchmarks.
        kept: what was kept before.
        plots: of each benchmark that draws, below the documentation's folder.
    """
    setting = results[0].setting
    lines = [HEAD, f"**{'; '.join(summary(results))}.**", ""]
    lines += ["| | |", "| --- | --- |", f"| Date | {setting.date} |", f"| Machine | {setting.machine} |"]
    lines += [f"| Versions | {setting.versions} |"]
    lines += [f"| Took | {sum(result.seconds for result in results) / 60:.0f} minutes |"]
    for result in results:
        lines += ["", *_section(result, kept)]
        plot = plots.get(result.name)
        if plot and (file.parent / plot).exists():
            lines += [
                "",
                f"![Plot of {result.name.replace('_', ' ')}; its numbers are in the table]({plot.as_posix()})",
            ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _section(result: Result, kept: Mapping[str, Result]) -> list[str]:
    claim, *more = re.sub(r"^Claim:\s*", "", result.text).split("\n\n")
    lines = [f"## {result.name.replace('_', ' ').capitalize()}", "", f"`benchmarks/{result.name}.py` claims: {claim}"]
    lines += [line for paragraph in more for line in ("", paragraph)]
    if not result.finished:
        lines += ["", f"**FAILED after {result.seconds:.0f} s; its figures are missing or incomplete.**"]
    if not result.figures:
        return lines
    lines += ["", "| Figure | Value | Goal | Last kept | Compared |", "| --- | ---: | --- | --- | --- |"]
    for move in moved(result, kept):
        figure, before = move.now, move.before
        said = "**MISSED**" if figure.met is False else verdict(figure)
        goal = f"{figure.goal}: {said}" if figure.goal else ""
        last = ", ".join(filter(None, (amount(before.value, before.unit), move.word))) if before else ""
        cells = [figure.name, amount(figure.value, figure.unit), goal, last, figure.note]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines
