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

StimuliFile = Annotated[
    Path, typer.Argument(metavar="STIMULI", help="The photos: the study's CSV file, or one of the same columns.")
]


def points(
    stimuli: StimuliFile,
    predicted: Annotated[
        Path, typer.Argument(metavar="POINTS", help="CSV or JSON Lines: stimulus_id, x, y, as shares of the image.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File of trials to write.")],
    respondent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name in the trials. Default: the name of POINTS.")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Make trials of predicted points: the object nearest to a point is the choice.

    For methods that say where on the image somebody looks, such as Moondream and GazeLLE. The stimuli say where their
    objects are. Where two objects are equally near, or nothing was predicted, there is no choice.

    Example: `spotball gaze points stimuli.csv moondream.csv --out moondream-trials.csv`
    """
    from spotball_adapters.gaze.points import point_trials, read_points
    from spotball_core.gaze.data.stimuli import read_stimuli
    from spotball_core.gaze.data.trials import make_trials, write_trials

    all_stimuli = read_stimuli(stimuli)
    trials = point_trials(read_points(predicted), all_stimuli, respondent or predicted.stem)
    write_trials(make_trials(trials, all_stimuli), out)
    without = sum(trial.choice is None for trial in trials)
    none = f", {without:,} of them without a choice, which count as wrong" if without else ""
    teller(quiet)(f"{out}: {len(trials):,} trials{none}")


def predict(
    stimuli: StimuliFile,
    images: Annotated[Path, typer.Option(metavar="DIR", help="Folder that the photos' paths are relative to.")],
    checkpoint: Annotated[Path, typer.Option(metavar="FILE", help="Weights of GazeLLE's decoder, as published.")],
    backbone: Annotated[
        str, typer.Option(metavar="NAME", help="DINOv2 of the transformers library: a folder, or a name on the Hub.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File of points to write.")],
    faces: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV of heads: stimulus_id, x1, y1, x2, y2, as shares.")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict with GazeLLE, on this machine, the point that the person on each photo looks at.

    The points are what `spotball gaze points` makes trials of.

    Example: `spotball gaze predict stimuli.csv --images photos --checkpoint gazelle_dinov2_vitl14.pt --backbone
    facebook/dinov2-large --out gazelle.csv`
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
