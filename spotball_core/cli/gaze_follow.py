"""`spotball gaze follow`."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_core.cli.options import Bootstrap, Debug, Seed
from spotball_core.service.safe_text import show


def follow(
    annotations: Annotated[
        Path,
        typer.Argument(
            metavar="ANNOTATIONS",
            help="GazeFollow's test_annotations_release.txt, or VideoAttentionTarget's folder annotations/test.",
        ),
    ],
    predictions: Annotated[
        list[Path],
        typer.Argument(metavar="PREDICTIONS", help="CSV files: image, x, y; optional person, respondent, heatmap."),
    ],
    images: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the images, whose sizes angles and AUC need.")
    ] = None,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    format: Annotated[Literal["json", "table", "markdown"], typer.Option(help="Form of the result.")] = "table",
    debug: Debug = False,
) -> None:
    """Score gaze points against continuous annotations, as GazeFollow and VideoAttentionTarget do.

    Prints the average and minimum distance to the annotators' points, the angle at the eyes, and the AUC of heat maps.
    A row of people compares each annotator with the others.

    Example: `spotball gaze follow test_annotations_release.txt predictions.csv --images gazefollow`
    """
    from spotball_core.errors import InputError, MissingExtraError, Problem
    from spotball_core.gaze.follow.annotations import (
        Benchmark,
        read_gazefollow,
        read_predictions,
        read_video_attention,
    )
    from spotball_core.gaze.follow.evaluate import evaluate_following, following_as_markdown, following_as_text
    from spotball_core.service.images import open_image
    from spotball_core.service.paths import find_file

    if images is not None and importlib.util.find_spec("PIL") is None:
        raise MissingExtraError("reading the sizes of images", "report")

    @cache
    def size(name: str) -> tuple[int, int] | None:
        path = find_file([images] if images else [], name)
        if path is None:
            return None
        try:
            with open_image(path) as image:
                return image.size
        except Exception as error:  # Pillow raises nearly anything for a damaged file.
            problem = Problem(str(path), None, "file", f"{type(error).__name__}: {error}", "an image that can be read")
            raise InputError([problem]) from error

    benchmark: Benchmark = "videoattentiontarget" if annotations.is_dir() else "gazefollow"
    read = read_video_attention if annotations.is_dir() else read_gazefollow
    answers = [one for path in predictions for one in read_predictions(path)]
    report = evaluate_following(read(annotations, size), answers, benchmark=benchmark, bootstrap=bootstrap, seed=seed)
    if format == "json":
        text = report.model_dump_json(indent=1) + "\n"
    else:
        text = following_as_markdown(report) if format == "markdown" else following_as_text(report, to_terminal=True)
    show(text, end="", styled=format == "table")
