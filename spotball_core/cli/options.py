"""Options that commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from spotball_core.cli.help import ADVANCED, INPUT, OUTPUT, SCORING, option
from spotball_core.counting.engines import EngineName
from spotball_core.io.answer_options import PointScale


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass by one option per field.

    A field is annotated like an option. If such a parameter has a default, this object contains the options' defaults.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        group = hints[name]
        if not is_dataclass(group):
            parameters.append(parameter.replace(annotation=group, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = group
        of_fields = get_type_hints(group, include_extras=True)
        for field in fields(group):
            default = field.default if parameter.default is parameter.empty else getattr(parameter.default, field.name)
            parameters.append(
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=parameter.empty if default is MISSING else default,
                    annotation=of_fields[field.name],
                )
            )

    @wraps(command)
    def expanded(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH", help="Dataset folders, or files of responses (with --scenes).")
]
ScenesFile = Annotated[
    Path | None, option(INPUT, "FILE", "File of scenes. Default: that of the dataset, run or log.", "--scenes")
]
PointScales = Annotated[
    PointScale | None, option(INPUT, "SCALE", "Scale of points: image (pixels), 1, 100, 1000, qwen, gemini or molmo.")
]


@dataclass(frozen=True)
class Tables:
    """The options that state where the scenes are, and how tables of answers are read."""

    scenes: ScenesFile = None
    truth: Annotated[Path | None, option(INPUT, "TABLE", "Table of the ball's positions, instead of scenes.")] = None
    grid: Annotated[str | None, option(INPUT, "RxC", "Rows and columns of the grid for --truth. Default: 6x10.")] = None
    size: Annotated[str | None, option(INPUT, "WxH", "Image size in pixels for --truth. Default: 640x360.")] = None
    columns: Annotated[
        str | None, option(INPUT, "NAME=COLUMN,...", "Names of columns, such as image=image_id,cell=prediction.")
    ] = None
    point_scale: PointScales = None
    first_index: Annotated[int | None, option(INPUT, "0|1", "Number of the first row and column.", min=0, max=1)] = None
    accept_signs: Annotated[
        bool, option(INPUT, None, "Only warn if answers were certainly misread.", "--accept-signs")
    ] = False
    strict: Annotated[bool, option(INPUT, None, "Turn warnings about files into errors.", "--strict")] = False
    pool: Annotated[bool, option(INPUT, None, "Merge a respondent's answers from independent files.", "--pool")] = False

    def folders(self, paths: list[Path]) -> list[Path]:
        """Return the folders in which images may be: those among the given paths, and the folder of the scenes."""
        return [path for path in paths if path.is_dir()] + [file.parent for file in (self.scenes, self.truth) if file]


Reference = Annotated[
    str | None, option(SCORING, "NAME", "Compare with this respondent, usually human. Default: none.")
]
ImageChoice = Annotated[
    Literal["shared", "all"] | None,
    option(SCORING, None, "Images to score: shared by all respondents, or all. Default: shared with --reference."),
]
PolicyName = Annotated[
    Literal["standard", "paper"], option(SCORING, None, "Policy: standard, or paper (as published).")
]
Bootstrap = Annotated[int, option(SCORING, "N", "Bootstrap resamples; 0 for no confidence intervals.", min=0)]
Seed = Annotated[int, option(ADVANCED, "N", "Seed of the random numbers.", min=0)]
Jobs = Annotated[int | None, option(ADVANCED, "N", "Parallel processes. Default: at most one per core.", min=1)]
TableFormat = Annotated[Literal["json", "table", "markdown"], option(OUTPUT, "FORM", "table, markdown or json.")]
TextFormat = Annotated[
    Literal["text", "json"] | None,
    option(OUTPUT, "FORM", "text or json. Default: from the extension of --out; otherwise text."),
]
Trials = Annotated[
    list[Path], typer.Argument(metavar="TRIALS", help="CSV files of trials, or folders with trials.csv, such as runs.")
]
StimuliFile = Annotated[
    Path | None,
    option(INPUT, "FILE", "stimuli.csv of the photos, or its folder (see `spotball gaze stimuli`).", "--stimuli"),
]
Photos = Annotated[
    Path | None, option(INPUT, "DIR", "Folder of the photos. Default: the folder of the stimuli.", "--images")
]
OutFolder = Annotated[Path, option(OUTPUT, "DIR", "Folder to write.", "--out", "-o")]
OutFile = Annotated[Path, option(OUTPUT, "FILE", "CSV file to write.", "--out", "-o")]
Respondent = Annotated[
    str | None, option(OUTPUT, "NAME", "Name of the respondent. Default: that of the model or file.", "--respondent")
]
Full = Annotated[bool, option(OUTPUT, None, "Print all results, not only a summary.", "--full")]
DryRun = Annotated[bool, option(OUTPUT, None, "Show what would be sent; send nothing.", "--dry-run")]
Host = Annotated[str, option("Server", "NAME", "Network address on which the server listens.")]
Port = Annotated[int, option("Server", "N", "Port of the server; 0 selects a free port.", min=0, max=65535)]
Quiet = Annotated[bool, option(ADVANCED, None, "Print only results and errors.", "--quiet", "-q")]
Debug = Annotated[bool, option(ADVANCED, None, "Show the traceback of an error.", "--debug")]
EngineOption = Annotated[EngineName, option(ADVANCED, None, "Use this process, or Ray Data.", "--engine")]
RayAddress = Annotated[
    str | None,
    option(
        ADVANCED, "ADDRESS", "Address of a Ray cluster that has the files at the same paths. Default: this machine."
    ),
]
