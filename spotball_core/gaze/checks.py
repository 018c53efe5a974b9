"""Run the paper's checks of response times, hints in prompts, and sites for one respondent."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.gaze.battery.findings import Method
from spotball_core.gaze.plain_tests import one_sample, regression_slope, welch
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval

if TYPE_CHECKING:
    import polars as pl

    from spotball_core.gaze.battery.modeling import Modeled


class Effect(Record):
    """Result of a check: an effect with its confidence interval and test.

    Attributes:
        of: what is compared, in words.
        estimate: the size of the effect.
        scale: what the estimate measures, in words.
        ci95: 95% confidence interval of the estimate; None if the tested values are all equal.
        p: two-sided p value.
        method: the method of the test.
        reason: why a t-test replaces the mixed model; empty if the model is used, or if the check has no model.
        n_trials: number of trials used.
        n_stimuli: number of photos used.
    """

    of: str
    estimate: float
    scale: str
    ci95: Interval | None
    p: float
    method: Method
    reason: str = ""
    n_trials: int
    n_stimuli: int


def hint_effect(rows: pl.DataFrame, hinted: Collection[str]) -> Effect | None:
    """Run a paired t-test over photos of whether accuracy differs between prompts with and without a hint.

    The test uses each photo's accuracy with the hinted prompts minus its accuracy with the other prompts, over trials
    of the natural and the congruent condition, as in section 4 of the gaze paper.

    Args:
        rows: a respondent's trials, from `measures.with_measures`.
        hinted: IDs of the prompts with the hint.

    Returns:
        The effect; None if fewer than two photos have both kinds of prompts.

    Raises:
        OptionError: if `hinted` is empty, contains all prompts of the trials, or contains an unknown prompt.
    """
    import polars as pl

    prompts = set(rows["prompt_id"])
    if not set(hinted) < prompts or not hinted:
        listed = ", ".join(sorted(prompts))
        raise OptionError(
            f"found {', '.join(sorted(hinted))}, expected some but not all of the prompts {listed}. Name "
            "only the prompts with the hint",
            field="--hinted",
        )
    of_these = rows.filter(pl.col("condition") != "incongruent")
    has_hint = pl.col("prompt_id").is_in(list(hinted))
    photos = of_these.group_by("stimulus_id", maintain_order=True).agg(
        difference=pl.col("correct").filter(has_hint).mean() - pl.col("correct").filter(~has_hint).mean()
    )
    test = one_sample(photos["difference"].drop_nulls())
    if test is None:
        return None
    return Effect(
        of=f"prompts with a hint ({', '.join(sorted(hinted))}) compared with prompts without one",
        estimate=test.estimate,
        scale="accuracy",
        ci95=test.ci95,
        p=test.p,
        method="t-test",
        n_trials=len(of_these),
        n_stimuli=test.n,
    )


def site_effect(rows: pl.DataFrame) -> tuple[Effect, ...]:
    """Test whether wrongness depends on the site where photos were taken, and thus on the background.

    The model is that of the tests Proximity and View without interactions, with the site as an additional factor (gaze
    paper, A.7.8). Each site is compared with the first site in sorted order.

    Args:
        rows: a respondent's trials, from `measures.with_measures`.

    Returns:
        One effect per site except the first; empty if there is only one site, or if the site of a photo is unknown.
        Sites for which neither the model nor a regression is possible are omitted.
    """
    import polars as pl

    from spotball_core.gaze.battery.modeling import by_stimulus, indicators, model
    from spotball_core.gaze.battery.scene_effects import PLAIN

    matched = rows.filter((pl.col("condition") != "incongruent") & pl.col("wrongness").is_not_null())
    if matched["scene"].null_count() or matched["scene"].n_unique() < 2:
        return ()
    fitted = model(
        matched, "wrongness", (*PLAIN, "scene"), trials="reach", expected=matched["expected_wrongness"].to_numpy()
    )
    first, *others = matched["scene"].unique().sort().to_list()
    photos = by_stimulus(matched, excess=pl.col("wrongness") - pl.col("expected_wrongness"))
    effects = []
    for place, site in enumerate(others):
        counts = {"n_trials": len(matched), "n_stimuli": len(photos)}
        of = f"{site} compared with {first}"
        if fitted.fit is not None and not fitted.problem:
            effects.append(_coefficient(fitted, f"scene[{site}]", of, "log odds of wrongness", **counts))
            continue
        columns = indicators(photos["scene"])
        others_too = [column for number, column in enumerate(columns) if number != place]
        covariates: list[ArrayLike] = [
            photos["proximity"],
            photos["n_objects"],
            *indicators(photos["view"]),
            *others_too,
        ]
        slope = regression_slope(columns[place], photos["excess"], covariates)
        if slope is not None:
            effects.append(
                Effect(
                    of=of,
                    estimate=slope.estimate,
                    scale="wrongness",
                    ci95=slope.ci95,
                    p=slope.p,
                    method="t-test",
                    reason=fitted.problem,
                    **counts,
                )
            )
    return tuple(effects)


def response_time_effect(rows: pl.DataFrame) -> Effect | None:
    """Test whether accuracy depends on the response time, with a mixed logistic model (gaze paper, A.4).

    The predictor is the logarithm of the response time. The random intercepts are those of `modeling.GROUPS`. They
    include participants, if known, so that differences between slow and fast people do not count as effects of time. If
    the model is unreliable, Welch's t-test compares the log response times of correct and wrong answers.

    Args:
        rows: a respondent's trials, from `measures.with_measures`; those without a response time above 0 are excluded.

    Returns:
        The effect; None if all response times are equal, or if the t-test is needed and there are fewer than two
        correct or fewer than two wrong answers.
    """
    import polars as pl

    from spotball_core.gaze.battery.modeling import model

    timed = rows.filter(pl.col("response_time") > 0).with_columns(log_time=pl.col("response_time").log())
    if timed["log_time"].n_unique() < 2:
        return None
    counts = {"n_trials": len(timed), "n_stimuli": timed["stimulus_id"].n_unique()}
    of, scale = "response time", "log odds of a correct answer per e-fold increase of the response time"
    fitted = model(timed, "correct", ("center(log_time)",))
    if fitted.fit is not None and not fitted.problem:
        return _coefficient(fitted, "log_time", of, scale, **counts)
    right, wrong = (timed.filter(correct=value)["log_time"] for value in (1.0, 0.0))
    test = welch(right, wrong)
    if test is None:
        return None
    return Effect(
        of=of,
        estimate=test.estimate,
        scale="mean log response time: correct minus wrong answers",
        ci95=test.ci95,
        p=test.p,
        method="t-test",
        reason=fitted.problem,
        **counts,
    )


def _coefficient(fitted: Modeled, name: str, of: str, scale: str, *, n_trials: int, n_stimuli: int) -> Effect:
    model_fit = fitted.fit
    assert model_fit is not None
    place = model_fit.design.names.index(name)
    low, high = model_fit.intervals()[place]
    return Effect(
        of=of,
        estimate=float(model_fit.coefficients[place]),
        scale=scale,
        ci95=(float(low), float(high)),
        p=float(np.asarray(model_fit.p_values)[place]),
        method=fitted.method,
        n_trials=n_trials,
        n_stimuli=n_stimuli,
    )
