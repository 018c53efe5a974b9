"""`spotball gaze train`."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from spotball_adapters.cli.gaze_points import Backbone, Checkpoint, Faces, check_gazelle
from spotball_core.cli.console import teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, Jobs, OutFolder, Photos, Quiet, Seed, StimuliFile, TableFormat
from spotball_core.errors import InputError, MissingExtraError, OptionError
from spotball_core.service.files import file_digest
from spotball_core.service.safe_text import show
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_adapters.gaze.training.experiment import TrainingSource
    from spotball_adapters.gaze.training.settings import Run, TrainingSettings


def train(
    out: OutFolder,
    seeds: Annotated[
        int, option("Training", "N", "Training runs per set of pictures, each with its own seed.", min=1)
    ] = 5,
    config: Annotated[
        Path | None,
        option("Training", "FILE", "TOML file of settings: `pictures`, `validation`, `size`, [schedule]."),
    ] = None,
    checkpoint: Checkpoint = None,
    backbone: Backbone = None,
    stimuli: StimuliFile = None,
    images: Photos = None,
    faces: Faces = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    format: TableFormat = "table",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train networks on pictures with and without a head bias, and test which cue each network follows.

    Example: `spotball gaze train --out training`

    Draws two sets of synthetic pictures that differ only in head direction, trains a small network per set and seed,
    and tests it on 1,368 synthetic pictures with the design of the study in the paper. Writes DIR/trials.csv for
    `spotball gaze analyze`, DIR/result.json, DIR/figures/ and the weights. If the training is interrupted, run the same
    command again to continue. You can add seeds later.
    """
    # Pillow draws the synthetic pictures and reads photos; only GazeLLE needs transformers.
    needed = ("torch", "PIL", *(["transformers"] if checkpoint else []))
    if any(importlib.util.find_spec(module) is None for module in needed):
        raise MissingExtraError("training", "local")
    from spotball_adapters.gaze.training import experiment, results
    from spotball_adapters.gaze.training.settings import TrainingConfig, TrainingSettings, read_config
    from spotball_adapters.providers.local_model import picked_device
    from spotball_core.gaze.data.trials import write_trials
    from spotball_core.service.files import replacing

    chosen = read_config(config) if config else TrainingConfig()
    requested = TrainingSettings(model="two-paths", seeds=seeds, seed=seed, **dict(chosen))
    settings, source = _asked(checkpoint, backbone, stimuli, images, faces, requested)
    cores = os.cpu_count() or 1
    tell = teller(quiet)
    if source.photos is None and not (out / experiment.PICTURES).exists():
        tell(f"drawing pictures into {out / experiment.PICTURES}")
    experiment.prepare(settings, source, out, jobs=jobs or cores)
    tasks = experiment.tasks(settings, source, out, picked_device() if checkpoint else "cpu")
    n_done = sum(experiment.is_done(task) for task in tasks)
    tell(f"{out}: {plural(len(tasks), 'run')}" + (f", {n_done} of them already done" if n_done else ""))

    def on_progress(run: Run) -> None:
        right = (
            ", ".join(f"{name} {share:.0%}" for name, share in run.epochs[-1].accuracy.items()) if run.epochs else ""
        )
        tell(f"{run.name}: {run.seconds:.0f} s{'; ' if right else ''}{right}")

    runs = experiment.run_all(tasks, jobs=jobs or (1 if checkpoint else cores), on_progress=on_progress)
    trials = experiment.all_trials(tasks)
    report = results.report_of(settings, runs, trials)
    write_trials(trials, out / experiment.TRIALS)
    with replacing(out / "result.json") as beside:
        beside.write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8", newline="\n")
    if importlib.util.find_spec("matplotlib") is None:
        tell('figures are not drawn: install the "report" extra and rerun the command')
    else:
        results.write_figure(report, out / "figures")
    if format == "json":
        show(report.model_dump_json(indent=1))
    else:
        show(results.to_markdown(report) if format == "markdown" else results.to_text(report), end="")
    tell(f"wrote {out / experiment.TRIALS}: analyze this file with spotball gaze analyze")


def _asked(
    checkpoint: Path | None,
    backbone: str | None,
    stimuli: Path | None,
    images: Path | None,
    faces: Path | None,
    settings: TrainingSettings,
) -> tuple[TrainingSettings, TrainingSource]:
    """Return the complete settings, and the sources of the weights and photos."""
    from spotball_adapters.gaze.training.experiment import TrainingSource
    from spotball_core.gaze.data.faces import read_faces
    from spotball_core.gaze.data.stimuli import read_stimuli
    from spotball_core.service.paths import folder_of

    check_gazelle(checkpoint, backbone)
    if stimuli is None and (images or faces):
        raise OptionError("photos need --stimuli, the file that describes them", code="missing-option")
    changes: dict[str, object] = {}
    if checkpoint is not None:
        changes |= {"model": "gazelle", "weights": _digest(checkpoint), "backbone": backbone}
    if stimuli is not None:
        changes |= {"data": _digest(stimuli)}
    photos = read_stimuli(stimuli) if stimuli else None
    folder = images or (folder_of(stimuli) if stimuli else None)
    source = TrainingSource(checkpoint, photos, folder, read_faces(faces) if faces else None)
    return settings.model_copy(update=changes), source


def _digest(path: Path) -> str:
    try:
        return file_digest(path)
    except OSError as error:
        raise InputError.of("unreadable-file", path, "file", str(error), "a readable file") from error
