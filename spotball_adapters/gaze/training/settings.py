"""What an experiment was asked for, and what a run of it leaves."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from spotball_core.schema.record import Record


class Schedule(Record):
    """How a model is trained.

    Attributes:
        epochs: how often each picture is shown.
        batch: pictures to a step.
        rate: learning rate of the first step.
        last_rate: and of the last.
    """

    epochs: int = Field(default=20, ge=1)
    batch: int = Field(default=32, ge=1)
    rate: float = Field(default=1e-3, gt=0)
    last_rate: float = Field(default=1e-5, ge=0)


class TrainingSettings(Record):
    """All that decides what comes out.

    Attributes:
        model: `two-paths`, or `gazelle` with a digest of its weights.
        weights: SHA-256 of GazeLLE's checkpoint; None for a network that starts at random.
        backbone: folder or name of GazeLLE's encoder.
        data: `synthetic`, or the SHA-256 of a file of photos' stimuli.
        pictures: how many synthetic pictures each set to train on has.
        validation: how many to watch the training with.
        size: pixels of a synthetic picture's side.
        schedule: of the training.
        seeds: how many runs there are of each set.
        seed: of the first; the others follow. Pictures and splits are drawn from it, too.
    """

    model: Literal["two-paths", "gazelle"]
    weights: str | None = None
    backbone: str | None = None
    data: str = "synthetic"
    pictures: int = Field(default=1000, ge=1)
    validation: int = Field(default=400, ge=1)
    size: int = Field(default=96, ge=32, le=1024)
    schedule: Schedule = Schedule()
    seeds: int = Field(default=5, ge=1)
    seed: int = Field(default=0, ge=0)


class Epoch(Record):
    """How a run stood after an epoch.

    Attributes:
        epoch: its number; 0 is before the first.
        rate: learning rate that it ended with; None before.
        loss: mean cross-entropy while it was trained, in nats; None before.
        distance: mean distance between predicted point and target on the pictures that it is watched with, in shares of
            a picture's side.
        accuracy: on the same, by condition.
    """

    epoch: int
    rate: float | None
    loss: float | None
    distance: float
    accuracy: dict[str, float]


class Run(Record):
    """One training.

    Attributes:
        name: also the respondent of its trials.
        set: what it was trained on; None where a model answers as it came.
        seed: of its weights at the start and of the order of pictures.
        epochs: from before the first to the last.
        seconds: that the training took.
        versions: of the packages it rests on, and the device.
    """

    name: str
    set: str | None
    seed: int
    epochs: tuple[Epoch, ...]
    seconds: float
    versions: dict[str, str]
