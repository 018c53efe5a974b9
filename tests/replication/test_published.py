"""Test that the catalog of published figures is complete, and when a value agrees with a rounded figure."""

from __future__ import annotations

import json
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from importlib.resources import files

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from spotball_core.replication.published import Published, published

SPORTS = {"soccer", "volleyball", "basketball"}
MODELS = {"gemini", "gpt", "llama", "qwen"}


def figure(value: str | None) -> Published:
    return Published(where="table 1", quantity="something", value=value, read_from="here")


def test_published_figures_are_unique_complete_and_have_a_source() -> None:
    catalog = published()
    places = [(f.where, f.sport, f.respondent, f.prompt, f.quantity) for f in catalog.printed]
    assert len(places) == len(set(places))
    assert all(f.read_from and f.value for f in catalog.printed)
    assert {f.where for f in catalog.printed} <= set(catalog.titles)
    assert {f.sport for f in catalog.printed} == {*SPORTS, None}
    assert {f.respondent for f in catalog.printed} == {"human", *MODELS, None}
    # There are as many figures as in the tables of the paper.
    counts = Counter(figure.where for figure in catalog.printed)
    assert (counts["table 1"], counts["table 2"], counts["table 3"]) == (5 * 3, 13 * 3 * 2, 5 * 3 * 2)
    assert (counts["section 4.3"], counts["figure 6"]) == (4 * 3 * 3, 4 * 3)


@pytest.mark.parametrize(
    ("where", "sport", "respondent", "prompt", "quantity", "value"),
    [
        ("table 1", "soccer", None, None, "ball to image center (px)", "122.81"),
        ("table 1", "basketball", None, None, "ball area (px²)", "1631.27"),
        ("table 1", "soccer", None, None, "players per scene", "4.26"),
        ("table 2", "soccer", "human", "base", "mean error (px)", "113.4"),
        ("table 2", "volleyball", "llama", "cot", "mean error (px)", "272.6"),
        ("table 2", "basketball", "qwen", "cue", "sd of the error (px)", "90.7"),
        ("table 3", "volleyball", "gemini", None, "center ratio", "1.697"),
        ("table 3", "basketball", "human", "base", "normalized entropy", "0.801"),
        ("figure 5", None, None, None, "truth near a player (%)", "52.2"),
        ("section 5.1", "basketball", None, None, "truth in the center window (%)", "56.3"),
    ],
)
def test_published_values_equal_those_in_the_paper(
    where: str, sport: str | None, respondent: str | None, prompt: str | None, quantity: str, value: str
) -> None:
    figures = {(f.where, f.sport, f.respondent, f.prompt, f.quantity): f.value for f in published().printed}
    assert figures[where, sport, respondent, prompt, quantity] == value


def test_published_values_keep_trailing_zeros() -> None:
    text = files("spotball_core.replication").joinpath("published.json").read_text(encoding="utf-8")
    rows = [row for group in json.loads(text)["printed"] for row in group["rows"]]
    assert all(isinstance(row[-1], str) for row in rows)
    assert ["soccer", "llama", "cue", "mean error (px)", "147.0"] in rows
    assert (figure("147.0").decimals, figure(None).decimals) == (1, None)


@pytest.mark.parametrize(
    ("printed", "value", "agrees"),
    [
        ("2.27", 2.269230769, True),
        ("2.27", 2.275, True),
        ("2.27", 2.2649, False),
        ("163.30", 163.2965, True),
        ("163.3", 163.26, True),
        ("163.30", 163.26, False),
        ("36.3", 36.4407, False),
        ("0", 0.4, True),
        ("0.8649681528662421", 0.8649681528662422, True),
        ("0.8649681528662421", 0.8649681538, False),
        ("<= 17", 17.0, True),
        ("<= 17", 17.01, False),
        ("< 1", 1.0, False),
        ("< 1", 0.999, True),
        ("> 1.2", 1.2, False),
        (">= 0.99", 0.991, True),
        ("-1.5", -1.46, True),
        (None, 0.0, False),
    ],
)
def test_agrees_compares_at_the_printed_precision_and_handles_inequalities(
    printed: str | None, value: float, agrees: bool
) -> None:
    assert figure(printed).agrees(value) is agrees


@given(st.decimals(-10_000, 10_000, allow_nan=False, places=6), st.integers(0, 4))
def test_agrees_accepts_the_rounded_value_and_rejects_values_two_units_of_the_last_digit_away(
    exact: Decimal, digits: int
) -> None:
    unit = Decimal(1).scaleb(-digits)
    printed = exact.quantize(unit, ROUND_HALF_UP)
    assert figure(str(printed)).agrees(float(exact))
    # A value halfway between two figures agrees with both, so the test uses figures two units away.
    assert not figure(str(printed + 2 * unit)).agrees(float(exact))
    assert not figure(str(printed - 2 * unit)).agrees(float(exact))


@pytest.mark.parametrize("value", ["about 5", "", "nan", "inf", "<= ", "1,5", "=< 3"])
def test_published_value_that_is_not_a_number_raises_validation_error(value: str) -> None:
    with pytest.raises(ValidationError):
        figure(value)
