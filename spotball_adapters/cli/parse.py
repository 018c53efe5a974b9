"""`spotball parse`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spotball_adapters.cli.reparse import AnswerOption, PointScaleOption, ResponsesOut, policy_of, summary
from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.errors import OptionError

if TYPE_CHECKING:
    from spotball_adapters.replies.points import PointAnswer
    from spotball_core.counting.parse_record import ParsePolicy

LayoutName = Literal["inspect", "openai-batch", "harness", "vlmevalkit", "table"]


def parse(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Files of replies: JSON Lines, JSON, CSV, TSV (also .gz), Excel or Parquet."
        ),
    ],
    scenes: Annotated[
        Path,
        typer.Option(
            "--scenes",
            metavar="FILE",
            rich_help_panel="Input",
            help="File of the scenes that the replies are about (scenes.jsonl).",
        ),
    ],
    out: ResponsesOut,
    layout: Annotated[
        LayoutName | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Input",
            help="Layout of the files: inspect, openai-batch, harness, vlmevalkit, table. Default: detected.",
        ),
    ] = None,
    reply: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            rich_help_panel="Input",
            help="Column that contains the reply; a.b is the key b in column a. Default: detected.",
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", rich_help_panel="Input", help="Column that names the image. Default: detected."
        ),
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel="Input",
            help="Table that maps ids (column `index`) to images (columns `image`, `sport` and `prompt`).",
        ),
    ] = None,
    respondent: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="Name of the respondent in the responses. Default: the model in the file, or the file's name.",
        ),
    ] = None,
    prompt: Annotated[
        str, typer.Option(metavar="NAME", rich_help_panel="Output", help="Name of the prompt in the responses.")
    ] = "base",
    parse_policy: Annotated[
        Literal["strict", "lenient"] | None,
        typer.Option(
            metavar="POLICY", rich_help_panel="Output", help="strict (only a line Cell:) or lenient. Default: lenient."
        ),
    ] = None,
    answer: AnswerOption = "cell",
    point_scale: PointScaleOption = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Parse raw replies that another tool stored, and write them as responses.

    Example: `spotball parse samples_spot.jsonl --scenes data/scenes.jsonl --out responses-mine.jsonl`

    Recognizes samples of lmms-eval and lm-evaluation-harness, tables of VLMEvalKit, outputs of OpenAI batches, logs of
    Inspect, and tables with a column of replies. Lists unparsed replies in a table next to the output.
    """
    from spotball_adapters.outputs.parse import DEFAULT_POLICY, parse_files
    from spotball_core.counting.parse_record import write_parse_policy
    from spotball_core.io.frames import FORMATS, write_responses
    from spotball_core.io.scenes import read_scenes
    from spotball_core.service.files import replacing
    from spotball_core.service.safe_text import csv_frame

    if out.suffix not in FORMATS:
        raise OptionError(
            f"found {out}, expected a file name ending in {', '.join(FORMATS)}",
            code="unsupported-format",
            field="--out",
        )
    # Without a scale, the only scale that the coordinates fit is used.
    policy: ParsePolicy | PointAnswer = (
        answer
        if answer != "cell" and point_scale is None and parse_policy is None
        else policy_of(parse_policy, answer, point_scale) or DEFAULT_POLICY
    )
    parsed = parse_files(
        files,
        read_scenes(scenes),
        layout=layout,
        reply=reply,
        image=image,
        index=index,
        respondent=respondent,
        prompt=prompt,
        policy=policy,
    )
    tell = teller(quiet)
    for path, (title, n) in parsed.layouts.items():
        tell(f"{path}: {title}, {n:,} repl{'y' if n == 1 else 'ies'}")
    for reason, n in parsed.failed.items():
        tell(f"warning: {n:,} request{'s' if n > 1 else ''} without a reply: {reason}")
    if parsed.reading.rows.is_empty():
        raise OptionError("the files contain no replies. Check the files and --layout", code="no-data")
    if answer == policy:
        scale = parsed.reading.policy.partition("-")[2]
        tell(f"warning: the coordinates are read with --point-scale {scale}, the only scale that they fit")
    if parsed.missing:
        tell(f"warning: {parsed.missing:,} of the scenes have no reply")
    write_responses(parsed.reading.rows, out)
    write_parse_policy(out, parsed.reading.policy)
    tell(f"{out}: {summary(parsed.reading)}")
    table = out.with_name(f"unparsed.{out.stem}.csv")
    with replacing(table) as beside:
        csv_frame(parsed.unparsed).write_csv(beside)
    if len(parsed.unparsed):
        tell(f"{table}: lists each unparsed reply with the reason")
