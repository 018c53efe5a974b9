"""Run a training experiment in a folder: create its pictures, and execute one run per training set and seed.

A run's folder exists only after the run has finished, and finished runs are not repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spotball_adapters.gaze.points import point_trials
from spotball_adapters.gaze.training.drawing import Box
from spotball_adapters.gaze.training.pictures import (
    AGREE,
    DISAGREE,
    PHOTOS,
    TEST,
    VALIDATION,
    PictureSet,
    design_plans,
    draw_set,
    read_set,
    split_photos,
    training_plans,
    validation_plans,
)
from spotball_adapters.gaze.training.settings import Run, TrainingSettings
from spotball_core.errors import InputError, OptionError, unreadable_text
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.data.trials import Trials, make_trials, read_trials, together, write_trials
from spotball_core.schema.faults import record_of_json
from spotball_core.service.files import replacing, replacing_folder
from spotball_core.service.parallel import in_processes

if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS: Final = "experiment.json"
PICTURES: Final = "pictures"
RUNS: Final = "runs"
RUN: Final = "run.json"
MODEL: Final = "model.pt"
TRIALS: Final = "trials.csv"
BEFORE: Final = "before"
"""Name of the run that tests a pretrained model before training, and name of this run's respondent."""

_TRAIN_AGAIN: Final = "Remove the run's folder to train it again"
_ANOTHER_FOLDER: Final = "Restore the file, or use another folder with --out"

_PACKAGES: Final = ("spotball-core", "torch", "numpy", "pillow")


@dataclass(frozen=True)
class TrainingSource:
    """Input files and stimuli of an experiment, in addition to its settings.

    Attributes:
        checkpoint: file with the weights of GazeLLE's decoder, or None for the small network.
        photos: stimuli of photos, or None for synthetic pictures.
        images: folder that the photos' paths are relative to, or None for synthetic pictures.
        faces: boxes of the heads in photos by stimulus ID, or None if all boxes are unknown.
    """

    checkpoint: Path | None = None
    photos: tuple[Stimulus, ...] | None = None
    images: Path | None = None
    faces: Mapping[str, Box] | None = None


@dataclass(frozen=True)
class Task:
    """One run of an experiment, with its settings and input files.

    Attributes:
        name: name of the run and of its respondent.
        set: the training set, or None to test without training.
        seed: seed of the run.
        out: folder of the experiment.
        settings: settings of the experiment.
        checkpoint: file with the weights of GazeLLE's decoder, or None for the small network.
        images: folder that the photos' paths are relative to, or None for synthetic pictures.
        device: the PyTorch device.
    """

    name: str
    set: str | None
    seed: int
    out: Path
    settings: TrainingSettings
    checkpoint: Path | None
    images: Path | None
    device: str


def prepare(settings: TrainingSettings, source: TrainingSource, out: Path, *, jobs: int = 1) -> None:
    """Create an experiment's folder with its pictures, or check that an existing folder holds the same experiment.

    Raises:
        OptionError: if the folder holds an experiment with other settings, if it holds files but no experiment, if
            there are too few photos, or if an object in a photo has no position.
        InputError: if the folder's experiment.json is invalid.
    """
    if (out / SETTINGS).exists():
        _check_same(settings, out)
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OptionError(
            f"{out} is not empty and is not an experiment. Use another folder", code="output-exists", field="--out"
        )
    else:
        with replacing(out / SETTINGS) as beside:
            beside.write_text(settings.model_dump_json(indent=1) + "\n", encoding="utf-8", newline="\n")
    if (out / PICTURES).exists():
        return
    with replacing_folder(out / PICTURES) as beside:
        if source.photos is not None:
            split_photos(source.photos, source.faces or {}, beside, settings.seed)
            return
        plans = training_plans(settings.pictures, settings.seed)
        plans |= {VALIDATION: validation_plans(settings.validation, settings.seed), TEST: design_plans()}
        for name, set_plans in plans.items():
            draw_set(set_plans, beside / name, size=settings.size, seed=settings.seed, jobs=jobs)


def tasks(settings: TrainingSettings, source: TrainingSource, out: Path, device: str) -> list[Task]:
    """Return all runs of an experiment: one per training set and seed, and for GazeLLE a run that tests it before
    training.
    """
    sets = (AGREE, DISAGREE) if source.photos is None else (PHOTOS,)
    runs: list[tuple[str, str | None, int]] = [(BEFORE, None, settings.seed)] if settings.model == "gazelle" else []
    runs += [
        (f"{name}-{number + 1}", name, settings.seed + number) for number in range(settings.seeds) for name in sets
    ]
    return [
        Task(name, set_name, seed, out, settings, source.checkpoint, source.images, device)
        for name, set_name, seed in runs
    ]


def run_all(all_tasks: list[Task], *, jobs: int, on_progress: Callable[[Run], None] = lambda run: None) -> list[Run]:
    """Execute the runs that are not finished, and return the results of all runs.

    Args:
        all_tasks: the runs.
        jobs: number of parallel processes.
        on_progress: called with each new run when it is finished.

    Returns:
        The results in the order of `all_tasks`.
    """
    left = [task for task in all_tasks if not is_done(task)]
    for run in in_processes(do, left, jobs):
        on_progress(run)
    return [read_run(_folder(task) / RUN) for task in all_tasks]


def is_done(task: Task) -> bool:
    """Return whether a run is finished."""
    return _folder(task).exists()


def all_trials(all_tasks: list[Task]) -> Trials:
    """Return the test trials of all runs."""
    return together([read_trials(_folder(task) / TRIALS) for task in all_tasks])


def do(task: Task) -> Run:
    """Train and test a model, and return the run's record. The run's folder is written completely or not at all."""
    import torch

    from spotball_adapters.gaze.training.loop import GazeModel, PictureTensors, in_memory, predicted, train

    with _one_thread() if task.checkpoint is None else nullcontext():
        torch.manual_seed(task.seed)
        model: Any = _model(task)
        gaze_model: GazeModel = model

        def pictures(name: str) -> PictureTensors:
            return in_memory(_set(task, name), gaze_model.size)

        start = time.perf_counter()
        epochs = []
        if task.set is not None:
            epochs = train(
                gaze_model,
                pictures(task.set),
                pictures(VALIDATION),
                task.settings.schedule,
                seed=task.seed,
                device=task.device,
            )
        run = Run(
            name=task.name,
            set=task.set,
            seed=task.seed,
            epochs=tuple(epochs),
            seconds=round(time.perf_counter() - start, 1),
            versions={package: version(package) for package in _PACKAGES} | {"device": task.device},
        )
        test = pictures(TEST)
        trials = point_trials(predicted(gaze_model, test, task.device), test.stimuli, task.name)
        weights = {name: value.cpu() for name, value in model.state_dict().items() if not name.startswith("backbone.")}
        with replacing_folder(_folder(task)) as beside:
            torch.save(weights, beside / MODEL)
            write_trials(make_trials(trials, test.stimuli), beside / TRIALS)
            (beside / RUN).write_text(run.model_dump_json(indent=1) + "\n", encoding="utf-8", newline="\n")
    return run


def read_run(path: Path) -> Run:
    """Read the record of a run. Raise InputError if the file is missing or invalid."""
    return record_of_json(Run, _bytes(path, _TRAIN_AGAIN), str(path), fix=_TRAIN_AGAIN)


def _bytes(path: Path, fix: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError([replace(unreadable_text(str(path), error), fix=fix)]) from error


def _check_same(settings: TrainingSettings, out: Path) -> None:
    path = out / SETTINGS
    before = record_of_json(TrainingSettings, _bytes(path, _ANOTHER_FOLDER), str(path), fix=_ANOTHER_FOLDER)
    # Seeds may be added to an existing experiment.
    old, new = (record.model_dump(exclude={"seeds"}) for record in (before, settings))
    differing = [f"{key} {old[key]} (now {new[key]})" for key in new if old[key] != new[key]]
    if differing:
        raise OptionError(
            f"{out} contains an experiment with other settings: {', '.join(differing)}. Use another folder",
            code="different-settings",
            field="--out",
        )
    if settings.seeds > before.seeds:
        with replacing(path) as beside:
            beside.write_text(settings.model_dump_json(indent=1) + "\n", encoding="utf-8", newline="\n")


def _folder(task: Task) -> Path:
    return task.out / RUNS / task.name


def _set(task: Task, name: str) -> PictureSet:
    return read_set(task.out / PICTURES / name, task.images)


def _model(task: Task) -> Any:
    if task.checkpoint is None:
        from spotball_adapters.gaze.training.network import TwoPaths

        return TwoPaths(task.settings.size)
    from spotball_adapters.gaze.gazelle import load_gazelle

    return load_gazelle(task.checkpoint, task.settings.backbone or "")


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit PyTorch to one thread, so that results do not depend on the number of processes."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
