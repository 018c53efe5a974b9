"""Test that sentences about a comparison do not claim more than its numbers support."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spotball_core.comparison.wording import ContrastNumbers, Narrator, direction_of, verdict_of
from spotball_core.metrics.registry import METRICS
from spotball_core.schema import ScorePolicy

NARRATOR = Narrator("ann", "bob", ScorePolicy.standard(), tests=13, floor=0.0)
FOUND = ContrastNumbers(
    a=0.2, b=0.1, ci95=(0.05, 0.15), p=0.001, p_holm=0.013, n_images=50, effect_size=0.6, reason=None
)


def sentence(key: str, narrator: Narrator = NARRATOR, **changes: Any) -> str:
    """Return the sentence about a metric, for the numbers in `FOUND` with some changes."""
    return narrator.tell(METRICS[key], replace(FOUND, **changes)).sentence


def test_tell_states_values_difference_interval_and_verdict() -> None:
    assert sentence("accuracy") == (
        "Accuracy: ann 20.0%, bob 10.0%; ann is better by 10.0 points (95% interval 5.0 to 15.0), "
        "p = 0.013 corrected for 13 tests: a clear difference."
    )
    assert sentence("euclidean_error", a=120.0, b=100.0, ci95=(10.0, 30.0)) == (
        "Euclidean error: ann 120.0 px, bob 100.0 px; bob is better by 20.0 px (95% interval 10.0 to 30.0), "
        "p = 0.013 corrected for 13 tests: a clear difference."
    )
    assert sentence("overlap_rate", a=0.1, b=0.2, ci95=(-0.15, -0.05), p=0.02, p_holm=0.26) == (
        "Overlap rate: ann 10.0%, bob 20.0%; bob is higher by 10.0 points (95% interval 5.0 to 15.0), "
        "p = 0.02, but p = 0.26 corrected for 13 tests: weak evidence of a difference."
    )
    assert sentence("overlap_rate", ci95=(-0.01, 0.21)) == (
        "Overlap rate: ann 20.0%, bob 10.0%; ann is higher by 10.0 points (95% interval -1.0 to 21.0), "
        "p = 0.013 corrected for 13 tests, but the interval contains 0: weak evidence of a difference."
    )
    assert sentence("euclidean_error", a=101.0, b=100.0, ci95=(-8.0, 10.0), p=0.8, p_holm=1.0) == (
        "Euclidean error: ann 101.0 px, bob 100.0 px; no clear difference, p = 0.80; the 95% interval "
        "ranges from ann better by 8.0 px to bob better by 10.0 px."
    )
    assert sentence("accuracy", b=0.2, ci95=(-0.1, 0.1), p=1.0, p_holm=1.0, reason="1 image left out") == (
        "Accuracy: ann 20.0%, bob 20.0%; no difference on these images (95% interval -10.0 to 10.0); 1 image left out."
    )
    assert sentence("log_score", ci95=None, p=0.0001, p_holm=0.0013) == (
        "Log score: ann 0.200 nats, bob 0.100 nats; bob is better by 0.100 nats, p = 0.0013 corrected for 13 "
        "tests: a clear difference."
    )


def test_tell_states_the_smallest_possible_p_value_units_and_k() -> None:
    said = sentence("accuracy", replace(NARRATOR, floor=0.5), n_images=2)
    assert said.endswith("but 2 images are too few for a test: no p value can be below 0.5.")
    policy = ScorePolicy.standard(reference="x", wasserstein_unit="diagonal", top_k=5)
    narrator = replace(NARRATOR, policy=policy)
    told = "ann 0.200 diagonals, bob 0.100 diagonals; bob is better by 0.100 diagonals"
    assert told in sentence("wasserstein", narrator)
    assert sentence("top_k_accuracy", narrator).startswith("Top-5 accuracy: ann 20.0%")


def test_tell_nothing_states_why_there_is_no_comparison() -> None:
    told = NARRATOR.tell_nothing(METRICS["wasserstein"], None, 101.8, "ann is the reference")
    assert told.sentence == "Wasserstein distance: no comparison: ann is the reference."
    assert (told.a, told.b, told.difference, told.direction, told.verdict) == (None, 101.8, None, None, None)


@pytest.mark.parametrize("key", METRICS)
def test_direction_of_follows_the_direction_in_the_metric_registry(key: str) -> None:
    metric = METRICS[key]
    words = {"higher": ("a is better", "b is better"), "lower": ("b is better", "a is better")}
    more, less = words.get(metric.direction, ("a is higher", "b is higher"))
    assert [direction_of(metric, sign) for sign in (1.0, -1.0, 0.0)] == [more, less, "equal"]


@pytest.mark.parametrize(
    ("p", "p_holm", "ci95", "verdict"),
    [
        (0.001, 0.05, (0.01, 0.2), "clear"),
        (0.001, 0.051, (0.01, 0.2), "suggestive"),
        (0.001, 0.01, (0.0, 0.2), "suggestive"),
        (0.001, 0.01, (-0.1, 0.2), "suggestive"),
        (0.001, 0.01, None, "clear"),
        (0.05, 0.5, (-0.1, 0.2), "suggestive"),
        (0.051, 0.5, (0.01, 0.2), "unclear"),
    ],
)
def test_verdict_of_depends_on_both_p_values_and_the_interval(
    p: float, p_holm: float, ci95: tuple[float, float] | None, verdict: str
) -> None:
    assert verdict_of(replace(FOUND, p=p, p_holm=p_holm, ci95=ci95)) == verdict
