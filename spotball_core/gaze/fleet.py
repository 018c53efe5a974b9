"""Compare many models: test which are better than chance, and whether newer or larger models are better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.gaze.data.rows import Rows, quoted
from spotball_core.gaze.plain_tests import exact_p, proportion_z, two_proportions
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval
from spotball_core.stats.permutation import holm

if TYPE_CHECKING:
    import polars as pl

LARGEST: Final = 100.0
"""Size in billions of parameters above which models are excluded as outliers, as in the gaze paper (A.6)."""

DAYS_A_YEAR: Final = 365.25


class AgainstChance(Record):
    """One respondent's accuracy compared with uniform guessing.

    Attributes:
        respondent: the respondent.
        n_trials: number of trials; unmatched choices count as wrong.
        accuracy: share of correct choices.
        chance: expected accuracy of uniform guessing: the mean of 1 / number of objects over trials.
        z: z value of the two-sided test for proportions.
        p: p value of the z test.
        p_holm: p value of the z test after Holm's adjustment over all respondents.
        p_exact: two-sided p value from the exact distribution of the number of correct guesses.
        p_exact_holm: exact p value after Holm's adjustment over all respondents.
    """

    respondent: str
    n_trials: int
    accuracy: float
    chance: float
    z: float | None
    p: float
    p_holm: float
    p_exact: float
    p_exact_holm: float

    def above(self, p: float, alpha: float) -> bool:
        """Return whether accuracy is above chance and `p`, one of the record's p values, is below `alpha`."""
        return self.accuracy > self.chance and p < alpha


class FleetAgainstChance(Record):
    """The accuracies of all respondents compared with uniform guessing.

    Attributes:
        alpha: p values below it are significant.
        not_above: number of respondents whose accuracy is not significantly above chance, by test: `z`, `z_holm`,
            `exact`, `exact_holm`.
        respondents: the tests of all respondents.
    """

    alpha: float
    not_above: dict[str, int]
    respondents: tuple[AgainstChance, ...]


def against_chance(rows: pl.DataFrame, *, alpha: float = 0.05) -> FleetAgainstChance:
    """Test each respondent's accuracy against uniform guessing.

    In the gaze paper, 94 of 111 models were not significantly above chance.

    Args:
        rows: trials of all respondents, from `measures.with_measures`.
        alpha: p values below it are significant.
    """
    import polars as pl

    counts = rows.group_by("respondent", "n_objects", maintain_order=True).agg(
        n=pl.len(), correct=pl.col("correct").sum()
    )
    tests = []
    for name in counts["respondent"].unique(maintain_order=True):
        own_counts = counts.filter(respondent=name)
        n, correct = int(own_counts["n"].sum()), round(own_counts["correct"].sum())
        groups = [(int(k), 1 / size) for size, k in own_counts.select("n_objects", "n").iter_rows()]
        chance = sum(k * p_chance for k, p_chance in groups) / n
        tests.append((name, n, correct / n, chance, proportion_z(correct, n, chance), exact_p(correct, groups)))
    p_holm, exact_holm = holm([entry[4].p for entry in tests]), holm([entry[5] for entry in tests])
    respondents = tuple(
        AgainstChance(
            respondent=name,
            n_trials=n,
            accuracy=accuracy,
            chance=chance,
            z=test.z,
            p=test.p,
            p_holm=p_holm[place],
            p_exact=exact,
            p_exact_holm=exact_holm[place],
        )
        for place, (name, n, accuracy, chance, test, exact) in enumerate(tests)
    )
    ways = {"z": "p", "z_holm": "p_holm", "exact": "p_exact", "exact_holm": "p_exact_holm"}
    not_above = {
        way: sum(not result.above(getattr(result, field), alpha) for result in respondents)
        for way, field in ways.items()
    }
    return FleetAgainstChance(alpha=alpha, not_above=not_above, respondents=respondents)


class Trend(Record):
    """The trend of accuracy with a variable, such as the release date, over several models (gaze paper, A.6).

    Attributes:
        of: name of the variable, with its unit.
        n: number of models in the fit.
        n_left_out: number of excluded models: those without a value of the variable, and outliers.
        slope: slope of the regression line, in accuracy per year or per billion parameters.
        ci95: 95% confidence interval of the slope.
        r: Pearson's correlation.
        p: two-sided p value of slope and correlation.
        rho: Spearman's rank correlation.
        p_rho: two-sided p value of the rank correlation.
    """

    of: str
    n: int
    n_left_out: int
    slope: float
    ci95: Interval
    r: float
    p: float
    rho: float
    p_rho: float


def trend(of: str, x: ArrayLike, accuracy: ArrayLike, *, n_left_out: int = 0) -> Trend | None:
    """Return the trend of accuracy with x; None for fewer than three models, or if x or accuracy does not vary.

    Args:
        of: name of the variable x, with its unit.
        x: value of the variable for each model, shape (n,).
        accuracy: accuracy of each model, shape (n,).
        n_left_out: number of models that were excluded before; it is copied to the result.
    """
    from scipy import stats

    at, height = np.asarray(x, dtype=float), np.asarray(accuracy, dtype=float)
    if len(at) < 3 or np.ptp(at) == 0 or np.ptp(height) == 0:
        return None
    line, ranks = stats.linregress(at, height), stats.spearmanr(at, height)
    half = float(stats.t.ppf(0.975, len(at) - 2) * line.stderr)
    return Trend(
        of=of,
        n=len(at),
        n_left_out=n_left_out,
        slope=float(line.slope),
        ci95=(float(line.slope) - half, float(line.slope) + half),
        r=float(line.rvalue),
        p=float(line.pvalue),
        rho=float(ranks.statistic),
        p_rho=float(ranks.pvalue),
    )


@dataclass(frozen=True)
class ModelFacts:
    """Release date and size of a model.

    Attributes:
        released: release date; None if unknown.
        parameters: number of parameters in billions; None if unknown.
    """

    released: date | None
    parameters: float | None


def read_models(path: str | Path) -> dict[str, ModelFacts]:
    """Read `respondent`, `released` (such as 2025-11-30) and `parameters` (in billions) of models from a CSV file.

    The columns `released` and `parameters` may be missing or have empty cells. Return a dictionary by respondent.

    Raises:
        InputError: if the file cannot be read or has invalid values. It lists all problems, each with its file, line
            and field, the invalid value, and what is expected.
    """
    import polars as pl

    rows = Rows(path)
    rows.need(("respondent",))
    rows.optional(("released", "parameters"))
    name = pl.col("respondent")
    rows.check(name.is_null(), "respondent", "nothing", "a name")
    rows.check(name.is_duplicated(), "respondent", quoted("respondent"), "each respondent once")
    day = pl.col("released").str.to_date("%Y-%m-%d", strict=False)
    rows.check(pl.col("released").is_not_null() & day.is_null(), "released", quoted("released"), "YYYY-MM-DD")
    size = pl.col("parameters").cast(pl.Float64, strict=False)
    is_size = (size > 0) & size.is_finite()
    wrong = pl.col("parameters").is_not_null() & ~is_size.fill_null(False)
    rows.check(wrong, "parameters", quoted("parameters"), "the number of parameters in billions, above 0")
    rows.settle()
    table = rows.frame.select("respondent", day.alias("released"), size.alias("parameters"))
    return {row["respondent"]: ModelFacts(row["released"], row["parameters"]) for row in table.iter_rows(named=True)}


def trends(accuracy: Mapping[str, float], models: Mapping[str, ModelFacts]) -> tuple[Trend, ...]:
    """Return the trends of accuracy with release date and with size, each over the models for which it is known.

    Args:
        accuracy: accuracy of each respondent.
        models: release dates and sizes by respondent; models larger than `LARGEST` are excluded from the trend with
            size.
    """
    with_facts = [(models[name], value) for name, value in accuracy.items() if name in models]
    dated = [(facts.released.toordinal() / DAYS_A_YEAR, value) for facts, value in with_facts if facts.released]
    sized = [
        (facts.parameters, value) for facts, value in with_facts if facts.parameters and facts.parameters <= LARGEST
    ]
    fits = []
    for of, points in (("year of release", dated), ("billions of parameters", sized)):
        x, y = [point[0] for point in points], [point[1] for point in points]
        fits.append(trend(of, x, y, n_left_out=len(accuracy) - len(points)))
    return tuple(fit for fit in fits if fit is not None)


class TwoRespondents(Record):
    """Two respondents' accuracies under the same conditions, such as one model at two resolutions.

    Attributes:
        a: the first respondent.
        b: the second respondent.
        accuracy_a: share of correct choices of a, on photos that both answered.
        accuracy_b: share of correct choices of b, on the same photos.
        n_a: number of trials of a on these photos.
        n_b: number of trials of b on these photos.
        z: z value of the two-proportion test with a pooled variance; None if the pooled variance is 0.
        p: two-sided p value.
    """

    a: str
    b: str
    accuracy_a: float
    accuracy_b: float
    n_a: int
    n_b: int
    z: float | None
    p: float


def compare_two(rows: pl.DataFrame, a: str, b: str) -> TwoRespondents:
    """Test whether two respondents differ in accuracy on the photos that both answered (two-proportion z test).

    Args:
        rows: trials of all respondents, from `measures.with_measures`.
        a: the first respondent.
        b: the second respondent.

    Raises:
        OptionError: if one respondent has no trials, or no photo was answered by both.
    """
    import polars as pl

    pair_rows = [rows.filter(respondent=name) for name in (a, b)]
    shared = set(pair_rows[0]["stimulus_id"]) & set(pair_rows[1]["stimulus_id"])
    if not shared:
        missing = [name for name, own_rows in zip((a, b), pair_rows, strict=True) if own_rows.is_empty()]
        raise OptionError(
            f"--compare: the respondent {missing[0]!r} has no trials. Use another respondent"
            if missing
            else (
                f"--compare: {a} and {b} did not answer any photo in common. Name two respondents that answered the "
                "same photos"
            ),
            code="no-data",
        )
    counts = [
        own_rows.filter(pl.col("stimulus_id").is_in(list(shared)))["correct"].to_numpy() for own_rows in pair_rows
    ]
    (right_a, n_a), (right_b, n_b) = ((float(values.sum()), len(values)) for values in counts)
    test = two_proportions(right_a, n_a, right_b, n_b)
    return TwoRespondents(
        a=a, b=b, accuracy_a=right_a / n_a, accuracy_b=right_b / n_b, n_a=n_a, n_b=n_b, z=test.z, p=test.p
    )
