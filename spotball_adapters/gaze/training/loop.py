r"""Train a heatmap model to predict the gaze target from a picture and the head's box.

Let $p_i$ be the share of cell $i$ in a heatmap's sum, $d_i$ the distance of the cell's center from the gaze target as a
fraction of the picture's side, and $q_i \propto \exp(-d_i^2 / 2 \sigma^2)$ with $\sum_i q_i = 1$. Training minimizes
the cross-entropy $-\sum_i q_i \ln p_i$ with $\sigma = 3/64$, as in the training of GazeLLE. The gaze paper's
objective is the distance between predicted point and target. Here, this distance is only reported, because the point is
a heatmap's peak and has no gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import torch
from torch import Tensor

from spotball_adapters.gaze.gazelle import Box, peak
from spotball_adapters.gaze.photos import SIZE, Photo, Photos
from spotball_adapters.gaze.points import Predicted, point_trials, points_of
from spotball_adapters.gaze.predict import loaded
from spotball_adapters.gaze.training.pictures import PictureSet, conditions_of
from spotball_adapters.gaze.training.settings import Epoch, Schedule
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.data.trials import Trial

SPREAD: Final = 3 / 64
"""Standard deviation of the Gaussian blob around a target, as a fraction of the picture's side."""

_BATCH: Final = 64
"""Number of pictures per batch during evaluation."""


class GazeModel(Protocol):
    """A trainable model: `TwoPaths`, `GazeLLE`, or another PyTorch module."""

    @property
    def size(self) -> tuple[int, int]:
        """Return height and width of the input pictures, in pixels."""

    def __call__(self, images: Tensor, faces: Sequence[Box | None]) -> Tensor:
        """Return a heatmap without negative cells for each picture, shape (batch, rows, columns)."""

    def parameters(self) -> Any:
        """Return the module's parameters. Only parameters with `requires_grad` are trained."""

    def train(self, mode: bool = True) -> Any:
        """Switch the module to training mode, or to evaluation mode if `mode` is False."""

    def to(self, device: str) -> Any:
        """Move the module to a device."""


@dataclass(frozen=True)
class PictureTensors:
    """A set of pictures in memory, as tensors for a model.

    Attributes:
        stimuli: the stimulus of each picture.
        images: pictures in half precision, shape (n, 3, height, width).
        faces: boxes of the heads, or None if unknown.
        targets: x and y of the gaze targets as fractions of width and height, shape (n, 2).
    """

    stimuli: tuple[Stimulus, ...]
    images: Tensor
    faces: tuple[Box | None, ...]
    targets: Tensor


def in_memory(pictures: PictureSet, size: tuple[int, int]) -> PictureTensors:
    """Read the pictures of a set, and return them as model inputs.

    Args:
        pictures: the set of pictures.
        size: height and width after resizing, in pixels.

    Raises:
        InputError: if a picture is missing or invalid.
        OptionError: if the position of an object is missing.
    """
    files = Photos(pictures.images, SIZE, None)
    images = torch.stack([loaded(files.path(Photo(stimulus)), size).half() for stimulus in pictures.stimuli])
    targets = torch.tensor([points_of(stimulus)[stimulus.gaze] for stimulus in pictures.stimuli])
    faces = tuple(pictures.faces.get(stimulus.stimulus_id) for stimulus in pictures.stimuli)
    return PictureTensors(pictures.stimuli, images, faces, targets)


def missed(heatmaps: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy between a Gaussian blob around the target and the heatmap, for each picture.

    Args:
        heatmaps: heatmaps without negative cells, shape (batch, rows, columns).
        targets: x and y of the gaze targets as fractions of width and height, shape (batch, 2).

    Returns:
        Cross-entropy in nats, shape (batch,).
    """
    rows, columns = heatmaps.shape[1:]
    like = {"dtype": heatmaps.dtype, "device": heatmaps.device}
    across = (torch.arange(columns, **like) + 0.5) / columns - targets[:, 0, None]
    down = (torch.arange(rows, **like) + 0.5) / rows - targets[:, 1, None]
    squares = across[:, None, :].square() + down[:, :, None].square()
    blots = (-squares / (2 * SPREAD**2)).flatten(1).softmax(1)
    least = torch.finfo(heatmaps.dtype).tiny
    shares = heatmaps.flatten(1) / heatmaps.sum((1, 2)).clamp_min(least)[:, None]
    return -(blots * shares.clamp_min(least).log()).sum(1)


def train(
    model: GazeModel,
    training: PictureTensors,
    validation: PictureTensors,
    schedule: Schedule,
    *,
    seed: int,
    device: str,
    on_progress: Callable[[Epoch], None] = lambda epoch: None,
) -> list[Epoch]:
    """Train a model in place, with Adam and a learning rate that decays along half a cosine.

    Args:
        model: the model to train.
        training: the training pictures.
        validation: the validation pictures.
        schedule: number of epochs, batch size and learning rates.
        seed: seed of the order of pictures and of all other random numbers.
        device: the PyTorch device.
        on_progress: called with the state before the first epoch and after each epoch.

    Returns:
        The state before the first epoch and after each epoch.
    """
    torch.manual_seed(seed)
    order = torch.Generator().manual_seed(seed)
    model.to(device)
    n = len(training.stimuli)
    steps = schedule.epochs * math.ceil(n / schedule.batch)
    optimizer = torch.optim.Adam(
        [parameter for parameter in model.parameters() if parameter.requires_grad], lr=schedule.rate
    )
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps, eta_min=schedule.last_rate)
    epochs = [_watched(model, validation, device, epoch=0, rate=None, loss=None)]
    on_progress(epochs[0])
    for number in range(1, schedule.epochs + 1):
        model.train()
        total = 0.0
        for places in torch.randperm(n, generator=order).split(schedule.batch):
            heatmaps = _heatmaps(model, training, places, device)
            loss = missed(heatmaps, training.targets[places].to(device)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            slower.step()
            total += float(loss.detach()) * len(places)
        rate = float(slower.get_last_lr()[0])
        epochs.append(_watched(model, validation, device, epoch=number, rate=rate, loss=total / n))
        on_progress(epochs[-1])
    return epochs


def predicted(model: GazeModel, pictures: PictureTensors, device: str) -> list[Predicted]:
    """Return the predicted gaze point for each picture: the peak of the model's heatmap."""
    model.to(device)
    model.train(False)
    predictions = []
    for places in torch.arange(len(pictures.stimuli)).split(_BATCH):
        with torch.inference_mode():
            heatmaps = _heatmaps(model, pictures, places, device).cpu()
        for place, heatmap in zip(places.tolist(), heatmaps, strict=True):
            predictions.append(Predicted(pictures.stimuli[place].stimulus_id, peak(heatmap)))
    return predictions


def accuracy_by_condition(trials: Sequence[Trial], stimuli: Sequence[Stimulus]) -> dict[str, float]:
    """Return the share of correct choices per condition. A missing choice counts as wrong.

    Args:
        trials: one trial per stimulus.
        stimuli: the stimuli, in the same order.
    """
    accuracies: dict[str, float] = {}
    for condition in conditions_of(stimuli):
        right = [
            trial.choice == stimulus.gaze_target
            for trial, stimulus in zip(trials, stimuli, strict=True)
            if stimulus.condition == condition
        ]
        accuracies[condition] = sum(right) / len(right)
    return accuracies


def _heatmaps(model: GazeModel, pictures: PictureTensors, places: Tensor, device: str) -> Tensor:
    images = pictures.images[places].to(device).float()
    return model(images, [pictures.faces[place] for place in places.tolist()])


def _watched(
    model: GazeModel, validation: PictureTensors, device: str, *, epoch: int, rate: float | None, loss: float | None
) -> Epoch:
    points = predicted(model, validation, device)
    peaks = torch.tensor([prediction.point for prediction in points])
    return Epoch(
        epoch=epoch,
        rate=rate,
        loss=loss,
        distance=float((peaks - validation.targets).norm(dim=1).mean()),
        accuracy=accuracy_by_condition(point_trials(points, validation.stimuli, "watched"), validation.stimuli),
    )
