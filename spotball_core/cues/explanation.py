"""Explain guesses by cues, with a conditional logit for each group of guesses, cross-validated by image."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from spotball_core.cue_maps.registry import CueScores
from spotball_core.cues.explanation_record import CueDifference, CueExplanation, CueInfo, CueReport, CueWeight
from spotball_core.cues.group_fit import LEAST_IMAGES, GroupFit, SportScores, fit_group, mirrored_body, scores_of_sport
from spotball_core.cues.logit import RIDGE
from spotball_core.errors import OptionError
from spotball_core.schema.report import MetricValue
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.service.parallel import Workers
from spotball_core.stats.bootstrap import bootstrap_interval, expanded, resample_weights
from spotball_core.stats.power import smallest_difference
from spotball_core.typing import FloatArray, IntArray


class ImageSums:
    """Compute means per guess from sums over each image's guesses. All intervals use the same resamples of images."""

    def __init__(self, sizes: FloatArray, bootstrap: int, seed: int) -> None:
        """Draw the resamples.

        Args:
            sizes: number of guesses to each image, shape (n_images,).
            bootstrap: number of resamples; 0 for no intervals.
            seed: seed of the resamples.
        """
        self.sizes = sizes
        self._times = resample_weights(len(sizes), bootstrap, seed) if bootstrap else None

    def mean(self, totals: FloatArray) -> MetricValue:
        """Return the mean per guess; `totals` are the sums over each image's guesses, shape (n_images,)."""
        return self.quotient(totals, self.sizes)

    def quotient(self, upper: FloatArray, lower: FloatArray) -> MetricValue:
        """Return the quotient of two sums over images; its value is None if the denominator is not above 0."""
        return self._value(upper, lower, np.zeros(len(upper)), np.ones(len(upper)))

    def difference(self, totals: FloatArray, others: FloatArray, other_sizes: FloatArray) -> MetricValue:
        """Return a respondent's mean per guess minus another respondent's mean per guess on the same images."""
        return self._value(totals, self.sizes, others, other_sizes)

    def standard_error(self, totals: FloatArray) -> float:
        """Return the standard error of the mean per guess, by linearization over images."""
        n = len(totals)
        residuals = (totals - self.sizes * (totals.sum() / self.sizes.sum())) / self.sizes.sum()
        return float(np.sqrt((residuals**2).sum() * n / max(n - 1, 1)))

    def _value(self, upper: FloatArray, lower: FloatArray, second: FloatArray, third: FloatArray) -> MetricValue:
        sums = np.stack([upper, lower, second, third], axis=-1)
        total = sums.sum(axis=0)
        if total[1] <= 0 or total[3] <= 0:
            return MetricValue(value=None, reason="the explainable gain is not above 0")
        value = float(_combined(total))
        if self._times is None:
            return MetricValue(value=value, n_images=len(upper))
        interval = bootstrap_interval(value, _combined(self._times @ sums), _combined(total - sums))
        return MetricValue(value=value, ci95=interval, n_images=len(upper))


def _combined(sums: FloatArray) -> FloatArray:
    """Return (first / second) - (third / fourth); NaN if a denominator is not above 0."""
    known = (sums[..., 1] > 0) & (sums[..., 3] > 0)
    lower = np.where(known[..., None], sums[..., 1::2], 1.0)
    values: FloatArray = np.where(known, sums[..., 0] / lower[..., 0] - sums[..., 2] / lower[..., 1], np.nan)
    return values


MANY_GROUPS = 12
"""Minimum number of groups for using several processes.

With fewer groups, starting processes takes longer than it saves.
"""

TOO_FEW = f"fewer than {LEAST_IMAGES} images have guesses"
NO_BODY = "no body cue applies to these images"


def explain_cues(
    scoring: Scoring,
    *,
    cues: Iterable[str] | None = None,
    ridge: float = RIDGE,
    mirrors: int = 0,
    jobs: int = 1,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> CueReport:
    """Compute how well cues predict the guesses of each group, and which cues the guesses follow.

    A conditional logit over the cells of each image models a group's guesses, with the cues' standardized scores as
    covariates. Gains are held out: each image is predicted by weights fitted on the other images (leave-one-out up to
    100 images, 20 folds beyond that). Intervals come from a bootstrap over images.

    Args:
        scoring: the scored groups of guesses, by sport, respondent and prompt. Its policy sets the images, the
            reference, and the number of resamples for the intervals.
        cues: keys of the cues (default: all).
        ridge: strength of the penalty on the squared standardized weights, per guess; above 0.
        mirrors: number of times that the keypoints of random players are mirrored, for a permutation test of whether
            guesses follow the sides that bodies turn to; 0 for no test.
        jobs: number of processes that share the groups. The results do not depend on this number. A script that passes
            more than 1 needs `if __name__ == "__main__":` around its code, because worker processes import the script.
        on_progress: called with the number of finished groups, and the total number of groups.

    Raises:
        OptionError: for unknown cues, cues in more than 10 groups, a ridge that is not above 0, a negative number of
            mirrorings, or groups that span several sports.

    Examples:
        >>> from spotball_core import ScorePolicy, baseline_responses, read_counts, synthetic_scenes
        >>> scenes = synthetic_scenes(60)
        >>> scoring = Scoring(read_counts(baseline_responses(scenes, ["center"]), scenes), scenes,
        ...                   ScorePolicy.standard())
        >>> found = explain_cues(scoring, cues=["center", "players"]).groups[0]
        >>> max(found.weights, key=lambda weight: weight.value).key
        'center'
    """
    with Workers(jobs) as workers:
        return explain_with(workers, scoring, cues=cues, ridge=ridge, mirrors=mirrors, on_progress=on_progress)


def explain_with(
    workers: Workers,
    scoring: Scoring,
    *,
    cues: Iterable[str] | None = None,
    ridge: float = RIDGE,
    mirrors: int = 0,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> CueReport:
    """Return the same as `explain_cues`, using existing worker processes."""
    if not ridge > 0:
        raise OptionError(f"found {ridge:g}, expected a number above 0", field="ridge")
    if mirrors < 0:
        raise OptionError(f"found {mirrors}, expected at least 0", field="mirrors")
    if any(group.sport is None for group in scoring.groups):
        raise OptionError(
            "a group contains several sports, but cues are explained for one sport at a time. Add sport to `by`"
        )
    keys = None if cues is None else tuple(dict.fromkeys(cues))
    by_sport = {sport: scores_of_sport(scoring, sport, keys) for sport in dict.fromkeys(scoring.arrays.sports)}
    fitted: list[GroupFit | None] = []
    on_progress(0, len(scoring.groups))
    turned = {sport: mirrored_body(scoring, places, scores, mirrors) for sport, (places, scores) in by_sport.items()}
    shared = (scoring, by_sport, turned, ridge)
    for fit in workers.map_with(fit_group, shared, list(range(len(scoring.groups)))):
        fitted.append(fit)
        on_progress(len(fitted), len(scoring.groups))
    signature = scoring.signature()
    used = "all" if keys is None else ",".join(keys)
    # The digest of the data excludes keypoints, because scores do not depend on them.
    poses = hashlib.sha256(b"".join(scene.keypoints.astype("<f8").tobytes() for scene in scoring.arrays.scenes))
    return CueReport(
        signature=f"{signature}|poses:{poses.hexdigest()[:8]}|cues:{used}|ridge:{ridge:g}|mirrors:{mirrors}",
        provenance=signature,
        ridge=ridge,
        mirrors=mirrors,
        cues=tuple(info for sport, scores in by_sport.items() for info in _infos(sport, scores[1])),
        groups=tuple(
            _explanation(scoring, group, fit, by_sport) for group, fit in zip(scoring.groups, fitted, strict=True)
        ),
        differences=tuple(_differences(scoring, fitted)),
    )


def _infos(sport: str, scores: CueScores) -> Iterator[CueInfo]:
    for cue, n_images, scale in zip(scores.cues, scores.applies.sum(axis=0), scores.scales, strict=True):
        yield CueInfo(
            sport=sport,
            key=cue.key,
            title=cue.title,
            group=cue.group,
            is_base=cue.is_base,
            unit=cue.unit,
            description=cue.description,
            n_images=int(n_images),
            scale=float(scale),
        )


def _explanation(
    scoring: Scoring, group: Group, fitted: GroupFit | None, by_sport: dict[str, SportScores]
) -> CueExplanation:
    name = {"sport": group.sport, "respondent": group.respondent, "kind": group.kind, "prompt": group.prompt}
    if fitted is None:
        nothing = MetricValue(value=None, reason=TOO_FEW)
        missing = dict.fromkeys(("gain", "base_gain", "body_gain", "explainable", "explained"), nothing)
        return CueExplanation.model_validate({**name, "n_images": 0, "n_guesses": 0.0, **missing})
    sums = ImageSums(fitted.sizes, scoring.policy.bootstrap, scoring.policy.seed)
    subsets, scores = fitted.subsets, by_sport[str(group.sport)][1]
    scales = {cue.key: float(scale) for cue, scale in zip(scores.cues, scores.scales, strict=True)}
    base = subsets.of(fitted.base)
    body = subsets.whole - base
    return CueExplanation.model_validate(
        {
            **name,
            "n_images": len(fitted.scenes),
            "n_guesses": float(fitted.sizes.sum()),
            "weights": _weights(fitted, scales),
            "gain": sums.mean(subsets.whole),
            "base_gain": sums.mean(base),
            "body_gain": sums.mean(body) if fitted.body else MetricValue(value=None, reason=NO_BODY),
            "added": {cue_group: sums.mean(subsets.of([*fitted.base, cue_group]) - base) for cue_group in fitted.body},
            "shapley": dict(zip(subsets.groups, map(sums.mean, subsets.shapley()), strict=True)),
            "explainable": sums.mean(fitted.explainable),
            "explained": sums.quotient(subsets.whole, fitted.explainable),
            "detectable": smallest_difference(sums.standard_error(body)) if fitted.body else None,
            **_mirror_test(fitted, base),
            "notes": fitted.notes,
        }
    )


def _mirror_test(fitted: GroupFit, base: FloatArray) -> dict[str, float]:
    if not fitted.body or not len(fitted.turned):
        return {}
    n_guesses = fitted.sizes.sum()
    gains = fitted.turned.sum(axis=-1) / n_guesses
    gain = fitted.subsets.whole.sum() / n_guesses
    # The true keypoints count as one of the mirrorings, so that a test at level alpha has an error rate of at most
    # alpha.
    as_large = int((gains >= gain - 1e-12).sum())
    return {"mirror_p": (1 + as_large) / (1 + len(gains)), "mirrored": float(gains.mean() - base.sum() / n_guesses)}


def _weights(fitted: GroupFit, scales: dict[str, float]) -> list[CueWeight]:
    reach = expanded(1.959964, len(fitted.scenes)) * fitted.fit.standard_errors
    return [
        CueWeight(
            key=key, value=weight, ci95=(float(weight - margin), float(weight + margin)), per_unit=weight / scales[key]
        )
        for key, weight, margin in zip(fitted.keys, fitted.fit.weights.tolist(), reach, strict=True)
    ]


def _differences(scoring: Scoring, fitted: Sequence[GroupFit | None]) -> Iterator[CueDifference]:
    reference = scoring.policy.reference
    if reference is None:
        return
    pairs = list(zip(scoring.groups, fitted, strict=True))
    for group, fit in pairs:
        others = [
            other_fit for other, other_fit in pairs if other.respondent == reference and other.sport == group.sport
        ]
        if fit is None or group.respondent == reference or len(others) != 1 or others[0] is None:
            continue
        paired = _paired(scoring, fit, others[0])
        if paired is not None:
            yield CueDifference.model_validate(
                {
                    "sport": group.sport,
                    "respondent": group.respondent,
                    "prompt": group.prompt,
                    "reference": reference,
                    **paired,
                }
            )


def _paired(scoring: Scoring, group_fit: GroupFit, other: GroupFit) -> dict[str, object] | None:
    """Return the differences between two groups on the images that both answered; None for too few images."""
    images, first, second = np.intersect1d(group_fit.scenes, other.scenes, return_indices=True)
    if len(images) < LEAST_IMAGES:
        return None
    sums = ImageSums(group_fit.sizes[first], scoring.policy.bootstrap, scoring.policy.seed)

    def difference(gains: FloatArray, other_gains: FloatArray) -> MetricValue:
        return sums.difference(gains[first], other_gains[second], other.sizes[second])

    groups = [group for group in group_fit.subsets.groups if group in other.subsets.groups]
    shares, their_shares = (dict(zip(x.subsets.groups, x.subsets.shapley(), strict=True)) for x in (group_fit, other))
    both_body = bool(group_fit.body) and bool(other.body)
    bodies = (x.subsets.whole - x.subsets.of(x.base) for x in (group_fit, other))
    return {
        "n_images": len(images),
        "gain": difference(group_fit.subsets.whole, other.subsets.whole),
        "body_gain": difference(*bodies) if both_body else MetricValue(value=None, reason=NO_BODY),
        "shapley": {group: difference(shares[group], their_shares[group]) for group in groups},
        "weights": _weight_differences(group_fit, other, first, second),
    }


def _weight_differences(
    first_fit: GroupFit, other: GroupFit, first: IntArray, second: IntArray
) -> dict[str, MetricValue]:
    """Return differences of the weights, with intervals that account for images shared by both groups."""
    values = {}
    for place, key in enumerate(first_fit.keys):
        if key not in other.keys:
            continue
        own, others = first_fit.fit.influence[:, place], other.fit.influence[:, other.keys.index(key)]
        variance = (own**2).sum() + (others**2).sum() - 2 * own[first] @ others[second]
        value = float(first_fit.fit.weights[place] - other.fit.weights[other.keys.index(key)])
        reach = expanded(1.959964, len(first)) * float(np.sqrt(max(variance, 0.0)))
        values[key] = MetricValue(value=value, ci95=(value - reach, value + reach), n_images=len(first))
    return values
