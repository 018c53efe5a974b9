"""Options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_core.counting.engines import EngineName

Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH", help="Dataset folders, or files of responses (then --scenes).")
]
ScenesFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The scenes that were answered to: a scenes.jsonl.")
]
Reference = Annotated[
    str | None, typer.Option(metavar="NAME", help="Compare others with this respondent, usually human.")
]
ImageChoice = Annotated[
    Literal["shared", "all"] | None,
    typer.Option(help="Images all groups answered, or each group's own. Default: shared with a reference."),
]
PolicyName = Annotated[
    Literal["standard", "paper"], typer.Option(help="The choices that change numbers; paper: as published.")
]
Bootstrap = Annotated[int, typer.Option(min=0, metavar="N", help="Resamples for the intervals; 0 for none.")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of all that is drawn.")]
Pool = Annotated[
    bool, typer.Option("--pool", help="Merge a respondent's answers to the same images from independent files.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Treat signs that a file was misread as errors.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
EngineOption = Annotated[EngineName, typer.Option("--engine", help="What reads and counts: this process, or Ray Data.")]
RayAddress = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A running Ray cluster, all of whose machines see the files at the same paths. Default: one started here.",
    ),
]
