"""`spotball reparse`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.counting.parse_record import ParsePolicy
from spotball_core.errors import OptionError
from spotball_core.io.answer_options import PointScale
from spotball_core.service.safe_text import show
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_adapters.runs.responses import ParsedReplies

SHOWN = 20
"""Maximum number of changed samples to list."""

FileFormat = Annotated[
    Literal["jsonl", "parquet"], typer.Option(rich_help_panel="Output", help="Format of the file of responses.")
]

ResponsesOut = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        rich_help_panel="Output",
        help="File of responses to write: .jsonl, .csv or .parquet.",
    ),
]

ParserName = Annotated[
    Literal["strict", "lenient"],
    typer.Option(
        metavar="POLICY",
        rich_help_panel="Output",
        help="Parser: strict (the prompts' format only) or lenient (also free text).",
    ),
]

ParsePolicyOption = Annotated[
    Literal["strict", "lenient"] | None,
    typer.Option(
        "--parse-policy",
        metavar="POLICY",
        rich_help_panel="Output",
        help="strict or lenient (free text). Default: the last one, or strict.",
    ),
]

AnswerOption = Annotated[
    Literal["cell", "point", "box"],
    typer.Option("--answer", metavar="KIND", rich_help_panel="Output", help="Kind of answer: cell, point or box."),
]

PointScaleOption = Annotated[
    PointScale | None,
    typer.Option(
        "--point-scale",
        metavar="SCALE",
        rich_help_panel="Output",
        help="Scale of points: image, 1, 100, 1000, qwen, gemini, molmo.",
    ),
]


def policy_of(policy: ParsePolicy | None, answer: str, scale: PointScale | None) -> ParsePolicy | None:
    """Return the parse policy that the options name together; None if they name none.

    Raises:
        OptionError: if options are missing or exclude each other.
    """
    if answer == "cell":
        if scale is not None:
            raise OptionError(
                "cells have no scale. Add --answer point or --answer box, or remove --point-scale",
                code="missing-option",
                field="--answer",
            )
        return policy
    if policy is not None:
        raise OptionError(
            "it applies only to cells. Remove it, or remove --answer",
            code="conflicting-options",
            field="--parse-policy",
        )
    if scale is None:
        raise OptionError(
            "the scale of the coordinates is missing. Add --point-scale 1000, or another of its values",
            code="missing-option",
            field="--point-scale",
        )
    return cast("ParsePolicy", f"{answer}-{scale}")


def reparse(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    format: FileFormat = "jsonl",
    parse_policy: ParsePolicyOption = None,
    answer: AnswerOption = "cell",
    point_scale: PointScaleOption = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Parse the stored replies of a run again, show what changed, and rewrite its responses.

    Example: `spotball reparse run-gpt`

    Sends no requests. Use it if a run was killed before it wrote its responses, or after an update of the parser.
    """
    from spotball_adapters.runs.responses import export
    from spotball_adapters.runs.store import SCENES, STORE, ReplyStore
    from spotball_core.io.scenes import read_scenes

    if not (run / STORE).is_file():
        raise OptionError(
            f"{run} is not the folder of a run: it has no {STORE}. Name the --out folder of `spotball run`",
            code="wrong-folder",
        )
    policy = policy_of(parse_policy, answer, point_scale)
    with ReplyStore(run) as store:
        reading, path = export(store, read_scenes(run / SCENES), run, format, policy)
    for line in changed(reading):
        show(line)
    tell = teller(quiet)
    tell(summary(reading))
    if path:
        tell(f"wrote {path}")


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
    reasons = ", ".join(f"{problem} {n:,}" for problem, n in reading.problems.items())
    n = len(reading.rows)
    ignored = f"; {plural(reading.continued, 'reply')} cut after the first turn" if reading.continued else ""
    listed = f" ({reasons})" if reasons else ""
    return f"{plural(n, 'sample')}: {n - unparsed:,} with a cell, {unparsed:,} unparsed{listed}{ignored}"


def changed(reading: ParsedReplies) -> list[str]:
    """Return one line for each of the first changed samples, and a line with their number."""
    lines = [
        f"{change.sport}/{change.image} {change.prompt} {change.sample}: {change.before} -> {change.after}"
        for change in reading.changes[:SHOWN]
    ]
    if len(reading.changes) > SHOWN:
        lines.append(f"... and {len(reading.changes) - SHOWN:,} more")
    n = len(reading.changes)
    new = f", {reading.new:,} are parsed for the first time" if reading.new else ""
    return [*lines, f"{n:,} of {len(reading.rows):,} samples are parsed differently than before{new}"]
