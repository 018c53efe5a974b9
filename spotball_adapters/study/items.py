"""Define the two item types (kinds of tasks) of a study: click cells of an image, or choose among options.

Both implement the protocol `ItemType`. A type defines which data of an item the browser receives, which events are
allowed and their effects, when an attention check is passed, and the feedback on a practice item. The correct answer is
sent to the browser only as feedback.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from spotball_adapters.study.events import Event, StudyTrial
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.schema.scene import Scene

Key = tuple[str, str]
"""An image's identity: (sport, image)."""

_EDGE = 0.01
"""Maximum distance, in cells, of a click's position from the clicked cell. Browsers round positions at the edges."""


class NotAllowedError(ValueError):
    """The study's rules do not allow an event in the current state."""


@dataclass(frozen=True, slots=True)
class Click:
    """A click on a cell.

    Attributes:
        row: row of the cell, from 1.
        col: column of the cell, from 1.
        x: horizontal position as a fraction of the image's width.
        y: vertical position as a fraction of the image's height.
        by: input device: mouse, touch, pen or keyboard.
        elapsed_ms: milliseconds since the trial was shown, by the browser's clock.
    """

    row: int
    col: int
    x: float
    y: float
    by: str
    elapsed_ms: float

    @property
    def cell(self) -> tuple[int, int]:
        """Return the row and the column of the cell, from 1."""
        return self.row, self.col


@dataclass(frozen=True, slots=True)
class ItemAnswer:
    """A participant's answer in a trial: the clicks, or the index of the chosen option in the order shown, from 0."""

    clicks: tuple[Click, ...] = ()
    option: int | None = None


@dataclass(frozen=True, slots=True)
class TrialState:
    """The state of a trial: the clicks that are not confirmed yet, and the answer (None before the participant
    answers).
    """

    pending: tuple[Click, ...] = ()
    answer: ItemAnswer | None = None


class ItemType(Protocol):
    """Interface of an item type, a kind of task. It handles only trials whose images were passed to its constructor."""

    @property
    def name(self) -> str:
        """Return the name of the item type, `clicks` or `choice`, which is sent to the browser."""

    def public(self, trial: StudyTrial) -> dict[str, Any]:
        """Return the data that the browser receives in addition to the trial's number and its image's address and
        size."""

    def step(self, trial: StudyTrial, pending: tuple[Click, ...], event: Event) -> TrialState:
        """Return the state of the current trial after an event. Raise NotAllowedError if the event is not allowed.

        `pending` contains the clicks that the participant has not confirmed yet.
        """

    def passes(self, trial: StudyTrial, answer: ItemAnswer) -> bool:
        """Return whether an answer is fully correct, as attention checks require."""

    def feedback(self, trial: StudyTrial, answer: ItemAnswer) -> dict[str, Any]:
        """Return the feedback on an answered practice item as JSON values."""


class Clicks:
    """The item type for images with a grid: the participant clicks a fixed number of cells, and then confirms.

    A cell may be clicked repeatedly.

    Args:
        scenes: scenes by (sport, image).
        per_image: number of clicks per answer.
    """

    name = "clicks"

    def __init__(self, scenes: Mapping[Key, Scene], per_image: int) -> None:
        self._scenes, self._per_image = scenes, per_image

    def public(self, trial: StudyTrial) -> dict[str, Any]:
        """See `ItemType`."""
        grid = self._scenes[trial.key].grid
        return {"rows": grid.rows, "cols": grid.cols, "clicks": self._per_image}

    def step(self, trial: StudyTrial, pending: tuple[Click, ...], event: Event) -> TrialState:
        """See `ItemType`."""
        if event.kind == "click":
            if len(pending) >= self._per_image:
                raise NotAllowedError(f"all {self._per_image} cells are already chosen")
            return TrialState((*pending, self._click(trial, event)))
        if event.kind == "undo":
            if not pending:
                raise NotAllowedError("there is no click to undo")
            return TrialState(pending[:-1])
        if event.kind == "answer":
            if len(pending) < self._per_image:
                raise NotAllowedError(f"only {len(pending)} of {self._per_image} cells are chosen")
            if [list(cell) for cell in event.value["cells"]] != [list(click.cell) for click in pending]:
                raise NotAllowedError("the cells of the answer differ from the cells that were clicked")
            return TrialState(answer=ItemAnswer(pending))
        raise NotAllowedError(f"this item does not accept the event {event.kind}")

    def passes(self, trial: StudyTrial, answer: ItemAnswer) -> bool:
        """See `ItemType`. An answer passes if every click is in a cell that holds the ball."""
        ball = self._ball(trial)
        return all(click.cell in ball for click in answer.clicks)

    def feedback(self, trial: StudyTrial, answer: ItemAnswer) -> dict[str, Any]:
        """See `ItemType`."""
        return {"cells": [list(cell) for cell in self._ball(trial)]}

    def _ball(self, trial: StudyTrial) -> list[tuple[int, int]]:
        scene = self._scenes[trial.key]
        return [scene.layout.position(label) for label in scene.ball_cells or ()]

    def _click(self, trial: StudyTrial, event: Event) -> Click:
        click = Click(**event.value, elapsed_ms=event.elapsed_ms)
        grid = self._scenes[trial.key].grid
        if not (1 <= click.row <= grid.rows and 1 <= click.col <= grid.cols):
            raise NotAllowedError(
                f"row {click.row}, column {click.col} is outside the grid of {grid.rows} x {grid.cols} cells"
            )
        across, down = click.x * grid.cols - (click.col - 1), click.y * grid.rows - (click.row - 1)
        if not (-_EDGE <= across <= 1 + _EDGE and -_EDGE <= down <= 1 + _EDGE):
            raise NotAllowedError(f"the point ({click.x}, {click.y}) is not in row {click.row}, column {click.col}")
        return click


class ObjectChoice:
    """The item type for photos with a question: the participant answers by choosing an object in the photo.

    Objects are listed in a random order, drawn anew for each participant and photo.

    Args:
        stimuli: stimuli by (sport, image).
        question: the question about each photo.
        feedback: whether practice items show the correct object.
    """

    name = "choice"

    def __init__(self, stimuli: Mapping[Key, Stimulus], question: str, *, feedback: bool = True) -> None:
        self._stimuli, self._question, self._tells = stimuli, question, feedback

    def public(self, trial: StudyTrial) -> dict[str, Any]:
        """See `ItemType`."""
        return {"question": self._question, "options": list(trial.options)}

    def step(self, trial: StudyTrial, pending: tuple[Click, ...], event: Event) -> TrialState:
        """See `ItemType`."""
        if event.kind != "choice":
            raise NotAllowedError(f"this item does not accept the event {event.kind}")
        option: int = event.value["option"]
        if not 0 <= option < len(trial.options):
            raise NotAllowedError(f"option {option} does not exist: expected 0 to {len(trial.options) - 1}")
        return TrialState(answer=ItemAnswer(option=option))

    def passes(self, trial: StudyTrial, answer: ItemAnswer) -> bool:
        """See `ItemType`."""
        return answer.option is not None and trial.options[answer.option] == self._stimuli[trial.key].gaze_target

    def feedback(self, trial: StudyTrial, answer: ItemAnswer) -> dict[str, Any]:
        """See `ItemType`."""
        if not self._tells:
            return {}
        right = trial.options.index(self._stimuli[trial.key].gaze_target)
        return {"right": self.passes(trial, answer), "option": right}
