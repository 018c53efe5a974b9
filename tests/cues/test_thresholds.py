"""Test the threshold fit against scores at grid points and values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from spotball_core.cues.thresholds import TAUS, THETAS, threshold_surface
from spotball_core.errors import OptionError
from spotball_core.schema import Scene, ScorePolicy
from spotball_core.scoring.groups import Scoring
from spotball_core.scoring.score import load_counts
from tests.failures import raises
from tests.stats.build import counts_of, drawn, scene, scenes, scoring_of, varied_scenes


@pytest.mark.slow
def test_threshold_surface_at_grid_points_equals_scores_with_the_same_thresholds() -> None:
    rng = np.random.default_rng(0)
    known = [*varied_scenes(12), scene("no boxes", players=None), scene("nobody", players=[])]
    wide = {"width": 1280, "height": 720}
    known = [Scene.model_validate(one.model_dump() | (wide if i % 3 else {})) for i, one in enumerate(known)]
    counts = counts_of(known, {"a/base": drawn(rng, 14, 9), "b/cot": drawn(rng, 14, 40)})
    surface = threshold_surface(Scoring(counts, known, ScorePolicy.standard(bootstrap=0)))
    for tau, theta in ((0.04, 0.01), (0.08, 0.02), (0.2, 0.2), (0.13, 0.07)):
        policy = ScorePolicy.standard(tau=tau, theta=theta, bootstrap=0, by=())
        metrics = Scoring(counts, known, policy).report().groups[0].metrics
        i, j = list(surface.taus).index(tau), list(surface.thetas).index(theta)
        assert surface.near[i] == pytest.approx(metrics["near_player_rate"].value, abs=1e-12)
        assert surface.overlap[j] == pytest.approx(metrics["overlap_rate"].value, abs=1e-12)
        assert surface.objective[i, j] == pytest.approx((surface.near[i] + surface.overlap[j]) / 2)
    assert surface.n_responses == 12 * (9 + 40)


def test_threshold_surface_includes_distances_equal_to_the_threshold() -> None:
    """Check a center exactly 32 px from a box: a threshold of 32 / diagonal includes it, a smaller one does not.

    The box covers 0.1 of the area of B2: its whole width and a tenth of its height.
    """
    known = [scene(1, players=[[64.0, 0.0, 128.0, 66.0]])]
    diagonal = known[0].layout.diagonal
    mass = np.zeros((1, 60))
    mass[0, [0, 11]] = 3.0, 1.0  # A1, B2
    scoring = scoring_of(known, {"a/base": mass})
    near = 32 / diagonal
    surface = threshold_surface(scoring, taus=[near * 0.999, near], thetas=[0.05, 0.1, 0.101])
    assert surface.near.tolist() == [0.25, 1.0]
    assert surface.overlap.tolist() == [0.25, 0.25, 0.0]
    assert surface.objective.tolist() == [[0.25, 0.25, 0.125], [0.625, 0.625, 0.5]]
    assert surface.best == (near, 0.1)
    assert surface.plateau.tolist() == [[False, False, False], [True, True, False]]


def test_threshold_objective_on_the_default_grid_increases_with_tau_and_decreases_with_theta() -> None:
    assert (TAUS[0], TAUS[-1], len(TAUS)) == (0.04, 0.2, 17)
    assert (THETAS[0], THETAS[-1], len(THETAS)) == (0.01, 0.2, 20)
    rng = np.random.default_rng(1)
    for seed in range(5):
        surface = threshold_surface(scoring_of(varied_scenes(6, seed=seed), {"a/base": drawn(rng, 6, 20)}))
        assert (np.diff(surface.objective, axis=0) >= 0).all()
        assert (np.diff(surface.objective, axis=1) <= 0).all()
        assert surface.objective.max() == surface.objective[-1, 0]
        assert surface.plateau[-1, 0]
        np.testing.assert_array_equal(surface.plateau, surface.objective >= 0.99 * surface.objective.max())


def test_threshold_surface_uses_only_scored_images() -> None:
    known = [scene(1), scene(2, control=True), scene(3)]
    mass = np.zeros((3, 60))
    mass[:, 59] = [2.0, 5.0, 4.0]
    other = mass.copy()
    other[2] = 0.0
    scoring = scoring_of(known, {"a/base": mass, "human/base": other}, reference="human")
    assert threshold_surface(scoring).n_responses == 4.0


@pytest.mark.parametrize("taus", [[], [0.1, 0.1], [0.2, 0.1], [0.0, 0.1], [0.5, 1.1], [[0.1]]])
def test_threshold_surface_with_invalid_thresholds_is_an_error(taus: list[float]) -> None:
    scoring = scoring_of(scenes(1), {"a/base": np.ones((1, 60))})
    with raises(OptionError, "invalid-option:taus"):
        threshold_surface(scoring, taus=taus)
    with raises(OptionError, "invalid-option:thetas"):
        threshold_surface(scoring, thetas=taus)


def test_threshold_surface_without_player_boxes_is_an_error() -> None:
    with raises(OptionError, "no-data"):
        threshold_surface(scoring_of(scenes(2, players=None), {"a/base": np.ones((2, 60))}))


@pytest.mark.real
def test_thresholds_of_the_paper_are_not_on_the_plateau_for_soccer(real_release: object) -> None:
    from spotball_core.release.convert import import_release

    release = import_release(str(real_release))
    counts, known = load_counts(release.responses, release.scenes, participants=False)
    surface = threshold_surface(Scoring(counts, known, ScorePolicy.standard(reference="human", bootstrap=0)))
    assert surface.n_responses == 7500 + 986
    assert surface.best == (0.2, 0.01)
    chosen = (list(surface.taus).index(0.08), list(surface.thetas).index(0.02))
    assert not surface.plateau[chosen]
