"""Test the summary of a report: the headline, the means over sports, and the table that fits 80 columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.schema import GroupScore, MetricValue, ScorePolicy, ScoreReport, Signature
from spotball_core.scoring.summary import headline, mean_over_sports, summary_rows, to_summary
from spotball_core.stats.bootstrap import resample_weights
from spotball_core.text.first_screen import WIDTH

SPORTS = ("soccer", "basketball", "volleyball")


def group(sport: str, name: str, kind: str, accuracy: float | None, prompt: str = "base") -> GroupScore:
    value = MetricValue(value=accuracy, reason="no ball") if accuracy is None else None
    metrics = {
        "accuracy": value or MetricValue(value=accuracy, ci95=(accuracy - 0.01, accuracy + 0.02)),  # type: ignore[operator]
        "euclidean_error": MetricValue(value=150.0, sd=40.0, ci95=(140.0, 160.0)),
        "wasserstein_matched": MetricValue(value=None if name == "human" else 60.0, reference="human"),
    }
    counts = {"n_images": 50, "n_responses": 1000, "n_unparsed": 0}
    return GroupScore(sport=sport, respondent=name, kind=kind, prompt=prompt, metrics=metrics, **counts)  # type: ignore[arg-type]


def report(*groups: GroupScore, reference: str | None = None) -> ScoreReport:
    policy = ScorePolicy.standard(reference=reference)
    provenance = Signature(version="1", data="ab" * 32, grid="6x10@640x360", policy=policy, n_images=100, dropped={})
    return ScoreReport(
        signature="spotball|v:1", provenance=provenance, policy=policy, warnings=("a warning",), groups=groups
    )


def sentence(scored: ScoreReport) -> str:
    return headline(scored, summary_rows(scored))


def test_headline_states_people_first_and_then_the_best_other_respondent() -> None:
    scored = report(
        *(group(sport, "human", "human", 0.3) for sport in SPORTS),
        *(group(sport, "m", "model", 0.1) for sport in SPORTS),
        *(group(sport, "m", "model", 0.2, "cot") for sport in SPORTS),
        *(group(sport, "oracle", "baseline", 1.0) for sport in SPORTS),
        reference="human",
    )
    # The half-widths of 1 and 2 percentage points, divided by the square root of 3, are 0.6 and 1.2.
    assert sentence(scored) == (
        "human finds the ball in 30.0% [29.4, 31.2] of guesses; the best of 2 others, m (cot), finds it in 20.0% "
        "[19.4, 21.2] (mean over 3 sports, 150 images; 95% intervals)."
    )


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([("m", 0.1)], "m finds the ball in 10.0% [9.0, 12.0] of guesses (50 images; 95% intervals)."),
        (
            [("m", 0.1), ("n", 0.2)],
            "n, the best of 2, finds the ball in 20.0% [19.0, 22.0] of guesses (50 images; 95% intervals).",
        ),
        ([("m", None)], "There is no accuracy, because the ball's cells are unknown for these images."),
    ],
)
def test_headline_without_people_states_the_best_respondent(
    groups: list[tuple[str, float | None]], expected: str
) -> None:
    assert sentence(report(*(group("soccer", name, "model", value) for name, value in groups))) == expected


def test_summary_fits_80_columns_and_shortens_long_names() -> None:
    long = "a-vision-language-model-with-a-very-long-name-2026"
    names = ["human", long, *(f"model-{n}" for n in range(12))]
    groups = [
        group(sport, name, "human" if name == "human" else "model", 0.123, prompt)
        for name in names
        for prompt in ("base", "cot")
        for sport in SPORTS
    ]
    text = to_summary(report(*groups, reference="human"))
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len([line for line in lines if line.startswith("model-")]) == 24
    assert len([line for line in lines if line.startswith("a-vision") and "…" in line]) == 2
    rows = [line for line in lines if line.startswith(("human  ", "a-vision", "model-"))]
    assert len(rows) == 28
    assert all("12.3 [" in line for line in rows)
    assert "warning: a warning" in lines
    assert "--full" in text
    assert lines[-1] == "spotball|v:1"


def test_summary_warns_if_rows_cover_different_sports() -> None:
    both = report(group("soccer", "m", "model", 0.1), group("soccer", "n", "model", 0.1))
    assert "same sports" not in to_summary(both)
    apart = report(group("soccer", "m", "model", 0.1), group("volleyball", "n", "model", 0.1))
    assert "the rows cover different sports" in " ".join(to_summary(apart).split())


def test_mean_over_sports_with_a_missing_value_has_no_value() -> None:
    missing = MetricValue(value=None, reason="no boxes")
    assert mean_over_sports([MetricValue(value=0.2), missing]) == missing
    assert mean_over_sports([MetricValue(value=0.2), MetricValue(value=0.4)]).ci95 is None


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 0.2)), min_size=2, max_size=5))
def test_mean_over_sports_combines_symmetric_intervals_as_standard_errors(sports: list[tuple[float, float]]) -> None:
    combined = mean_over_sports([MetricValue(value=m, ci95=(m - half, m + half)) for m, half in sports])
    mean, half = np.mean([m for m, _ in sports]), np.sqrt(sum(h**2 for _, h in sports)) / len(sports)
    assert combined.ci95 == pytest.approx((mean - half, mean + half))


def test_mean_over_sports_interval_matches_percentiles_of_resampled_means() -> None:
    """Compare with percentiles of 20,000 means of skewed values, with images resampled separately in each sport."""
    rng = np.random.default_rng(0)
    images = [rng.beta(0.5, 3, 50) for _ in SPORTS]
    draws = [resample_weights(50, 20_000, seed) @ values / 50 for seed, values in enumerate(images)]

    def value(drawn: np.ndarray, mean: float) -> MetricValue:
        low, high = np.percentile(drawn, [2.5, 97.5])
        return MetricValue(value=mean, ci95=(float(low), float(high)))

    combined = mean_over_sports([value(d, float(v.mean())) for d, v in zip(draws, images, strict=True)])
    assert combined.ci95 == pytest.approx(np.percentile(np.mean(draws, axis=0), [2.5, 97.5]), abs=0.0015)
