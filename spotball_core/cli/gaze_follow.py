"""`spotball gaze follow`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.help import option
from spotball_core.cli.options import Bootstrap, Debug, Seed, TableFormat
from spotball_core.service.safe_text import show


def follow(
    annotations: Annotated[
        Path,
        typer.Argument(
            metavar="ANNOTATIONS",
            help="GazeFollow's test_annotations_release.txt, or the folder annotations/test of VideoAttentionTarget.",
        ),
    ],
    predictions: Annotated[
        list[Path],
        typer.Argument(
            metavar="PREDICTIONS",
            help="CSV files of predictions, with the columns `image`, `x` and `y`, and optionally `person`, "
            "`respondent` and `heatmap`.",
        ),
    ],
    images: Annotated[
        Path | None,
        option("Input", "DIR", "Folder of the images; the angular error and the AUC need their sizes. Default: none."),
    ] = None,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    format: TableFormat = "table",
    debug: Debug = False,
) -> None:
    """Score predicted gaze points against GazeFollow or VideoAttentionTarget annotations.

    Example: `spotball gaze follow test_annotations_release.txt predictions.csv --images gazefollow`

    Prints the average and minimum distance to the annotated points, the angular error, and the AUC of heat maps. The
    row "people" compares each annotator with the others.
    """
    from spotball_core.errors import MissingExtraError
    from spotball_core.gaze.follow.annotations import read_annotations, read_predictions, sizes_in
    from spotball_core.gaze.follow.evaluate import evaluate_following, following_as_markdown, following_as_text

    if images is not None and importlib.util.find_spec("PIL") is None:
        raise MissingExtraError("reading the sizes of images", "report")
    benchmark, targets = read_annotations(annotations, sizes_in(images))
    answers = [one for path in predictions for one in read_predictions(path)]
    report = evaluate_following(targets, answers, benchmark=benchmark, bootstrap=bootstrap, seed=seed)
    if format == "json":
        text = report.model_dump_json(indent=1) + "\n"
    else:
        text = following_as_markdown(report) if format == "markdown" else following_as_text(report, to_terminal=True)
    show(text, end="", styled=format == "table")
