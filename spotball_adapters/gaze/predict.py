"""Predict gaze points with GazeLLE for the photos in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from spotball_adapters.gaze.gazelle import Box, GazeLLE, peak, prepared
from spotball_adapters.gaze.photos import SIZE, Photo, Photos
from spotball_adapters.gaze.points import Predicted
from spotball_adapters.prompts.picture import content_of, read_image
from spotball_core.gaze.data.stimuli import Stimulus

if TYPE_CHECKING:
    from torch import Tensor

BATCH = 16
"""Number of photos per batch."""


def predict(
    model: GazeLLE, stimuli: Sequence[Stimulus], images: Path, faces: Mapping[str, Box], device: str
) -> Iterator[Predicted]:
    """Yield the predicted gaze point of the person in each photo.

    Args:
        images: folder that the photos' paths are relative to.
        faces: boxes of heads by stimulus ID. For stimuli without a box, the model gets no head position.
        device: the PyTorch device.

    Raises:
        InputError: if a photo is missing or invalid.
    """
    model.to(device)
    photos = Photos(images, SIZE, None)
    for batch in _batches(stimuli):
        inputs = torch.stack([loaded(photos.path(Photo(stimulus)), model.size) for stimulus in batch])
        with torch.inference_mode():
            heatmaps = model(inputs.to(device), [faces.get(stimulus.stimulus_id) for stimulus in batch]).cpu()
        for stimulus, heatmap in zip(batch, heatmaps, strict=True):
            yield Predicted(stimulus.stimulus_id, peak(heatmap))


def loaded(path: Path, size: tuple[int, int]) -> Tensor:
    """Return a photo as model input, shape (3, height, width). Raise InputError if the file is not a valid image."""
    return prepared(read_image(path, content_of(path)), size)


def _batches(stimuli: Iterable[Stimulus]) -> Iterator[list[Stimulus]]:
    left = iter(stimuli)
    while batch := list(islice(left, BATCH)):
        yield batch
