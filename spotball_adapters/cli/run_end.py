"""Report how the commands that query a model ended: a headline, a narrow table, the files, and missing replies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from spotball_core.cli.console import teller
from spotball_core.service.safe_text import show
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_adapters.gaze.matching import MatchedReplies
    from spotball_adapters.runs.launch import RunResult
    from spotball_adapters.runs.responses import ParsedReplies
    from spotball_adapters.runs.runner import RunTally
    from spotball_adapters.runs.store import Question


SHOWN = 5
"""Maximum number of refused images, or of different failures, to list."""


def run_end(ended: RunResult[tuple[ParsedReplies, Path | None]]) -> str | None:
    """Format the final lines of `spotball run`; return None if the run has no complete sample.

    Args:
        ended: result of this command, with all responses of the run.
    """
    import polars as pl

    from spotball_core.text.first_screen import FirstScreen

    reading, path = ended.output
    if path is None:
        return None
    by_prompt = reading.rows.group_by("prompt", maintain_order=True).agg(n=pl.len(), parsed=pl.col("cell").count())
    counts = [(str(prompt), int(n), int(parsed)) for prompt, n, parsed in by_prompt.iter_rows()]
    n, n_parsed = len(reading.rows), sum(parsed for _, _, parsed in counts)
    if len(counts) > 1:
        counts.append(("all", n, n_parsed))
    notes = [f"Unparsed samples by reason: {_counted(reading.problems)}."] if reading.problems else []
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
    from spotball_core.text.first_screen import FirstScreen
    from spotball_core.text.numbers import number

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
    lines.append(f"To analyze them: spotball gaze analyze {quote(str(matched.trials.parent))} --out report")
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


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counts.items())


def summary(reading: ParsedReplies) -> str:
    """Count the samples with a cell, and the unparsed ones by reason.

    Examples:
        >>> import polars as pl
        >>> from spotball_adapters.runs.responses import ParsedReplies
        >>> rows = pl.DataFrame({"cell": ["D5", None, None]})
        >>> summary(ParsedReplies(rows, {"empty": 1, "refused": 1}, (), 3, "strict"))
        '3 samples: 1 with a cell, 2 unparsed (empty 1, refused 1)'
    """
    unparsed = sum(reading.problems.values())
    n = len(reading.rows)
    ignored = f"; {plural(reading.continued, 'reply')} cut after the first turn" if reading.continued else ""
    listed = f" ({_counted(reading.problems)})" if reading.problems else ""
    return f"{plural(n, 'sample')}: {n - unparsed:,} with a cell, {unparsed:,} unparsed{listed}{ignored}"


def sent(tally: RunTally) -> str:
    """Describe how many requests the command sent, and how many tokens they used.

    Examples:
        >>> from spotball_adapters.runs.runner import RunTally
        >>> sent(RunTally(total=9, requests=7, faults=1, input_tokens=90_000, output_tokens=800))
        'sent 7 requests, of which 1 failed; 90,000 tokens in, 800 out'
    """
    tokens = f"{plural(tally.input_tokens, 'token')} in, {tally.output_tokens:,} out"
    return f"sent {plural(tally.requests, 'request')}, of which {tally.faults:,} failed; {tokens}"


def finish(ended: RunResult[Any], summary: str | None, *, quiet: bool) -> None:
    """Report how the run ended, and exit with the corresponding status.

    Args:
        summary: description of the results and of the requests sent; None if there are no replies.
    """
    from spotball_adapters.runs.launch import INTERRUPTED
    from spotball_adapters.runs.runner import StormError

    tell, tally = teller(quiet), ended.tally
    tell(summary or sent(tally))
    left = ended.left
    if ended.excluded:
        # --quiet does not hide excluded and missing replies, because they are errors.
        images = len({question[:2] for question in ended.refused})
        of = plural(images, "image")
        show(f"{ended.excluded:,} replies are excluded: the provider refuses {of}:", err=True)
        for line in _listed(ended.refused):
            show(f"  {line}", err=True)
    if left and (ended.error is None or isinstance(ended.error, StormError)):
        why = ended.error or ended.why or _unanswered(ended)
        show(f"{left:,} of {tally.total:,} replies are missing: {why}", err=True)
        tell("Run the same command again to continue; completed requests are not repeated.")
    elif ended.error:
        tell(
            f"{left:,} of {tally.total:,} replies are missing. Fix the error "
            "and run the same command again to continue."
        )
        raise ended.error
    if ended.why == INTERRUPTED:
        raise typer.Exit(130)
    if left:
        raise typer.Exit(1)


def _unanswered(ended: RunResult[Any]) -> str:
    """Explain why replies are missing although the run was not stopped."""
    parts = []
    if ended.refused and not ended.excluded:
        listed = "; ".join(_listed(ended.refused))
        parts.append(f"the provider refuses {listed}. Add --skip-refused to exclude refused images")
    if given_up := ended.tally.given_up:
        image, fault = next(reversed(given_up.items()))
        more = f" and {len(given_up) - 1:,} more images" if len(given_up) > 1 else ""
        parts.append(f"{image}{more} failed on every attempt; the last error: {fault}")
    return "; ".join(parts)


def _listed(refused: Mapping[Question, str]) -> list[str]:
    """Return one line for each of the first refused images, with its prompts and the provider's message."""
    prompts: dict[str, list[str]] = {}
    for sport, image, prompt in refused:
        prompts.setdefault(f"{sport}/{image}", []).append(prompt)
    messages = {f"{sport}/{image}": message for (sport, image, _), message in refused.items()}
    lines = [f"{name} ({', '.join(of)}): {messages[name]}" for name, of in list(prompts.items())[:SHOWN]]
    return lines + ([f"{len(prompts) - SHOWN:,} more images"] if len(prompts) > SHOWN else [])
