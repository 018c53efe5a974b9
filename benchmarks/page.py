"""Write the file with the results of all benchmarks for `make bench`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from results import NOISE, Result, amount, moved, summary, verdict

HEAD = f"""# Benchmarks

`make bench` runs the files in `benchmarks/` and writes this file. Each file tests one claim, and also measures the
usual alternatives, in turn with the tested code. All data is synthetic unless stated otherwise. Trust ratios more than
times, because times depend on the machine. CPU times do not include the time in which other processes use the core.

If a stored figure of an earlier run differs from the new figure by more than {NOISE:.0%}, the column *Earlier run*
shows it. The new figure is then called *better* or *worse*, or *moved* if it has no goal. `make bench KEEP=1` stores
the new figures. [Performance](../docs/performance.md) lists the claims and the parts of whole commands.
"""


def write_page(
    file: Path, results: Sequence[Result], kept: Mapping[str, Result], plots: Mapping[str, Path | None]
) -> None:
    """Write all results as a page.

    Args:
        file: the file to write.
        results: results of a run of all benchmarks.
        kept: the stored results.
        plots: plot of each benchmark, relative to the file's folder, or None if it has none.
    """
    setting = results[0].setting
    lines = [HEAD, *(f"- {line}" for line in summary(results)), ""]
    lines += ["| | |", "| --- | --- |", f"| Date | {setting.date} |", f"| Machine | {setting.machine} |"]
    lines += [f"| Versions | {setting.versions} |"]
    lines += [f"| Duration | {sum(result.seconds for result in results) / 60:.0f} minutes |"]
    for result in results:
        lines += ["", *_section(result, kept)]
        plot = plots.get(result.name)
        if plot and (file.parent / plot).exists():
            lines += [
                "",
                f"![Plot of {result.name.replace('_', ' ')}. The table contains its numbers.]({plot.as_posix()})",
            ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _section(result: Result, kept: Mapping[str, Result]) -> list[str]:
    claim, *more = re.sub(r"^Claim:\s*", "", result.text).split("\n\n")
    lines = [f"## {result.name.replace('_', ' ').capitalize()}", "", f"`benchmarks/{result.name}.py` claims: {claim}"]
    lines += [line for paragraph in more for line in ("", paragraph)]
    if not result.finished:
        lines += ["", f"**This benchmark FAILED after {result.seconds:.0f} s. Its figures are missing or incomplete.**"]
    if not result.figures:
        return lines
    lines += ["", "| Figure | Value | Goal | Earlier run | Details |", "| --- | ---: | --- | --- | --- |"]
    for move in moved(result, kept):
        figure, before = move.now, move.before
        reached = "**MISSED**" if figure.met is False else verdict(figure)
        goal = f"{figure.goal}: {reached}" if figure.goal else ""
        last = f"{amount(before.value, before.unit)}, {move.word}" if before and move.word else ""
        cells = [figure.name, amount(figure.value, figure.unit), goal, last, figure.note]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines
