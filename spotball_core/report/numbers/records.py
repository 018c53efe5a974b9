"""Records of a report, which are written to report.json: the scores, and every other number that its page shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from spotball_core.cues.explanation_record import CueReport
from spotball_core.reasoning.records import ReasoningReport
from spotball_core.report.numbers.change_records import RunChanges
from spotball_core.schema.policy import Window
from spotball_core.schema.record import Record
from spotball_core.schema.report import GroupScore, Interval, MetricValue, Mixture, ScoreReport
from spotball_core.schema.response import Kind
from spotball_core.schema.scene import Scene

MEAN_OVER_PROMPTS = (
    *("center_ratio", "symmetric_center_bias", "normalized_entropy", "normalized_entropy_matched"),
    *("image_entropy", "image_entropy_matched"),
)
"""Metrics that are averaged over a respondent's prompts: those of *Spot the Ball*, Table 3, and similar metrics."""

HEADLINE = ("accuracy", "euclidean_error", "wasserstein_matched")
"""Main metrics of a report, for which it has differences from the reference, ranks, and means over sports."""


class PairedDifference(Record):
    """One metric of a group and of the reference on the same images.

    Attributes:
        sport: the sport; None for the means over all sports.
        value: the group's value, on the images that both answered.
        reference: the reference's value, on the same images.
        difference: value - reference.
        ci95: 95% bootstrap interval of the difference over images; None without resamples.
        p: two-sided p value of a permutation test that swaps labels within images; None for means over all sports.
        p_holm: the p value after Holm's adjustment over all differences of this metric.
        n_images: number of images used.
    """

    sport: str | None
    respondent: str | None
    prompt: str | None
    metric: str
    value: float
    reference: float
    difference: float
    ci95: Interval | None
    p: float | None = None
    p_holm: float | None = None
    n_images: int


class Standing(Record):
    """A group's rank among the groups of a sport.

    Attributes:
        sport: the sport; None for the means over all sports.
        rank: 1 for the best.
        rank_ci95: lowest and highest rank in a simultaneous 95% interval over all groups; None without resamples.
        n_ranked: number of ranked groups.
    """

    sport: str | None
    respondent: str | None
    prompt: str | None
    metric: str
    rank: int
    rank_ci95: tuple[int, int] | None
    n_ranked: int


class UniformGuessing(Record):
    """The scores of uniform guessing on a sport's images: means over the images with a value; None if there are none.

    Attributes:
        accuracy: share of the cells that hold the ball.
        euclidean_error: Euclidean error in pixels.
        wasserstein_matched: matched distance to the reference, in the policy's unit.
    """

    accuracy: float | None
    euclidean_error: float | None
    wasserstein_matched: float | None


class CellMap(Record):
    """The positions of answers, or of the ball's cells, pooled over images.

    Attributes:
        n: number of answers or cells.
        n_images: number of images with at least one answer or cell.
        shares: each cell's share of the answers or ball cells, row by row; all 0 if there are none.
        in_window: the share in the center window; None if the grid has no center window.
    """

    n: float
    n_images: int
    shares: tuple[float, ...]
    in_window: float | None


class GroupAnswers(Record):
    """The answers of one scored group.

    Attributes:
        cells: the positions of the answers.
    """

    sport: str | None
    respondent: str | None
    prompt: str | None
    cells: CellMap


class PromptMeans(Record):
    """Means of a respondent's metrics over its prompts (Spot the Ball, Table 3); None if a prompt has no value."""

    sport: str | None
    respondent: str | None
    metrics: dict[str, float | None]


class ImageCrowd(Record):
    """The players of one image: their number, and the share of the image that their boxes cover."""

    image: str
    n_players: int
    covered: float


class Crowd(Record):
    """The players of a sport's images: the numbers for each image, and means over images with bootstrap intervals."""

    images: tuple[ImageCrowd, ...]
    n_players: MetricValue
    covered: MetricValue


class SportNumbers(Record):
    """The page's numbers for a sport, in addition to the scores of its groups.

    Attributes:
        n_images: number of images on which a group is scored.
        n_with_players: number of these images with player boxes.
        uniform: the scores of uniform guessing on these images.
        ball: positions of the ball.
        ball_near_player: share of the ball's cells that are near a player, mean over images with players.
        ball_on_player: share of the ball's cells that overlap with a player, mean over images with players.
        crowd: players of the images with a list of players; None if there are none.
    """

    sport: str | None
    n_images: int
    n_with_players: int
    uniform: UniformGuessing
    ball: CellMap
    ball_near_player: float | None
    ball_on_player: float | None
    crowd: Crowd | None


class ThresholdFit(Record):
    """The paper's fit of the thresholds for near players: the fit's objective for each pair of tau and theta.

    Attributes:
        taus: thresholds tau, ascending, in shares of the image's diagonal.
        thetas: thresholds theta, ascending, in shares of the cell's area.
        objective: mean of near-player and overlap rate, with a row for each tau.
        near_largest: whether the objective is within 1% of its maximum, with a row for each tau.
        best: tau and theta of the maximum.
        largest: the maximum.
        at_policy: the objective at the pair nearest to the policy's thresholds.
        n_near_largest: number of pairs within 1% of the maximum.
        n_pairs: number of all pairs.
        n_responses: number of parsed responses to images with player boxes.
    """

    taus: tuple[float, ...]
    thetas: tuple[float, ...]
    objective: tuple[tuple[float, ...], ...]
    near_largest: tuple[tuple[bool, ...], ...]
    best: tuple[float, float]
    largest: float
    at_policy: float
    n_near_largest: int
    n_pairs: int
    n_responses: float


class FailureMode(Record):
    """A failure mode: its key, its name and its rule in words."""

    key: str
    title: str
    rule: str


class FailedImages(Record):
    """The images to which one failure mode of a group applies.

    Attributes:
        n: number of images.
        images: names of the images with the largest distances from the reference, largest first.
    """

    n: int
    images: tuple[str, ...]


class GroupFailures(Record):
    """The images to which a group's failure modes apply.

    Attributes:
        n_images: number of images that the group answered; with a reference, those that can be compared with it.
        failed: the images, by the key of the failure mode.
    """

    sport: str | None
    respondent: str | None
    prompt: str | None
    n_images: int
    failed: dict[str, FailedImages]


class CaseNumbers(Record):
    """A group's answers to one image.

    Attributes:
        distance: Wasserstein distance to the reference; None without a reference.
        uniform: the distance of uniform guessing; None without a reference.
        right: share of the answers that name a cell with the ball; None if the ball's cells are not known.
        error: mean distance of the answers from the nearest ball cell in pixels; None if `right` is None.
        n_answers: number of parsed answers.
        answers: number of times each cell was named; cells that were not named are missing.
        failures: keys of the failure modes that apply.
        rationales: examples of the group's rationales for this image, shortened; empty if there are none.
    """

    sport: str | None
    respondent: str | None
    prompt: str | None
    image: str
    distance: float | None
    uniform: float | None
    right: float | None
    error: float | None
    n_answers: float
    answers: dict[str, float]
    failures: tuple[str, ...]
    rationales: tuple[str, ...] = ()


class ShownImage(Record):
    """An image with all answers to it.

    Attributes:
        n_reference: number of parsed answers of the reference.
        reference: the share of the reference's answers that name each cell.
        reference_right: the share of the reference's answers that name a cell with the ball; None if the ball's cells
            are not known, or without a reference.
        reference_error: the mean distance of the reference's answers from the nearest ball cell in pixels; None if
            `reference_right` is None.
        ease: `reference_right`; without a reference, the mean of the groups' `right`. None if the ball's cells are not
            known.
        disagreement: mean distance of the groups' answers to the reference's; None without distances.
        from_typical: absolute difference of the disagreement from its median over the sport's images; None without
            distances.
        leak: the largest share of a group's answers that find the ball, minus the same share of the reference. If it is
            large, check the picture for a trace of the ball. None if the ball's cells are not known.
        cases: the answers of each group.
    """

    scene: Scene
    n_reference: float
    reference: dict[str, float]
    reference_right: float | None
    reference_error: float | None
    ease: float | None
    disagreement: float | None
    from_typical: float | None
    leak: float | None
    cases: tuple[CaseNumbers, ...]


class GalleryNumbers(Record):
    """The gallery: images with the answers of the reference, if there is one, and of all other groups.

    Attributes:
        modes: the failure modes.
        failures: the images to which each group's failure modes apply.
        images: the images of each sport, those with the most disagreement first; without distances, those on which the
            ball is found least often.
        n_images: number of images with answers, shown or not.
    """

    modes: tuple[FailureMode, ...]
    failures: tuple[GroupFailures, ...]
    images: tuple[ShownImage, ...]
    n_images: int


class MapGrid(Record):
    """The grid that maps are drawn on; its size in pixels determines their shape."""

    rows: int
    cols: int
    width: float
    height: float


class PageNumbers(Record):
    """All numbers of the page that are not scores.

    Attributes:
        n_images: number of images on which a group is scored.
        n_responses: number of responses to these images.
        grid: the grid of the maps.
        window: first and last row, and first and last column, of the center window; None if the grid has no such
            window.
        sports: the sports, in the order of the groups.
        groups: answers of each scored group.
        differences: differences of each group from the reference.
        overall: headline metrics as means over sports, with equal weight for each sport; empty for a single sport.
        standings: ranks in each sport, and over all sports.
        prompt_means: means for respondents with several prompts.
        mixtures: the mixture that explains each respondent.
        mixture_resamples: number of resamples for the mixtures' intervals.
        unexplained: the reasons why the other groups have no mixture.
        cues: which cues the guesses follow; None if no player of the images has keypoints.
        thresholds: the threshold fit; None without players.
        gallery: the gallery; None if there is no image to show.
        reasoning: the analysis of rationales; None if none was given.
        changes: changes from an earlier run; None if none was given.
    """

    n_images: int
    n_responses: int
    grid: MapGrid
    window: Window | None
    sports: tuple[SportNumbers, ...]
    groups: tuple[GroupAnswers, ...]
    differences: tuple[PairedDifference, ...] = ()
    overall: tuple[GroupScore, ...] = ()
    standings: tuple[Standing, ...] = ()
    prompt_means: tuple[PromptMeans, ...]
    mixtures: tuple[Mixture, ...]
    mixture_resamples: int
    unexplained: tuple[str, ...]
    cues: CueReport | None = None
    thresholds: ThresholdFit | None
    gallery: GalleryNumbers | None
    reasoning: ReasoningReport | None = None
    changes: RunChanges | None = None


class PageReport(ScoreReport):
    """Everything that a report's page shows: the fields of `spotball score --format json`, and `page`.

    Attributes:
        page: all other numbers.
    """

    page: PageNumbers


class _OfKind(Protocol):
    @property
    def kind(self) -> Kind | None: ...
    @property
    def respondent(self) -> str | None: ...


_G = TypeVar("_G", bound=_OfKind)


def compared(groups: Iterable[_G], reference: str | None) -> list[_G]:
    """Select the groups to compare with the reference.

    These are all groups except those of the reference and of baselines. If no such group exists, the baselines are
    selected.
    """
    others = [group for group in groups if group.respondent != reference]
    return [group for group in others if group.kind != "baseline"] or others


def in_words(respondent: str, groups: Iterable[_G]) -> str:
    """Return the name to use for a respondent in sentences: "people" if no other respondent of the groups is human."""
    return "people" if {group.respondent for group in groups if group.kind == "human"} == {respondent} else respondent
