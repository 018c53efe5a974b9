"""Test that scores of arrays equal those of files, and that scikit-learn can use them as scorers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from spotball_core import Grid, baseline_responses, read_counts, score, score_arrays, scorer, synthetic_scenes
from spotball_core.errors import DistributionError, GridError, OptionError, SpotballError
from spotball_core.metrics.registry import METRICS
from spotball_core.schema import ScorePolicy
from spotball_core.scoring.groups import Scoring
from tests.failures import raises

SCENES = tuple(scene for scene in synthetic_scenes(40, seed=3) if not scene.control)
GRID = Grid.standard()
LABELS = list(GRID.labels)


def arrays(baseline: str, samples: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    rows = baseline_responses(SCENES, [baseline], samples=samples, seed=0)
    places = {scene.key: i for i, scene in enumerate(SCENES)}
    mass = np.zeros((len(SCENES), 60))
    for sport, image, cell in rows.select("sport", "image", "cell").iter_rows():
        mass[places[sport, image], LABELS.index(cell)] += 1
    return mass


def boxes() -> np.ndarray[Any, np.dtype[np.float64]]:
    most = max(len(scene.boxes) for scene in SCENES)
    return np.stack(
        [np.pad(scene.boxes, ((0, most - len(scene.boxes)), (0, 0)), constant_values=np.nan) for scene in SCENES]
    )


def test_score_arrays_equals_the_scores_of_score() -> None:
    counts = read_counts(baseline_responses(SCENES, ["center"], samples=10, seed=0), SCENES) + read_counts(
        baseline_responses(SCENES, ["oracle"], samples=30, seed=0), SCENES
    )
    report = score(counts, SCENES, reference="oracle", by=["respondent"], bootstrap=0)
    (group,) = [one for one in report.groups if one.respondent == "center"]
    truth = np.stack([scene.layout.mask(scene.ball_cells or ()) for scene in SCENES])
    found = score_arrays(arrays("center", 10), truth, reference=arrays("oracle", 30), players=boxes())
    assert list(found) == list(METRICS)
    assert found == pytest.approx({key: group.metrics[key].value for key in METRICS}, rel=1e-12)
    assert Scoring(counts, SCENES, ScorePolicy.standard(reference="oracle")).groups


def test_score_arrays_returns_only_metrics_whose_inputs_are_given() -> None:
    found = score_arrays(["D5", None], ["D5", "D6"])
    assert {key for key in METRICS if METRICS[key].needs in ((), ("truth",))} == set(found)
    assert (found["accuracy"], found["euclidean_error"]) == (0.5, 0.0)
    assert np.isnan(score_arrays(["D5"], [None])["accuracy"])
    # A data frame and a series are also accepted.
    truth, guesses = pd.Series(["D5", "D6"]), pd.DataFrame({"D5": [0.5, 0.5], "D6": [0.5, 0.5]})
    assert score_arrays(guesses, truth)["accuracy"] == 0.5


def test_score_arrays_with_sample_weight_equals_repeated_images() -> None:
    weighted = score_arrays(["D5", "D5", "B1"], ["D5", "D6", "A1"], sample_weight=[2, 0, 1])
    # With a single response per image, matched metrics are NaN.
    assert weighted == pytest.approx(score_arrays(["D5", "D5", "B1"], ["D5", "D5", "A1"]), nan_ok=True)


@pytest.mark.parametrize(
    ("call", "error", "where"),
    [
        ({"metrics": ["f1"]}, OptionError, "unknown-name"),
        ({"metrics": ["wasserstein"]}, OptionError, "missing-option"),
        ({"metrics": ["overlap_rate"]}, OptionError, "missing-option"),
        ({"reference": ["D5"]}, DistributionError, "wrong-shape:reference"),
        ({"sample_weight": [1]}, DistributionError, "wrong-shape:sample_weight"),
        ({"sample_weight": 1}, DistributionError, "wrong-shape:sample_weight"),
        ({"sample_weight": [[1], [1]]}, DistributionError, "wrong-shape:sample_weight"),
        ({"truth": ["D5"]}, DistributionError, "wrong-shape:guesses"),
        ({"guesses": np.ones(60), "truth": ["D5"]}, DistributionError, "wrong-shape:guesses"),
        ({"guesses": ["D5"], "truth": []}, DistributionError, "wrong-shape:guesses"),
        ({"guesses": [], "truth": ["D5"]}, DistributionError, "wrong-shape:guesses"),
    ],
)
def test_score_arrays_with_unusable_arguments_raises_an_error(
    call: dict[str, Any], error: type[SpotballError], where: str
) -> None:
    with raises(error, where):
        score_arrays(**{"guesses": ["D5", "D5"], "truth": ["D5", "D6"], **call})


class Nearest:
    """Predict the shares of cells in the training set as probabilities."""

    def fit(self, X: object, y: list[str]) -> Nearest:
        self.classes_, counts = np.unique(y, return_counts=True)
        self._shares = counts / counts.sum()
        return self

    def predict_proba(self, X: list[object]) -> np.ndarray[Any, Any]:
        return np.tile(self._shares, (len(X), 1))


class Labels:
    """Predict only labels, without probabilities."""

    def predict(self, X: list[object]) -> list[str]:
        return ["D5"] * len(X)


def test_scorer_accepts_probabilities_or_labels_applies_sample_weight_and_negates_errors() -> None:
    known = Nearest().fit([0, 1, 2, 3], ["D5", "D5", "D5", "D7"])
    assert scorer("accuracy")(known, [0, 1], ["D5", "D7"]) == 0.5
    assert scorer("euclidean_error")(known, [0], ["D5"]) == -32.0
    assert scorer("accuracy")(Labels(), [0, 1], ["D5", "D6"]) == 0.5
    truth, weights = ["D5", "D7", "A1"], [3.0, 1.0, 0.0]
    for key, sign in (("accuracy", 1), ("euclidean_error", -1)):
        expected = score_arrays(["D5"] * 3, truth, metrics=[key], sample_weight=weights)[key]
        assert scorer(key)(Labels(), [0, 1, 2], truth, sample_weight=weights) == sign * expected
        assert scorer(key)(Labels(), [0, 1, 2], truth) != sign * expected


@pytest.mark.parametrize("grid", [None, Grid(4, 8, 1280, 720)])
def test_scorer_can_be_pickled(grid: Grid | None) -> None:
    made = scorer("euclidean_error", grid=grid)
    made(Labels(), [0], ["D6"])
    copy = pickle.loads(pickle.dumps(made))
    assert copy == made
    assert copy(Labels(), [0], ["D6"]) == made(Labels(), [0], ["D6"]) < 0


def _search(**options: Any) -> Any:
    """Return a grid search over two numbers of neighbors (1 is better), its data, and weights of the images."""
    sklearn = pytest.importorskip("sklearn", reason="needs scikit-learn")
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.neighbors import KNeighborsClassifier

    truth = np.tile(["D5", "D6", "A1", "F10"], 15)
    images = np.array([GRID.position(label) for label in truth]) + np.random.default_rng(0).normal(
        size=(60, 2), scale=0.3
    )
    images[::5] = images[1::5]  # These images look like images with other labels.
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 40]}, cv=KFold(3), **options)
    return sklearn, search, images, truth, np.where(np.arange(60) % 5 == 0, 4.0, 1.0)


@pytest.mark.slow
def test_scorers_work_in_a_grid_search_with_two_processes_or_several_metrics() -> None:
    _, search, images, truth, _ = _search(scoring=scorer("euclidean_error"), n_jobs=2)
    search.fit(images, truth)
    assert search.best_params_ == {"n_neighbors": 1}
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() < 0
    metrics = ("accuracy", "energy_score")
    _, search, images, truth, _ = _search(scoring={key: scorer(key) for key in metrics}, refit="energy_score")
    search.fit(images, truth)
    assert all(np.isfinite(search.cv_results_[f"mean_test_{key}"]).all() for key in metrics)


def test_scorer_receives_sample_weight_in_a_grid_search_if_requested() -> None:
    weighted = scorer("accuracy").set_score_request(sample_weight=True)
    assert pickle.loads(pickle.dumps(weighted)) == weighted
    sklearn, search, images, truth, weights = _search(scoring=weighted)
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(images, truth, sample_weight=weights)
        expected = []
        for train, test in search.cv.split(images):
            model = sklearn.base.clone(search.estimator).set_params(n_neighbors=1).fit(images[train], truth[train])
            expected.append(scorer("accuracy")(model, images[test], truth[test], sample_weight=weights[test]))
        assert [search.cv_results_[f"split{number}_test_score"][0] for number in range(3)] == expected
        search.set_params(scoring=scorer("accuracy").set_score_request(sample_weight=False))
        search.fit(images, truth)
        assert search.cv_results_["split0_test_score"][0] != expected[0]
        search.set_params(scoring=scorer("accuracy").set_score_request(sample_weight="other"))
        search.fit(images, truth, other=weights)
        assert [search.cv_results_[f"split{number}_test_score"][0] for number in range(3)] == expected
        search.set_params(scoring=scorer("accuracy"))
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            search.fit(images, truth, sample_weight=weights)


@pytest.mark.parametrize(
    ("key", "where"),
    [
        ("near_player_rate", "missing-option"),
        ("wasserstein", "missing-option"),
        ("center_ratio", "invalid-option"),
        ("image_entropy", "invalid-option"),
    ],
)
def test_scorer_of_an_unsuitable_metric_raises_option_error(key: str, where: str) -> None:
    with raises(OptionError, where):
        scorer(key)


def test_score_arrays_excludes_masked_images() -> None:
    truth = np.array([GRID.mask([cell]) for cell in ("C4", "C5", "D5")])
    guesses, boxes = np.eye(3, 60) * 5 + 1, np.array([[[0, 0, 200, 200]]] * 3, dtype=float)
    mask = np.zeros((3, 60), dtype=bool)
    mask[1] = True
    reference = guesses[::-1] + 1
    found = score_arrays(np.ma.array(guesses, mask=mask), truth, players=np.ma.array(boxes), reference=reference)
    kept = [0, 2]
    expected = score_arrays(guesses[kept], truth[kept], players=boxes[kept], reference=reference[kept])
    # Pooled metrics use the truth of all images, including images without answers.
    # The random draws of matched metrics for an image depend on the images before it.
    pooled = {"center_ratio", "symmetric_center_bias"} | {key for key in METRICS if METRICS[key].is_matched}
    assert {key: value for key, value in found.items() if key not in pooled} == pytest.approx(
        {key: value for key, value in expected.items() if key not in pooled}
    )
    with raises(DistributionError, "invalid-distribution:sample_weight"):
        score_arrays(guesses, truth, sample_weight=np.ma.array([1, 1, 1], mask=[0, 0, 1]))
    with raises(GridError, "invalid-grid:boxes"):
        score_arrays(guesses, truth, players=np.ma.masked_equal(boxes, 200))
