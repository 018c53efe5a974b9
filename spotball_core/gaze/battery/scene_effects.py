r"""Run the tests Proximity and View: whether wrongness is higher for closer objects and for photos from a side.

Wrongness is the number of steps between choice and gaze target, divided by `reach`, the largest possible number of
steps. The model treats each choice as a binomial response: `wrongness * reach` steps of error out of `reach` possible
steps. The offset is the logit of the wrongness expected under uniform guessing, so no variable has an effect for a
respondent that guesses:

$$\mathrm{logit}\,E[W_i] = \mathrm{logit}\,E_0[W_i] + \mathrm{proximity}_i * \mathrm{view}_i * \mathrm{objects}_i + u$$

Proximity and the number of objects are centered, $a * b$ stands for the effects of a and b and their interaction, and
$u$ are the random intercepts. The tests use trials of the natural and the congruent condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.gaze.battery.findings import Finding, Key, no_answer, tested
from spotball_core.gaze.battery.modeling import Modeled, by_stimulus, by_t_test, indicators, model
from spotball_core.gaze.mixed import marginal_means, pairwise, slopes
from spotball_core.gaze.plain_tests import regression_slope, welch

if TYPE_CHECKING:
    import polars as pl

FULL = ("center(proximity)*view*center(n_objects)",)
PLAIN = ("center(proximity)", "view", "center(n_objects)")


def proximity_and_view(rows: pl.DataFrame, *, alpha: float = 0.05, printed: bool = False) -> dict[Key, Finding]:
    """Run the tests Proximity and View with one model, and return their findings by key.

    Args:
        rows: a respondent's trials of all conditions, from `measures.with_measures`.
        alpha: level of the likelihood-ratio test of the interactions, which decides whether the reported coefficients
            include them. The p value of the finding does not depend on it.
        printed: whether to use the model as printed in the paper: without dispersion.
    """
    import polars as pl

    of_these = rows.filter(pl.col("condition") != "incongruent")
    matched = of_these.filter(pl.col("wrongness").is_not_null())
    left_out = len(of_these) - len(matched)
    counts: dict[str, Any] = {
        "n_trials": len(matched),
        "n_left_out": left_out,
        "n_stimuli": matched["stimulus_id"].n_unique(),
    }
    if matched.is_empty():
        reason = "no choice in the natural or the congruent condition matches an object"
        return {"proximity": no_answer("proximity", reason), "view": no_answer("view", reason)}
    fitted = model(
        matched,
        "wrongness",
        FULL,
        PLAIN,
        trials="reach",
        expected=matched["expected_wrongness"].to_numpy(),
        alpha=alpha,
        dispersed=not printed,
    )
    photos = by_stimulus(matched, excess=pl.col("wrongness") - pl.col("expected_wrongness"))
    return {
        "proximity": _proximity(matched, photos, fitted).model_copy(update=counts),
        "view": _view(matched, photos, fitted).model_copy(update=counts),
    }


def _proximity(rows: pl.DataFrame, photos: pl.DataFrame, fitted: Modeled) -> Finding:
    if rows["proximity"].n_unique() < 2:
        return no_answer("proximity", "all photos have the same proximity")
    if fitted.fit is None or fitted.problem:
        covariates: list[ArrayLike] = [photos["n_objects"], *indicators(photos["view"])]
        estimate = regression_slope(photos["proximity"], photos["excess"], covariates)
        return by_t_test(
            *("proximity", fitted, estimate),
            lambda slope: (
                f"Each step of proximity {'raises' if slope > 0 else 'lowers'} wrongness by {abs(slope):.3f}."
            ),
            scale="wrongness per step of proximity",
        )
    slope = slopes(fitted.fit, "proximity").row(0, named=True)
    by = ("view", "proximity") if "view" in fitted.fit.design.variables else ("proximity",)
    return tested(
        "proximity",
        f"Each step of proximity multiplies the odds of wrongness by {np.exp(slope['estimate']):.3g}.",
        estimate=slope["estimate"],
        ci95=(slope["low"], slope["high"]),
        scale="log odds of wrongness per step of proximity",
        p=slope["p"],
        method=fitted.method,
        numbers={"z": slope["z"], "se": slope["se"], "means": marginal_means(fitted.fit, by).table.to_dicts()},
        models=fitted.records,
    )


def _view(rows: pl.DataFrame, photos: pl.DataFrame, fitted: Modeled) -> Finding:
    import polars as pl

    views = rows["view"].unique().sort().to_list()
    if "front" not in views or len(views) < 2:
        return no_answer("view", "there are no photos from the front, or none from a side")
    if fitted.fit is None or fitted.problem:
        estimate = welch(
            *(photos.filter(side)["excess"] for side in (pl.col("view") != "front", pl.col("view") == "front"))
        )
        return by_t_test(
            *("view", fitted, estimate),
            lambda more: f"Wrongness is {abs(more):.3f} {_more(more)} in views from the side than from the front.",
            scale="wrongness: views from the side minus view from the front",
        )
    means = marginal_means(fitted.fit, ["view"])
    order = means.table["view"].to_list()
    weights = np.array([-1.0 if view == "front" else 1 / (len(order) - 1) for view in order])
    difference = float(weights @ means.table["estimate"].to_numpy())
    se = float(np.sqrt(weights @ means.covariance @ weights))
    from scipy.stats import norm

    half = float(norm.ppf(0.975)) * se
    return tested(
        "view",
        f"The odds of wrongness in views from the side are {np.exp(difference):.3g} times those from the front.",
        estimate=difference,
        ci95=(difference - half, difference + half),
        scale="log odds of wrongness: views from the side minus view from the front",
        p=float(2 * norm.sf(abs(difference / se))),
        method=fitted.method,
        numbers={
            "z": difference / se,
            "se": se,
            "means": means.table.to_dicts(),
            "pairs": pairwise(means, adjust="tukey").to_dicts(),
        },
        models=fitted.records,
    )


def _more(estimate: float) -> str:
    return "higher" if estimate > 0 else "lower"
