"""Score predictions against continuous gaze annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np

from spotball_core.errors import InputError, OptionError
from spotball_core.gaze.follow import scores
from spotball_core.gaze.follow.annotations import Benchmark, FollowPrediction, FollowTarget
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval
from spotball_core.stats.bootstrap import percentile_interval, weight_blocks
from spotball_core.text.tables import Titled, tables_as_markdown, tables_as_text
from spotball_core.typing import FloatArray

SCHEMA_VERSION: Final = 1

_BLOCK: Final = 500


class FollowMean(Record):
    """Mean of a score over people in images.

    Attributes:
        value: the mean; None if it cannot be computed.
        ci95: 95% bootstrap interval over images; None without resamples, or for a single image.
        n: number of scored points: one per person, or one per person and annotator for `annotators`.
        reason: why there is no value; None if there is one.
    """

    value: float | None
    ci95: Interval | None = None
    n: int = 0
    reason: str | None = None


class FollowScores(Record):
    """One respondent's scores.

    Attributes:
        respondent: name of the respondent; `annotators` stands for the annotators, each compared with the others.
        average_distance: distance between prediction and mean of the annotators' points, in coordinates that are shares
            of the image's width and height.
        minimum_distance: distance between prediction and closest annotator's point, in the same unit.
        angle: angle at the eyes between prediction and mean of the annotators' points, in degrees.
        auc: AUC by the benchmark's definition, from heat maps.
        n_missing: number of people with annotations but without a prediction.
    """

    respondent: str
    average_distance: FollowMean
    minimum_distance: FollowMean
    angle: FollowMean
    auc: FollowMean
    n_missing: int


class FollowReport(Record):
    """Scores of all respondents.

    Attributes:
        benchmark: the benchmark whose definition of AUC is used.
        n_targets: number of people whose gaze stays in the image.
        n_outside: number of people whose gaze leaves the image; they are excluded.
        respondents: scores of the respondents in the order of the predictions. If a person has several annotators, the
            last entry is `annotators`.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    benchmark: Benchmark
    n_targets: int
    n_outside: int
    respondents: tuple[FollowScores, ...]


def evaluate_following(
    targets: Sequence[FollowTarget],
    predictions: Sequence[FollowPrediction],
    *,
    benchmark: Benchmark = "gazefollow",
    bootstrap: int = 1000,
    seed: int = 0,
) -> FollowReport:
    """Score predictions of where people look, and return the report.

    Args:
        targets: the annotations.
        predictions: predictions of one or more respondents.
        benchmark: the benchmark whose definition of AUC is used.
        bootstrap: number of resamples of the images, for intervals.
        seed: seed of the resamples.

    Raises:
        OptionError: for a prediction about an unknown image or person.
        InputError: if a heat map cannot be read, or is not a two-dimensional array of finite numbers.
    """
    by_key = {(target.image, target.person): target for target in targets}
    inside = {key: target for key, target in by_key.items() if target.points}
    names = list(dict.fromkeys(prediction.respondent for prediction in predictions))
    for prediction in predictions:
        if (prediction.image, prediction.person) not in by_key:
            raise OptionError(
                f"{prediction.respondent}: the annotations do not contain image {prediction.image}, person "
                f"{prediction.person}. "
                "Correct the columns `image` and `person`",
                code="unknown-image",
            )
    results = []
    for name in names:
        own = [guess for guess in predictions if guess.respondent == name and (guess.image, guess.person) in inside]
        pairs = [(inside[guess.image, guess.person], guess) for guess in own]
        images = [target.image for target, _ in pairs]
        means = {
            "average_distance": [scores.average_distance(guess.point, target.points) for target, guess in pairs],
            "minimum_distance": [scores.minimum_distance(guess.point, target.points) for target, guess in pairs],
        }
        angles = [scores.angle(t.eye, guess.point, t.points, t.size) if t.size else None for t, guess in pairs]
        aucs = [_auc(target, guess, benchmark) for target, guess in pairs]
        results.append(
            FollowScores(
                respondent=name,
                **{key: _mean(values, images, "no predictions", bootstrap, seed) for key, values in means.items()},
                angle=_mean(
                    angles,
                    images,
                    "the sizes of the images are unknown; name their folder with --images",
                    bootstrap,
                    seed,
                ),
                auc=_mean(
                    aucs, images, "there are no heat maps, or the sizes of the images are unknown", bootstrap, seed
                ),
                n_missing=len(inside) - len(own),
            )
        )
    if any(len(target.points) > 1 for target in inside.values()):
        results.append(_annotators(list(inside.values()), bootstrap, seed))
    return FollowReport(
        benchmark=benchmark,
        n_targets=len(inside),
        n_outside=len(by_key) - len(inside),
        respondents=tuple(results),
    )


def following_as_text(report: FollowReport, *, to_terminal: bool = False) -> str:
    """Return the report as a text table.

    Args:
        report: the scores.
        to_terminal: whether the table uses the width of the terminal, if standard output is a terminal.
    """
    return tables_as_text(_tables(report), _foot(report), to_terminal=to_terminal)


def following_as_markdown(report: FollowReport) -> str:
    """Return the report as a Markdown table."""
    return tables_as_markdown(_tables(report), _foot(report))


def _auc(target: FollowTarget, prediction: FollowPrediction, benchmark: Benchmark) -> float | None:
    if prediction.heatmap is None or (benchmark == "gazefollow" and target.size is None):
        return None
    heatmap = _loaded(prediction.heatmap)
    if benchmark == "gazefollow" and target.size is not None:
        return scores.gazefollow_auc(heatmap, target.points, target.size)
    return scores.video_attention_auc(heatmap, target.points[0])


def _loaded(path: Path) -> FloatArray:
    expected = "a two-dimensional array of finite numbers, written by numpy.save"
    try:
        heatmap = np.asarray(np.load(path, allow_pickle=False), dtype=float)
    except (OSError, ValueError, EOFError) as error:
        raise InputError.of("unreadable-file", path, "heatmap", str(error), expected) from error
    actual = f"shape {heatmap.shape}" if heatmap.ndim != 2 or not heatmap.size else "NaN or infinity"
    if heatmap.ndim != 2 or not heatmap.size or not np.isfinite(heatmap).all():
        raise InputError.of("invalid-value", path, "heatmap", actual, expected)
    return heatmap


def _annotators(targets: Sequence[FollowTarget], bootstrap: int, seed: int) -> FollowScores:
    """Return mean scores of annotators, each compared with the other annotators of the same person."""
    average, minimum, angles, images = [], [], [], []
    for target in targets:
        points = np.asarray(target.points)
        for place in range(len(points) if len(points) > 1 else 0):
            others = np.delete(points, place, axis=0)
            images.append(target.image)
            average.append(scores.average_distance(points[place], others))
            minimum.append(scores.minimum_distance(points[place], others))
            angles.append(scores.angle(target.eye, points[place], others, target.size) if target.size else None)
    return FollowScores(
        respondent="annotators",
        average_distance=_mean(average, images, "", bootstrap, seed),
        minimum_distance=_mean(minimum, images, "", bootstrap, seed),
        angle=_mean(
            angles, images, "the sizes of the images are unknown; name their folder with --images", bootstrap, seed
        ),
        auc=FollowMean(value=None, reason="annotators give points, not heat maps"),
        n_missing=0,
    )


def _mean(values: Sequence[float | None], images: Sequence[str], reason: str, bootstrap: int, seed: int) -> FollowMean:
    """Return the mean of the values that are not None, with a bootstrap interval over images."""
    known = [(value, image) for value, image in zip(values, images, strict=True) if value is not None]
    if not known:
        return FollowMean(value=None, reason=reason)
    numbers = np.array([value for value, _ in known])
    _, place = np.unique([image for _, image in known], return_inverse=True)
    totals = np.stack([np.bincount(place, weights=numbers), np.bincount(place)], axis=-1)
    drawn = [np.divide(*(weights @ totals).T) for weights in weight_blocks(len(totals), bootstrap, seed, block=_BLOCK)]
    ci95 = percentile_interval(np.concatenate(drawn)) if drawn and len(totals) > 1 else None
    return FollowMean(value=float(numbers.mean()), ci95=ci95, n=len(numbers))


def _tables(report: FollowReport) -> Iterator[Titled]:
    heads = ["respondent", "average distance", "minimum distance", "angle (degrees)", "AUC", "people", "missing"]
    rows = [
        [
            score.respondent,
            _cell(score.average_distance, 3),
            _cell(score.minimum_distance, 3),
            _cell(score.angle, 1),
            _cell(score.auc, 3),
            f"{score.average_distance.n:,}",
            f"{score.n_missing:,}",
        ]
        for score in report.respondents
    ]
    yield f"Predicted gaze points compared with annotations of {report.n_targets:,} people", 1, heads, rows


def _cell(mean: FollowMean, digits: int) -> str:
    if mean.value is None:
        return "-"
    ends = f"\n[{mean.ci95[0]:.{digits}f}, {mean.ci95[1]:.{digits}f}]" if mean.ci95 else ""
    return f"{mean.value:.{digits}f}{ends}"


def _foot(report: FollowReport) -> str:
    lines = ["Distances are shares of the image's width and height. Brackets show 95% bootstrap intervals over images."]
    if report.n_outside:
        people, are = ("person", "is") if report.n_outside == 1 else ("people", "are")
        lines.append(f"{report.n_outside:,} {people} whose gaze leaves the image {are} excluded.")
    return "\n".join(lines)
