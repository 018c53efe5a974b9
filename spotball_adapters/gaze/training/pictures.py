"""Create and read an experiment's picture sets for training, validation and testing.

Experiments with synthetic pictures have two training sets, and experiments with photos have one.

Each set is a folder with stimuli.csv, faces.csv and, if the pictures are synthetic, the pictures, as `spotball gaze
stimuli` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from spotball_adapters.gaze.points import points_of, write_faces
from spotball_adapters.gaze.training.drawing import THINGS, Box, draw, drawn_look
from spotball_core.errors import OptionError
from spotball_core.gaze.data.faces import FACES, read_faces
from spotball_core.gaze.data.stimuli import CONDITIONS, STIMULI, Condition, Stimulus, read_stimuli, write_stimuli
from spotball_core.gaze.power.observers import STUDY_SETS, factorial_design
from spotball_core.random import generator_for
from spotball_core.service.parallel import in_processes

AGREE: Final = "agree"
DISAGREE: Final = "disagree"
PHOTOS: Final = "photos"
VALIDATION: Final = "validation"
TEST: Final = "test"


SHARES: Final = (0.7, 0.15, 0.15)
"""Shares of the photos for training, validation and testing."""

DRAWN_SETS: Final = tuple(tuple(list(THINGS)[ord(name[-1]) - 97] for name in objects) for objects in STUDY_SETS)
"""Sets of objects like those of the main study, with objects from `THINGS`."""

_CHUNK: Final = 64
"""Number of pictures that a process draws before it gets new work."""


@dataclass(frozen=True)
class PictureSet:
    """A set of pictures.

    Attributes:
        stimuli: the stimulus of each picture, with the positions of its objects.
        images: folder that the pictures' paths are relative to.
        faces: boxes of heads by stimulus ID; a stimulus with an unknown box has no entry.
    """

    stimuli: tuple[Stimulus, ...]
    images: Path
    faces: Mapping[str, Box]


@dataclass(frozen=True)
class PhotoPlan:
    """A picture to draw: its stimulus, and the key that seeds its random properties, such as colors."""

    stimulus: Stimulus
    key: tuple[str, ...]


def training_plans(n: int, seed: int) -> dict[str, list[PhotoPlan]]:
    """Return the pictures to draw for the two training sets, by name of the set.

    `disagree` contains random stimuli of the main study's design, so in about half of them, head and eyes point to
    different objects (incongruent), and in about a quarter, the head has no target (natural). `agree` contains the same
    pictures except for the heads: each head points to the gaze target. A difference between networks trained on the two
    sets is therefore caused by the heads.

    Args:
        n: number of pictures per set.
        seed: random seed.
    """
    disagree = _picked(n, DISAGREE, seed)
    agree = [
        PhotoPlan(plan.stimulus.model_copy(update={"head_target": plan.stimulus.gaze_target}), plan.key)
        for plan in disagree
    ]
    return {AGREE: agree, DISAGREE: disagree}


def validation_plans(n: int, seed: int) -> list[PhotoPlan]:
    """Return the validation pictures to draw: random stimuli of the main study's design."""
    return _picked(n, VALIDATION, seed)


def design_plans(stimuli: Sequence[Stimulus] | None = None) -> list[PhotoPlan]:
    """Return the pictures to draw for stimuli of a design (default: all stimuli of the main study's design).

    As in the gaze paper, pictures with the same scene and head target differ only in the eyes.

    Args:
        stimuli: stimuli from `factorial_design`, with objects from `THINGS`.
    """
    plans = []
    for stimulus in factorial_design(DRAWN_SETS) if stimuli is None else stimuli:
        scene = ("+".join(stimulus.objects), str(stimulus.proximity), stimulus.view)
        head = ("to", stimulus.head_target) if stimulus.head_target else ("free", stimulus.gaze_target)
        plans.append(PhotoPlan(stimulus, (TEST, *scene, *head)))
    return plans


def draw_set(plans: Sequence[PhotoPlan], folder: Path, *, size: int, seed: int, jobs: int = 1) -> None:
    """Draw pictures into a folder, and write their stimuli.csv and faces.csv.

    Args:
        plans: the pictures to draw.
        folder: the folder to create. Existing files may be replaced.
        size: side length in pixels.
        seed: seed of everything that the stimuli do not determine.
        jobs: number of parallel processes.
    """
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    tasks = [_DrawingTask(tuple(plans[i : i + _CHUNK]), folder, size, seed) for i in range(0, len(plans), _CHUNK)]
    drawn = [pair for chunk in in_processes(_draw_some, tasks, jobs) for pair in chunk]
    write_faces({stimulus.stimulus_id: face for stimulus, face in drawn}, folder / FACES)
    write_stimuli([stimulus for stimulus, _ in drawn], folder / STIMULI)


def read_set(folder: Path, images: Path | None = None) -> PictureSet:
    """Read a set that `draw_set` or `split_photos` wrote.

    Args:
        folder: folder with stimuli.csv and faces.csv.
        images: folder that the pictures' paths are relative to; by default `folder`.

    Raises:
        InputError: if stimuli.csv or faces.csv is missing or invalid.
    """
    return PictureSet(read_stimuli(folder), images or folder, read_faces(folder / FACES))


def split_photos(
    stimuli: Sequence[Stimulus], faces: Mapping[str, Box], folder: Path, seed: int
) -> Mapping[str, tuple[Stimulus, ...]]:
    """Split photos at random into training, validation and test sets, separately per condition.

    Each set's stimuli and boxes are written to a folder of its own.

    Args:
        stimuli: stimuli of the photos. Attention checks are excluded.
        faces: boxes of heads by stimulus ID.
        folder: parent of the sets' folders.
        seed: seed of the split.

    Returns:
        The stimuli of each set, by name of the set.

    Raises:
        OptionError: if the position of an object is missing, or if there are too few photos.
    """
    parts: dict[str, list[Stimulus]] = {PHOTOS: [], VALIDATION: [], TEST: []}
    for condition in CONDITIONS:
        in_condition = [
            stimulus for stimulus in stimuli if stimulus.condition == condition and not stimulus.attention_check
        ]
        for stimulus in in_condition:
            points_of(stimulus)
        order = np.random.default_rng([seed, CONDITIONS.index(condition)]).permutation(len(in_condition))
        ends = np.rint(np.cumsum(SHARES) * len(in_condition)).astype(int)
        for part, places in zip(parts.values(), np.split(order, ends[:-1]), strict=True):
            part += [in_condition[place] for place in places]
    if not all(parts.values()):
        raise OptionError(
            f"{len(stimuli)} photos are too few to split into training, validation and test photos. Use more photos",
            code="cannot-estimate",
        )
    for name, part in parts.items():
        (folder / name).mkdir(parents=True)
        ids = {stimulus.stimulus_id for stimulus in part}
        write_faces(
            {stimulus_id: box for stimulus_id, box in faces.items() if stimulus_id in ids}, folder / name / FACES
        )
        write_stimuli(part, folder / name / STIMULI)
    return {name: tuple(part) for name, part in parts.items()}


def conditions_of(stimuli: Iterable[Stimulus]) -> list[Condition]:
    """Return the conditions that occur among the stimuli, in the order of the gaze paper's Table 3."""
    present = {stimulus.condition for stimulus in stimuli}
    return [condition for condition in ("congruent", "incongruent", "natural") if condition in present]


@dataclass(frozen=True)
class _DrawingTask:
    plans: tuple[PhotoPlan, ...]
    folder: Path
    size: int
    seed: int


def _draw_some(task: _DrawingTask) -> list[tuple[Stimulus, Box]]:
    """Draw the pictures that a process got, and return their stimuli (with paths and object positions) and the heads'
    boxes.
    """
    results = []
    for plan in task.plans:
        look = drawn_look(generator_for(task.seed, *plan.key))
        drawing = draw(plan.stimulus, look, task.size)
        path = f"pictures/{plan.stimulus.stimulus_id}.png"
        drawing.image.save(task.folder / path)
        results.append((plan.stimulus.model_copy(update={"image": path, "points": drawing.points}), drawing.face))
    return results


def _picked(n: int, set_name: str, seed: int) -> list[PhotoPlan]:
    """Return n random stimuli of the design. A stimulus repeats only after all stimuli have occurred equally often."""
    design, generator = factorial_design(DRAWN_SETS), generator_for(seed, "picked", set_name)
    order: list[int] = []
    while len(order) < n:
        order += generator.permutation(len(design)).tolist()
    plans = []
    for number, place in enumerate(order[:n], start=1):
        name = f"{number:05d}"
        plans.append(PhotoPlan(design[place].model_copy(update={"stimulus_id": name}), (set_name, name)))
    return plans
