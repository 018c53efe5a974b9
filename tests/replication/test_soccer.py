"""Test that scoring the published soccer data reproduces figures of the paper and of the release's analysis."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from spotball_core import Counts, ScoreReport, import_release, read_counts, score
from spotball_core.io.dataset import read_dataset
from spotball_core.schema import GroupScore
from tests.replication.small import read_rows

pytestmark = pytest.mark.real

STANDARD: Mapping[str, Mapping[str, float | tuple[float, float]]] = {
    "human": {
        "accuracy": 1441 / 7500,
        "euclidean_error": (113.35966159, 65.12715942),
        "near_player_rate": 0.83226667,
        "overlap_rate": 0.63586667,
        "center_ratio": 1.10506667,
        "normalized_entropy": 0.81722128,
    },
    "gemini": {
        "accuracy": 81 / 1000,
        "euclidean_error": (145.38072328, 66.48636184),
        "wasserstein": (101.75991392, 37.22812777),
        "near_player_rate": 0.83367140,
        "overlap_rate": 0.73630832,
        "center_ratio": 1.59818859,
        "normalized_entropy": 0.81102893,
    },
}
"""Results of the standard policy, rounded to 8 digits; a pair is a value and its standard deviation."""


@pytest.fixture(scope="module")
def dataset(real_release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("soccer") / "dataset"
    import_release(real_release).write(folder)
    return folder


@pytest.fixture(scope="module")
def standard(dataset: Path) -> ScoreReport:
    return score(dataset, reference="human", bootstrap=200)


@pytest.fixture(scope="module")
def paper(dataset: Path) -> ScoreReport:
    return score(dataset, policy="paper", reference="human", bootstrap=0)


def value(group: GroupScore, metric: str) -> float:
    found = group.metrics[metric].value
    assert found is not None
    return found


class TestStandardPolicy:
    @pytest.mark.parametrize(("respondent", "counts"), [("human", (50, 7500, 0)), ("gemini", (50, 1000, 14))])
    def test_standard_scores_equal_the_recorded_values(
        self, standard: ScoreReport, respondent: str, counts: tuple[int, int, int]
    ) -> None:
        group = standard.group(respondent)
        assert (group.n_images, group.n_responses, group.n_unparsed) == counts
        for name, expected in STANDARD[respondent].items():
            of_metric = group.metrics[name]
            found = (of_metric.value, of_metric.sd) if isinstance(expected, tuple) else of_metric.value
            assert found == pytest.approx(expected, abs=5.1e-9), name

    def test_standard_report_scores_people_and_gemini_on_50_shared_images_and_warns_of_uneven_responses(
        self, standard: ScoreReport
    ) -> None:
        assert [(group.sport, group.respondent, group.kind, group.prompt) for group in standard.groups] == [
            ("soccer", "human", "human", "base"),
            ("soccer", "gemini", "model", "cot"),
        ]
        assert standard.group("human").metrics["wasserstein"].reason == "is the reference"
        assert standard.policy.images == "shared"
        assert "|images:shared50|ref:human|" in standard.signature
        assert standard.provenance.dropped["controls"] == 2
        (warning,) = standard.warnings
        assert warning == (
            "soccer: the number of responses per image ranges from 20 to 150, which affects some metrics. Compare "
            "groups by their matched versions, such as `wasserstein_matched`"
        )

    def test_intervals_contain_the_values_and_people_have_lower_errors_than_the_model(
        self, standard: ScoreReport
    ) -> None:
        for group in standard.groups:
            for name in ("accuracy", "euclidean_error", "near_player_rate", "overlap_rate", "center_ratio"):
                interval = group.metrics[name].ci95
                assert interval is not None
                assert interval[0] < value(group, name) < interval[1], name
        human, gemini = standard.group("human"), standard.group("gemini")
        for name in ("euclidean_error", "expected_error", "energy_score", "log_score", "brier_score"):
            assert value(human, name) < value(gemini, name), name

    @pytest.mark.slow
    def test_bootstrap_over_participants_changes_intervals_but_not_values(
        self, dataset: Path, standard: ScoreReport
    ) -> None:
        report = score(dataset, reference="human", bootstrap=50, cluster="participant")
        human, gemini = report.group("human"), report.group("gemini")
        for name, found in standard.group("human").metrics.items():
            same = None if found.value is None else pytest.approx(found.value, rel=1e-12)
            assert human.metrics[name].value == same
        by_person, by_image = (one.metrics["euclidean_error"].ci95 for one in (human, standard.group("human")))
        assert by_person is not None
        assert by_image is not None
        # Errors vary less between people than between images.
        assert by_person[1] - by_person[0] < (by_image[1] - by_image[0]) / 2
        assert gemini.metrics["euclidean_error"].ci95 is not None
        assert report.provenance.data == standard.provenance.data


class TestPaperPolicy:
    def test_paper_policy_reproduces_the_error_center_ratio_and_entropy_of_people(
        self, real_release: Path, paper: ScoreReport
    ) -> None:
        human = paper.group("human")
        found = human.metrics["euclidean_error"]
        assert f"{found.value:.2f} ± {found.sd:.2f}" == "113.36 ± 65.13"
        center_bias = read_rows(real_release / "data/analysis/center_bias/center_bias_soccer.csv")
        (row,) = [row for row in center_bias if row["model"] == "human"]
        assert value(human, "center_ratio") == pytest.approx(float(row["central_ratio"]), abs=1e-9)
        assert value(human, "center_ratio") == pytest.approx(1.1642666666666666, abs=1e-9)
        assert value(human, "normalized_entropy") == pytest.approx(float(row["normalized_entropy"]), abs=1e-9)
        assert value(human, "normalized_entropy") == pytest.approx(0.8172212837875619, abs=1e-9)

    def test_paper_policy_reproduces_the_released_accuracies(self, real_release: Path, paper: ScoreReport) -> None:
        accuracies = read_rows(real_release / "data/processed/accuracy_by_condition.csv")
        expected = {(row["model"] or "human"): row for row in accuracies}
        assert set(expected) == {"human", "gemini"}
        for respondent, row in expected.items():
            accuracy = paper.group(respondent).metrics["accuracy"]
            assert f"{accuracy.value:.4f}" == f"{float(row['accuracy']):.4f}"
            assert accuracy.value == pytest.approx(int(row["n_correct"]) / int(row["n_responses"]), abs=1e-9)
            assert (accuracy.n_images or paper.group(respondent).n_images) == int(row["n_images"])

    def test_paper_policy_includes_controls_for_models(self, paper: ScoreReport) -> None:
        assert {group.respondent: group.n_images for group in paper.groups} == {"human": 50, "gemini": 52}
        wasserstein = paper.group("gemini").metrics["wasserstein"]
        assert (wasserstein.n_images, wasserstein.reason) == (50, "2 images with a visible ball are excluded")
        assert wasserstein.value == pytest.approx(101.75991392, abs=5.1e-9)


def test_score_of_merged_counts_equals_score_of_the_dataset(dataset: Path, standard: ScoreReport) -> None:
    read = read_dataset(dataset)
    each = [read_counts(file, read.scenes) for file in read.response_files]
    assert score(Counts.merge(each), read.scenes, reference="human", bootstrap=200) == standard
