"""The record of a report: the scores, and every other number that its page shows. report.json is this record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from spotball_core.cues.explanation_record import CueReport
from spotball_core.reasoning.records import ReasoningReport
from spotball_core.report.numbers.change_records import RunChanges
from spotball_core.schema.mixture import Mixture
from spotball_core.schema.policy import Window
from spotball_core.schema.record import Record
from spotball_core.schema.report import GroupScore, Interval, MetricValue, ScoreReport
from spotball_core.schema.response import Kind
from spotball_core.schema.scene import Scene

MEAN_OVER_PROMPTS = (
    *("center_ratio", "symmetric_center_bias", "normalized_entropy", "normalized_entropy_matched"),
    *("image_entropy", "image_entropy_matched"),
)
"""Metrics whose mean over a respondent's prompts is in the paper's Table 3, and those like them."""

HEADLINE = ("accuracy", "euclidean_error", "wasserstein_matched")
"""Metrics that a report states first: with differences from the reference, ranks, and means over sports."""


class PairedDifference(Record):
    """One metric of a group and of the reference on the same images.

    Attributes:
        sport: None for the means over all sports.
        value: of the group, on the images that both answered.
        reference: of the reference, on the same images.
        difference: value - reference.
        ci95: 95% bootstrap interval of the difference over images; None without resamples.
        p: two-sided permutation p value, with labels swapped within images; None over all sports.
        p_holm: the same after Holm's adjustment over all differences of this metric.
        n_images: images that enter.
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
        sport: None for the means over all sports.
        rank: 1 for the best.
        rank_ci95: the ranks that the data support, jointly over the groups with 95% confidence; None without resamples.
        n_ranked: how many groups are ranked.
    """

    sport: str | None
    respondent: str | None
    prompt: str | None
    metric: str
    rank: int
    rank_ci95: tuple[int, int] | None
    n_ranked: int


class UniformGuessing(Record):
    """What uniform guessing gets on a sport's images: the mean over those where it is defined, None if there are none.

    Attributes:
        accuracy: share of the cells that hold the ball.
        euclidean_error: in pixels.
        wasserstein_matched: matched distance to the reference, in the policy's unit.
    """

    accuracy: float | None
    euclidean_error: float | None
    wasserstein_matched: float | None


class CellMap(Record):
    """Where some answers, or the ball's cells, are, pooled over images.

    Attributes:
        n: how many answers or cells.
        n_images: images that hold at least one of them.
        shares: the share of each cell, row by row; all 0 if there are none.
        in_window: the share in the center window; None if the grid has none.
    """

    n: float
    n_images: int
    shares: tuple[float, ...]
    in_window: float | None


class GroupAnswers(Record):
    """The answers of one scored group.

    Attributes:
        cells: where they are.
    """

    sport: str | None
    respondent: str | None
    prompt: str | None
    cells: CellMap


class PromptMeans(Record):
    """Means over the prompts of a respondent, as in the paper's Table 3; None where a prompt has no value."""

    sport: str | None
    respondent: str | None
    metrics: dict[str, float | None]


class ImageCrowd(Record):
    """The players of one image: how many, and the share of the image that their boxes cover."""

    image: str
    n_players: int
    covered: float


class Crowd(Record):
    """The players of a sport's images. Means are over images, with bootstrap intervals."""

    images: tuple[ImageCrowd, ...]
    n_players: MetricValue
    covered: MetricValue


class SportNumbers(Record):
    """What the page shows of a sport in addition to its groups' scores.

    Attributes:
        n_images: images on which a group is scored.
        n_with_players: how many of them have player boxes.
        uniform: what uniform guessing gets on them.
        ball: where the ball is.
        ball_near_player: share of the ball's cells that are near a player, mean over images with players.
        ball_on_player: share of the ball's cells that overlap with a player, likewise.
        crowd: of the images where players were looked for; None if there are none.
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
    """The paper's fit of the player thresholds: its objective at each pair of tau and theta.

    Attributes:
        taus: ascending, in shares of the image's diagonal.
        thetas: ascending, in shares of the cell's area.
        objective: mean of near-player and overlap rate, a row for each tau.
        near_largest: whether the objective is within 1% of its maximum, a row for each tau.
        best: tau and theta of the maximum.
        largest: the maximum.
        at_policy: the objective at the pair nearest to the policy's thresholds.
        n_near_largest: pairs within 1% of the maximum.
        n_pairs: all pairs.
        n_responses: parsed responses to images with player boxes.
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
    """A way to fail on an image: its key, its name and its rule in words."""

    key: str
    title: str
    rule: str


class FailedImages(Record):
    """The images on which a group fails in one way.

    Attributes:
        n: how many there are.
        images: the farthest from the reference, farthest first.
    """

    n: int
    images: tuple[str, ...]


class GroupFailures(Record):
    """On which images a group fails.

    Attributes:
        n_images: images compared with the reference.
        failed: by the key of the failure mode.
    """

    sport: str | None
    respondent: str | None
    prompt: str | None
    n_images: int
    failed: dict[str, FailedImages]


class CaseNumbers(Record):
    """A group's answers to one image.

    Attributes:
        distance: Wasserstein distance to the reference.
        uniform: what uniform guessing gets.
        right: share of the answers that name a cell with the ball; None if the ball's cells are not known.
        n_answers: parsed answers.
        answers: how often each cell was named; cells that were not named are absent.
        failures: keys of the failure modes that hold.
        rationales: some of the group's rationales for this image, shortened; none if they were not given.
    """

    sport: str | None
    respondent: str | None
    prompt: str | None
    image: str
    distance: float
    uniform: float
    right: float | None
    n_answers: float
    answers: dict[str, float]
    failures: tuple[str, ...]
    rationales: tuple[str, ...] = ()


class ShownImage(Record):
    """An image with all answers to it.

    Attributes:
        n_reference: parsed answers of the reference.
        reference: the share of the reference's answers that name each cell.
        reference_right: the share that name a cell with the ball; None if the ball's cells are not known.
        disagreement: mean distance of the groups' answers to the reference's.
        from_typical: how far that is from the median of the sport's images.
        leak: how much more often the best group finds the ball than the reference does. A large value is a reason to
            look for a trace of the ball in the picture. None if the ball's cells are not known.
        cases: the answers of each group.
    """

    scene: Scene
    n_reference: float
    reference: dict[str, float]
    reference_right: float | None
    disagreement: float
    from_typical: float
    leak: float | None
    cases: tuple[CaseNumbers, ...]


class GalleryNumbers(Record):
    """The gallery: images with the answers of the reference and of all groups compared with it.

    Attributes:
        modes: the ways to fail.
        failures: on which images each group fails.
        images: the images of each sport, those with the most disagreement first.
        n_images: all images that could be shown.
    """

    modes: tuple[FailureMode, ...]
    failures: tuple[GroupFailures, ...]
    images: tuple[ShownImage, ...]
    n_images: int


class MapGrid(Record):
    """The grid that maps are drawn on; a size in pixels gives them their shape."""

    rows: int
    cols: int
    width: float
    height: float


class PageNumbers(Record):
    """Every number of the page that is not a score.

    Attributes:
        n_images: images on which a group is scored.
        n_responses: responses to them.
        grid: of the maps.
        window: rows and columns, first and last, of the center window; None if the grid has none.
        sports: in the order of the groups.
        groups: answers of each scored group.
        differences: of each group from the reference.
        overall: headline metrics as means over sports, each sport counting alike; none for a single sport.
        standings: ranks in each sport, and over all sports.
        prompt_means: of respondents with several prompts.
        mixtures: what explains each respondent.
        mixture_resamples: resamples that the mixtures' intervals rest on.
        unexplained: why other groups have no mixture.
        cues: which cues the guesses follow; None if no player of the images has keypoints.
        thresholds: None without players.
        gallery: None without a reference, or if no other respondent answered its images.
        reasoning: what rationales speak of, if it was given.
        changes: what changed from an earlier run, if one was given.
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
    """Everything a report's page shows: the fields of `spotball score --format json`, and `page`.

    Attributes:
        page: every other number.
    """

    page: PageNumbers


class _OfKind(Protocol):
    @property
    def kind(self) -> Kind | None: ...
    @property
    def respondent(self) -> str | None: ...


_G = TypeVar("_G", bound=_OfKind)


def compared(groups: Iterable[_G], reference: str | None) -> list[_G]:
    """Select the groups that are explained and shown image by image.

    These are all groups but the reference's and baselines'; if no others exist, baselines are included.
    """
    others = [group for group in groups if group.respondent != reference]
    return [group for group in others if group.kind != "baseline"] or others
