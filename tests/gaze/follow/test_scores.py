from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spotball_core.errors import InputError, OptionError
from spotball_core.gaze.follow.annotations import FollowPrediction, FollowTarget
from spotball_core.gaze.follow.evaluate import evaluate_following, following_as_markdown, following_as_text
from spotball_core.gaze.follow.scores import (
    angle,
    auc,
    average_distance,
    direction,
    gazefollow_auc,
    minimum_distance,
    resized,
    video_attention_auc,
)
from tests.failures import raises


def test_average_and_minimum_distance_equal_values_by_hand() -> None:
    points = [[0.2, 0.5], [0.4, 0.5]]
    assert average_distance([0.3, 0.9], points) == pytest.approx(0.4)
    assert minimum_distance([0.5, 0.5], points) == pytest.approx(0.1)


def test_angles_are_computed_in_pixels() -> None:
    """Check that (0.1, 0.2) in fractions is a diagonal in an image that is twice as wide as high."""
    assert direction([0.5, 0.5], [0.6, 0.7], (200, 100)) == pytest.approx(45)
    assert angle([0.5, 0.5], [0.6, 0.7], [[0.6, 0.3]], (200, 100)) == pytest.approx(90)
    assert angle([0.5, 0.5], [0.4, 0.501], [[0.4, 0.499]], (100, 100)) < 2


def test_auc_equals_the_probability_of_correct_order() -> None:
    generator = np.random.default_rng(0)
    heatmap = generator.integers(0, 6, (7, 9)).astype(float)
    targets = generator.random((7, 9)) < 0.2
    pairs = heatmap[targets][:, None] - heatmap[~targets][None, :]
    assert auc(heatmap, targets) == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
    with raises(OptionError, "wrong-shape"):
        auc(heatmap, targets[:3])
    with raises(OptionError, "cannot-estimate"):
        auc(heatmap, np.zeros_like(targets))


def test_resized_interpolates_between_pixel_centers() -> None:
    ramp = np.array([[0.0, 1.0]])
    assert resized(ramp, (4, 2)).tolist() == [[0, 0.25, 0.75, 1]] * 2
    values = np.random.default_rng(1).random((5, 3))
    assert np.allclose(resized(values, (3, 5)), values)


def test_benchmark_aucs_are_high_only_if_the_peak_is_at_the_target() -> None:
    at_corner = np.zeros((64, 64))
    at_corner[:10, :10] = 1
    # The patch around (0, 0) is 10 x 10 pixels.
    assert video_attention_auc(at_corner, [0.0, 0.0]) == 1
    assert video_attention_auc(at_corner, [0.9, 0.9]) < 0.5
    peak = np.zeros((8, 8))
    peak[2, 4] = 1
    # Points on the edge of the image belong to the last pixel.
    assert gazefollow_auc(peak, [[4.5 / 8, 2.5 / 8]], (80, 80)) > 0.99
    assert gazefollow_auc(peak, [[1.0, 1.0]], (80, 80)) < 0.5


def target(image: str, *points: tuple[float, float], size: tuple[int, int] | None = (100, 100)) -> FollowTarget:
    return FollowTarget(image, "1", (0, 0, 10, 10), (0.1, 0.1), points, size)


def test_evaluate_following_scores_respondents_and_annotators(tmp_path: Path) -> None:
    targets = [target("a", (0.5, 0.1), (0.7, 0.1)), target("b", (0.1, 0.5), (0.1, 0.7)), target("c")]
    np.save(tmp_path / "a.npy", np.eye(8))
    predictions = [
        FollowPrediction("m", "a", "1", (0.6, 0.1), tmp_path / "a.npy"),
        FollowPrediction("m", "c", "1", (0.6, 0.1), None),
        FollowPrediction("n", "a", "1", (0.6, 0.2), None),
        FollowPrediction("n", "b", "1", (0.5, 0.1), None),
    ]
    report = evaluate_following(targets, predictions, bootstrap=50)
    assert (report.n_targets, report.n_outside) == (2, 1)
    m, n, people = report.respondents
    assert (m.respondent, m.n_missing, m.average_distance.value) == ("m", 1, pytest.approx(0))
    assert m.auc.value is not None
    assert m.auc.n == 1
    assert n.average_distance.value == pytest.approx((0.1 + np.hypot(0.4, 0.5)) / 2)
    assert n.angle.value == pytest.approx((np.degrees(np.arctan2(0.1, 0.5)) + 90) / 2)
    assert n.auc.value is None
    assert n.auc.reason
    assert (people.respondent, people.average_distance.value) == ("annotators", pytest.approx(0.2))
    assert people.average_distance.n == 4
    text = following_as_text(report)
    assert "1 person whose gaze leaves the image is excluded." in text
    assert "annotators" in following_as_markdown(report)


def test_evaluate_following_of_invalid_predictions_or_heat_maps_is_an_error(tmp_path: Path) -> None:
    with raises(OptionError, "unknown-image"):
        evaluate_following([target("a", (0.5, 0.5))], [FollowPrediction("m", "x", "1", (0.5, 0.5), None)])
    np.save(tmp_path / "a.npy", np.zeros(3))
    broken = FollowPrediction("m", "a", "1", (0.5, 0.5), tmp_path / "a.npy")
    with raises(InputError, "invalid-value:heatmap"):
        evaluate_following([target("a", (0.5, 0.5))], [broken])
    np.save(tmp_path / "a.npy", np.full((2, 2), np.nan))
    with raises(InputError, "invalid-value:heatmap"):
        evaluate_following([target("a", (0.5, 0.5))], [broken])
    plain = FollowPrediction("m", "a", "1", (0.5, 0.5), None)
    report = evaluate_following([target("a", (0.5, 0.6), size=None)], [plain])
    assert "--images" in (report.respondents[0].angle.reason or "")
