"""Test the noise ceiling of predictions against values computed by hand, bounds, and the true distribution."""

from __future__ import annotations

import numpy as np
import pytest

from spotball_core import Grid
from spotball_core.cues.explainable import explainable_gain
from spotball_core.typing import FloatArray

GRID = Grid.standard()
ROW = Grid(1, 4, 40, 10)


def peaked(n_images: int, seed: int) -> FloatArray:
    """Return distributions with a broad peak at a random cell; the shape is (n_images, 60)."""
    rng = np.random.default_rng(seed)
    peaks = rng.integers(0, 60, n_images)
    p = np.exp(-((GRID.cell_distances[peaks] / 1.5) ** 2) / 2)
    shares: FloatArray = p / p.sum(axis=-1, keepdims=True)
    return shares


def test_explainable_gain_of_equal_guesses_is_nearly_the_maximum() -> None:
    mass = np.zeros((1, 3, 4))
    mass[0, [0, 1, 2], [0, 2, 3]] = 50
    assert explainable_gain(mass, ROW) / 50 == pytest.approx([2, 2, 2], abs=0.01)


def test_explainable_gain_of_single_guesses_is_not_above_zero() -> None:
    # Each image has a single guess, and the guesses on other images name other cells, so nothing predicts it.
    mass = np.eye(4)[None]
    assert (explainable_gain(mass, ROW) <= 1e-9).all()


def test_explainable_gain_excludes_other_guesses_of_the_same_participant() -> None:
    # On each image, each of two participants names one cell 10 times, and the two cells are far apart.
    mass = np.zeros((2, 4, 4))
    for image in range(4):
        mass[0, image, image] = mass[1, image, (image + 2) % 4] = 10
    # Only the other participant predicts a guess, by naming the cell on 1 of the 3 other images.
    assert explainable_gain(mass, ROW) / 20 == pytest.approx(np.full(4, np.log2(4 / 3)), abs=1e-5)
    # Without participants, the same guesses agree with each other: 2 of 4 cells, 1 bit.
    assert explainable_gain(mass.sum(axis=0)[None], ROW) / 20 == pytest.approx(np.full(4, 1.0), abs=0.1)


@pytest.mark.parametrize(("guesses", "tolerance"), [(150, 0.08), (1000, 0.02)])
def test_explainable_gain_approaches_the_true_gain_from_below(guesses: int, tolerance: float) -> None:
    p = peaked(60, 1)
    mass = np.random.default_rng(2).multinomial(guesses, p).astype(float)
    truth = (p * np.log2(60 * p)).sum(axis=-1).mean()
    found = explainable_gain(mass[None], GRID).sum() / mass.sum()
    assert truth - tolerance < found < truth + 0.01


def test_explainable_gain_increases_with_the_number_of_guesses() -> None:
    p = peaked(60, 1)
    found = []
    for guesses in (3, 10, 50):
        mass = np.random.default_rng(2).multinomial(guesses, p).astype(float)
        found.append(explainable_gain(mass[None], GRID).sum() / mass.sum())
    assert found == sorted(found)
