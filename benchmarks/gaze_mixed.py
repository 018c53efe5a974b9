"""Claim: fitting a binomial mixed model to the 21,760 gaze trials of a respondent is at least 10 times faster than with
glmer from the R package lme4, with the same result. All fits that the tests of ten respondents need take less than 3
minutes.

The models have two or three crossed random intercepts. The synthetic responses are to 1,360 photos with 16 prompts
each. glmer has its default settings. If R and lme4 are installed, the benchmark also runs glmer, and checks that its
coefficients agree to 1e-3. Otherwise, it uses stored times of glmer, and the details name the machine and the day of
their measurement.

The second claim assumes 15 models per respondent. Each model starts with three random intercepts. One of these has no
variance and is dropped, so each model is fitted twice.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from measure import figure, in_turn
from numpy.typing import NDArray

from spotball_core.gaze.mixed import Fit, choose, design, fit, marginal_means

STIMULI, PROMPTS, OBJECTS = 1360, 16, 13
MODELS, RESPONDENTS = 15, 10
ROUNDS = 5

GLMER = {"binary outcome, two random intercepts": 7.6, "shares with an offset, three random intercepts": 11.0}
"""Seconds of one core that glmer took on the machine and date below, the minimum of two runs."""
GLMER_WHERE = "AMD EPYC, R 4.2.2, lme4 1.1-31 of Debian 12, 2026-11-22"

R = """
suppressMessages({library(lme4); library(jsonlite)})
table <- read.csv("trials.csv", stringsAsFactors = TRUE)
models <- fromJSON("models.json")
found <- lapply(models, function(model) {
  table$y <- table[[model[2]]]
  table$weight <- table[[model[3]]]
  seconds <- system.time(
    fit <- glmer(as.formula(model[1]), data = table, family = binomial, weights = weight)
  )[["elapsed"]]
  list(seconds = seconds, coefficients = unname(fixef(fit)))
})
write(toJSON(found, digits = 10), "found.json")
"""


class Model(NamedTuple):
    """A model that `fit` and glmer both fit."""

    response: str
    terms: tuple[str, ...]
    groups: tuple[str, ...]
    trials: str
    offset: bool

    @property
    def formula(self) -> str:
        """Return the formula in R's syntax."""
        terms = [term.replace("*", " * ") for term in self.terms] + [f"(1 | {group})" for group in self.groups]
        return "y ~ " + " + ".join(terms + ["offset(chance)"] * self.offset)

    def arguments(self, table: pl.DataFrame) -> dict[str, Any]:
        """Return the arguments for `fit` and `choose`."""
        return {
            "y": table[self.response].to_numpy(),
            "design": design(table, self.terms),
            "groups": {name: table[name].to_numpy() for name in self.groups},
            "weights": table[self.trials].to_numpy(),
            "offset": table["chance"].to_numpy() if self.offset else None,
        }


PLAIN = Model("right", ("view*proximity",), ("stimulus", "prompt"), "one", False)
SHARES = Model("wrongness", ("distance*proximity", "view"), ("stimulus", "prompt", "objects"), "most", True)
SINGULAR = Model("right", ("view*proximity",), ("stimulus", "prompt", "objects"), "one", False)
COMPARED = dict(zip(GLMER, (PLAIN, SHARES), strict=True))


def trials() -> pl.DataFrame:
    """Return synthetic trials. The combination of objects affects only the outcome `wrongness`."""
    draw = np.random.default_rng(3)
    stimulus, prompt = (index.ravel() for index in np.mgrid[:STIMULI, :PROMPTS])
    view, proximity, distance, most = (draw.integers(3, size=STIMULI)[stimulus] for _ in range(4))
    objects = draw.integers(OBJECTS, size=STIMULI)[stimulus]
    chance = draw.uniform(-0.8, 0.8, STIMULI)[stimulus]
    effects = draw.normal(size=STIMULI)[stimulus] + 0.25 * draw.normal(size=PROMPTS)[prompt]

    def probability(eta: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(1 / (1 + np.exp(-eta)))

    right = probability(-0.5 - 0.25 * proximity + 0.4 * (view == 0) + effects)
    wrong = probability(
        chance + 0.2 * distance - 0.1 * proximity - 0.7 * effects + 0.3 * draw.normal(size=OBJECTS)[objects]
    )
    return pl.DataFrame(
        {
            "stimulus": [f"s{i}" for i in stimulus],
            "prompt": [f"p{i}" for i in prompt],
            "objects": [f"o{i}" for i in objects],
            "view": np.array(["front", "left", "right"])[view],
            "proximity": proximity - 1.0,
            "distance": distance - 1.0,
            "chance": chance,
            "one": np.ones(len(stimulus)),
            "most": most + 1.0,
            "right": (draw.random(len(stimulus)) < right).astype(float),
            "wrongness": draw.binomial(most + 1, wrong) / (most + 1),
        }
    )


def fitted(model: Model, table: pl.DataFrame) -> Fit:
    """Fit one model."""
    return fit(**model.arguments(table))


def glmer(table: pl.DataFrame) -> tuple[dict[str, float], str]:
    """Return the seconds that glmer takes, and where they were measured. If glmer is run, check its results."""
    rscript = shutil.which("Rscript")
    if (
        not rscript
        or subprocess.run([rscript, "-e", "library(lme4); library(jsonlite)"], capture_output=True).returncode
    ):
        return GLMER, GLMER_WHERE
    with tempfile.TemporaryDirectory() as folder:
        table.write_csv(Path(folder) / "trials.csv")
        models = {name: (model.formula, model.response, model.trials) for name, model in COMPARED.items()}
        (Path(folder) / "models.json").write_text(json.dumps(models), encoding="utf-8")
        subprocess.run([rscript, "-e", R], cwd=folder, check=True, capture_output=True)
        found = json.loads((Path(folder) / "found.json").read_text(encoding="utf-8"))
    for name, model in COMPARED.items():
        np.testing.assert_allclose(fitted(model, table).coefficients, found[name]["coefficients"], atol=1e-3)
    return {name: float(each["seconds"][0]) for name, each in found.items()}, "in the same run"


def main() -> None:
    """Print the ratios, then the time for all respondents."""
    table = trials()
    theirs, where = glmer(table)
    mine = in_turn({name: partial(fitted, model, table) for name, model in COMPARED.items()}, ROUNDS)
    for name, seconds in mine.items():
        figure(
            f"speedup over glmer: {name}",
            theirs[name] / seconds,
            "times",
            at_least=10,
            note=f"{seconds:.2f} s, glmer: {theirs[name]:.1f} s ({where})",
        )
    start = time.perf_counter()
    for _ in range(MODELS):
        chosen = choose(**SINGULAR.arguments(table))
        assert chosen.groups == ("stimulus", "prompt"), chosen.dropped
        marginal_means(chosen.fit, ["view"])
    seconds = (time.perf_counter() - start) * RESPONDENTS
    note = f"{MODELS} models of one respondent were measured; their time is multiplied by {RESPONDENTS}"
    figure("fitting all models of ten respondents, one after the other", seconds, "s", below=180, note=note)


if __name__ == "__main__":
    main()
