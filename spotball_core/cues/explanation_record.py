"""The records of `spotball cues explain`: which cues the guesses of each group follow."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from pydantic import Field

from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval, MetricValue, Signature, group_name
from spotball_core.schema.response import Kind
from spotball_core.schema.result import ResultRecord

SCHEMA_VERSION: Final = 1


class CueInfo(Record):
    """A cue, as used for the images of one sport.

    Attributes:
        group: the cue's group. Cues of one group are added to and removed from a model together when gains are
            compared.
        is_base: whether the cue describes positions in the image or the players' positions; other cues describe
            players' bodies.
        unit: unit of the scores.
        n_images: number of the sport's images that the cue applies to.
        scale: the typical standard deviation of the score over the cells of an image, in `unit`; standardized weights
            refer to a change of the score by this amount.
    """

    sport: str
    key: str
    title: str
    group: str
    is_base: bool
    unit: str
    description: str
    n_images: int
    scale: float


class CueWeight(Record):
    """The weight of a cue in the model with all cues.

    Attributes:
        value: the standardized weight: the change in the log odds of a cell if its score rises by one typical standard
            deviation (`CueInfo.scale`).
        ci95: cluster-robust 95% interval, clustered by image.
        per_unit: the weight per unit of the cue's score.
    """

    key: str
    value: float
    ci95: Interval
    per_unit: float


class CueExplanation(Record):
    """Which cues the guesses of one group follow.

    Gains are computed on held-out images, in bits per guess, with 95% intervals from a bootstrap over images.

    Attributes:
        n_images: number of images used.
        n_guesses: number of parsed guesses to these images.
        weights: the weight of each cue that applies to these images.
        gain: gain of the model with all cues over uniform guessing.
        base_gain: gain of the model with the base cues (positions in the image and players) over uniform guessing.
        body_gain: gain of the model with all cues over the model with the base cues.
        added: for each group of body cues, the gain of the base cues and this group over the base cues.
        shapley: for each group of cues, its share of `gain`: the gain from adding the group, averaged over all orders
            of adding groups. The shares sum to `gain`.
        explainable: the estimated gain of predicting guesses by the respondent's other guesses to the image, a lower
            bound of what is explainable.
        explained: `gain` divided by `explainable`.
        detectable: the smallest `body_gain` that a study with the same number of images detects with 80% power, given
            how much the gain varies between these images.
        mirror_p: p value of the permutation test that mirrors the keypoints of random players left and right: the share
            of mirrorings, counting the true keypoints as one, whose `body_gain` is at least as large. None if the test
            was not run.
        mirrored: the mean `body_gain` over the mirrorings; None without the test.
        notes: cues and images that were excluded, with reasons.
    """

    sport: str | None
    respondent: str | None
    kind: Kind | None
    prompt: str | None
    n_images: int
    n_guesses: float
    weights: tuple[CueWeight, ...] = ()
    gain: MetricValue
    base_gain: MetricValue
    body_gain: MetricValue
    added: dict[str, MetricValue] = Field(default_factory=dict)
    shapley: dict[str, MetricValue] = Field(default_factory=dict)
    explainable: MetricValue
    explained: MetricValue
    detectable: float | None = None
    mirror_p: float | None = None
    mirrored: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The group's name, such as soccer/gemini/cot."""
        return group_name(self.sport, self.respondent, self.prompt)


class CueDifference(Record):
    """The results of a group minus those of the reference, on the images that both answered.

    Attributes:
        n_images: number of images that both answered.
        gain: difference of the gains of all cues over uniform guessing.
        body_gain: difference of the gains of all cues over the base cues.
        shapley: for each group of cues, the difference of its shares of the gain.
        weights: differences of the standardized weights, with cluster-robust intervals.
    """

    sport: str | None
    respondent: str | None
    prompt: str | None
    reference: str
    n_images: int
    gain: MetricValue
    body_gain: MetricValue
    shapley: dict[str, MetricValue]
    weights: dict[str, MetricValue]


class StatedCue(Record):
    """Whether a group follows a cue on the images where its rationales mention it.

    Attributes:
        category: the category of the rationales, such as gaze.
        cues: the groups of cues that correspond to the category.
        n_images: number of images with rationales.
        n_rationales: number of the group's rationales.
        share: mean over images of the share of rationales with this category.
        correlation: Spearman's rank correlation over images between this share and the held-out gain of the cues per
            guess; None if the correlation is undefined.
        p: two-sided p value, from permutations of images.
        reason: why there is no correlation.
    """

    sport: str | None
    respondent: str | None
    prompt: str | None
    category: str
    cues: tuple[str, ...] = ()
    n_images: int
    n_rationales: int
    share: float | None
    correlation: float | None = None
    p: float | None = None
    reason: str | None = None


class CueReport(ResultRecord):
    """The output of `spotball cues explain --format json`.

    Attributes:
        ridge: strength of the penalty on standardized weights, per guess.
        mirrors: number of mirrorings in the permutation test; 0 without it.
        cues: for each sport, the cues that apply to its images.
        groups: the groups, in the order of the score report.
        differences: differences of each group from the reference; empty without a reference.
        stated: tests of whether groups follow the cues that their rationales mention; empty if this was not tested.
    """

    _forms: ClassVar[str] = "spotball_core.cues.explanation_text:FORMS"
    _counted: ClassVar[tuple[str, ...]] = ("groups",)

    schema_version: Literal[1] = SCHEMA_VERSION
    signature: str
    provenance: Signature
    ridge: float
    mirrors: int = 0
    warnings: tuple[str, ...] = ()
    cues: tuple[CueInfo, ...]
    groups: tuple[CueExplanation, ...]
    differences: tuple[CueDifference, ...] = ()
    stated: tuple[StatedCue, ...] = ()
