"""The base classes of results, which can be printed, shown in a notebook, and converted to a data frame or to JSON."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from spotball_core.schema.record import Record

if TYPE_CHECKING:
    import polars as pl

R = TypeVar("R")


@dataclass(frozen=True)
class Forms(Generic[R]):
    """The functions that present one type of result.

    Attributes:
        text: returns the text that the result's command prints, with hints for Python instead of the command's options.
        html: returns the same content as HTML.
        columns: name and type of each column of the result's data frame.
        rows: returns the rows of the data frame.
    """

    text: Callable[[R], str]
    html: Callable[[R], str]
    columns: Mapping[str, type]
    rows: Callable[[R], Iterable[tuple[object, ...]]]


class Result:
    """The methods of all results. `print` prints what the result's command prints, and notebooks show it as a table."""

    _forms: ClassVar[str]
    """Module and name of the result's `Forms`. Records are in lower layers than these, so they are loaded by name."""

    _counted: ClassVar[tuple[str, ...]]
    """The attributes whose numbers of items `repr` states."""

    if TYPE_CHECKING:
        # At run time, this annotation would change the order of the records' fields.
        signature: str

    def __str__(self) -> str:
        return self._presented().text(self).removesuffix("\n")

    def __repr__(self) -> str:
        sizes = "".join(f" {name}={len(getattr(self, name))}" for name in self._counted)
        return f"<{type(self).__name__}{sizes} signature={self.signature!r}>"

    def _repr_html_(self) -> str:
        return self._presented().html(self)

    def to_frame(self) -> pl.DataFrame:
        """Return the numbers as a Polars data frame, with the signature in each row.

        `to_frame().to_pandas()` is a pandas data frame.

        Returns:
            One row per group and metric of a score report; sport and quantity of a noise ceiling; sport and metric of a
            comparison; group and quantity of a cue report; part of a mixture; pair of thresholds of a threshold
            surface; published value of a replication.
        """
        import polars as pl

        forms = self._presented()
        return pl.DataFrame(list(forms.rows(self)), schema=dict(forms.columns), orient="row")

    def _presented(self) -> Forms[Any]:
        module, name = self._forms.split(":")
        forms: Forms[Any] = getattr(importlib.import_module(module), name)
        return forms


class ResultRecord(Result, Record):
    """A result that is a record."""

    def to_json(self) -> str:
        """Return the result as JSON text, as the result's command prints it with `--format json`."""
        return self.model_dump_json(indent=1)
