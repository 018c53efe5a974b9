"""Test the design matrix of fixed effects against loops over rows."""

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


def test_design_matrix_has_an_intercept_and_columns_equal_to_those_from_a_loop_over_rows() -> None:
    found = design(TABLE)
    assert found.names == ("intercept",)
    np.testing.assert_array_equal(found.matrix, np.ones((10, 1)))
    found = design(TABLE, ["view*center(proximity)", "C(distance)", "hint"])
    expected = []
    for view, proximity, distance, hint in TABLE.iter_rows():
        left, right, centered = view == "left", view == "right", proximity - sum(TABLE["proximity"]) / 10
        of_factors = (left, right, centered, distance == 1, distance == 2, hint)
        expected.append((1.0, *of_factors, left * centered, right * centered))
    assert found.names == (
        "intercept",
        *("view[left]", "view[right]", "proximity", "distance[1]", "distance[2]", "hint[True]"),
        *("view[left]:proximity", "view[right]:proximity"),
    )
    np.testing.assert_allclose(found.matrix, np.array(expected, dtype=float))


def test_design_expands_interactions_to_distinct_products_and_orders_levels_like_the_enum() -> None:
    found = design(TABLE.vstack(TABLE.with_columns(pl.col("view").reverse())), ["view*hint"])
    assert found.names[-2:] == ("view[left]:hint[True]", "view[right]:hint[True]")
    np.testing.assert_array_equal(found.matrix[:, -2], found.matrix[:, 1] * found.matrix[:, 3])
    found = design(TABLE, ["proximity", "distance*proximity", "proximity*distance", "proximity*distance*hint"])
    single = ((), ("proximity",), ("distance",), ("hint",))
    pairs = (("distance", "proximity"), ("proximity", "hint"), ("distance", "hint"))
    assert found.terms == (*single, *pairs, ("proximity", "distance", "hint"))
    order = pl.Enum(["right", "left", "front", "above"])
    found = design(TABLE.with_columns(pl.col("view").cast(order)), ["view"])
    assert found.names == ("intercept", "view[left]", "view[front]")


def test_design_rows_applies_the_original_centering_to_new_rows() -> None:
    found = design(TABLE, ["view*center(proximity)"])
    np.testing.assert_array_equal(found.rows(TABLE), found.matrix)
    one = found.rows(pl.DataFrame({"view": ["right"], "proximity": [10.0]}))
    np.testing.assert_allclose(one, [[1, 0, 1, 8, 0, 8]])


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        (["view*views"], "unknown-name"),
        *(([term], "invalid-option") for term in ("view*", "log(view)", "C(view", "view)", "view*view")),
        (["center(view)"], "cannot-estimate"),
        (["C(proximity)", "proximity"], "invalid-option"),
        *(([term], "cannot-estimate") for term in ("C(proximity)*view*hint", "a*b")),
    ],
)
def test_design_with_invalid_terms_is_an_error(terms: list[str], code: str) -> None:
    # No row has both level y of a and level v of b.
    table = TABLE.with_columns(a=pl.Series(list("xxyyxxxyyx")), b=pl.Series(list("uvuuvvuuuu")))
    with raises(OptionError, code):
        design(table, terms)


@pytest.mark.parametrize(
    ("column", "where"),
    [
        ([1.0] * 9 + [None], "invalid-value:x"),
        ([1.0] * 9 + [np.inf], "invalid-value:x"),
        *((column, "cannot-estimate") for column in ([2.0] * 10, [0.0] * 10, ["a"] * 10)),
    ],
)
def test_design_with_invalid_columns_is_an_error(column: list[object], where: str) -> None:
    with raises(OptionError, where):
        design(TABLE.with_columns(pl.Series("x", column)), ["x"])
