"""Columns of fixed effects, against loops over rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed import design

TABLE = pl.DataFrame(
    {
        "view": ["left", "front", "right", "front", "left", "right", "front", "left", "right", "front"],
        "proximity": [1, 2, 3, 3, 2, 1, 1, 3, 2, 2],
        "distance": [0.0, 1.0, 2.0, 0.0, 1.0, 0.0, 2.0, 1.0, 1.0, 2.0],
        "hint": [True, False, True, True, False, False, True, False, True, False],
    }
)


def test_an_intercept_is_always_there() -> None:
    found = design(TABLE)
    assert found.names == ("intercept",)
    np.testing.assert_array_equal(found.matrix, np.ones((10, 1)))


def test_columns_against_a_loop() -> None:
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


def test_factors_by_each_other() -> None:
    found = design(TABLE.vstack(TABLE.with_columns(pl.col("view").reverse())), ["view*hint"])
    assert found.names[-2:] == ("view[left]:hint[True]", "view[right]:hint[True]")
    np.testing.assert_array_equal(found.matrix[:, -2], found.matrix[:, 1] * found.matrix[:, 3])


def test_three_at_once_and_no_term_twice() -> None:
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


def test_an_enum_orders_its_levels() -> None:
    order = pl.Enum(["right", "left", "front", "above"])
    found = design(TABLE.with_columns(pl.col("view").cast(order)), ["view"])
    assert found.names == ("intercept", "view[left]", "view[front]")


def test_other_rows_are_made_as_the_first_were() -> None:
    found = design(TABLE, ["view*center(proximity)"])
    np.testing.assert_array_equal(found.rows(TABLE), found.matrix)
    one = found.rows(pl.DataFrame({"view": ["right"], "proximity": [10.0]}))
    np.testing.assert_allclose(one, [[1, 0, 1, 8, 0, 8]])


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (
            ["view*views"],
            (
                "the table has no column 'views', which the term 'view\\*views' contains. Available: view, proximity, "
                "distance, hint"
            ),
        ),
        (["view*"], "cannot read '' in the term 'view\\*'"),
        (["log(view)"], "cannot read 'log\\(view\\)'"),
        (["C(view"], "cannot read 'C\\(view'"),
        (["view)"], "cannot read 'view\\)'"),
        (["center(view)"], "view is not numeric and cannot be centered"),
        (["view*view"], "view\\*view multiplies a variable by itself"),
        (["C(proximity)", "proximity"], "proximity has two forms in the terms C\\(proximity\\), proximity"),
        (["C(proximity)*view*hint"], "10 rows are too few for 18 coefficients"),
    ],
)
def test_terms_that_cannot_be_used(terms: list[str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        design(TABLE, terms)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([1.0] * 9 + [None], "x has missing or infinite values"),
        ([1.0] * 9 + [np.inf], "x has missing or infinite values"),
        ([2.0] * 10, "x cannot be distinguished from the other terms"),
        ([0.0] * 10, "x is 0 in all rows"),
        (["a"] * 10, "the factor x has only the level a"),
    ],
)
def test_columns_that_cannot_be_used(column: list[object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        design(TABLE.with_columns(pl.Series("x", column)), ["x"])


def test_a_combination_of_levels_without_data() -> None:
    table = pl.DataFrame({"a": ["x", "x", "y", "y", "x"], "b": ["u", "v", "u", "u", "v"]})
    with pytest.raises(
        OptionError,
        match=(
            r"a\[y\]:b\[v\] is 0 in all rows, so its effect cannot be estimated. "
            r"Remove this term"
        ),
    ):
        design(table, ["a*b"])
