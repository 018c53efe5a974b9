r"""Run Tests 2.1 to 2.4, which test whether the direction of the head biases choices.

Test 2.1 uses choices of gaze target or head target in incongruent photos of more than two objects. Its model is
$\mathrm{logit}\,P(\text{head}) = \beta_0 + \mathrm{proximity} + u$, with proximity centered and random intercepts $u$.
The answer is yes if $\beta_0$ is significantly above 0.

Test 2.2 uses combinations of k photos of n objects that differ only in the eyes and were shown with the same prompt. By
chance, all k choices are the same object with probability $n^{1-k}$. Let same be 1 if all choices of a combination are
the same object, else 0. The answer is yes if the mean of same − $n^{1-k}$ is significantly above 0 (Student's one-sided
t-test).

The model of Test 2.3 is $\mathrm{logit}\,P(\text{correct}) = \mathrm{logit}\,(1/n) + \mathrm{congruent} *
\mathrm{proximity} + \mathrm{view} + \mathrm{objects} + u$, where $a * b$ stands for the effects of a and b and their
interaction. The answer is yes if congruent photos have a significantly higher marginal mean.

Test 2.4 models wrongness as the test Proximity does, with the effects $\mathrm{DistEyeHead} * \mathrm{proximity} +
\mathrm{view} + \mathrm{place}$. The answer is yes if the marginal slope of DistEyeHead is significantly above 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spotball_core.gaze.battery.distance import Distance, grows_with_distance
from spotball_core.gaze.battery.findings import Finding, no_answer, tested
from spotball_core.gaze.battery.modeling import by_stimulus, by_t_test, model, test_numbers
from spotball_core.gaze.mixed import marginal_means, pairwise
from spotball_core.gaze.plain_tests import exact_p, one_sample, welch

if TYPE_CHECKING:
    import polars as pl


def head_more_often(rows: pl.DataFrame, *, alpha: float = 0.05) -> Finding:
    """Test whether the head target is chosen more often than the gaze target (Test 2.1).

    Args:
        rows: a respondent's trials of all conditions, from `measures.with_measures`.
        alpha: level of the likelihood-ratio test of proximity, which decides whether the reported coefficients include
            proximity. The p value of the finding does not depend on it.
    """
    import polars as pl

    relevant = rows.filter((pl.col("condition") == "incongruent") & (pl.col("n_objects") > 2))
    either = relevant.filter((pl.col("is_head") == 1) | (pl.col("correct") == 1))
    if either.is_empty():
        return no_answer(
            "2.1",
            "no answer to incongruent photos with more than two objects names the gaze target or the head target",
        )
    counts: dict[str, Any] = {
        "n_trials": len(either),
        "n_left_out": relevant["choice"].null_count(),
        "n_stimuli": either["stimulus_id"].n_unique(),
    }
    share = float(either["is_head"].mean() or 0.0)  # type: ignore[arg-type]
    by_proximity = either.group_by("proximity").agg(share=pl.col("is_head").mean(), n=pl.len()).sort("proximity")
    numbers = {"share": share, "by_proximity": by_proximity.to_dicts()}
    sentence = (
        f"Of the choices that are the head target or the gaze target, {share:.1%} are the head target (chance: 50%)."
    )
    fitted = model(either, "is_head", ("center(proximity)",), (), alpha=alpha)
    if fitted.fit is None or fitted.problem:
        test = one_sample(by_stimulus(either, share=pl.col("is_head"))["share"], 0.5)
        scale = "mean share of the head target over photos, minus 0.5"
        return by_t_test("2.1", fitted, test, lambda _: sentence, scale=scale, numbers=numbers, **counts)
    mean = marginal_means(fitted.fit).table.row(0, named=True)
    z = mean["estimate"] / mean["se"]
    from scipy.stats import norm

    return tested(
        "2.1",
        sentence,
        estimate=mean["estimate"],
        ci95=(mean["low"], mean["high"]),
        scale="log odds of choosing the head target rather than the gaze target",
        p=float(2 * norm.sf(abs(z))),
        method=fitted.method,
        numbers=numbers | {"z": z, "se": mean["se"]},
        models=fitted.records,
        **counts,
    )


COMBINATION = ("objects", "proximity", "view", "head", "actor", "scene", "prompt_id", "participant", "sample")
"""Columns that have the same value in all trials of a combination; the gaze target is not among them."""


def combinations(rows: pl.DataFrame) -> pl.DataFrame:
    """Group trials with the same prompt into combinations of photos that differ only in the eyes.

    Args:
        rows: trials, from `measures.with_measures`.

    Returns:
        One row per combination of at least two photos whose choices are all matched. Its columns are those of
        `COMBINATION`, `n_objects`, `k` (number of photos), `same` (1 if all choices are the same object, else 0),
        `all_head` (1 if all choices are the head target, else 0), and the probabilities of `same` and `all_head` under
        uniform guessing, `chance_same` $= n^{1-k}$ and `chance_head` $= n^{-k}$.
    """
    import polars as pl

    controlled = rows.filter(pl.col("condition") != "natural")
    grouped = controlled.group_by(COMBINATION, maintain_order=True).agg(
        pl.col("n_objects").first(),
        k=pl.len().cast(pl.Int64),
        eyes=pl.col("gaze").n_unique(),
        unmatched=pl.col("choice").null_count(),
        same=(pl.col("choice").n_unique() == 1).cast(pl.Float64),
        all_head=(pl.col("choice") == pl.col("head")).all().cast(pl.Float64),
    )
    n, k = pl.col("n_objects").cast(pl.Float64), pl.col("k").cast(pl.Float64)
    complete = grouped.filter((pl.col("eyes") > 1) & (pl.col("unmatched") == 0))
    return complete.drop("eyes", "unmatched").with_columns(chance_same=n.pow(1 - k), chance_head=n.pow(-k))


def same_choice(rows: pl.DataFrame) -> Finding:
    """Test whether the same object is often chosen in photos that differ only in the eyes (Test 2.2).

    The verdict follows the paper, which treats combinations as independent observations. However, combinations from the
    same scene are not independent if they differ only in the prompt. The finding therefore also contains a t-test over
    scenes, which averages over prompts, and a note if only one of the two tests is significant at 0.05.

    Args:
        rows: a respondent's trials of all conditions, from `measures.with_measures`.
    """
    import polars as pl

    combined = combinations(rows)
    if len(combined) < 2:
        return no_answer("2.2", "there are fewer than two combinations of photos that differ only in the eyes")
    over = combined["same"] - combined["chance_same"]
    test = one_sample(over, sides="greater")
    assert test is not None
    scenes = combined.with_columns(over=over).group_by(COMBINATION[:6], maintain_order=True).agg(pl.col("over").mean())
    by_scene = one_sample(scenes["over"], sides="greater")
    head = one_sample(combined["all_head"] - combined["chance_head"], sides="greater")
    assert head is not None
    share, chance = float(combined["same"].mean() or 0.0), float(combined["chance_same"].mean() or 0.0)  # type: ignore[arg-type]
    kinds = combined.group_by("n_objects", "k", maintain_order=True).agg(
        n=pl.len(), same=pl.col("same").mean(), chance=pl.col("chance_same").first()
    )
    controlled = rows.filter(pl.col("condition") != "natural")
    notes: tuple[str, ...] = ()
    if by_scene is not None and (by_scene.p < 0.05) != (test.p < 0.05):
        notes = (f"a test over scenes instead of combinations leads to another verdict (p = {by_scene.p:.2g})",)
    return tested(
        "2.2",
        f"The same object was chosen in {share:.1%} of {len(combined):,} combinations of photos that differ only in "
        f"the eyes (chance: {chance:.1%}).",
        estimate=test.estimate,
        ci95=test.ci95,
        scale="share of combinations with the same choice for all photos, minus chance",
        p=test.p,
        method="t-test",
        notes=notes,
        n_trials=int(combined["k"].sum()),
        n_left_out=controlled["choice"].null_count(),
        n_stimuli=controlled["stimulus_id"].n_unique(),
        numbers={
            **test_numbers(test),
            "share": share,
            "chance": chance,
            "n_combinations": len(combined),
            "exact_p": exact_p(
                int(combined["same"].sum()),
                [(int(n), float(chance)) for n, chance in kinds.select("n", "chance").iter_rows()],
                sides="greater",
            ),
            "chance_of_habits": _chance_of_habits(controlled, combined),
            "by_scene": None if by_scene is None else {"p": by_scene.p, "n": by_scene.n, **test_numbers(by_scene)},
            "always_head": {
                "share": float(combined["all_head"].mean() or 0.0),  # type: ignore[arg-type]
                "chance": float(combined["chance_head"].mean() or 0.0),  # type: ignore[arg-type]
                "p": head.p,
                **test_numbers(head),
            },
            "by_kind": kinds.sort("n_objects", "k").to_dicts(),
        },
    )


def _chance_of_habits(rows: pl.DataFrame, combined: pl.DataFrame) -> float:
    """Return how often choices would be identical if they had the frequencies in `rows` but ignored the photos."""
    import polars as pl

    habits = rows.filter(pl.col("choice").is_not_null()).group_by("n_objects", "choice", maintain_order=True).len()
    share = habits.with_columns(share=pl.col("len") / pl.col("len").sum().over("n_objects"))
    per = share.group_by("n_objects", maintain_order=True).agg("share")
    table = {n: np.asarray(shares) for n, shares in per.iter_rows()}
    kinds = combined.group_by("n_objects", "k", maintain_order=True).len().iter_rows()
    return float(sum(number * (table[n] ** k).sum() for n, k, number in kinds) / len(combined))


def better_when_congruent(rows: pl.DataFrame, *, alpha: float = 0.05) -> Finding:
    """Test whether accuracy is higher in congruent photos (Test 2.3). Unmatched choices count as wrong.

    Args:
        rows: a respondent's trials of all conditions, from `measures.with_measures`.
        alpha: level of the likelihood-ratio test of the interactions, which decides whether the reported coefficients
            include them. The p value of the finding does not depend on it.
    """
    import polars as pl

    controlled = rows.filter(pl.col("condition") != "natural")
    if controlled["condition"].n_unique() < 2:
        return no_answer("2.3", "the congruent or the incongruent condition has no trials")
    counts: dict[str, Any] = {"n_trials": len(controlled), "n_stimuli": controlled["stimulus_id"].n_unique()}
    share = dict(controlled.group_by("condition").agg(pl.col("correct").mean()).iter_rows())
    chance = dict(controlled.group_by("condition").agg((1 / pl.col("n_objects")).mean()).iter_rows())
    sentence = (
        f"Accuracy is {share['congruent']:.1%} in the congruent condition (chance: {chance['congruent']:.1%}) and"
        f" {share['incongruent']:.1%} in the incongruent condition (chance: {chance['incongruent']:.1%})."
    )
    fitted = model(
        controlled,
        "correct",
        ("condition*center(proximity)", "view", "center(n_objects)"),
        ("condition", "center(proximity)", "view", "center(n_objects)"),
        expected=1 / controlled["n_objects"].to_numpy(),
        alpha=alpha,
    )
    if fitted.fit is None or fitted.problem:
        photos = by_stimulus(controlled, excess=pl.col("correct") - 1 / pl.col("n_objects"))
        test = welch(*(photos.filter(condition=condition)["excess"] for condition in ("congruent", "incongruent")))
        scale = "accuracy above chance: congruent minus incongruent condition"
        return by_t_test("2.3", fitted, test, lambda _: sentence, scale=scale, numbers={"accuracy": share}, **counts)
    means = marginal_means(fitted.fit, ["condition"])
    pair = pairwise(means, adjust="none").row(0, named=True)
    return tested(
        "2.3",
        sentence,
        estimate=pair["estimate"],
        ci95=(pair["low"], pair["high"]),
        scale="log odds of a correct answer: congruent minus incongruent condition",
        p=pair["p"],
        method=fitted.method,
        numbers={"accuracy": share, "z": pair["z"], "se": pair["se"], "means": means.table.to_dicts()},
        models=fitted.records,
        **counts,
    )


WRONGNESS = Distance("2.4", "wrongness", "reach", "expected_wrongness", "gaze", "wrongness")


def more_wrong_with_distance(rows: pl.DataFrame, *, alpha: float = 0.05, printed: bool = False) -> Finding:
    """Test whether choices are farther from the gaze target if the eyes look farther from the head target (Test 2.4).

    Args:
        rows: a respondent's trials of all conditions, from `measures.with_measures`.
        alpha: level of the likelihood-ratio test of the interactions, which decides whether the reported coefficients
            include them. The p value of the finding does not depend on it.
        printed: whether to use the model as printed in the paper: without place and dispersion.
    """
    return grows_with_distance(rows, WRONGNESS, alpha=alpha, printed=printed)
