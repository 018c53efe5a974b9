"""Test the checks of estimated poses: far keypoints, too few keypoints, and two poses of one body."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spotball_core.typing import FloatArray
from spotball_gen.poses.checks import CONFIDENT, SIGMAS, box_fit, checked, similarity
from spotball_gen.poses.estimator import Estimate, no_pose
from tests.builders import scene

BOX = (100.0, 50.0, 140.0, 150.0)
"""A box with a longer side of 100 pixels, so that keypoints are kept within 25 pixels around it."""


def pose(x: float = 120, y: float = 60) -> FloatArray:
    """Return a column of keypoints downward from a point, 5 pixels apart."""
    return np.array([[x + 3 * (place % 2), y + 5 * place, 0.9] for place in range(17)])


def estimate(*poses: FloatArray | None) -> Estimate:
    keypoints = no_pose(len(poses))
    for player, points in enumerate(poses):
        if points is not None:
            keypoints[player] = points
    return Estimate(keypoints, {player: "not detected" for player, points in enumerate(poses) if points is None})


def test_checked_keeps_valid_poses() -> None:
    players = [BOX, (300, 50, 340, 150), (400, 0, 420, 40)]
    given = estimate(pose(), pose(320), None)
    result = checked(given, scene("1", players=players))
    np.testing.assert_array_equal(result.keypoints, given.keypoints)
    assert result.failures == {2: "not detected"}


@pytest.mark.parametrize(
    ("x", "y", "kept"),
    [(76, 60, True), (74, 60, False), (164, 60, True), (166, 60, False), (120, 26, True), (120, 176, False)],
)
def test_checked_removes_keypoints_far_from_the_box(x: float, y: float, kept: bool) -> None:
    points = pose()
    points[9, :2] = x, y
    (result,) = checked(estimate(points), scene("1", players=[BOX])).keypoints
    assert result[9].tolist() == ([x, y, 0.9] if kept else [0, 0, 0])
    np.testing.assert_array_equal(np.delete(result, 9, axis=0), np.delete(points, 9, axis=0))


def test_checked_removes_keypoints_outside_the_image() -> None:
    """Check a player whose upper half is outside the image."""
    points = pose(y=-42)
    (result,) = checked(estimate(points), scene("1", players=[(100, 0, 140, 100)])).keypoints
    above = points[:, 1] < 0
    assert above.sum() == 9
    assert (result[above] == 0).all()
    np.testing.assert_array_equal(result[~above], points[~above])


@pytest.mark.parametrize(("n_confident", "kept"), [(3, True), (2, False)])
def test_checked_removes_poses_with_fewer_than_three_confident_keypoints(n_confident: int, kept: bool) -> None:
    points = pose()
    points[n_confident:, 2] = CONFIDENT - 0.01
    result = checked(estimate(points), scene("1", players=[BOX]))
    assert np.isnan(result.keypoints).all() == (not kept)
    assert result.failures == ({} if kept else {0: "too few keypoints near the box"})


def test_checked_keeps_one_of_two_poses_of_the_same_body() -> None:
    moved = pose() + np.array([1, 0, 0])
    behind, front = (110.0, 20.0, 160.0, 150.0), BOX
    assert box_fit(pose(), np.array(front)) > box_fit(moved, np.array(behind))
    for order in (1, -1):
        players, poses = [behind, front][::order], [moved, pose()][::order]
        result = checked(estimate(*poses), scene("1", players=players))
        lost = 0 if order == 1 else 1
        assert result.failures == {lost: "same body as another player"}
        assert np.isnan(result.keypoints).all(axis=(1, 2)).tolist() == [lost == 0, lost == 1]
    # The poses of neighboring players are kept.
    neighbors = [BOX, (115, 50, 155, 150)]
    assert checked(estimate(pose(), pose(137)), scene("1", players=neighbors)).failures == {}


def test_similarity_of_poses_equals_the_coco_formula() -> None:
    """Check against plain arithmetic over the keypoints that both poses have."""
    first, second = pose(), pose() + np.array([2, 1, 0])
    first[4, 2] = second[11, 2] = 0.1
    terms = [math.exp(-5 / (2 * 4000 * (2 * SIGMAS[place]) ** 2)) for place in range(17) if place not in (4, 11)]
    assert similarity(first, second[None], 4000.0)[0] == pytest.approx(sum(terms) / 15)
    # The nose, then pairs from the eyes to the ankles.
    pairs = (0.025, 0.035, 0.079, 0.072, 0.062, 0.107, 0.087, 0.089)
    assert SIGMAS.tolist() == [0.026, *(sigma for sigma in pairs for _ in range(2))]
    first[:, 2] = 0
    assert np.isnan(similarity(first, second[None], 4000.0)[0])


def test_checked_treats_nan_keypoints_as_not_detected_and_adds_missing_failure_reasons() -> None:
    """Check that a NaN keypoint counts as not detected, and that a player with only NaN keypoints gets a reason."""
    points = pose()
    points[3, 0] = np.nan
    keypoints = np.stack([points, no_pose(1)[0]])
    result = checked(Estimate(keypoints, {}), scene("1", players=[BOX, BOX]))
    assert result.keypoints[0, 3].tolist() == [0, 0, 0]
    assert result.failures == {1: "too few keypoints near the box"}


def test_checked_rounds_coordinates_and_confidences_in_single_and_double_precision() -> None:
    single = (pose() + np.array([0.1, 0.1, 0])).astype(np.float32)
    double = pose() + np.array([0.12345, 0.12345, 0.01234])
    for points, rounded in ((single, [120.1, 60.1, 0.9]), (double, [120.12, 60.12, 0.912])):
        (result,) = checked(Estimate(points[None], {}), scene("1", players=[BOX])).keypoints
        assert result[0].tolist() == rounded
