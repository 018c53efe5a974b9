"""Test the network, the training loop, and the effect of training on each image set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from PIL import Image

torch = pytest.importorskip("torch", reason="PyTorch is not installed: it comes with the local extra")

from spotball_adapters.gaze.training import loop, pictures as drawings  # noqa: E402
from spotball_adapters.gaze.training.loop import PictureTensors, in_memory, missed, train  # noqa: E402
from spotball_adapters.gaze.training.network import CELLS, TwoPaths, cut_out  # noqa: E402
from spotball_adapters.gaze.training.pictures import AGREE, DISAGREE, draw_set, read_set, validation_plans  # noqa: E402
from spotball_adapters.gaze.training.settings import Epoch, Schedule  # noqa: E402
from spotball_core.gaze.data.trials import Trial  # noqa: E402
from tests.adapters.gaze.made import stimulus  # noqa: E402

pytestmark = pytest.mark.slow

SIDE = 64


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Use one thread, because more threads are slower on small images."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PictureTensors]:
    """Return 600 small training images in two versions, and 300 test images."""
    folder = tmp_path_factory.mktemp("sets")
    plans = {**drawings.training_plans(600, 0), "other": validation_plans(300, 0)}
    for name, some in plans.items():
        draw_set(some, folder / name, size=SIDE, seed=0, jobs=2)
    return {name: in_memory(read_set(folder / name), (SIDE, SIDE)) for name in plans}


def some(pictures: PictureTensors, n: int) -> PictureTensors:
    return PictureTensors(pictures.stimuli[:n], pictures.images[:n], pictures.faces[:n], pictures.targets[:n])


def network(seed: int) -> TwoPaths:
    torch.manual_seed(seed)
    return TwoPaths(SIDE)


class TestLoss:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 2**32 - 1))
    def test_missed_equals_the_cross_entropy_computed_with_plain_loops(self, seed: int) -> None:
        generator = np.random.default_rng(seed)
        heatmap, target = generator.random((5, 7)) + 1e-3, generator.random(2)

        def weight(row: int, column: int) -> float:
            away = math.dist(((column + 0.5) / 7, (row + 0.5) / 5), target)
            return math.exp(-(away**2) / (2 * loop.SPREAD**2))

        blot = np.array([[weight(row, column) for column in range(7)] for row in range(5)])
        expected = -(blot / blot.sum() * np.log(heatmap / heatmap.sum())).sum()
        found = missed(torch.tensor(heatmap)[None], torch.tensor(target)[None])
        assert float(found) == pytest.approx(expected, rel=1e-6)
        # The scale of the heatmap does not matter.
        assert float(missed(torch.tensor(7 * heatmap)[None], torch.tensor(target)[None])) == pytest.approx(float(found))

    def test_missed_of_an_empty_heatmap_is_large_but_finite(self) -> None:
        found = missed(torch.zeros(1, 8, 8), torch.tensor([[0.5, 0.5]]))
        assert 50 < float(found) < math.inf


class TestNetwork:
    def test_two_paths_returns_heatmaps_that_sum_to_one(self) -> None:
        found = network(0)(torch.randn(3, 3, SIDE, SIDE), [None, (0.1, 0.1, 0.4, 0.5), (0.0, 0.0, 1.0, 1.0)])
        assert found.shape == (3, CELLS, CELLS)
        assert found.min() >= 0
        assert torch.allclose(found.sum((1, 2)), torch.ones(3))

    def test_two_paths_without_a_face_box_uses_the_whole_image(self) -> None:
        model, image = network(0).eval(), torch.randn(1, 3, SIDE, SIDE)
        assert torch.equal(model(image, [None]), model(image, [(0.0, 0.0, 1.0, 1.0)]))
        assert not torch.equal(model(image, [None]), model(image, [(0.2, 0.2, 0.6, 0.6)]))

    def test_cut_out_equals_a_slice_of_the_image(self) -> None:
        images = torch.randn(2, 3, 32, 32)
        boxes = torch.tensor([[0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.5, 0.5]])
        found = cut_out(images, boxes, 16)
        assert torch.allclose(found[0], images[0, :, 16:32, 8:24], atol=1e-5)
        assert torch.allclose(found[1], images[1, :, 0:16, 0:16], atol=1e-5)


class TestLoop:
    def test_train_lowers_the_learning_rate_along_a_half_cosine(self, sets: dict[str, PictureTensors]) -> None:
        few, schedule = some(sets[AGREE], 40), Schedule(epochs=4, batch=16, rate=1e-3, last_rate=1e-5)
        heard: list[Epoch] = []
        epochs = train(network(0), few, few, schedule, seed=0, device="cpu", on_progress=heard.append)
        expected = [1e-5 + (1e-3 - 1e-5) * (1 + math.cos(math.pi * k / 4)) / 2 for k in range(1, 5)]
        assert [one.rate for one in epochs[1:]] == pytest.approx(expected)
        assert (epochs[0].rate, epochs[0].loss) == (None, None)
        assert [one.epoch for one in heard] == [0, 1, 2, 3, 4]

    def test_train_is_reproducible_with_the_same_seed(self, sets: dict[str, PictureTensors]) -> None:
        few, schedule = some(sets[AGREE], 40), Schedule(epochs=2)
        first, again, other = (train(network(seed), few, few, schedule, seed=seed, device="cpu") for seed in (0, 0, 1))
        assert first == again != other

    def test_epoch_distance_is_the_mean_distance_of_the_predicted_points(self, sets: dict[str, PictureTensors]) -> None:
        few, model = some(sets[DISAGREE], 40), network(0)
        epochs = train(model, few, few, Schedule(epochs=1), seed=0, device="cpu")
        pairs = zip(loop.predicted(model, few, "cpu"), few.targets.tolist(), strict=True)
        away = np.mean([math.dist(one.point or (9, 9), target) for one, target in pairs])
        assert epochs[-1].distance == pytest.approx(away, rel=1e-5)

    def test_accuracy_by_condition_counts_missing_choices_as_wrong(self) -> None:
        stimuli = [stimulus(0), stimulus(1), stimulus(3)]
        trials = [Trial(respondent="x", stimulus_id=one.stimulus_id, choice=one.gaze_target) for one in stimuli]
        trials[1] = trials[1].model_copy(update={"choice": None})
        assert loop.accuracy_by_condition(trials, stimuli) == {"congruent": 1.0, "natural": 0.5}

    def test_in_memory_returns_the_normalized_pixels_and_targets_of_the_files(self, tmp_path: Path) -> None:
        draw_set(validation_plans(2, 1), tmp_path, size=32, seed=1)
        held = in_memory(read_set(tmp_path), (32, 32))
        for place, one in enumerate(held.stimuli):
            with Image.open(tmp_path / str(one.image)) as image:
                values = np.asarray(image) / 255
            expected = (values - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
            assert np.allclose(held.images[place].float().numpy().transpose(1, 2, 0), expected, atol=2e-3)
            assert one.points is not None
            assert held.targets[place].tolist() == pytest.approx(one.points[one.gaze])


@pytest.mark.parametrize("seed", [0, 1])
def test_head_bias_appears_after_training_with_agreeing_heads_and_eyes_and_vanishes_with_disagreeing_ones(
    sets: dict[str, PictureTensors], seed: int
) -> None:
    """Test the head bias after training. Chance is 1/3, and the margins are larger than the variation of runs."""
    schedule = Schedule(epochs=12, batch=16)
    agree, disagree = (
        train(network(seed), sets[name], sets["other"], schedule, seed=seed, device="cpu")[-1].accuracy
        for name in (AGREE, DISAGREE)
    )
    assert agree["congruent"] > 0.75
    assert agree["incongruent"] < 0.2
    assert agree["congruent"] > agree["natural"] + 0.15
    assert disagree["incongruent"] > agree["incongruent"] + 0.3
    assert disagree["congruent"] - disagree["incongruent"] < 0.2
    assert disagree["natural"] > agree["natural"]
