"""Define metrics in another package, one of each kind, as the how-to shows."""

from __future__ import annotations

import numpy as np

from spotball_core.extend import MeanOverResponses, Pooled, Sums, metric


@metric(
    key="toy_top_half",
    title="Share in the top half",
    symbol="TH",
    unit="share",
    direction="like the reference",
    family="strategy",
    highest=1.0,
    over=MeanOverResponses,
    options=lambda data: {"grid": data.grid},
)
def share_in_top_half(mass, grid):
    """Compute the share of responses in the upper half of the image, for each image."""
    rows = np.arange(grid.n_cells) // grid.cols
    total = mass.sum(axis=-1)
    return np.where(total > 0, mass[..., rows < grid.rows / 2].sum(axis=-1) / np.maximum(total, 1), np.nan)


@metric(
    key="toy_overlap",
    title="Overlap with the reference",
    symbol="OV",
    unit="share",
    direction="higher",
    needs=("reference",),
    family="alignment",
    highest=1.0,
    by_size=True,
)
def overlap(mass, reference):
    """Compute one minus the total variation distance from the reference, for each image."""
    p, q = (m / np.maximum(m.sum(axis=-1, keepdims=True), 1e-300) for m in (mass, reference))
    return np.where(mass.any(axis=-1) & reference.any(axis=-1), np.minimum(p, q).sum(axis=-1), np.nan)


@metric(
    key="toy_affinity",
    title="Affinity with the truth",
    symbol="BC",
    unit="ratio",
    direction="like the reference",
    needs=("truth",),
    family="strategy",
    highest=1.0,
    aggregate=Pooled(lambda data: affinity),
)
def affinity(pooled_guesses, pooled_truth):
    """Compute the Bhattacharyya coefficient of pooled guesses and pooled ground truth."""
    p, q = (m / m.sum(axis=-1, keepdims=True) for m in (pooled_guesses, pooled_truth))
    return np.sqrt(p * q).sum(axis=-1)


@metric(
    key="toy_player_distance",
    title="Distance from players",
    symbol="PD",
    unit="px",
    direction="like the reference",
    needs=("players",),
    family="strategy",
    aggregate=Sums(lambda data: _squares(data.mass, data.players, data.grid), over="responses", grows=2),
)
def rms_player_distance(mass, players, grid):
    """Compute the root mean square distance of guesses from the nearest center of a player's box, in pixels."""
    sums, combine = _squares(mass, players, grid)
    return combine(sums.sum(axis=-2))


def _squares(mass, players, grid):
    centers = (players[:, :, :2] + players[:, :, 2:]) / 2
    distances = np.linalg.norm(grid.centers[None, :, None] - centers[:, None], axis=-1)
    nearest = np.where(np.isnan(distances), np.inf, distances).min(axis=-1, initial=np.inf)
    known = np.isfinite(nearest).all(axis=-1)
    squares = np.where(np.isfinite(nearest), nearest, 0) ** 2
    sums = np.stack([(mass * squares).sum(axis=-1), mass.sum(axis=-1), mass.any(axis=-1)], axis=-1)
    return sums * known[:, None], lambda added: np.sqrt(added[..., 0] / np.maximum(added[..., 1], 1e-300))
