"""Compute everything that a report's page shows: the scores, the noise ceiling, and all other numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from spotball_core.cues.explanation_record import CueReport
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.metrics.inputs import ratio, share
from spotball_core.metrics.sampling import distance_at_any_size
from spotball_core.metrics.strategy import PAPER_WINDOW
from spotball_core.metrics.task import euclidean_error
from spotball_core.reasoning.records import ReasoningReport
from spotball_core.report.numbers.cases import center_window
from spotball_core.report.numbers.changes import run_changes
from spotball_core.report.numbers.crowds import crowd
from spotball_core.report.numbers.gallery import MOST, CaseKey, gallery_numbers
from spotball_core.report.numbers.records import (
    MEAN_OVER_PROMPTS,
    CellMap,
    GalleryNumbers,
    GroupAnswers,
    MapGrid,
    PageNumbers,
    PageReport,
    PromptMeans,
    SportNumbers,
    ThresholdFit,
    UniformGuessing,
    compared,
)
from spotball_core.report.numbers.standings import (
    ScoredGroup,
    adjusted,
    overall,
    overall_differences,
    paired_differences,
    standings,
)
from spotball_core.schema.report import GroupScore, Mixture, ScoreReport
from spotball_core.scoring.ceiling import finish_noise_ceiling, start_noise_ceiling, uniform_sums
from spotball_core.scoring.groups import PARTS, Group, Scoring
from spotball_core.service.parallel import THIS_PROCESS, Workers
from spotball_core.typing import BoolArray, FloatArray

RESAMPLES = 200
"""Maximum number of resamples for the intervals of mixtures, which are few because each one requires another fit."""


def analyze(
    scoring: Scoring,
    *,
    reasoning: ReasoningReport | None = None,
    rationales: Mapping[CaseKey, Sequence[str]] | None = None,
    most_images: int | None = MOST,
    before: Scoring | None = None,
    workers: Workers = THIS_PROCESS,
    tell: Callable[[str], None] = lambda _: None,
) -> PageReport:
    """Compute all numbers that a report's page shows.

    Args:
        scoring: the scored groups, by sport, respondent and prompt. The noise ceiling requires counts that name the
            participants. Its policy's seed is used for all random draws, and its number of resamples for all intervals
            (mixtures: at most `RESAMPLES`).
        reasoning: the analysis of rationales, which becomes part of the report; None for a report without it.
        rationales: examples of each group's rationales for each image, which are shown with the image.
        most_images: maximum number of images in the gallery; None for all.
        before: an earlier run, to compute what changed since then (see `run_changes`); None for no comparison.
        workers: workers that compute the noise ceiling, the scores and the mixtures.
        tell: called with a description of the current step.

    Raises:
        OptionError: if `scoring` is not grouped by sport, respondent and prompt, if there is nothing to score, or if
            `run_changes` cannot compare the runs.
    """

    if tuple(scoring.policy.by) != PARTS:
        raise OptionError(
            f"found {', '.join(scoring.policy.by)}, expected {', '.join(PARTS)}. A report needs these groups",
            field="by",
        )
    # Check the runs before the long computations.
    changes = None
    if before is not None:
        tell("what changed")
        changes = run_changes(before, scoring)
    answered = [group for group in scoring.groups if scoring.images(group)]
    if not answered:
        raise OptionError("no images are left to score. Try --images all", code="no-data")
    # Give all work to the workers at once, the longest first, so that none of them waits.
    reference, seed = scoring.policy.reference, scoring.policy.seed
    ceiling_parts = start_noise_ceiling(scoring, seed=seed, workers=workers) if reference is not None else iter(())
    score_results = workers.map_with(_scored, scoring, scoring.groups)
    of_reference = [group for group in answered if group.respondent == reference]
    mixture_results = workers.map_with(_mixture, scoring, [*compared(answered, reference), *of_reference])
    difference_results = workers.map_with(paired_differences, scoring, answered)
    # In the meantime, this process does the work that does not need these results.
    tell("image by image")
    gallery = gallery_numbers(scoring, compared(answered, reference), most=most_images, rationales=rationales)
    page = _page_of_answers(scoring, answered, gallery, reasoning, tell)
    image_sets = scoring.image_sets()
    tell("noise ceiling")
    parts = list(ceiling_parts)
    tell("scores")
    every = list(score_results)
    sums = {scored_group.group.number: _matched_sums(scored_group) for scored_group in every}
    ceilings = finish_noise_ceiling(scoring, parts, sums, seed=seed)
    report = scoring.report(ceilings, [scored_group.score for scored_group in every], image_sets)
    scored = [scored_group for scored_group in every if scored_group.score.n_images]
    tell("what explains whom")
    mixtures = list(mixture_results)
    tell("differences and ranks")
    paired = [difference for some in difference_results for difference in some]
    means, mean_draws = overall(scored)
    numbers = page(
        n_responses=sum(scored_group.score.n_responses for scored_group in scored),
        differences=(*adjusted(paired), *overall_differences(means, mean_draws, reference)),
        overall=means,
        standings=standings(scored, means, mean_draws, reference),
        prompt_means=tuple(_prompt_means(scored_group.score for scored_group in scored)),
        mixtures=tuple(mixture for mixture in mixtures if isinstance(mixture, Mixture)),
        unexplained=tuple(reason for reason in mixtures if isinstance(reason, str)),
        changes=changes,
        cues=_cues(scoring, workers, tell),
    )
    fields = {name: getattr(report, name) for name in ScoreReport.model_fields}
    return PageReport(**fields, page=numbers)


def _scored(scoring: Scoring, group: Group) -> ScoredGroup:
    return ScoredGroup(group, *scoring.score(group))


def _matched_sums(scored_group: ScoredGroup) -> FloatArray | None:
    draws = scored_group.draws.get("wasserstein_matched")
    return None if draws is None else draws.sums


def _page_of_answers(
    scoring: Scoring,
    groups: Sequence[Group],
    gallery: GalleryNumbers | None,
    reasoning: ReasoningReport | None,
    tell: Callable[[str], None],
) -> partial[PageNumbers]:
    """Compute the page's numbers that depend only on the answers. Numbers that depend on the scores are added later."""
    arrays = scoring.arrays
    places = sorted(set().union(*(scoring.images(group) for group in groups)))
    inside, grid = center_window(scoring), arrays.grids[0]
    reference = scoring.reference_mass(range(len(arrays.keys)))
    reference = np.zeros(arrays.truth.shape) if reference is None else reference
    policy = scoring.policy
    uniform = uniform_sums(reference, arrays.grids, arrays.grid_of, policy.wasserstein_unit, policy.seed)
    tell("threshold fit")
    thresholds = _threshold_fit(scoring) if np.any(arrays.has_players[places]) else None
    return partial(
        PageNumbers,
        n_images=len(places),
        grid=MapGrid(rows=grid.rows, cols=grid.cols, width=grid.width, height=grid.height),
        window=None if inside is None else scoring.policy.window or PAPER_WINDOW,
        sports=tuple(
            _sport_numbers(scoring, sport, [p for p in places if arrays.sports[p] == sport], uniform, inside)
            for sport in dict.fromkeys(group.sport for group in groups)
        ),
        groups=tuple(_answers(scoring, group, inside) for group in groups),
        mixture_resamples=_mixture_resamples(scoring),
        thresholds=thresholds,
        gallery=gallery,
        reasoning=reasoning,
    )


def _answers(scoring: Scoring, group: Group, inside: BoolArray | None) -> GroupAnswers:
    return GroupAnswers(
        sport=group.sport,
        respondent=group.respondent,
        prompt=group.prompt,
        cells=_cell_map(scoring.estimator(group).answers.mass, inside),
    )


def _cell_map(mass: FloatArray, inside: BoolArray | None) -> CellMap:
    total = mass.sum(axis=0)
    shares = np.nan_to_num(ratio(total, total.sum()))
    return CellMap(
        n=float(mass.sum()),
        n_images=int(mass.any(axis=-1).sum()),
        shares=tuple(shares.tolist()),
        in_window=None if inside is None else float(shares[inside].sum()),
    )


def _sport_numbers(
    scoring: Scoring, sport: str | None, places: list[int], uniform: FloatArray, inside: BoolArray | None
) -> SportNumbers:
    arrays = scoring.arrays
    truth = arrays.truth.astype(float)

    def over_truth(function: Callable[[FloatArray, Grid], FloatArray]) -> float | None:
        known = [place for place in places if arrays.has_truth[place]]
        return _mean([float(function(truth[place], arrays.grids[arrays.grid_of[place]])) for place in known])

    with_players = [place for place in places if arrays.has_players[place]]
    both = [place for place in with_players if arrays.has_truth[place]]
    return SportNumbers(
        sport=sport,
        n_images=len(places),
        n_with_players=len(with_players),
        uniform=UniformGuessing(
            accuracy=over_truth(lambda ball, _: ball.mean(axis=-1)),
            euclidean_error=over_truth(lambda ball, grid: euclidean_error(np.ones(len(ball)), ball, grid=grid)),
            wasserstein_matched=_mean([float(distance_at_any_size(uniform[places].sum(axis=0)))]),
        ),
        ball=_cell_map(truth[places], inside),
        ball_near_player=_mean(share(truth[both], arrays.near[both])),
        ball_on_player=_mean(share(truth[both], arrays.overlap[both])),
        crowd=crowd(
            [arrays.scenes[place] for place in places],
            bootstrap=scoring.policy.bootstrap,
            seed=scoring.policy.seed,
        ),
    )


def _mean(values: Sequence[float] | FloatArray) -> float | None:
    """Return the mean of the finite values; None if there are none."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    return float(known.mean()) if len(known) else None


def _prompt_means(scores: Iterable[GroupScore]) -> Iterator[PromptMeans]:
    prompts: dict[tuple[str | None, str | None], list[GroupScore]] = {}
    for score in scores:
        prompts.setdefault((score.sport, score.respondent), []).append(score)
    for (sport, respondent), of_respondent in prompts.items():
        if len(of_respondent) > 1:
            means = {}
            for key in MEAN_OVER_PROMPTS:
                values = [value for score in of_respondent if (value := score.metrics[key].value) is not None]
                means[key] = sum(values) / len(values) if len(values) == len(of_respondent) else None
            yield PromptMeans(sport=sport, respondent=respondent, metrics=means)


def _mixture(scoring: Scoring, group: Group) -> Mixture | str:
    """Return the mixture that explains a group's guesses, or the reason why there is no mixture."""
    from spotball_core.cues.mixture import explain

    try:
        return explain(scoring, group, bootstrap=_mixture_resamples(scoring), seed=scoring.policy.seed)
    except OptionError as error:
        return str(error)


def _cues(scoring: Scoring, workers: Workers, tell: Callable[[str], None]) -> CueReport | None:
    """Explain the guesses by cues if any player of the scored images has keypoints; else return None."""
    from spotball_core.cues.explanation import explain_with

    scored = {place for group in scoring.groups for place in scoring.images(group)}
    if not any(scoring.arrays.scenes[place].player_keypoints for place in scored):
        return None
    tell("cues")
    return explain_with(workers, scoring)


def _mixture_resamples(scoring: Scoring) -> int:
    return min(scoring.policy.bootstrap, RESAMPLES)


def _threshold_fit(scoring: Scoring) -> ThresholdFit:
    from spotball_core.cues.thresholds import threshold_surface

    surface, policy = threshold_surface(scoring), scoring.policy
    row, col = np.abs(surface.taus - policy.tau).argmin(), np.abs(surface.thetas - policy.theta).argmin()
    return ThresholdFit(
        taus=tuple(surface.taus.tolist()),
        thetas=tuple(surface.thetas.tolist()),
        objective=tuple(map(tuple, surface.objective.tolist())),
        near_largest=tuple(map(tuple, surface.plateau.tolist())),
        best=surface.best,
        largest=float(surface.objective.max()),
        at_policy=float(surface.objective[row, col]),
        n_near_largest=int(surface.plateau.sum()),
        n_pairs=surface.plateau.size,
        n_responses=surface.n_responses,
    )
