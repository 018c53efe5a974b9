"""`spotball cues poses`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spotball_core.cli.console import progress, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, OutFolder, Quiet
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_gen.poses.report import PosesReport

SHOWN_IMAGES = 20
"""Number of images with failures that the terminal lists; poses.json lists all."""


def poses(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder, with scenes.jsonl.")],
    kind: Annotated[
        str,
        option(
            "Model", "KIND", "Pose estimator: file, yolov8-pose-onnx, mediapipe, or one that a package adds.", "--with"
        ),
    ],
    out: OutFolder,
    file: Annotated[
        Path | None,
        option("Model", "FILE", "Weights of the estimator, or the keypoints for `--with file`. Default: none."),
    ] = None,
    option: Annotated[
        list[str] | None,
        option("Model", "KEY=VALUE", "Option of the estimator, as KEY=VALUE; can be repeated. Default: none."),
    ] = None,
    draw: Annotated[bool, option("Output", None, "Draw the poses on the images, in DIR/poses.", "--draw")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Estimate the poses of the players in a dataset, and write a new dataset that contains them.

    Example: `spotball cues poses data --with mediapipe --file mediapipe-0.10.14.whl --out data-with-poses`

    Estimators: `file` reads COCO keypoints (JSON), `yolov8-pose-onnx` runs an exported YOLOv8-pose model, and
    `mediapipe` runs the model from MediaPipe's package. poses.json in the new dataset lists players without a pose,
    with the reasons.
    """
    from spotball_core.errors import OptionError
    from spotball_gen.poses.dataset import REPORT, add_poses

    options: dict[str, str] = {} if file is None else {"file": str(file)}
    for text in option or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise OptionError(f"--option {text}: expected KEY=VALUE")
        if key in options:
            raise OptionError(f"--option {text}: {key} is given twice", code="duplicate")
        options[key] = value
    with progress("estimating poses", quiet=quiet) as on_progress:
        report = add_poses(dataset, kind, out, options, draw=draw, on_progress=on_progress)
    tell = teller(quiet)
    for line in summary(report):
        tell(line)
    tell(f"wrote {out}; {REPORT} lists the failures per image")


def summary(report: PosesReport) -> list[str]:
    """Return the lines to print: the failures of the first images, and the total numbers."""
    lines = []
    incomplete = [image for image in report.images if image.failures]
    for image in incomplete[:SHOWN_IMAGES]:
        numbers = ", ".join(f"{failure.player} ({failure.reason})" for failure in image.failures)
        found = f"{image.n_poses} of {image.n_players} players"
        lines.append(f"{image.sport}/{image.image}: {found}; no pose for {numbers}")
    if len(incomplete) > SHOWN_IMAGES:
        lines.append(f"... and {len(incomplete) - SHOWN_IMAGES:,} more images with players without a pose")
    share = f" ({report.n_poses / report.n_players:.0%})" if report.n_players else ""
    n_players, n_images = plural(report.n_players, "player"), plural(report.n_images, "image")
    lines.append(f"poses of {report.n_poses:,} of {n_players}{share} in {n_images}")
    lines += [f"{plural(count, 'player')} without a pose: {reason}" for reason, count in report.failures.items()]
    if report.unmatched:
        lines.append(f"{report.unmatched:,} detected people were not matched to a player")
    if report.n_without_players:
        lines.append(f"{report.n_without_players:,} images have no players")
    return lines
