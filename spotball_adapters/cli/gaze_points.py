"""`spotball gaze points`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import progress, teller, teller_of_problems
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, OutFile, Photos, Quiet, Respondent
from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.service.progress import counted
from spotball_core.text.words import plural

Checkpoint = Annotated[
    Path | None, option("GazeLLE", "FILE", "Published weights of GazeLLE's decoder.", "--checkpoint")
]
Backbone = Annotated[
    str | None,
    option("GazeLLE", "NAME", "DINOv2 model for GazeLLE: a folder, or a name on the Hugging Face Hub.", "--backbone"),
]
Faces = Annotated[
    Path | None,
    option(
        "GazeLLE",
        "FILE",
        "CSV file of head boxes, with the columns `stimulus_id`, `x1`, `y1`, `x2` and `y2` (from 0 to 1). "
        "Default: none.",
        "--faces",
    ),
]


def points(
    stimuli: Annotated[
        Path,
        typer.Argument(
            metavar="STIMULI", help="stimuli.csv with a column `points`, or its folder (see `spotball gaze stimuli`)."
        ),
    ],
    predicted: Annotated[
        Path,
        typer.Argument(
            metavar="POINTS",
            help="CSV or JSON Lines file of predicted points: `stimulus_id`, and `x` and `y` from 0 to 1. With "
            "--checkpoint, the file is written.",
        ),
    ],
    out: OutFile,
    respondent: Respondent = None,
    checkpoint: Checkpoint = None,
    backbone: Backbone = None,
    images: Photos = None,
    faces: Faces = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Convert predicted gaze points to trials: the nearest object is the choice.

    Example: `spotball gaze points photos moondream.csv --out moondream-trials.csv`

    Use it for methods that predict points, such as Moondream and GazeLLE. With --checkpoint and --backbone, GazeLLE
    first predicts the points on this machine. Without a prediction, or with two equally near objects, a trial has no
    choice.
    """
    from spotball_adapters.gaze.points import point_trials, read_points, write_points
    from spotball_core.gaze.data.faces import read_faces
    from spotball_core.gaze.data.stimuli import read_stimuli
    from spotball_core.gaze.data.trials import make_trials, write_trials
    from spotball_core.service.paths import folder_of

    check_gazelle(checkpoint, backbone)
    all_stimuli = read_stimuli(stimuli, on_assumed=teller_of_problems(quiet))
    if checkpoint is not None and backbone is not None:
        if any(importlib.util.find_spec(module) is None for module in ("torch", "transformers", "PIL")):
            raise MissingExtraError("GazeLLE", "local")
        from spotball_adapters.gaze.gazelle import load_gazelle
        from spotball_adapters.gaze.predict import predict
        from spotball_adapters.providers.local_model import picked_device

        folder = images or folder_of(stimuli)
        boxes = read_faces(faces) if faces else {}
        predictions = predict(load_gazelle(checkpoint, backbone), all_stimuli, folder, boxes, picked_device())
        with progress("photos", quiet=quiet) as on_progress:
            write_points(counted(predictions, len(all_stimuli), on_progress), predicted)
    trials = point_trials(read_points(predicted), all_stimuli, respondent or predicted.stem)
    write_trials(make_trials(trials, all_stimuli), out)
    without = sum(trial.choice is None for trial in trials)
    none = f", {without:,} of them without a choice, which count as wrong" if without else ""
    teller(quiet)(f"{out}: {plural(len(trials), 'trial')}{none}")


def check_gazelle(checkpoint: Path | None, backbone: str | None) -> None:
    """Raise OptionError if only one of GazeLLE's parts is given."""
    if (checkpoint is None) != (backbone is None):
        raise OptionError(
            "GazeLLE needs both --checkpoint, its decoder, and --backbone, its encoder", code="missing-option"
        )
