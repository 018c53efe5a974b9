"""`spotball gaze points` and `spotball gaze predict`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import progress, teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.errors import MissingExtraError
from spotball_core.service.progress import counted
from spotball_core.text.words import plural

StimuliFile = Annotated[
    Path,
    typer.Argument(
        metavar="STIMULI",
        help="CSV file that describes the photos, with the columns `stimulus_id`, `view`, `proximity`, `objects` and "
        "`gaze_target`.",
    ),
]


def points(
    stimuli: StimuliFile,
    predicted: Annotated[
        Path,
        typer.Argument(
            metavar="POINTS",
            help="CSV or JSON Lines file of predicted points: `stimulus_id`, and `x` and `y` from 0 to 1.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", rich_help_panel="Output", help="CSV file of trials to write.")
    ],
    respondent: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="Name of the respondent in the trials. Default: the name of the file POINTS.",
        ),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Convert predicted gaze points to trials: the nearest object is the choice.

    Example: `spotball gaze points stimuli.csv moondream.csv --out moondream-trials.csv`

    Use it for methods that predict points, such as Moondream and GazeLLE. STIMULI must have a column `points` with the
    positions of the objects. Without a prediction, or with two equally near objects, a trial has no choice.
    """
    from spotball_adapters.gaze.points import point_trials, read_points
    from spotball_core.gaze.data.stimuli import read_stimuli
    from spotball_core.gaze.data.trials import make_trials, write_trials

    all_stimuli = read_stimuli(stimuli)
    trials = point_trials(read_points(predicted), all_stimuli, respondent or predicted.stem)
    write_trials(make_trials(trials, all_stimuli), out)
    without = sum(trial.choice is None for trial in trials)
    none = f", {without:,} of them without a choice, which count as wrong" if without else ""
    teller(quiet)(f"{out}: {plural(len(trials), 'trial')}{none}")


def predict(
    stimuli: StimuliFile,
    images: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            rich_help_panel="Input",
            help="Folder of the photos that the column `image` of STIMULI names.",
        ),
    ],
    checkpoint: Annotated[
        Path,
        typer.Option(
            metavar="FILE", rich_help_panel="Model", help="File of the published weights of GazeLLE's decoder."
        ),
    ],
    backbone: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Model",
            help="DINOv2 model for transformers: a folder, or a name on the Hugging Face Hub.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", rich_help_panel="Output", help="CSV file of points to write.")
    ],
    faces: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel="Input",
            help="CSV file of head boxes, with the columns `stimulus_id`, `x1`, `y1`, `x2` and `y2` (from 0 to 1). "
            "Default: none.",
        ),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict where the person in each photo looks, with GazeLLE on this machine.

    Example: `spotball gaze predict stimuli.csv --images photos --checkpoint gazelle_dinov2_vitl14.pt --backbone
    facebook/dinov2-large --out gazelle.csv`

    `spotball gaze points` converts the predicted points to trials.
    """
    if any(importlib.util.find_spec(module) is None for module in ("torch", "transformers", "PIL")):
        raise MissingExtraError("GazeLLE", "local")
    from spotball_adapters.gaze.gazelle import load_gazelle
    from spotball_adapters.gaze.points import read_faces, write_points
    from spotball_adapters.gaze.predict import predict as predicted
    from spotball_adapters.providers.local_model import picked_device
    from spotball_core.gaze.data.stimuli import read_stimuli

    all_stimuli = read_stimuli(stimuli)
    boxes = read_faces(faces) if faces else {}
    model = load_gazelle(checkpoint, backbone)
    predictions = predicted(model, all_stimuli, images, boxes, picked_device())
    with progress("photos", quiet=quiet) as on_progress:
        write_points(counted(predictions, len(all_stimuli), on_progress), out)
    teller(quiet)(f"wrote {out}")
