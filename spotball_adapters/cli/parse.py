"""`spotball parse`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from spotball_adapters.cli.asking import Parsing
from spotball_adapters.cli.run_end import SHOWN, summary
from spotball_core.cli.console import teller
from spotball_core.cli.help import INPUT, OUTPUT, option
from spotball_core.cli.options import Debug, Quiet, Respondent, ScenesFile, with_groups
from spotball_core.errors import InputError, OptionError
from spotball_core.service.safe_text import show

if TYPE_CHECKING:
    from spotball_adapters.replies.points import PointAnswer
    from spotball_adapters.runs.responses import ParsedReplies
    from spotball_core.counting.parse_record import ParsePolicy

LayoutName = Literal["inspect", "openai-batch", "harness", "vlmevalkit", "table"]

LOGS = (".eval", ".json")
"""Extensions of Inspect logs."""

CHANGES = 20
"""Maximum number of changed samples to list."""


@with_groups
def parse(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Files of replies: JSON Lines, JSON, CSV, TSV (also .gz), Excel or Parquet; or the folder of a run.",
        ),
    ],
    *,
    scenes: ScenesFile = None,
    out: Annotated[
        Path | None,
        option(OUTPUT, "FILE", "File of responses to write: .jsonl, .csv or .parquet.", "--out", "-o"),
    ] = None,
    layout: Annotated[
        LayoutName | None,
        option(
            INPUT, "NAME", "Layout of the files: inspect, openai-batch, harness, vlmevalkit, table. Default: detected."
        ),
    ] = None,
    reply: Annotated[
        str | None,
        option(INPUT, "COLUMN", "Column that contains the reply; a.b is the key b in column a. Default: detected."),
    ] = None,
    image: Annotated[
        str | None, option(INPUT, "COLUMN", "Column that names the image. Default: detected.", "--id")
    ] = None,
    index: Annotated[
        Path | None,
        option(
            INPUT, "FILE", "Table that maps ids (column `index`) to images (columns `image`, `sport` and `prompt`)."
        ),
    ] = None,
    respondent: Respondent = None,
    prompt: Annotated[str | None, option(OUTPUT, "NAME", "Name of the prompt in the responses. Default: base.")] = None,
    parsing: Parsing,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Parse raw replies of another tool or of a run, and write them as responses.

    Example: `spotball parse samples_spot.jsonl --scenes data/scenes.jsonl --out responses-mine.jsonl`

    Example: `spotball parse run-gpt --parse-policy lenient`

    Recognizes samples of lmms-eval and lm-evaluation-harness, tables of VLMEvalKit, outputs of OpenAI batches, logs of
    Inspect, and tables with a column of replies, which it parses with the policy lenient by default. Lists unparsed
    replies in a table next to the output. For a run, the default is its last policy, and the command prints which
    samples are parsed differently than before.
    """
    about = {"--layout": layout, "--reply": reply, "--id": image, "--index": index, "--prompt": prompt}
    tell = teller(quiet)
    if len(files) == 1 and files[0].is_dir():
        _refuse({"--scenes": scenes, "--out": out, "--respondent": respondent, **about}, "the folder of a run")
        _parse_run(files[0], parsing, tell)
        return
    if missing := [file for file in files if not file.exists()]:
        from spotball_core.io.sources import missing_file

        raise InputError([missing_file(file, "a file of replies, or the folder of a run") for file in missing])
    if out is None:
        raise OptionError("name the file of responses to write", code="missing-option", field="--out")
    if scenes is None:
        if any(file.suffix not in LOGS for file in files):
            raise OptionError(
                "name the file of the scenes. Only runs and logs of Inspect contain them",
                code="missing-option",
                field="--scenes",
            )
        _refuse(about, "logs without --scenes")
        _write(_parse_logs(files, respondent, parsing, tell), out, tell)
        return

    from spotball_adapters.outputs.parse import DEFAULT_POLICY, PROMPT, parse_files
    from spotball_core.io.frames import FORMATS
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
        parsing.answer
        if parsing.answer != "cell" and parsing.point_scale is None and parsing.parse_policy is None
        else parsing.policy() or DEFAULT_POLICY
    )
    parsed = parse_files(
        files,
        read_scenes(scenes),
        layout=layout,
        reply=reply,
        image=image,
        index=index,
        respondent=respondent,
        prompt=prompt or PROMPT,
        policy=policy,
    )
    for path, (title, n) in parsed.layouts.items():
        tell(f"{path}: {title}, {n:,} repl{'y' if n == 1 else 'ies'}")
    for reason, n in parsed.failed.items():
        tell(f"warning: {n:,} request{'s' if n > 1 else ''} without a reply: {reason}")
    if parsed.reading.rows.is_empty():
        raise OptionError("the files contain no replies. Check the files and --layout", code="no-data")
    if parsing.answer == policy:
        scale = parsed.reading.policy.partition("-")[2]
        tell(f"warning: the coordinates are read with --point-scale {scale}, the only scale that they fit")
    if parsed.missing:
        tell(f"warning: {parsed.missing:,} of the scenes have no reply")
    _write(parsed.reading, out, tell)
    table = out.with_name(f"unparsed.{out.stem}.csv")
    with replacing(table) as beside:
        csv_frame(parsed.unparsed).write_csv(beside)
    if len(parsed.unparsed):
        tell(f"{table}: lists each unparsed reply with the reason")


def _refuse(options: dict[str, Any], what: str) -> None:
    """Raise OptionError if an option is given that does not apply to these replies."""
    for flag, value in options.items():
        if value is not None:
            raise OptionError(f"it does not apply to {what}. Remove it", code="conflicting-options", field=flag)


def _write(reading: ParsedReplies, out: Path, tell: Callable[[str], None]) -> None:
    from spotball_core.counting.parse_record import write_parse_policy
    from spotball_core.io.frames import write_responses

    write_responses(reading.rows, out)
    write_parse_policy(out, reading.policy)
    tell(f"{out}: {summary(reading)}")


def _parse_logs(
    logs: list[Path], respondent: str | None, parsing: Parsing, tell: Callable[[str], None]
) -> ParsedReplies:
    """Parse the replies in Inspect logs of our task, which contain the scenes."""
    from spotball_adapters.inspect.logs import import_logs
    from spotball_adapters.replies import DEFAULT_POLICY

    imported = import_logs(logs, respondent=respondent, policy=parsing.policy() or DEFAULT_POLICY)
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
    return imported.reading


def _parse_run(run: Path, parsing: Parsing, tell: Callable[[str], None]) -> None:
    """Parse the stored replies of a run, show what changed, and rewrite its responses in their format."""
    from spotball_adapters.runs.responses import export
    from spotball_adapters.runs.store import SCENES, STORE, ReplyStore
    from spotball_core.io.scenes import read_scenes

    if not (run / STORE).is_file():
        raise OptionError(
            f"{run} is not the folder of a run: it has no {STORE}. Give the --out folder of `spotball run`",
            code="wrong-folder",
        )
    policy = parsing.policy()
    format = "parquet" if (run / "responses.parquet").exists() else "jsonl"
    with ReplyStore(run) as store:
        reading, path = export(store, read_scenes(run / SCENES), run, format, policy)
    for line in _changed(reading):
        show(line)
    tell(summary(reading))
    if path:
        tell(f"wrote {path}")


def _changed(reading: ParsedReplies) -> list[str]:
    """Return one line for each of the first changed samples, and a line with their number."""
    lines = [
        f"{change.sport}/{change.image} {change.prompt} {change.sample}: {change.before} -> {change.after}"
        for change in reading.changes[:CHANGES]
    ]
    if len(reading.changes) > CHANGES:
        lines.append(f"... and {len(reading.changes) - CHANGES:,} more")
    n = len(reading.changes)
    new = f", {reading.new:,} are parsed for the first time" if reading.new else ""
    return [*lines, f"{n:,} of {len(reading.rows):,} samples are parsed differently than before{new}"]
