"""`spotball import-inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_adapters.cli.reparse import ParserName, ResponsesOut, summary
from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.errors import OptionError

SHOWN = 5
"""Maximum number of different failures to print."""


def import_inspect(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG", help="Logs of the task spot_the_ball (.eval or .json).")],
    out: ResponsesOut,
    respondent: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="Name of the respondent in the responses. Default: the model in the log.",
        ),
    ] = None,
    parse_policy: ParserName = "strict",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Convert Inspect AI logs of the task spot_the_ball to a file of responses.

    Example: `spotball import-inspect logs/*.eval --out responses-mine.jsonl`

    The command parses the replies again. It excludes samples that failed, and reports their number. Install the extra
    `inspect` first.
    """
    from spotball_adapters.inspect.logs import import_logs
    from spotball_core.counting.parse_record import write_parse_policy
    from spotball_core.io.frames import write_responses

    imported = import_logs(logs, respondent=respondent, policy=parse_policy)
    tell = teller(quiet)
    for path, status in imported.unfinished.items():
        tell(
            f"warning: {path}: the evaluation did not end normally ({status}); only its completed samples are imported"
        )
    if imported.failed:
        tell(f"{sum(imported.failed.values()):,} samples failed without a reply and are excluded:")
        for message, n in list(imported.failed.items())[:SHOWN]:
            tell(f"  {n:,} times: {message}")
    if imported.reading.rows.is_empty():
        raise OptionError("the logs contain no replies", code="no-data")
    write_responses(imported.reading.rows, out)
    write_parse_policy(out, imported.reading.policy)
    tell(f"{out}: {summary(imported.reading)}")
