"""Load the data from which figures are computed: the release, and its scores by the published and standard policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl

from spotball_core.counting.counts import Counts
from spotball_core.counting.read import read_counts
from spotball_core.io.frames import KEYS
from spotball_core.metrics.registry import METRICS
from spotball_core.release.convert import Release, data_folder, import_release
from spotball_core.release.reader import Key
from spotball_core.release.tables import GRID
from spotball_core.replication.by_file_name import FileNameJoin, Joined
from spotball_core.replication.published import (
    PAPER_PROMPTS,
    PAPER_SPORTS,
    PEOPLE,
    Catalog,
    Condition,
    Published,
    published,
)
from spotball_core.replication.release_files import read_release_figures
from spotball_core.schema.checks import path_of
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.report import MetricValue
from spotball_core.schema.scene import Scene
from spotball_core.scoring.estimates import Estimator
from spotball_core.scoring.groups import Scoring
from spotball_core.typing import FloatArray

Way = Literal["paper", "standard"]

WAYS: Final[tuple[Way, Way]] = ("paper", "standard")
"""The two ways to compute a figure: as in the paper, and under the standard policy."""


class Ball(NamedTuple):
    """The numbers of one ball in the ground truth, unconverted: see `spotball_core.release.tables`."""

    x: float
    y: float
    width: float
    height: float
    gt_x: float | None
    gt_y: float | None

    @property
    def point(self) -> tuple[float, float] | None:
        """(gt_x, gt_y); None if the file does not have them."""
        return None if self.gt_x is None or self.gt_y is None else (self.gt_x, self.gt_y)


@dataclass(frozen=True)
class ConditionAnswers:
    """The answers of one condition (sport, respondent and prompt), counted for each image, including controls.

    Attributes:
        images: ids of the answered images within the sport. Controls are images with a visible ball.
        mass: number of parsed answers in each cell of each image, shape (n_images, n_cells).
        unparsed: number of answers without a readable cell, shape (n_images,).
    """

    images: tuple[str, ...]
    mass: FloatArray
    unparsed: FloatArray

    @property
    def answers(self) -> FloatArray:
        """Number of answers to each image, shape (n_images,)."""
        total: FloatArray = self.mass.sum(axis=-1) + self.unparsed
        return total


class Material:
    """A copy of the release, its scores, and the published figures about it.

    Attributes:
        data: the release's data folder.
        release: the content of the release.
        catalog: the published figures.
        conditions: the combinations of sport, respondent and prompt that have answers, in the order of the paper.
        has_people: whether people's answers are included.
    """

    def __init__(
        self, data: Path, release: Release, catalog: Catalog, release_figures: tuple[Published, ...], counts: Counts
    ) -> None:
        self.data, self.release, self.catalog = data, release, catalog
        self._release_figures = release_figures
        self._counts = counts
        self._estimators: dict[tuple[Way, Condition], Estimator] = {}
        self._values: dict[tuple[Way, Condition | None, str], MetricValue] = {}
        conditions = release.responses.select("sport", "respondent", "prompt").unique().iter_rows()
        self.conditions: tuple[Condition, ...] = tuple(sorted(conditions, key=reading_order))
        self.has_people = any(respondent == PEOPLE for _, respondent, _ in self.conditions)

    @classmethod
    def read(cls, folder: str | Path) -> Material:
        """Read a full or partial copy of the release.

        Raises:
            InputError: if the folder is not a copy of the release, or a file in it cannot be read or has invalid
                content.
        """
        folder, catalog = path_of("folder", folder), published()
        release = import_release(folder)
        data = data_folder(folder)
        return cls(data, release, catalog, read_release_figures(data, catalog), _counted(release))

    def with_ball_cells(self, cells: Mapping[Key, tuple[str, ...]]) -> Material:
        """Return this material with the given ground-truth cells for the given images."""
        scenes = tuple(
            _with_cells(scene, cells[scene.key]) if scene.key in cells else scene for scene in self.release.scenes
        )
        release = replace(self.release, scenes=scenes)
        return Material(self.data, release, self.catalog, self._release_figures, self._counts)

    # Figures -------------------------------------------------------------------------------------------------

    def printed(self, *where: str, quantity: str | None = None) -> tuple[Published, ...]:
        """Return the figures, of one quantity if given, that the paper prints in these places (such as "table 1")."""
        return tuple(figure for figure in self.catalog.at(*where) if quantity in (None, figure.quantity))

    def filed(self, where: str, *quantities: str) -> tuple[Published, ...]:
        """Return the figures of one place in the paper that the release's files should contain.

        They cover each condition that is in the files or has answers, unless the paper prints the condition's figure.
        Figures that the files lack have the value None.
        """
        figures = {
            (figure.condition, figure.quantity): figure for figure in self._release_figures if figure.where == where
        }
        printed = {(figure.condition, figure.quantity) for figure in self.printed(where)}
        sources = [source for source in self.catalog.release_files if source.where == where]
        for condition in self.conditions:
            for quantity in quantities:
                if (condition, quantity) not in printed:
                    sport, respondent, prompt = condition
                    file = next(source.file for source in sources if source.sport in (None, sport))
                    figures.setdefault(
                        (condition, quantity),
                        Published(
                            where=where,
                            quantity=quantity,
                            value=None,
                            read_from=file,
                            sport=sport,
                            respondent=respondent,
                            prompt=prompt,
                        ),
                    )
        selected = [figure for (_, quantity), figure in figures.items() if quantity in quantities]
        return tuple(sorted(selected, key=lambda figure: (reading_order(figure.condition), figure.quantity)))

    # Answers -------------------------------------------------------------------------------------------------

    @cached_property
    def paper(self) -> Scoring:
        """The scores of all groups, computed as for the published tables."""
        return self._scoring(ScorePolicy.paper(reference=self._reference, bootstrap=0))

    @cached_property
    def standard(self) -> Scoring:
        """The scores of all groups under the standard policy."""
        return self._scoring(ScorePolicy.standard(reference=self._reference, bootstrap=0))

    @cached_property
    def paper_over_sports(self) -> Scoring:
        """The scores of each respondent, pooled over sports and prompts, computed as for the published tables."""
        return self._scoring(ScorePolicy.paper(by=("respondent",), bootstrap=0))

    @cached_property
    def standard_over_sports(self) -> Scoring:
        """The scores of each respondent, pooled over sports and prompts, under the standard policy."""
        return self._scoring(ScorePolicy.standard(by=("respondent",), bootstrap=0))

    def metric(self, way: Way, key: str, condition: Condition | None) -> MetricValue | None:
        """Return a metric's record for a sport, respondent and prompt; None if the condition has no answers."""
        estimator = self._estimator(way, condition)
        if estimator is None:
            return None
        cache_key = (way, condition, key)
        if cache_key not in self._values:
            self._values[cache_key] = estimator.estimate(METRICS[key])
        return self._values[cache_key]

    def value(self, way: Way, key: str, condition: Condition | None) -> float | None:
        """Return a metric's value for a condition; None if the condition has no answers or the value is undefined."""
        metric = self.metric(way, key, condition)
        return metric.value if metric else None

    def n_scored(self, condition: Condition | None) -> int | None:
        """Return the number of answers, including unparsed ones, in a condition's accuracy; None without answers."""
        estimator = self._estimator("paper", condition)
        if estimator is None:
            return None
        accuracy = estimator.statistic(METRICS["accuracy"], estimator.answers.mass, estimator.answers.unparsed)
        return round(float(accuracy.sums[:, 1].sum()))

    def compared(self, way: Way, condition: Condition) -> tuple[FloatArray, FloatArray] | None:
        """Return the parsed answers of a condition and those of people, to the images on which both are compared.

        Returns:
            Two arrays of counts, shape (n_images, n_cells); None without answers of the condition or of people.
        """
        estimator = self._estimator(way, condition)
        if estimator is None or estimator.answers.reference is None:
            return None
        answers, used = estimator.answers, estimator.answers.compared & ~estimator.arrays.control[estimator.scenes]
        return (answers.mass[used], estimator.answers.reference[used]) if used.any() else None

    def answered(self, condition: Condition | None) -> ConditionAnswers | None:
        """Return a condition's answers, counted for each image that it answered; None if it answered no image."""
        estimator = self._estimator("paper", condition)
        if estimator is None:
            return None
        images = tuple(self.paper.arrays.keys[place][1] for place in estimator.scenes)
        return ConditionAnswers(images, estimator.answers.mass, estimator.answers.unparsed)

    def published_answers(self, condition: Condition) -> int | None:
        """Return the published number of a condition's parsed answers in figure 5; None if it was not published."""
        figures = (figure for figure in self._release_figures if figure.where == "figure 5")
        return next((figure.n for figure in figures if figure.condition == condition), None)

    @cached_property
    def by_file_name(self) -> FileNameJoin:
        """The answers, joined to players by file name, as the published analysis did."""
        return FileNameJoin(self.data, self.release)

    def joined(self, condition: Condition | None) -> Joined | None:
        """Return a condition's answers, joined to players by file name as published; None if there are none."""
        return self._joined.get(condition) if condition else None

    @cached_property
    def _joined(self) -> dict[Condition, Joined]:
        answered = {condition: self.answered(condition) for condition in self.conditions}
        answers = {condition: (counts.images, counts.mass) for condition, counts in answered.items() if counts}
        joined = {condition: self.by_file_name.join(condition, answers) for condition in self.conditions}
        return {condition: join for condition, join in joined.items() if join}

    def of(self, respondent: str) -> tuple[Condition, ...]:
        """Return the conditions of a respondent that have answers."""
        return tuple(condition for condition in self.conditions if condition[1] == respondent)

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Names of the models in table 2 of the paper."""
        models = dict.fromkeys(figure.respondent for figure in self.printed("table 2"))
        return tuple(respondent for respondent in models if respondent and respondent != PEOPLE)

    def asked_everything(self, respondent: str) -> bool:
        """Return whether a respondent has answers for all sports and prompts of the paper (people: one prompt)."""
        prompts = PAPER_PROMPTS[:1] if respondent == PEOPLE else PAPER_PROMPTS
        return {(sport, respondent, prompt) for sport in PAPER_SPORTS for prompt in prompts} <= set(self.conditions)

    # Images --------------------------------------------------------------------------------------------------

    def scenes(self, sport: str | None = None) -> list[Scene]:
        """Return the scenes of a sport, or of all sports."""
        return [scene for scene in self.release.scenes if sport in (None, scene.sport)]

    @cached_property
    def balls(self) -> dict[Key, Ball]:
        """The ground truth of each ball, unconverted, by sport and image."""
        return {(sport, image): Ball(*numbers) for sport, image, *numbers in self.release.ground_truth.iter_rows()}

    # Helpers -------------------------------------------------------------------------------------------------

    @property
    def _reference(self) -> str | None:
        return PEOPLE if self.has_people else None

    def _scoring(self, policy: ScorePolicy) -> Scoring:
        return Scoring(self._counts, self.release.scenes, policy)

    def _estimator(self, way: Way, condition: Condition | None) -> Estimator | None:
        """Return an object that computes a condition's metrics in one of the two ways; None if it has no answers."""
        if condition is None or condition not in self.conditions:
            return None
        if (way, condition) not in self._estimators:
            scoring = self.paper if way == "paper" else self.standard
            group = next(g for g in scoring.groups if (g.sport, g.respondent, g.prompt) == condition)
            self._estimators[way, condition] = scoring.estimator(group)
        return self._estimators[way, condition]


def reading_order(condition: tuple[str | None, str | None, str | None] | None) -> tuple[int, int, str, int]:
    """Return the sort key for the paper's order of sports, respondents and prompts; totals come last."""
    sport, respondent, prompt = condition or (None, None, None)
    return (
        PAPER_SPORTS.index(sport) if sport in PAPER_SPORTS else len(PAPER_SPORTS),
        int(respondent != PEOPLE),
        respondent or "",
        PAPER_PROMPTS.index(prompt) if prompt in PAPER_PROMPTS else len(PAPER_PROMPTS),
    )


def absent(figure: Published) -> str | None:
    """Return a note if the release file that should contain a figure does not contain it, else None."""
    return (
        f"{figure.read_from.rsplit('/', 1)[-1]} in this copy of the release does not contain this value"
        if figure.value is None
        else None
    )


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean; None if there are no values, or any value is None.

    Examples:
        >>> mean([1.0, 2.0]), mean([1.0, None]), mean([])
        (1.5, None, None)
    """
    numbers = list(values)
    return None if not numbers or None in numbers else float(np.mean(np.asarray(numbers, dtype=float)))


def _with_cells(scene: Scene, cells: tuple[str, ...]) -> Scene:
    # `model_copy` would keep the scene's cached cells.
    fields = {name: getattr(scene, name) for name in Scene.model_fields}
    return Scene.model_validate({**fields, "ball_cells": cells})


def _counted(release: Release) -> Counts:
    if release.responses.is_empty():
        return Counts.of(release.responses.select(*KEYS, "cell", n=pl.lit(1.0)), rows=GRID.rows, cols=GRID.cols)
    return read_counts(release.responses, release.scenes)
