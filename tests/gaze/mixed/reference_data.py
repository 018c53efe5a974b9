"""Write synthetic data to compare our fits with lme4's glmer: `python -m tests.gaze.mixed.reference_data FOLDER`.

Then `Rscript tests/gaze/mixed/reference.R FOLDER tests/gaze/mixed/reference.json` fits the models. Only uniform random
numbers are used, because NumPy may change its other distributions. The digest of each table is saved with R's results.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A table and the model to fit to it."""

    table: pl.DataFrame
    terms: tuple[str, ...]
    groups: tuple[str, ...]
    weights: bool = False
    offset: bool = False
    means: tuple[str, ...] = ()
    """Factors whose estimated marginal means are compared."""
    at: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Values of the covariates in `means`."""
    slope: str | None = None
    slope_by: str | None = None

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.table.write_csv().encode()).hexdigest()


VIEWS = np.array(["front", "left", "right"])


def _normal(draw: np.random.Generator, size: int, sd: float) -> Array:
    return np.asarray(sd * ndtri(draw.random(size)))


def _crossed(
    draw: np.random.Generator, *, stimuli: int, prompts: int, sds: tuple[float, float, float], keep: float = 1.0
) -> tuple[pl.DataFrame, Array]:
    """Return trials of every stimulus with every prompt, and the sum of the random effects per trial."""
    objects = np.arange(stimuli) * 13 // stimuli
    view, proximity, distance = (np.floor(3 * draw.random(stimuli)).astype(int) for _ in range(3))
    effects = [_normal(draw, size, sd) for size, sd in zip((stimuli, prompts, 13), sds, strict=True)]
    stimulus, prompt = (index.ravel() for index in np.mgrid[:stimuli, :prompts])
    kept = draw.random(stimulus.size) < keep
    stimulus, prompt = stimulus[kept], prompt[kept]
    table = pl.DataFrame(
        {
            "stimulus": [f"s{i}" for i in stimulus],
            "prompt": [f"p{i}" for i in prompt],
            "objects": [f"o{i}" for i in objects[stimulus]],
            "view": VIEWS[view[stimulus]],
            "proximity": proximity[stimulus] + 1.0,
            "distance": distance[stimulus].astype(float),
        }
    )
    return table, effects[0][stimulus] + effects[1][prompt] + effects[2][objects[stimulus]]


def _answers(draw: np.random.Generator, table: pl.DataFrame, eta: Array) -> pl.DataFrame:
    return table.with_columns(y=pl.Series((draw.random(eta.size) < expit(eta)).astype(float)))


def _shares(draw: np.random.Generator, table: pl.DataFrame, eta: Array, trials: NDArray[np.int64]) -> pl.DataFrame:
    successes = (draw.random((eta.size, trials.max())) < expit(eta)[:, None]) & (
        np.arange(trials.max()) < trials[:, None]
    )
    return table.with_columns(y=pl.Series(successes.sum(axis=1) / trials), trials=pl.Series(trials.astype(float)))


def _column(table: pl.DataFrame, name: str) -> Array:
    return table[name].to_numpy()


def _one() -> Case:
    draw = np.random.default_rng(1)
    table, effects = _crossed(draw, stimuli=60, prompts=12, sds=(1.0, 0.0, 0.0))
    x = pl.Series(draw.random(len(table)) - 0.5)
    eta = -0.4 + 0.8 * x.to_numpy() + effects
    return Case(_answers(draw, table.with_columns(x=x), eta), ("x",), ("stimulus",), slope="x")


def _binary(
    simulated: dict[str, Any], fixed: Callable[[Array, Array, Array], Array], groups: tuple[str, ...], **model: Any
) -> Case:
    """Return a case with binary responses, and fixed effects of view, proximity and distance."""
    draw = np.random.default_rng(simulated["seed"])
    table, effects = _crossed(draw, **{name: value for name, value in simulated.items() if name != "seed"})
    eta = fixed(*(_column(table, name) for name in ("view", "proximity", "distance"))) + effects
    return Case(_answers(draw, table, eta), groups=groups, **model)


def _weights() -> Case:
    draw = np.random.default_rng(8)
    table, effects = _crossed(draw, stimuli=110, prompts=8, sds=(0.7, 0.3, 0.0), keep=0.8)
    trials = 1 + np.floor(3 * draw.random(len(table))).astype(np.int64)
    eta = -0.2 + 0.5 * (_column(table, "view") == "left") - 0.2 * _column(table, "proximity") + effects
    compared = {"means": ("view", "proximity"), "at": {"proximity": (1.0, 2.0, 3.0)}}
    return Case(_shares(draw, table, eta, trials), ("view", "proximity"), _TWO, weights=True, **compared)


def _offset() -> Case:
    draw = np.random.default_rng(9)
    table, effects = _crossed(draw, stimuli=140, prompts=8, sds=(0.6, 0.4, 0.0))
    trials = 1 + np.floor(3 * draw.random(len(table))).astype(np.int64)
    offset = np.round(logit(0.2 + 0.5 * draw.random(len(table))), 6)
    eta = offset + 0.2 + 0.3 * _column(table, "distance") + effects
    shares = _shares(draw, table, eta, trials).with_columns(chance=pl.Series(offset))
    return Case(shares, ("distance", "view"), _TWO, weights=True, offset=True, means=("view",))


def _main_shares() -> Case:
    draw = np.random.default_rng(13)
    table, effects = _crossed(draw, stimuli=1360, prompts=16, sds=(0.8, 0.2, 0.3))
    trials = 1 + np.floor(3 * draw.random(1360)).astype(np.int64).repeat(16)
    offset = np.round(logit(0.3 + 0.4 * draw.random(1360)), 6).repeat(16)
    distance, proximity = _column(table, "distance"), _column(table, "proximity")
    eta = offset - 0.2 + 0.2 * distance + 0.15 * proximity - 0.1 * distance * proximity + effects
    shares = _shares(draw, table, eta, trials).with_columns(chance=pl.Series(offset))
    return Case(shares, ("distance*proximity", "view"), _THREE, weights=True, offset=True)


_TWO = ("stimulus", "prompt")
_THREE = ("stimulus", "prompt", "objects")
_INTERACTION = (
    {"seed": 10, "stimuli": 160, "prompts": 10, "sds": (0.8, 0.3, 0.0), "keep": 0.7},
    lambda view, proximity, distance: 0.3 * distance + (view == "front") * (0.5 - 0.6 * distance) - 0.3 * proximity,
    _TWO,
)
_BINARY: dict[str, tuple[Any, ...]] = {
    "two groups": (
        {"seed": 2, "stimuli": 120, "prompts": 16, "sds": (0.9, 0.4, 0.0)},
        lambda view, proximity, distance: -0.3 - 0.3 * proximity + 0.7 * (view == "front"),
        _TWO,
        {"terms": ("proximity", "view"), "means": ("view",), "slope": "proximity"},
    ),
    "three groups": (
        {"seed": 3, "stimuli": 200, "prompts": 16, "sds": (0.8, 0.3, 0.5)},
        lambda view, proximity, distance: 0.2 - 0.4 * proximity,
        _THREE,
        {"terms": ("proximity",), "slope": "proximity"},
    ),
    "nearly singular": (
        {"seed": 36, "stimuli": 150, "prompts": 16, "sds": (0.7, 0.08, 0.0)},
        lambda view, proximity, distance: 0.5 - 0.3 * proximity,
        _TWO,
        {"terms": ("proximity",)},
    ),
    "singular": (
        {"seed": 5, "stimuli": 130, "prompts": 16, "sds": (0.8, 0.0, 0.0)},
        lambda view, proximity, distance: 0.5 - 0.3 * proximity,
        _THREE,
        {"terms": ("proximity",)},
    ),
    # The stimulus almost determines the response.
    "wide": (
        {"seed": 7, "stimuli": 150, "prompts": 16, "sds": (3.0, 0.3, 0.0)},
        lambda view, proximity, distance: 0.3 + 0.4 * distance,
        _TWO,
        {"terms": ("distance",)},
    ),
    "interaction": (
        *_INTERACTION,
        {"terms": ("view*distance", "distance*proximity"), "means": ("view",), "slope": "distance", "slope_by": "view"},
    ),
    "no interaction": (*_INTERACTION, {"terms": ("view", "distance", "proximity")}),
    "categories": (
        {"seed": 11, "stimuli": 180, "prompts": 16, "sds": (1.1, 0.3, 0.0)},
        lambda view, proximity, distance: np.array([0.8, 0.1, 0.0])[distance.astype(int)],
        _TWO,
        {"terms": ("C(distance)", "proximity"), "means": ("distance",)},
    ),
    # There are as many trials as in the main study.
    "main study": (
        {"seed": 12, "stimuli": 1360, "prompts": 16, "sds": (1.0, 0.25, 0.0)},
        lambda view, proximity, distance: -0.5 - 0.25 * (proximity - 2) + 0.4 * (view == "front"),
        _TWO,
        {"terms": ("view*proximity",), "means": ("view",), "slope": "proximity", "slope_by": "view"},
    ),
}

CASES: dict[str, Callable[[], Case]] = {
    **{name: partial(_binary, *parts, **model) for name, (*parts, model) in _BINARY.items()},
    "one group": _one,
    "weights": _weights,
    "offset": _offset,
    "main study, shares": _main_shares,
}


def _formula(case: Case) -> str:
    terms = [term.replace("C(", "factor(").replace("*", " * ") for term in case.terms]
    groups = [f"(1 | {group})" for group in case.groups]
    return "y ~ " + " + ".join(terms + groups + ["offset(chance)"] * case.offset)


def write(folder: Path) -> None:
    """Write the table of each case and the model that R fits to it."""
    cases = []
    for name, make in CASES.items():
        case = make()
        case.table.write_csv(folder / f"{name}.csv")
        same = ("digest", "weights", "means", "at", "slope", "slope_by")
        cases.append({"name": name, "formula": _formula(case)} | {field: getattr(case, field) for field in same})
    (folder / "cases.json").write_text(json.dumps(cases, indent=1), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
