r"""Run Tests 2.4 and 3: whether choices are farther from a target if the eyes look farther from the head target.

$$\mathrm{logit}\,E[D_i] = \mathrm{logit}\,E_0[D_i] + \mathrm{DistEyeHead}_i * \mathrm{proximity}_i + \mathrm{view}_i +
\mathrm{place}_i + u$$

D is the distance of the choice from the gaze target (wrongness, Test 2.4) or from the head target (DistToHeadTarget,
Test 3), as a share of the largest possible number of steps from that target. $E_0[D]$ is its expectation under uniform
guessing, $u$ are the random intercepts, and $a * b$ stands for the effects of a and b and their interaction. Place is a
factor: the number of objects, and whether that target is at an end of the row of objects or inside. Targets at an end
allow larger distances, so an error of one step is a smaller share of the largest possible distance. Without the factor
place, the eyes would seem to affect a noisy observer who follows only the head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.gaze.battery.findings import Finding, Key, no_answer, tested
from spotball_core.gaze.battery.modeling import by_stimulus, by_t_test, indicators, model
from spotball_core.gaze.mixed import marginal_means, slopes
from spotball_core.gaze.plain_tests import regression_slope

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Distance:
    """A measure of how far choices are from a target, as a share of the largest possible distance.

    Attributes:
        key: key of the test.
        column: name of the column with the distance, as a share of the largest possible distance.
        steps: name of the column with the largest possible distance, in steps between objects.
        expected: name of the column with the distance expected under uniform guessing.
        target: the target from which the distance is measured: `gaze` or `head`.
        title: name to use for the distance in sentences.
    """

    key: Key
    column: str
    steps: str
    expected: str
    target: str
    title: str


def with_place(rows: pl.DataFrame, target: str) -> pl.DataFrame:
    """Add the column `place`, such as "4 end": the number of objects, and whether the target is at an end of the row.

    Args:
        rows: trials.
        target: the target whose position is used: `gaze` or `head`.
    """
    import polars as pl

    at_end = (pl.col(target) == 0) | (pl.col(target) == pl.col("n_objects") - 1)
    where = pl.when(at_end).then(pl.lit("end")).otherwise(pl.lit("inside"))
    return rows.with_columns(place=pl.format("{} {}", "n_objects", where))


def grows_with_distance(
    rows: pl.DataFrame, distance: Distance, *, alpha: float = 0.05, printed: bool = False
) -> Finding:
    """Test whether choices are farther from a target if the eyes look farther from the head target (Test 2.4 or 3).

    Args:
        rows: a respondent's trials of all conditions, from `measures.with_measures`.
        distance: the tested distance: from the gaze target in Test 2.4, from the head target in Test 3.
        alpha: level of the likelihood-ratio test of the interactions, which decides whether the reported coefficients
            include them. The p value of the finding does not depend on it.
        printed: whether to use the model as printed in the paper: without place and dispersion.
    """
    import polars as pl

    others = ("view",) if printed else ("view", "place")
    controlled = with_place(rows.filter(pl.col("condition") != "natural"), distance.target)
    matched = controlled.filter(pl.col("choice").is_not_null())
    counts: dict[str, Any] = {
        "n_trials": len(matched),
        "n_left_out": len(controlled) - len(matched),
        "n_stimuli": matched["stimulus_id"].n_unique(),
    }
    if matched["dist_eye_head"].n_unique() < 2:
        return no_answer(
            distance.key, "the distance between gaze target and head target is the same in all photos", **counts
        )
    means = matched.group_by("dist_eye_head").agg(
        mean=pl.col(distance.column).mean(), expected=pl.col(distance.expected).mean(), n=pl.len()
    )
    numbers = {"by_distance": means.sort("dist_eye_head").to_dicts()}
    fitted = model(
        matched,
        distance.column,
        ("center(dist_eye_head)*center(proximity)", *others),
        ("center(dist_eye_head)", "center(proximity)", *others),
        trials=distance.steps,
        expected=matched[distance.expected].to_numpy(),
        alpha=alpha,
        dispersed=not printed,
    )
    if fitted.fit is None or fitted.problem:
        excess = pl.col(distance.column) - pl.col(distance.expected)
        photos = by_stimulus(matched, excess=excess)
        covariates: list[ArrayLike] = [
            photos["proximity"],
            *(part for name in others for part in indicators(photos[name])),
        ]
        estimate = regression_slope(photos["dist_eye_head"], photos["excess"], covariates)
        return by_t_test(
            *(distance.key, fitted, estimate),
            lambda change: (
                f"Each step of distance between eyes and head (DistEyeHead) changes {distance.title} by {change:+.3f}."
            ),
            scale=f"{distance.title} per step of distance between eyes and head",
            numbers=numbers,
            **counts,
        )
    slope = slopes(fitted.fit, "dist_eye_head").row(0, named=True)
    factor = np.exp(slope["estimate"])
    if "proximity" in fitted.fit.design.variables:
        numbers["by_proximity"] = slopes(fitted.fit, "dist_eye_head", ["proximity"]).to_dicts()
    numbers["means"] = marginal_means(fitted.fit, ["dist_eye_head"]).table.to_dicts()
    return tested(
        distance.key,
        f"Each step of distance between eyes and head (DistEyeHead) multiplies the odds of {distance.title} by "
        f"{factor:.3g}.",
        estimate=slope["estimate"],
        ci95=(slope["low"], slope["high"]),
        scale=f"log odds of {distance.title} per step of distance between eyes and head",
        p=slope["p"],
        method=fitted.method,
        numbers=numbers | {"z": slope["z"], "se": slope["se"]},
        models=fitted.records,
        **counts,
    )
