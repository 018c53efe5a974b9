from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from spotball_core.errors import InputError, OptionError
from spotball_core.gaze.fleet import ModelFacts, against_chance, compare_two, read_models, trend, trends
from spotball_core.gaze.measures import with_measures
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.failures import raises
from tests.gaze.photos import photo, table


def fleet() -> pl.DataFrame:
    """Simulate 20 guessing and 3 slightly better respondents on 900 photos each."""
    design = factorial_design()[:900]
    weak = Observer("eye", noise=1.5, lapse=0.5)
    trials = [simulate(Observer("guess"), design, prompts=1, respondent=f"guess {k}", seed=k).frame for k in range(20)]
    trials += [simulate(weak, design, prompts=1, respondent=f"sees {k}", seed=50 + k).frame for k in range(3)]
    return with_measures(pl.concat(trials))


def test_against_chance_separates_guessing_and_better_respondents() -> None:
    found = against_chance(fleet())
    assert len(found.respondents) == 23
    sees = [one for one in found.respondents if one.respondent.startswith("sees")]
    assert all(one.above(one.p_exact_holm, 0.05) for one in sees)
    # Without an adjustment, 1 of 40 guessing respondents would be significantly better by chance.
    assert found.not_above["z_holm"] == found.not_above["exact_holm"] == 20
    assert 17 <= found.not_above["z"] <= 20
    for one in found.respondents:
        assert one.p_holm >= one.p
        assert one.p_exact_holm >= one.p_exact
        assert one.p_exact == pytest.approx(one.p, abs=0.06)


def test_against_chance_of_one_respondent_equals_a_hand_calculation() -> None:
    # There are 10 photos with two objects and 6 with three, so chance is (10/2 + 6/3) / 16 = 7/16.
    rows = table(photo(0, times=6), photo(1, times=4), photo(0, n=3, times=5), photo(None, n=3))
    (one,) = against_chance(rows).respondents
    assert (one.n_trials, one.accuracy, one.chance) == (16, 11 / 16, pytest.approx(7 / 16))
    assert one.z == pytest.approx((4 / 16) / np.sqrt(7 / 16 * 9 / 16 / 16))
    both = np.convolve(stats.binom.pmf(range(11), 10, 0.5), stats.binom.pmf(range(7), 6, 1 / 3))
    assert one.p_exact == pytest.approx(both[both <= both[11] * (1 + 1e-9)].sum())


def test_against_chance_does_not_count_worse_than_chance_as_above() -> None:
    found = against_chance(table(photo(1, times=40)))
    assert found.respondents[0].p < 0.001
    assert found.not_above == dict.fromkeys(("z", "z_holm", "exact", "exact_holm"), 1)


def test_trend_equals_scipy_linregress_and_spearmanr() -> None:
    x, y = np.arange(8.0), np.array([0.3, 0.35, 0.31, 0.4, 0.38, 0.45, 0.41, 0.5])
    found = trend("year", x, y)
    line = stats.linregress(x, y)
    assert found is not None
    assert (found.slope, found.r, found.p) == pytest.approx((line.slope, line.rvalue, line.pvalue))
    half = stats.t.ppf(0.975, 6) * line.stderr
    assert found.ci95 == pytest.approx((line.slope - half, line.slope + half))
    assert found.rho == pytest.approx(stats.spearmanr(x, y).statistic)
    assert trend("year", [1, 2], [0.1, 0.2]) is None
    assert trend("year", [1, 1, 1], [0.1, 0.2, 0.3]) is None


def test_trends_exclude_models_without_a_date_or_size() -> None:
    accuracy = {"a": 0.40, "b": 0.44, "c": 0.43, "d": 0.47, "huge": 0.9}
    models = {
        "a": ModelFacts(date(2024, 1, 1), 2.0),
        "b": ModelFacts(date(2024, 7, 1), 7.0),
        "c": ModelFacts(date(2025, 1, 1), None),
        "d": ModelFacts(None, 70.0),
        "huge": ModelFacts(None, 400.0),
    }
    by_date, by_size = trends(accuracy, models)
    assert (by_date.of, by_date.n, by_date.n_left_out) == ("year of release", 3, 2)
    assert by_date.slope == pytest.approx(0.03, abs=0.001)
    assert (by_size.of, by_size.n, by_size.n_left_out) == ("billions of parameters", 3, 2)


def test_read_models_parses_valid_files_and_lists_all_problems(tmp_path: Path) -> None:
    path = tmp_path / "models.csv"
    path.write_text("respondent,released,parameters\na,2024-05-01,7\nb,,\n", encoding="utf-8")
    assert read_models(path) == {"a": ModelFacts(date(2024, 5, 1), 7.0), "b": ModelFacts(None, None)}
    path.write_text("respondent,released,parameters\na,May,7\nb,,-1\nb,,\n,,\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_models(path)
    assert [problem.field for problem in error.value.problems] == ["released", "respondent", "respondent"]
    assert error.value.total == 4


def test_compare_two_uses_shared_photos_only_and_needs_some() -> None:
    low = [
        row | {"respondent": "low", "stimulus_id": str(k)}
        for k, row in enumerate(photo(0, times=39) + photo(1, times=61))
    ]
    high = [
        row | {"respondent": "high", "stimulus_id": str(k)}
        for k, row in enumerate(photo(0, times=52) + photo(1, times=48))
    ]
    extra = photo(1, respondent="high", stimulus_id="more")
    found = compare_two(table(low, high, extra), "low", "high")
    assert (found.n_a, found.n_b, found.accuracy_b) == (100, 100, 0.52)
    chi2 = stats.chi2_contingency([[39, 61], [52, 48]], correction=False)
    assert found.p == pytest.approx(chi2.pvalue)
    with raises(OptionError, "no-data"):
        compare_two(table(low), "low", "x")
    with raises(OptionError, "no-data"):
        compare_two(table(low, extra), "low", "high")
