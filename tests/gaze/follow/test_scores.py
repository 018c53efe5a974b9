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


def test_distances_by_hand() -> None:
    points = [[0.2, 0.5], [0.4, 0.5]]
    assert average_distance([0.3, 0.9], points) == pytest.approx(0.4)
    assert minimum_distance([0.5, 0.5], points) == pytest.approx(0.1)


def test_angles_are_of_pixels() -> None:
    """In an image twice as wide as high, (0.1, 0.2) in shares is a diagonal."""
    assert direction([0.5, 0.5], [0.6, 0.7], (200, 100)) == pytest.approx(45)
    assert angle([0.5, 0.5], [0.6, 0.7], [[0.6, 0.3]], (200, 100)) == pytest.approx(90)
    assert angle([0.5, 0.5], [0.4, 0.501], [[0.4, 0.499]], (100, 100)) < 2


def test_auc_is_the_probability_of_a_right_order() -> None:
    generator = np.random.default_rng(0)
    heatmap = generator.integers(0, 6, (7, 9)).astype(float)
    targets = generator.random((7, 9)) < 0.2
    pairs = heatmap[targets][:, None] - heatmap[~targets][None, :]
    assert auc(heatmap, targets) == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
    with pytest.raises(OptionError, match="shape"):
        auc(heatmap, targets[:3])
    with pytest.raises(OptionError, match="at least one target pixel"):
        auc(heatmap, np.zeros_like(targets))


def test_heat_maps_are_scaled_between_centers() -> None:
    ramp = np.array([[0.0, 1.0]])
    assert resized(ramp, (4, 2)).tolist() == [[0, 0.25, 0.75, 1]] * 2
    values = np.random.default_rng(1).random((5, 3))
    assert np.allclose(resized(values, (3, 5)), values)


def test_auc_of_the_benchmarks() -> None:
    at_corner = np.zeros((64, 64))
    at_corner[:10, :10] = 1
    # The patch around (0, 0) is 10 x 10 pixels.
    assert video_attention_auc(at_corner, [0.0, 0.0]) == 1
    assert video_attention_auc(at_corner, [0.9, 0.9]) < 0.5
    peak = np.zeros((8, 8))
    peak[2, 4] = 1
    # Points at the image's edge are in its last pixel.
    assert gazefollow_auc(peak, [[4.5 / 8, 2.5 / 8]], (80, 80)) > 0.99
    assert gazefollow_auc(peak, [[1.0, 1.0]], (80, 80)) < 0.5


def target(image: str, *points: tuple[float, float], size: tuple[int, int] | None = (100, 100)) -> FollowTarget:
    return FollowTarget(image, "1", (0, 0, 10, 10), (0.1, 0.1), points, size)


def test_respondents_and_annotators(tmp_path: Path) -> None:
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


def test_what_cannot_be_scored(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="the annotations do not contain image x, person 1"):
        evaluate_following([target("a", (0.5, 0.5))], [FollowPrediction("m", "x", "1", (0.5, 0.5), None)])
    np.save(tmp_path / "a.npy", np.zeros(3))
    broken = FollowPrediction("m", "a", "1", (0.5, 0.5), tmp_path / "a.npy")
    with pytest.raises(InputError, match=r"found shape \(3,\), expected a two-dimensional array"):
        evaluate_following([target("a", (0.5, 0.5))], [broken])
    np.save(tmp_path / "a.npy", np.full((2, 2), np.nan))
    with pytest.raises(InputError, match="found NaN or infinity, expected a two-dimensional array of finite numbers"):
        evaluate_following([target("a", (0.5, 0.5))], [broken])
    plain = FollowPrediction("m", "a", "1", (0.5, 0.5), None)
    report = evaluate_following([target("a", (0.5, 0.6), size=None)], [plain])
    assert "--images" in (report.respondents[0].angle.reason or "")
