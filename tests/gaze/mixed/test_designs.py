"""Test the columns of fixed effects against loops over rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed import design
from tests.failures import raises

TABLE = pl.DataFrame(
    {
        "view": ["left", "front", "right", "front", "left", "right", "front", "left", "right", "front"],
        "proximity": [1, 2, 3, 3, 2, 1, 1, 3, 2, 2],
        "distance": [0.0, 1.0, 2.0, 0.0, 1.0, 0.0, 2.0, 1.0, 1.0, 2.0],
        "hint": [True, False, True, True, False, False, True, False, True, False],
    }
)


def test_design_always_has_an_intercept() -> None:
    found = design(TABLE)
    assert found.names == ("intercept",)
    np.testing.assert_array_equal(found.matrix, np.ones((10, 1)))


def test_design_columns_equal_a_plain_loop() -> None:
    found = design(TABLE, ["view*center(proximity)", "C(distance)", "hint"])
    mean = sum(TABLE["proximity"]) / 10
    expected = [
        (
            1.0,
            view == "left",
            view == "right",
            proximity - mean,
            distance == 1,
            distance == 2,
            hint,
            (view == "left") * (proximity - mean),
            (view == "right") * (proximity - mean),
        )
        for view, proximity, distance, hint in TABLE.iter_rows()
    ]
    assert found.names == (
        "intercept",
        *("view[left]", "view[right]", "proximity", "distance[1]", "distance[2]", "hint[True]"),
        *("view[left]:proximity", "view[right]:proximity"),
    )
    np.testing.assert_allclose(found.matrix, np.array(expected, dtype=float))


def test_design_interaction_of_factors_is_the_product_of_columns() -> None:
    found = design(TABLE.vstack(TABLE.with_columns(pl.col("view").reverse())), ["view*hint"])
    assert found.names[-2:] == ("view[left]:hint[True]", "view[right]:hint[True]")
    np.testing.assert_array_equal(found.matrix[:, -2], found.matrix[:, 1] * found.matrix[:, 3])


def test_design_expands_three_way_interactions_without_repeated_terms() -> None:
    found = design(TABLE, ["proximity", "distance*proximity", "proximity*distance", "proximity*distance*hint"])
    assert found.terms == (
        (),
        ("proximity",),
        ("distance",),
        ("hint",),
        ("distance", "proximity"),
        ("proximity", "hint"),
        ("distance", "hint"),
        ("proximity", "distance", "hint"),
    )


def test_design_orders_levels_by_enum() -> None:
    order = pl.Enum(["right", "left", "front", "above"])
    found = design(TABLE.with_columns(pl.col("view").cast(order)), ["view"])
    assert found.names == ("intercept", "view[left]", "view[front]")


def test_design_rows_applies_the_original_centering_to_new_rows() -> None:
    found = design(TABLE, ["view*center(proximity)"])
    np.testing.assert_array_equal(found.rows(TABLE), found.matrix)
    one = found.rows(pl.DataFrame({"view": ["right"], "proximity": [10.0]}))
    np.testing.assert_allclose(one, [[1, 0, 1, 8, 0, 8]])


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (
            ["view*views"],
            ("unknown-name"),
        ),
        (["view*"], "invalid-option"),
        (["log(view)"], "invalid-option"),
        (["C(view"], "invalid-option"),
        (["view)"], "invalid-option"),
        (["center(view)"], "cannot-estimate"),
        (["view*view"], "invalid-option"),
        (["C(proximity)", "proximity"], "invalid-option"),
        (["C(proximity)*view*hint"], "cannot-estimate"),
    ],
)
def test_design_with_invalid_terms_is_an_error(terms: list[str], said: str) -> None:
    with raises(OptionError, said):
        design(TABLE, terms)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([1.0] * 9 + [None], "invalid-value:x"),
        ([1.0] * 9 + [np.inf], "invalid-value:x"),
        ([2.0] * 10, "cannot-estimate"),
        ([0.0] * 10, "cannot-estimate"),
        (["a"] * 10, "cannot-estimate"),
    ],
)
def test_design_with_invalid_columns_is_an_error(column: list[object], said: str) -> None:
    with raises(OptionError, said):
        design(TABLE.with_columns(pl.Series("x", column)), ["x"])


def test_design_with_an_empty_combination_of_levels_is_an_error() -> None:
    table = pl.DataFrame({"a": ["x", "x", "y", "y", "x"], "b": ["u", "v", "u", "u", "v"]})
    with raises(OptionError, "cannot-estimate"):
        design(table, ["a*b"])
