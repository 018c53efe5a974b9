"""Build the matrix of fixed effects of a table: numbers, factors in treatment coding, and their interactions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from spotball_core.errors import OptionError
from spotball_core.typing import FloatArray

Level = str | bool | float
INTERCEPT = "intercept"

_FACTOR = re.compile(r"(?:(C|center)\()?\s*(\w+)\s*(\))?")


@dataclass(frozen=True)
class Variable:
    """A variable of a design: a column of the table.

    Attributes:
        name: name of the column.
        levels: levels of a factor, the reference level first; None for a number.
        mean: mean of a number over the table's rows.
        shift: value that is subtracted from a number: its mean if it is centered, else 0.
        values: sorted distinct values of a number.
    """

    name: str
    levels: tuple[Level, ...] | None
    mean: float = 0.0
    shift: float = 0.0
    values: tuple[float, ...] = ()

    def columns(self, table: pl.DataFrame) -> tuple[tuple[str, ...], FloatArray]:
        """Return the names and values (n, c) of the design's columns for this variable."""
        column = table[self.name]
        if self.levels is None:
            values = column.cast(pl.Float64).to_numpy() - self.shift
            return (self.name,), np.asarray(values[:, None])
        other_levels = self.levels[1:]
        names = tuple(
            f"{self.name}[{level:g}]" if isinstance(level, float) else f"{self.name}[{level}]" for level in other_levels
        )
        return names, np.column_stack([(column == level).to_numpy().astype(float) for level in other_levels])


@dataclass(frozen=True)
class Design:
    """The fixed effects of a model: the design matrix of a table, and a method that computes the matrix of other rows.

    Attributes:
        names: names of the matrix's columns, such as "intercept", "proximity", "view[left]", "view[left]:proximity".
        matrix: the design matrix (n, p) of the table.
        variables: the variables by name.
        terms: names of the variables that each term multiplies, in the order of the columns; empty for the intercept.
    """

    names: tuple[str, ...]
    matrix: FloatArray
    variables: Mapping[str, Variable]
    terms: tuple[tuple[str, ...], ...]

    def rows(self, table: pl.DataFrame) -> FloatArray:
        """Return the design matrix (m, p) of another table, which must contain the columns of all variables."""
        return _matrix(table, self.variables, self.terms)[1]


def design(table: pl.DataFrame, terms: Sequence[str] = ()) -> Design:
    """Return the design of fixed effects for a table, always with an intercept.

    A term is a variable, or several joined by `*`, which stands for each of them and all their interactions. A column
    of strings, categories or truth values is a factor: it has 0/1 columns for all levels except the first. Levels have
    the order of an Enum; others are sorted. `C(x)` treats a number as a factor; `center(x)` subtracts its mean over the
    table's rows. Columns are ordered as in R: main effects, then interactions.

    Args:
        table: one row per observation.
        terms: the terms of the fixed effects.

    Raises:
        OptionError: for a malformed term, an unknown column, missing values, a variable in two forms (such as `x` and
            `C(x)`), a factor with one level, fewer rows than columns, or columns that are linear combinations of
            others.

    Examples:
        >>> table = pl.DataFrame({"view": ["front", "left", "front", "left"], "proximity": [1, 1, 2, 3]})
        >>> fixed = design(table, ["view*center(proximity)"])
        >>> fixed.names
        ('intercept', 'view[left]', 'proximity', 'view[left]:proximity')
        >>> fixed.matrix.tolist()[-1]
        [1.0, 1.0, 1.25, 1.25]
    """
    variables: dict[str, Variable] = {}
    products: list[tuple[str, ...]] = []
    for term in terms:
        inside = [_variable(table, factor, term) for factor in term.split("*")]
        for variable in inside:
            if variables.setdefault(variable.name, variable) != variable:
                raise OptionError(
                    f"{variable.name} has two forms in the terms {', '.join(terms)}. Use the same form in all terms"
                )
        names = [variable.name for variable in inside]
        if len(set(names)) < len(names):
            raise OptionError(f"{term} multiplies a variable by itself. Give each variable once per term")
        for size in range(1, len(names) + 1):
            products.extend(itertools.combinations(names, size))
    unique = {frozenset(product): product for product in reversed(products)}
    ordered = sorted(dict.fromkeys(unique[frozenset(product)] for product in products), key=len)
    all_terms = ((), *ordered)
    column_names, matrix = _matrix(table, variables, all_terms)
    _check_rank(column_names, matrix)
    return Design(column_names, matrix, variables, all_terms)


def _variable(table: pl.DataFrame, text: str, term: str) -> Variable:
    match = _FACTOR.fullmatch(text.strip())
    if not match or bool(match[1]) != bool(match[3]):
        raise OptionError(
            f"cannot read {text.strip()!r} in the term {term!r}. Write column, C(column) or center(column)"
        )
    how, name = match[1], match[2]
    if name not in table.columns:
        raise OptionError(
            f"the table has no column {name!r}, which the term {term!r} names. Available: {', '.join(table.columns)}",
            code="unknown-name",
        )
    column = table[name]
    number = column.dtype.is_numeric()
    if column.null_count() or (number and not column.cast(pl.Float64).is_finite().all()):
        raise OptionError("found missing or infinite values. Remove these rows", code="invalid-value", field=name)
    if how != "C" and number:
        values = column.cast(pl.Float64)
        mean = float(np.mean(values.to_numpy()))
        return Variable(name, None, mean, mean if how == "center" else 0.0, tuple(values.unique().sort()))
    if how == "center":
        raise OptionError(
            f"{name} is not numeric and cannot be centered. Write {name} without center()", code="cannot-estimate"
        )
    levels = tuple(float(level) if number else level for level in column.unique().sort())
    if len(levels) < 2:
        raise OptionError(
            f"the factor {name} has only the level {levels[0]}. Remove its terms"
            if levels
            else "the table has no rows",
            code="cannot-estimate",
        )
    return Variable(name, levels)


def _matrix(
    table: pl.DataFrame, variables: Mapping[str, Variable], terms: Sequence[tuple[str, ...]]
) -> tuple[tuple[str, ...], FloatArray]:
    columns = {name: variable.columns(table) for name, variable in variables.items()}
    parts = [_product([columns[name] for name in term], len(table)) for term in terms]
    return tuple(itertools.chain.from_iterable(names for names, _ in parts)), np.column_stack(
        [part for _, part in parts]
    )


def _product(parts: Sequence[tuple[tuple[str, ...], FloatArray]], n: int) -> tuple[tuple[str, ...], FloatArray]:
    """Return the names and values of all products of one column per part; the first part's columns change fastest."""
    if not parts:
        return (INTERCEPT,), np.ones((n, 1))
    names, columns = parts[0]
    for more_names, more_columns in parts[1:]:
        names = tuple(f"{a}:{b}" for b in more_names for a in names)
        columns = np.column_stack([columns * column[:, None] for column in more_columns.T])
    return names, columns


def _check_rank(names: Sequence[str], matrix: FloatArray) -> None:
    if len(matrix) < len(names):
        raise OptionError(
            f"{len(matrix)} rows are too few for {len(names)} coefficients. Use fewer terms", code="cannot-estimate"
        )
    scale = np.linalg.norm(matrix, axis=0)
    if not scale.all():
        raise OptionError(
            f"{names[int(np.argmin(scale))]} is 0 in all rows, so its effect cannot be estimated. Remove this term",
            code="cannot-estimate",
        )
    triangle = np.abs(np.diag(np.linalg.qr(matrix / scale, mode="r")))
    if (triangle < 1e-10).any():
        column = names[int(np.argmax(triangle < 1e-10))]
        raise OptionError(
            f"{column} cannot be distinguished from the other terms, because they always vary together. Remove one of "
            "them",
            code="cannot-estimate",
        )
