"""Define the settings of a training experiment, and the record that each run writes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from spotball_core.errors import InputError
from spotball_core.schema.faults import problems_of_record
from spotball_core.schema.record import Record
from spotball_core.service.toml_file import read_toml


class Schedule(Record):
    """Number of epochs, batch size and learning rates of a training run.

    Attributes:
        epochs: number of epochs.
        batch: number of pictures per training step.
        rate: learning rate of the first step.
        last_rate: learning rate of the last step.
    """

    epochs: int = Field(default=20, ge=1)
    batch: int = Field(default=32, ge=1)
    rate: float = Field(default=1e-3, gt=0)
    last_rate: float = Field(default=1e-5, ge=0)

    @model_validator(mode="after")
    def _decreases(self) -> Self:
        if self.last_rate > self.rate:
            raise ValueError("expected a last_rate of at most rate")
        return self


class TrainingConfig(Record):
    """The part of the settings that a file can change.

    Attributes:
        pictures: number of synthetic pictures per training set.
        validation: number of synthetic validation pictures.
        size: side length of a synthetic picture in pixels.
        schedule: the training schedule.
    """

    pictures: int = Field(default=1000, ge=1)
    validation: int = Field(default=400, ge=1)
    size: int = Field(default=96, ge=32, le=1024)
    schedule: Schedule = Schedule()


class TrainingSettings(TrainingConfig):
    """The settings of an experiment, which determine its results.

    Attributes:
        model: `two-paths` or `gazelle`.
        weights: SHA-256 of GazeLLE's checkpoint, or None for a network with random initial weights.
        backbone: folder or Hugging Face Hub name of GazeLLE's encoder, or None for the small network.
        data: `synthetic`, or the SHA-256 of a file of photo stimuli.
        seeds: number of runs per set.
        seed: seed of the first run; the others use consecutive seeds. It also determines the synthetic pictures and the
            split of photos.
    """

    model: Literal["two-paths", "gazelle"]
    weights: str | None = None
    backbone: str | None = None
    data: str = "synthetic"
    seeds: int = Field(default=5, ge=1)
    seed: int = Field(default=0, ge=0)


def read_config(path: Path) -> TrainingConfig:
    """Read settings from a TOML file. Raise InputError if it is missing or invalid."""
    try:
        return TrainingConfig.model_validate(read_toml(path, "settings of a training"))
    except ValidationError as error:
        raise InputError(problems_of_record(error, str(path), model=TrainingConfig, whole="file")) from error


class Epoch(Record):
    """State of a run after an epoch.

    Attributes:
        epoch: number of the epoch; 0 is the state before training.
        rate: learning rate at the end of the epoch, or None before training.
        loss: mean training cross-entropy in nats, or None before training.
        distance: mean distance between predicted point and target on the validation pictures, as a fraction of the
            picture's side.
        accuracy: accuracy on the validation pictures, by condition.
    """

    epoch: int
    rate: float | None
    loss: float | None
    distance: float
    accuracy: dict[str, float]


class Run(Record):
    """The record of one training run: its settings, and its results after each epoch.

    Attributes:
        name: name of the run and of the respondent of its trials.
        set: the training set, or None for a pretrained model without further training.
        seed: seed of the initial weights and of the order of pictures.
        epochs: the state before training and after each epoch; empty for a run without training.
        seconds: duration of the training in seconds.
        versions: versions of the packages, and the device.
    """

    name: str
    set: str | None
    seed: int
    epochs: tuple[Epoch, ...]
    seconds: float
    versions: dict[str, str]
