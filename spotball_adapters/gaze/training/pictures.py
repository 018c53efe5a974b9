"""The sets of pictures of an experiment: two to train on, one to watch the training, one to test.

Each is a folder with stimuli.csv, faces.csv and the pictures; `spotball gaze ask` and `spotball gaze predict` take
them, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from spotball_adapters.gaze.points import points_of, read_faces, write_faces
from spotball_adapters.gaze.training.drawing import THINGS, Box, draw, drawn_look
from spotball_core.errors import OptionError
from spotball_core.gaze.data.stimuli import CONDITIONS, Condition, Stimulus, read_stimuli, write_stimuli
from spotball_core.gaze.power.observers import factorial_design
from spotball_core.random import generator_for
from spotball_core.service.parallel import in_processes

AGREE: Final = "agree"
DISAGREE: Final = "disagree"
PHOTOS: Final = "photos"
VALIDATION: Final = "validation"
TEST: Final = "test"

STIMULI: Final = "stimuli.csv"
FACES: Final = "faces.csv"

SHARES: Final = (0.7, 0.15, 0.15)
"""Of photos to train on, to watch and to test."""

_CHUNK: Final = 64
"""Pictures that a process draws at a time."""


@dataclass(frozen=True)
class PictureSet:
    """Some pictures.

    Attributes:
        stimuli: what is on each; with points.
        images: folder that their paths are relative to.
        faces: boxes of heads by stimulus, as far as they are known.
    """

    stimuli: tuple[Stimulus, ...]
    images: Path
    faces: Mapping[str, Box]


@dataclass(frozen=True)
class PhotoPlan:
    """A picture to be drawn: its stimulus, and what its look is drawn from."""

    stimulus: Stimulus
    key: tuple[str, ...]


def training_plans(n: int, seed: int) -> dict[str, list[PhotoPlan]]:
    """The two sets to train on.

    `disagree` has stimuli of the main study's design at random, so that half of them are incongruent and a quarter
    natural. `agree` has the same pictures but for the heads: each points to the gaze target. So whatever the sets do
    to a network, the heads do.

    Args:
        n: how many pictures each has.
        seed: of what is drawn.
    """
    disagree = _picked(n, DISAGREE, seed)
    agree = [
        PhotoPlan(plan.stimulus.model_copy(update={"head_target": plan.stimulus.gaze_target}), plan.key)
        for plan in disagree
    ]
    return {AGREE: agree, DISAGREE: disagree}


def validation_plans(n: int, seed: int) -> list[PhotoPlan]:
    """The pictures to watch the training with: stimuli of the main study's design at random."""
    return _picked(n, VALIDATION, seed)


def design_plans() -> list[PhotoPlan]:
    """The pictures to test with: all of the main study's design.

    As in the study, pictures that share a scene and a head target differ in the eyes alone.
    """
    plans = []
    for stimulus in _design():
        scene = ("+".join(stimulus.objects), str(stimulus.proximity), stimulus.view)
        head = ("to", stimulus.head_target) if stimulus.head_target else ("free", stimulus.gaze_target)
        plans.append(PhotoPlan(stimulus, (TEST, *scene, *head)))
    return plans


def draw_set(plans: Sequence[PhotoPlan], folder: Path, *, size: int, seed: int, jobs: int = 1) -> None:
    """Draw pictures into a folder, with their stimuli.csv and faces.csv.

    Args:
        plans: the pictures.
        folder: is made; what is in it already may be replaced.
        size: pixels of a side.
        seed: of the looks.
        jobs: processes that draw.
    """
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    tasks = [_DrawingTask(tuple(plans[i : i + _CHUNK]), folder, size, seed) for i in range(0, len(plans), _CHUNK)]
    drawn = [pair for chunk in in_processes(_draw_some, tasks, jobs) for pair in chunk]
    write_faces({stimulus.stimulus_id: face for stimulus, face in drawn}, folder / FACES)
    write_stimuli([stimulus for stimulus, _ in drawn], folder / STIMULI)


def read_set(folder: Path, images: Path | None = None) -> PictureSet:
    """Read what `draw_set` or `split_photos` wrote.

    Args:
        folder: of stimuli.csv and faces.csv.
        images: that paths are relative to; the folder itself if left out.

    Raises:
        InputError: for files that are none of these.
    """
    return PictureSet(read_stimuli(folder / STIMULI), images or folder, read_faces(folder / FACES))


def split_photos(
    stimuli: Sequence[Stimulus], faces: Mapping[str, Box], folder: Path, seed: int
) -> Mapping[str, tuple[Stimulus, ...]]:
    """Split photos at random into those to train on, to watch and to test, each condition by itself; a folder each.

    Args:
        stimuli: of the photos; attention checks are left out.
        faces: boxes of heads.
        folder: in which the folders are made.
        seed: of the split.

    Raises:
        OptionError: for objects whose points are not known, or too few photos.
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
        raise OptionError(f"{len(stimuli)} photos are too few to train on some, watch some and test some")
    for name, part in parts.items():
        (folder / name).mkdir(parents=True)
        ids = {stimulus.stimulus_id for stimulus in part}
        write_faces(
            {stimulus_id: box for stimulus_id, box in faces.items() if stimulus_id in ids}, folder / name / FACES
        )
        write_stimuli(part, folder / name / STIMULI)
    return {name: tuple(part) for name, part in parts.items()}


def conditions_of(stimuli: Iterable[Stimulus]) -> list[Condition]:
    """The conditions that are there, in the order of the paper's Table 3."""
    present = {stimulus.condition for stimulus in stimuli}
    return [condition for condition in ("congruent", "incongruent", "natural") if condition in present]


@dataclass(frozen=True)
class _DrawingTask:
    plans: tuple[PhotoPlan, ...]
    folder: Path
    size: int
    seed: int


def _draw_some(task: _DrawingTask) -> list[tuple[Stimulus, Box]]:
    """Draw some pictures; their stimuli with path and points, and the heads' boxes."""
    results = []
    for plan in task.plans:
        look = drawn_look(generator_for(task.seed, *plan.key))
        drawing = draw(plan.stimulus, look, task.size)
        path = f"pictures/{plan.stimulus.stimulus_id}.png"
        drawing.image.save(task.folder / path)
        results.append((plan.stimulus.model_copy(update={"image": path, "points": drawing.points}), drawing.face))
    return results


def _design() -> list[Stimulus]:
    """The main study's design with things that can be drawn."""
    names = {f"object {chr(97 + place)}": name for place, name in enumerate(THINGS)}
    return [
        stimulus.model_copy(
            update={
                "objects": tuple(names[name] for name in stimulus.objects),
                "gaze_target": names[stimulus.gaze_target],
                "head_target": stimulus.head_target and names[stimulus.head_target],
                "scene": None,
            }
        )
        for stimulus in factorial_design()
    ]


def _picked(n: int, set_name: str, seed: int) -> list[PhotoPlan]:
    """Stimuli of the design at random, none twice before each was there once."""
    design, generator = _design(), generator_for(seed, "picked", set_name)
    order: list[int] = []
    while len(order) < n:
        order += generator.permutation(len(design)).tolist()
    plans = []
    for number, place in enumerate(order[:n], start=1):
        name = f"{number:05d}"
        plans.append(PhotoPlan(design[place].model_copy(update={"stimulus_id": name}), (set_name, name)))
    return plans
