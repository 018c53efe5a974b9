"""The noise ceiling of predictions: cases worked by hand, bounds, and the true distribution."""

from __future__ import annotations

import numpy as np
import pytest

from spotball_core import Grid
from spotball_core.cues.explainable import explainable_gain
from spotball_core.typing import FloatArray

GRID = Grid.standard()
ROW = Grid(1, 4, 40, 10)


def peaked(n_images: int, seed: int) -> FloatArray:
    """Distributions with a broad peak at a random place, shape (n_images, 60)."""
    rng = np.random.default_rng(seed)
    peaks = rng.integers(0, 60, n_images)
    p = np.exp(-((GRID.cell_distances[peaks] / 1.5) ** 2) / 2)
    shares: FloatArray = p / p.sum(axis=-1, keepdims=True)
    return shares


def test_guesses_that_agree_gain_nearly_everything() -> None:
    mass = np.zeros((1, 3, 4))
    mass[0, [0, 1, 2], [0, 2, 3]] = 50
    assert explainable_gain(mass, ROW) / 50 == pytest.approx([2, 2, 2], abs=0.01)


def test_a_guess_does_not_predict_itself() -> None:
    # Single guesses: nothing else is known about their images, and other images name other cells.
    mass = np.eye(4)[None]
    assert (explainable_gain(mass, ROW) <= 1e-9).all()


def test_guesses_of_a_participant_do_not_predict_each_other() -> None:
    # On each image, each of two participants names one cell 10 times, and the two cells are far apart.
    mass = np.zeros((2, 4, 4))
    for image in range(4):
        mass[0, image, image] = mass[1, image, (image + 2) % 4] = 10
    # The other participant names the cell in 1 of 3 other images, which is all that predicts a guess.
    assert explainable_gain(mass, ROW) / 20 == pytest.approx(np.full(4, np.log2(4 / 3)), abs=1e-5)
    # Without participants, the same guesses agree with each other: 2 of 4 cells, 1 bit.
    assert explainable_gain(mass.sum(axis=0)[None], ROW) / 20 == pytest.approx(np.full(4, 1.0), abs=0.1)


@pytest.mark.parametrize(("guesses", "tolerance"), [(150, 0.08), (1000, 0.02)])
def test_approaches_the_true_distribution_from_below(guesses: int, tolerance: float) -> None:
    p = peaked(60, 1)
    mass = np.random.default_rng(2).multinomial(guesses, p).astype(float)
    truth = (p * np.log2(60 * p)).sum(axis=-1).mean()
    found = explainable_gain(mass[None], GRID).sum() / mass.sum()
    assert truth - tolerance < found < truth + 0.01


def test_more_guesses_explain_more() -> None:
    p = peaked(60, 1)
    found = []
    for guesses in (3, 10, 50):
        mass = np.random.default_rng(2).multinomial(guesses, p).astype(float)
        found.append(explainable_gain(mass[None], GRID).sum() / mass.sum())
    assert found == sorted(found)
