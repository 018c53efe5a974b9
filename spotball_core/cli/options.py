"""Options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_core.counting.engines import EngineName
from spotball_core.io.answer_options import PointScale

Paths = Annotated[
    list[Path],
    typer.Argument(metavar="PATH", help="Dataset folders, or files of responses (with --scenes)."),
]
ScenesFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", rich_help_panel="Input", help="File of scenes. Default: scenes.jsonl in the dataset folder."
    ),
]
TruthFile = Annotated[
    Path | None,
    typer.Option(
        metavar="TABLE",
        rich_help_panel="Input",
        help="Table of the ball's positions, instead of scenes.",
    ),
]
GridOption = Annotated[
    str | None,
    typer.Option(
        "--grid",
        metavar="RxC",
        rich_help_panel="Input",
        help="Rows and columns of the grid for --truth. Default: 6x10.",
    ),
]
SizeOption = Annotated[
    str | None,
    typer.Option(
        "--size", metavar="WxH", rich_help_panel="Input", help="Image size in pixels for --truth. Default: 640x360."
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAME=COLUMN,...",
        rich_help_panel="Input",
        help="Names of columns, such as image=image_id,cell=prediction.",
    ),
]
PointScaleOption = Annotated[
    PointScale | None,
    typer.Option(
        "--point-scale",
        metavar="SCALE",
        rich_help_panel="Input",
        help="Scale of points: image (pixels), 1, 100, 1000, qwen, gemini or molmo.",
    ),
]
FirstIndexOption = Annotated[
    int | None,
    typer.Option(
        "--first-index",
        min=0,
        max=1,
        metavar="0|1",
        rich_help_panel="Input",
        help="Number of the first row and column.",
    ),
]
AcceptSigns = Annotated[
    bool,
    typer.Option("--accept-signs", rich_help_panel="Input", help="Only warn if answers were certainly misread."),
]
Reference = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel="Scoring",
        help="Compare with this respondent, usually human. Default: none.",
    ),
]
ImageChoice = Annotated[
    Literal["shared", "all"] | None,
    typer.Option(
        rich_help_panel="Scoring",
        help="Images to score: shared by all respondents, or all. Default: shared with --reference.",
    ),
]
PolicyName = Annotated[
    Literal["standard", "paper"],
    typer.Option(rich_help_panel="Scoring", help="Scoring policy: standard, or paper (published tables)."),
]
Bootstrap = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", rich_help_panel="Scoring", help="Bootstrap resamples; 0 for no confidence intervals."
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", rich_help_panel="Scoring", help="Seed of the random numbers.")]
Pool = Annotated[
    bool,
    typer.Option(
        "--pool",
        rich_help_panel="Input",
        help="Merge a respondent's answers from independent files.",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", rich_help_panel="Input", help="Turn warnings about files into errors.")
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", rich_help_panel="Advanced", help="Parallel processes. Default: number of cores."),
]
TableFormat = Annotated[
    Literal["json", "table", "markdown"],
    typer.Option(metavar="FORM", rich_help_panel="Output", help="table, markdown or json."),
]
Trials = Annotated[
    list[Path],
    typer.Argument(metavar="TRIALS", help="CSV files of trials, such as trials.csv from `spotball gaze ask`."),
]
StimuliFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel="Input",
        help="CSV file that describes the photos, with the columns `stimulus_id`, `view`, `proximity`, `objects` and "
        "`gaze_target`. Default: these columns of the trials.",
    ),
]
Host = Annotated[
    str, typer.Option(metavar="NAME", rich_help_panel="Server", help="Network address on which the server listens.")
]
Port = Annotated[
    int,
    typer.Option(
        min=0, max=65535, metavar="N", rich_help_panel="Server", help="Port of the server; 0 selects a free port."
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", rich_help_panel="Advanced", help="Print only results and errors.")
]
Debug = Annotated[bool, typer.Option("--debug", rich_help_panel="Advanced", help="Show the traceback of an error.")]
EngineOption = Annotated[
    EngineName,
    typer.Option("--engine", rich_help_panel="Advanced", help="Count responses in this process, or with Ray Data."),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        rich_help_panel="Advanced",
        help="Address of a Ray cluster that has the files at the same paths. Default: this machine.",
    ),
]
