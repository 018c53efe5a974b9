from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_core.errors import InputError, OptionError
from spotball_core.gaze.follow.annotations import (
    FollowPrediction,
    FollowTarget,
    read_gazefollow,
    read_predictions,
    read_video_attention,
)
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


def test_distances_and_angles_of_gaze_points_equal_values_computed_by_hand() -> None:
    points = [[0.2, 0.5], [0.4, 0.5]]
    assert average_distance([0.3, 0.9], points) == pytest.approx(0.4)
    assert minimum_distance([0.5, 0.5], points) == pytest.approx(0.1)
    # In an image that is twice as wide as high, a step of (0.1, 0.2) in fractions of the size is diagonal in pixels.
    assert direction([0.5, 0.5], [0.6, 0.7], (200, 100)) == pytest.approx(45)
    assert angle([0.5, 0.5], [0.6, 0.7], [[0.6, 0.3]], (200, 100)) == pytest.approx(90)
    assert angle([0.5, 0.5], [0.4, 0.501], [[0.4, 0.499]], (100, 100)) < 2


def test_auc_equals_the_share_of_correctly_ordered_pixel_pairs_and_invalid_targets_are_errors() -> None:
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


def test_gazefollow_auc_and_video_attention_auc_are_high_only_if_the_peak_is_at_the_target() -> None:
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
    assert "1 person whose gaze leaves the image is excluded." in following_as_text(report)
    assert "annotators" in following_as_markdown(report)


def test_evaluate_following_of_invalid_predictions_or_heat_maps_is_an_error(tmp_path: Path) -> None:
    with raises(OptionError, "unknown-image"):
        evaluate_following([target("a", (0.5, 0.5))], [FollowPrediction("m", "x", "1", (0.5, 0.5), None)])
    broken = FollowPrediction("m", "a", "1", (0.5, 0.5), tmp_path / "a.npy")
    for heatmap in (np.zeros(3), np.full((2, 2), np.nan)):
        np.save(tmp_path / "a.npy", heatmap)
        with raises(InputError, "invalid-value:heatmap"):
            evaluate_following([target("a", (0.5, 0.5))], [broken])
    plain = FollowPrediction("m", "a", "1", (0.5, 0.5), None)
    report = evaluate_following([target("a", (0.5, 0.6), size=None)], [plain])
    assert "--images" in (report.respondents[0].angle.reason or "")


# Annotations in the format of GazeFollow: two annotators of one person, and another person in the same image.
GAZEFOLLOW = """\
test2/0.jpg,1,0.1,0.2,0.3,0.4,0.25,0.30,0.5,0.6,10,20,30,40,source,meta
test2/0.jpg,2,0.1,0.2,0.3,0.4,0.25,0.30,0.7,0.6,10,20,30,40,source,meta
test2/0.jpg,3,0.5,0.2,0.3,0.4,0.75,0.30,-1,-1,60,20,80,40,source,meta
"""


def test_read_gazefollow_collects_the_points_of_all_annotators_of_each_person(tmp_path: Path) -> None:
    path = tmp_path / "test.txt"
    path.write_text("\ufeff" + GAZEFOLLOW, encoding="utf-8")
    first, second = read_gazefollow(path, lambda image: (100, 50))
    assert (first.image, first.person, first.head, first.eye) == ("test2/0.jpg", "1", (10, 20, 30, 40), (0.25, 0.3))
    assert first.points == ((0.5, 0.6), (0.7, 0.6))
    assert first.size == (100, 50)
    assert (second.person, second.points) == ("2", ())


def test_read_video_attention_converts_pixels_to_fractions_of_the_frame(tmp_path: Path) -> None:
    clip = tmp_path / "Show" / "1_2"
    clip.mkdir(parents=True)
    (clip / "s00.txt").write_text("0001.jpg,10,20,30,40,60,25\n0002.jpg,10,20,30,40,-1,-1\n", encoding="utf-8")
    first, second = read_video_attention(tmp_path, lambda image: (120, 50))
    assert (first.image, first.person) == ("Show/1_2/0001.jpg", "s00")
    assert first.points == ((0.5, 0.5),)
    assert first.eye == pytest.approx((20 / 120, 30 / 50))
    assert second.points == ()
    with raises(OptionError, "missing-value"):
        read_video_attention(tmp_path, lambda image: None)
    with raises(InputError, "wrong-folder:file"):
        read_video_attention(tmp_path / "none", lambda image: (1, 1))


@pytest.mark.parametrize(
    ("read", "text", "where", "value"),
    [
        (read_gazefollow, "a,1,2\n", "missing-column:row:1", " 3 "),
        (read_gazefollow, GAZEFOLLOW.replace("0.5,0.6", "0.5,high"), "invalid-value:gaze_y:1", "'high'"),
        (read_predictions, "image,x\na,0.5\n", "missing-column:y:1", "image, x"),
        (read_predictions, "image,x,y\na,0.5,1.5\n", "invalid-value:x, y:2", "0.5, 1.5"),
        (read_predictions, "image,x,y\na,0.5,0.5\na,0.5,0.5\n", "duplicate:row:3", "p.csv"),
        (read_predictions, "image,x,y\na,,0.5\n", "invalid-value:x:2", "''"),
        (read_predictions, "x,y,image\n0.5,0.5\n", "missing-value:image:2", "p.csv"),
    ],
)
def test_read_gazefollow_or_read_predictions_of_an_invalid_file_is_an_error(
    tmp_path: Path, read: Any, text: str, where: str, value: str
) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text, encoding="utf-8")
    with raises(InputError, where) as caught:
        read(path)
    assert value in str(caught.value)


def test_read_predictions_uses_the_file_name_as_default_respondent_and_1_as_default_person(tmp_path: Path) -> None:
    path = tmp_path / "model.csv"
    path.write_text("image,x,y,heatmap\na,0.5,0.25,maps/a.npy\nb,0,1,\n", encoding="utf-8")
    a, b = read_predictions(path)
    assert (a.respondent, a.person, a.point, a.heatmap) == ("model", "1", (0.5, 0.25), tmp_path / "maps/a.npy")
    assert b.heatmap is None
