"""Format the final lines of `spotball run` and `spotball gaze ask`: a headline, a narrow table, and the files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from spotball_adapters.cli.asking import sent
from spotball_core.text.first_screen import FirstScreen
from spotball_core.text.numbers import number
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_adapters.gaze.matching import MatchedReplies
    from spotball_adapters.runs.launch import RunResult
    from spotball_adapters.runs.responses import ParsedReplies
    from spotball_adapters.runs.runner import RunTally


def run_end(ended: RunResult[tuple[ParsedReplies, Path | None]]) -> str | None:
    """Format the final lines of `spotball run`; return None if the run has no complete sample.

    Args:
        ended: result of this command, with all responses of the run.
    """
    import polars as pl

    reading, path = ended.output
    if path is None:
        return None
    by_prompt = reading.rows.group_by("prompt", maintain_order=True).agg(n=pl.len(), parsed=pl.col("cell").count())
    counts = [(str(prompt), int(n), int(parsed)) for prompt, n, parsed in by_prompt.iter_rows()]
    n, n_parsed = len(reading.rows), sum(parsed for _, _, parsed in counts)
    if len(counts) > 1:
        counts.append(("all", n, n_parsed))
    notes = [f"Unparsed samples by reason: {_listed(reading.problems)}."] if reading.problems else []
    if reading.continued:
        notes.append(f"{plural(reading.continued, 'reply')} with invented turns: only the first turn was parsed.")
    screen = FirstScreen(
        f"{completed(ended.tally)}; {n - n_parsed:,} of {plural(n, 'sample')} could not be parsed.",
        ["prompt", "samples", "with a cell", "unparsed"],
        [[prompt, f"{n:,}", f"{parsed:,}", f"{n - parsed:,}"] for prompt, n, parsed in counts],
        n_names=1,
        notes=notes,
        signature="\n".join(
            [sent(ended.tally), f"Responses: {path}", f"To score them: spotball score {quote(str(path.parent))}"]
        ),
    )
    return screen.text().rstrip("\n")


def gaze_end(ended: RunResult[MatchedReplies]) -> str | None:
    """Format the final lines of `spotball gaze ask`; return None if the run has no reply.

    Args:
        ended: result of this command, with all matched replies of the run.
    """
    matched = ended.output
    if matched.trials is None:
        return None
    outcomes = [(f"matched: {way}", n) for way, n in matched.how.items()]
    outcomes += [(f"unmatched: {problem}", n) for problem, n in matched.problems.items()]
    n_unmatched = sum(matched.problems.values())
    result = f"{n_unmatched:,} of {plural(matched.replies, 'stored trial')} could not be matched to an option"
    lines = [sent(ended.tally), f"Trials: {matched.trials}"]
    if matched.queued:
        manual = matched.trials.with_name("manual.csv")
        lines.append(f"To match by hand: {manual} ({plural(matched.queued, 'trial')})")
    lines.append(f"To analyze them: spotball gaze analyze {quote(str(matched.trials))}")
    screen = FirstScreen(
        f"{completed(ended.tally)}; {result}.",
        ["outcome", "trials", "share (%)"],
        [[outcome, f"{n:,}", number(n / matched.replies, "share")] for outcome, n in outcomes],
        n_names=1,
        notes=["Unmatched trials count as wrong."] if n_unmatched else [],
        signature="\n".join(lines),
    )
    return screen.text().rstrip("\n")


def completed(tally: RunTally) -> str:
    """Describe how many of the missing replies the command completed.

    Examples:
        >>> from spotball_adapters.runs.runner import RunTally
        >>> completed(RunTally(total=1200, done=1180)), completed(RunTally(total=0))
        ('Completed 1,180 of 1,200 replies', 'No replies were missing')
    """
    return f"Completed {tally.done:,} of {tally.total:,} replies" if tally.total else "No replies were missing"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counts.items())
