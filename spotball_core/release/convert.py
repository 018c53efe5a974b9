"""Read the unchanged files of the published Spot the Ball release, and convert them to scenes and responses.

The release has this layout; all parts except the ground truth are optional:

    data/images/SPORT/SPORT_gt.csv, *.jpg, *.png
    data/responses/humans/SPORT_clicks.csv, SPORT_explanations.csv
    data/responses/models/MODEL/levelN_SPORT.csv
    data/analysis/player_proximity/filtered_people_boxes_long.csv, filtered_people_image_summary.csv

SPORT is soccer, basketball (or bb) or volleyball (or vball); levels 0, 1, 2 are the prompts base, cue, cot. Files name
an image `163`, `163.jpg`, `302_wball.jpg` or `347_wballjpg.jpg`. The leading number is the image's id within its sport,
and an image that any file names with `wball` is a control (the ball is visible in it). The images are 640 x 360
pixels, and the players' boxes are in pixels of the image. `spotball_core.release.tables` describes the ball's columns.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from spotball_core.errors import InputError, OptionError
from spotball_core.io.dataset import SCENES
from spotball_core.io.frames import write_responses
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.release.reader import Key, ReleaseReader
from spotball_core.release.tables import broken, listed
from spotball_core.schema.checks import path_of
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing_folder
from spotball_core.service.paths import output_name
from spotball_core.service.progress import OnProgress, counted, ignore_progress


@dataclass(frozen=True, eq=False)
class Release:
    """The content of the published release.

    Attributes:
        scenes: the scenes, ordered by sport and by number.
        responses: rows with the columns of `spotball_core.io.frames.COLUMNS`.
        image_files: path of the image file by (sport, image), without images whose file is missing.
        notes: texts that each describe an irregularity in the files and how it was handled.
        ground_truth: one row per ball, with these columns from the files: sport, image, x, y, width, height, gt_x and
            gt_y, unconverted. gt_x and gt_y are null if a file does not have them.
    """

    scenes: tuple[Scene, ...]
    responses: pl.DataFrame
    image_files: dict[Key, Path]
    notes: tuple[str, ...]
    ground_truth: pl.DataFrame

    def write(self, out: str | Path, *, on_progress: OnProgress = ignore_progress) -> None:
        """Write a dataset: `scenes.jsonl`, the images, and `responses-RESPONDENT.jsonl` for each respondent.

        The folder is written to a temporary name and renamed, so it is never partial. An earlier import at `out` is
        replaced, unless it contains other files.

        Args:
            out: the dataset's folder.
            on_progress: called with the number of copied images, and the total number of images.

        Raises:
            OptionError: if `out` contains anything other than an earlier import, or cannot be written.
        """
        out = Path(out).resolve()
        self._check_replaceable(out)
        try:
            with replacing_folder(out) as beside:
                self._fill(beside, on_progress)
        except OSError as error:
            raise OptionError(
                f"the dataset cannot be written: {error}. Use another folder", code="unwritable-output", file=out
            ) from error

    def _response_files(self) -> dict[str, pl.DataFrame]:
        parts = self.responses.partition_by("respondent", as_dict=True)
        return {
            output_name(f"responses-{respondent}", ending=".jsonl"): rows
            for (respondent,), rows in sorted(parts.items())
        }

    def _fill(self, folder: Path, on_progress: OnProgress) -> None:
        paths = {scene.key: scene.path for scene in self.scenes if scene.path}
        for key, file in counted(self.image_files.items(), len(self.image_files), on_progress):
            copy = folder / paths[key]
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        for name, rows in self._response_files().items():
            write_responses(rows, folder / name)
        write_scenes(self.scenes, folder / SCENES)

    def _check_replaceable(self, out: Path) -> None:
        if not out.exists():
            return
        if not out.is_dir():
            raise OptionError(f"{out} is a file. Use a folder for the dataset", code="output-exists", field="--out")
        if not any(out.iterdir()):
            return
        refusal = OptionError(
            f"{out} is not empty and is not an earlier import. Use another folder", code="output-exists", field="--out"
        )
        existing = {
            path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_symlink() or not path.is_dir()
        }
        if SCENES not in existing:
            raise refusal
        # Files that users added, above all their responses, must not be deleted with the old dataset.
        own_files = {SCENES, *self._response_files(), *(scene.path for scene in self.scenes if scene.path)}
        if foreign := sorted(existing - own_files):
            raise OptionError(
                f"{out} contains files that the import did not write: {listed(foreign)}. Move them away, or "
                "use another folder",
                code="output-exists",
                field="--out",
            )
        try:
            old = {scene.key for scene in read_scenes(out / SCENES)}
        except InputError as error:
            raise refusal from error
        if not old <= {scene.key for scene in self.scenes}:
            raise refusal


def import_release(folder: str | Path) -> Release:
    """Read a full or partial copy of the published release.

    Known irregularities are handled and noted: controls (images with a visible ball), images with several names,
    unreadable cells (they become unparsed responses), repeated iterations in a file (its samples are renumbered),
    different numbers of responses per image, and explanations of images that their writer did not click on (they are
    excluded).

    Args:
        folder: the release's folder, or the `data` folder in it.

    Raises:
        InputError: if there is no ground truth, or files cannot be read or have invalid content; it lists the problems
            of all files.
    """
    reader = ReleaseReader(data_folder(path_of("folder", folder)))
    reader.read_images()
    reader.read_players()
    reader.read_responses()
    return Release(*reader.finished())


def data_folder(folder: Path) -> Path:
    """Return the `data` folder of a release, given this folder or its parent; raise InputError if it is missing."""
    if not folder.is_dir():
        expected = "the folder of the release, or its data folder. Check the path"
        if folder.exists():
            raise broken("wrong-file", folder, "folder", "a file", expected)
        raise broken("missing-file", folder, "folder", "no such folder", expected)
    return folder / "data" if (folder / "data").is_dir() else folder
