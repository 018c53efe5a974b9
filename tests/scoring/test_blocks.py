"""Test that scoring in blocks of images equals scoring all images at once, and that respondents share the noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from spotball_core import METRICS
from spotball_core.metrics import sampling, strategy
from spotball_core.metrics.metric import Statistic
from spotball_core.scoring import estimates, groups
from spotball_core.scoring.estimates import SceneArrays
from spotball_core.typing import FloatArray
from tests.stats.build import drawn, scoring_of, varied_scenes


def answers(n: int, most: int = 12) -> dict[str, FloatArray]:
    rng = np.random.default_rng(n)
    return {"human/base": drawn(rng, n, 2 * most), "m/base": drawn(rng, n, most), "other/base": drawn(rng, n, most)}


@pytest.mark.parametrize("most", [12, 700, 10**10])
def test_metrics_without_draws_are_equal_in_blocks_of_any_size(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check counts that are stored with one, two and more bytes."""
    reports = []
    for block in (1000, 4):
        monkeypatch.setattr(estimates, "IMAGES_AT_ONCE", block)
        monkeypatch.setattr(estimates, "_SUMMED_AT_ONCE", block)
        monkeypatch.setattr(estimates, "_AT_ONCE", 30 * block)
        scoring = scoring_of(varied_scenes(11), answers(11, most), reference="human", bootstrap=150)
        reports.append(scoring.report())
    for one, other in zip(*(report.groups for report in reports), strict=True):
        for key, value in one.metrics.items():
            if METRICS[key].is_matched and key != "image_entropy_matched":
                continue
            again = other.metrics[key]
            assert (again.n_images, again.reason) == (value.n_images, value.reason)
            numbers = [[each.value or 0.0, each.sd or 0.0, *(each.ci95 or ())] for each in (value, again)]
            assert numbers[1] == pytest.approx(numbers[0], rel=1e-9, abs=1e-12), key


def test_matched_metrics_in_blocks_agree_within_the_noise_of_their_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for block in (1000, 7):
        monkeypatch.setattr(estimates, "IMAGES_AT_ONCE", block)
        scoring = scoring_of(varied_scenes(60), answers(60), reference="human", bootstrap=50)
        found.append(scoring.report().groups[1].metrics)
    for key in (key for key, metric in METRICS.items() if metric.is_matched):
        one, other = found[0][key], found[1][key]
        assert abs((one.value or 0) - (other.value or 0)) <= (one.se or 0), key
    assert found[0]["wasserstein_matched"].value != found[1]["wasserstein_matched"].value


def test_report_of_blocks_computed_by_another_function_is_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (estimates, groups):
        monkeypatch.setattr(module, "IMAGES_AT_ONCE", 4)
    choices: dict[str, Any] = {"reference": "human", "bootstrap": 20}
    alone, shared = (scoring_of(varied_scenes(11), answers(11), **choices) for _ in "ab")
    sent = []

    def run(work: Any, blocks: Any) -> Any:
        sent.extend(blocks)
        done = {number: work(block) for number, block in reversed([*enumerate(sent)])}
        return [done[number] for number in range(len(sent))]

    expected = alone.report()
    shared.compute_with(run)
    # The report only combines what was computed.
    monkeypatch.delattr(estimates, "statistics_of")
    assert shared.report() == expected
    assert [len(data) for _, data in sent] == [4, 4, 4]


def test_respondents_share_the_noise_of_the_reference_without_a_change_of_values() -> None:
    scoring = scoring_of(varied_scenes(6), answers(6), reference="human", bootstrap=0)
    together = scoring.report().groups
    # Both respondents have the same number of responses, so that there is one entry per distance; uniform guessing has
    # no number of responses, which is taken as half of the reference's.
    n_distances = sum(metric.is_matched and "reference" in metric.needs for metric in METRICS.values())
    assert len(scoring.noise) == n_distances
    for group, expected in zip(scoring.groups[1:], together[1:], strict=True):
        alone = scoring_of(varied_scenes(6), answers(6), reference="human", bootstrap=0)
        assert alone.score(group)[0].metrics == expected.metrics


def test_shared_noise_is_not_used_for_another_reference_or_number_of_responses() -> None:
    rng, noise = np.random.default_rng(3), dict[object, FloatArray]()

    def gap(p: FloatArray, q: FloatArray) -> FloatArray:
        shares = (m / m.sum(axis=-1, keepdims=True) for m in (p, q))
        return np.asarray(np.abs(np.subtract(*shares)).sum(axis=-1))

    for n, k in ((6, 20), (6, 20), (8, 20), (6, 24)):
        sides = drawn(rng, 5, n, cells=6), drawn(np.random.default_rng(k), 5, k, cells=6)
        shared = sampling.SharedDraws(noise=noise)
        expected = sampling.distance_sums(gap, *sides, seed=0, draws=3)
        found = sampling.distance_sums(gap, *sides, seed=0, draws=3, shared=shared, name="gap")
        np.testing.assert_array_equal(found, expected)
    assert len(noise) == 3


def test_joined_statistics_keep_every_number() -> None:
    rng = np.random.default_rng(0)
    for most in (1, 255, 256, 70_000, 2**33, 0.5):
        parts = [rng.integers(0, math.ceil(most), (4, 3)) + most % 1 for _ in "ab"]
        statistics = [
            Statistic(part.astype(float), lambda sums: sums[..., 0], np.ones(4, bool), np.ones(4), 0, None)
            for part in parts
        ]
        joined = Statistic.joined(statistics)
        np.testing.assert_array_equal(joined.sums, np.concatenate(parts))
        assert joined.total() == np.concatenate(parts)[:, 0].sum()
        assert joined.leave_one_out().tolist() == (joined.total() - np.concatenate(parts)[:, 0]).tolist()


def test_masks_of_all_scenes_equal_those_of_each_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    known = varied_scenes(30, seed=4)
    monkeypatch.setattr(estimates, "_BLOCK", 200)
    arrays = SceneArrays(known, tau=0.1, theta=0.05)
    for place, scene in enumerate(known):
        near, has_players = strategy.near_player_mask(scene, scene.layout, tau=0.1)
        assert (arrays.near[place] == near).all()
        assert arrays.has_players[place] == has_players
        assert (arrays.overlap[place] == strategy.overlap_mask(scene, scene.layout, theta=0.05)[0]).all()


def test_score_warns_about_distances_with_a_large_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    people = drawn(rng, 12, 300)
    of_people = np.stack([rng.multivariate_hypergeometric(row.astype(int), 40) for row in people]).astype(float)
    known, far = varied_scenes(12), np.zeros((12, 60))
    far[:, 0] = 40
    choices: dict[str, Any] = {"reference": "human", "bootstrap": 100}
    near = scoring_of(known, {"human/base": people, "m/base": of_people}, **choices).report()
    value = near.groups[1].metrics["wasserstein_matched"]
    assert (value.se or 0) > abs(value.value or 0) / 3
    assert any("`wasserstein_matched`" in text and "standard error" in text for text in near.warnings)
    report = scoring_of(known, {"human/base": people, "m/base": far}, **choices).report()
    assert not any("standard error" in text for text in report.warnings)
    assert groups.LARGE_ERROR == 1 / 3
