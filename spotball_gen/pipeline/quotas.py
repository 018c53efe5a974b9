"""Select items for the dataset by ranges and quotas, and report the bins that could not be filled.

Items with the same bins form a kind. The number of items per kind is the solution of an integer program, computed by
HiGHS. Within a kind, items are selected at random by the seed, independent of the other items.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import Field, PositiveInt, field_validator, model_validator

from spotball_core.grid import Grid
from spotball_gen.items.item import Item
from spotball_gen.items.stage import StageSettings
from spotball_gen.pipeline.difficulty import Measure, in_center, measures

OUTSIDE, SURPLUS = "outside a range", "not needed for the targets"
"""Reasons why an item is not selected for the dataset."""

SPORT, CENTER = "sport", "center"
"""Names of the quotas for sports and for the center window, which do not depend on a measure of difficulty."""

_STRICT = 1e-4
"""Margin, in items, with which strict inequalities are passed to the solver; it exceeds the solver's tolerance."""


class Range(StageSettings):
    """A table `[targets.ranges.MEASURE]`: the smallest and the largest allowed value."""

    min: float = Field(0.0, ge=0)
    max: float | None = None


class Quota(StageSettings):
    """A table `[targets.quotas.MEASURE]`: bins, and the share of items in each bin.

    Attributes:
        edges: boundaries between bins. An edge belongs to the upper bin: `[4, 8]` defines three bins.
        shares: share of items in each bin; one share more than there are edges. By default, all shares are equal.
    """

    edges: tuple[float, ...] = Field(min_length=1)
    shares: tuple[float, ...] = ()

    @field_validator("edges")
    @classmethod
    def _rising(cls, edges: tuple[float, ...]) -> tuple[float, ...]:
        if list(edges) != sorted(set(edges)):
            raise ValueError("expected increasing numbers, such as [4, 8]")
        return edges

    @model_validator(mode="after")
    def _a_share_each(self) -> Quota:
        bins = len(self.edges) + 1
        if not self.shares:
            object.__setattr__(self, "shares", (1 / bins,) * bins)
        elif len(self.shares) != bins:
            raise ValueError(f"expected one share for each of the {bins} bins, not {len(self.shares)}")
        _check_shares(self.shares)
        return self

    def bin(self, value: float) -> str:
        """Return the name of the bin that contains a value."""
        return self.bins[int(np.searchsorted(self.edges, value, side="right"))]

    @property
    def bins(self) -> tuple[str, ...]:
        """Return the names of all bins.

        Examples:
            >>> Quota(edges=(4, 8)).bins
            ('below 4', '4 to 8', 'from 8 up')
        """
        between = (f"{low:g} to {high:g}" for low, high in zip(self.edges, self.edges[1:], strict=False))
        return (f"below {self.edges[0]:g}", *between, f"from {self.edges[-1]:g} up")


class Targets(StageSettings):
    """The table `[targets]`. If it is empty, every item is selected.

    Attributes:
        count: number of items; by default as many as the quotas allow.
        ranges: allowed range, by measure.
        quotas: bins and their shares, by measure.
        sports: share of each sport, or `equal`.
        center: share of items whose ball is in the center window. Set it so that always guessing the center does not
            score well.
    """

    count: PositiveInt | None = None
    ranges: Mapping[Measure, Range] = {}
    quotas: Mapping[Measure, Quota] = {}
    sports: Mapping[str, float] | str = {}
    center: float | None = Field(None, ge=0, le=1)

    @field_validator("sports")
    @classmethod
    def _equal_or_shares(cls, sports: Mapping[str, float] | str) -> Mapping[str, float] | str:
        if isinstance(sports, str):
            if sports != "equal":
                raise ValueError('the share of each sport, or "equal"')
        elif sports:
            _check_shares(tuple(sports.values()))
        return sports


@dataclass(frozen=True)
class Selection:
    """The selected items.

    Attributes:
        chosen: ids of the selected items, sorted.
        left_out: short reason why each of the other items is not selected, by item id.
        starving: description of each bin with too few items, one line per bin.
        bins: for each quota and bin, the numbers of items that are `wanted`, `available` and `taken` (selected).
    """

    chosen: tuple[str, ...]
    left_out: Mapping[str, str]
    starving: tuple[str, ...]
    bins: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the attributes `starving` and `bins`, which the dataset card reports, as JSON values."""
        bins = {quota: {name: dict(of) for name, of in counts.items()} for quota, counts in self.bins.items()}
        return {"starving": list(self.starving), "bins": bins}


def choose(items: Iterable[Item], targets: Targets, grid: Grid, *, seed: int) -> Selection:
    """Select the items of the dataset according to the targets.

    With a count, no bin gets more than its share of the count, and as many items as possible are selected; bins with
    fewer items are reported. Without a count, the result is the largest dataset in which each bin has its share to
    within one item. Bins without any item are reported, and their share is distributed to the other bins of the quota.

    Args:
        items: the items that passed all stages. They are read one at a time.
        targets: the targets.
        grid: the grid over their images.
        seed: seed of the random selection, which is made if more items are suitable than needed.
    """
    left_out: dict[str, str] = {}
    placed: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
    sports: set[str] = set()
    for item in items:
        assert item.ball
        sports.add(item.sport)
        measured = measures(item.ball.corners, [player.corners for player in item.players], grid)
        if any(not _within(measured[name], of) for name, of in targets.ranges.items()):
            left_out[item.id] = OUTSIDE
        else:
            placed[tuple(_bins(item, measured, targets, grid))].append((item.seed(seed, "targets"), item.id))
    program = _Program(_wanted(sports, targets), {kind: len(of) for kind, of in placed.items()}, targets.count)
    per_kind = program.solved()
    chosen: list[str] = []
    for kind, of in placed.items():
        # Order items by the seed, independent of the other items.
        in_order = [ident for _, ident in sorted(of)]
        chosen += in_order[: per_kind[kind]]
        left_out.update((ident, SURPLUS) for ident in in_order[per_kind[kind] :])
    bins, starving = program.summary(per_kind)
    return Selection(tuple(sorted(chosen)), left_out, starving, bins)


def _wanted(played: Collection[str], targets: Targets) -> dict[str, dict[str, float]]:
    """Return the share of each bin, by quota."""
    shares: dict[str, dict[str, float]] = {
        name: dict(zip(quota.bins, quota.shares, strict=True)) for name, quota in targets.quotas.items()
    }
    if isinstance(targets.sports, str):
        shares[SPORT] = dict.fromkeys(sorted(played), 1 / max(len(played), 1))
    elif targets.sports:
        unlisted = set(played) - set(targets.sports)
        shares[SPORT] = {**targets.sports, **dict.fromkeys(sorted(unlisted), 0.0)}
    if targets.center is not None:
        shares[CENTER] = {"inside": targets.center, "outside": 1 - targets.center}
    return shares


def _bins(item: Item, measured: Mapping[Measure, float], targets: Targets, grid: Grid) -> Iterator[str]:
    """Yield an item's bin for each quota, with the quotas in the order of the result of `_wanted`."""
    for name, quota in targets.quotas.items():
        yield quota.bin(measured[name])
    if targets.sports:
        yield item.sport
    if targets.center is not None:
        assert item.ball
        yield "inside" if in_center(item.ball.corners, grid) else "outside"


class _Program:
    """Integer program that determines how many items of each kind are selected."""

    def __init__(
        self,
        shares_of_quotas: Mapping[str, Mapping[str, float]],
        kinds: Mapping[tuple[str, ...], int],
        count: int | None,
    ) -> None:
        self._count, self._kinds = count, dict(sorted(kinds.items()))
        self._available = {
            quota: {name: sum(n for kind, n in kinds.items() if kind[index] == name) for name in shares}
            for index, (quota, shares) in enumerate(shares_of_quotas.items())
        }
        self._wanted = {quota: self._shared(quota, shares) for quota, shares in shares_of_quotas.items()}

    def _shared(self, quota: str, shares: Mapping[str, float]) -> dict[str, float]:
        """Return the shares. Without a count, the shares of empty bins are distributed to the other bins."""
        if self._count is not None:
            return dict(shares)
        possible = {name: share if self._available[quota][name] else 0.0 for name, share in shares.items()}
        total = sum(possible.values())
        return {name: share / total if total else 0.0 for name, share in possible.items()}

    def solved(self) -> dict[tuple[str, ...], int]:
        """Return the number of items to select per kind."""
        if not self._kinds:
            return {}
        from scipy.optimize import Bounds, LinearConstraint, milp

        kinds = list(self._kinds)
        rows, low, high = [], [], []
        for index, shares in enumerate(self._wanted.values()):
            caps = _rounded(shares, self._count) if self._count is not None else None
            for name, share in shares.items():
                inside = np.array([float(kind[index] == name) for kind in kinds])
                rows.append(inside if caps is not None else inside - share)
                low.append(-np.inf if caps is not None else -1 + _STRICT if share else 0)
                high.append(caps[name] if caps is not None else 1 - _STRICT if share else 0)
        if self._count is not None:
            rows.append(np.ones(len(kinds)))
            low.append(-np.inf)
            high.append(self._count)
        constraints = [LinearConstraint(np.array(rows), low, high)] if rows else []
        solution = milp(
            -np.ones(len(kinds)),
            integrality=np.ones(len(kinds)),
            bounds=Bounds(0, np.array(list(self._kinds.values()), dtype=float)),
            constraints=constraints,
        )
        assert solution.success, solution.message  # Nothing at all is always a solution.
        return {kind: round(number) for kind, number in zip(kinds, solution.x, strict=True)}

    def summary(
        self, per_kind: Mapping[tuple[str, ...], int]
    ) -> tuple[dict[str, dict[str, dict[str, int]]], tuple[str, ...]]:
        """Return the counts of each bin, and a line for each bin with too few items."""
        total = self._count if self._count is not None else sum(per_kind.values())
        surplus = sum(self._kinds.values()) - sum(per_kind.values())
        bins: dict[str, dict[str, dict[str, int]]] = {}
        lines = []
        for index, (quota, shares) in enumerate(self._wanted.items()):
            targets = _rounded(shares, total)
            bins[quota] = {}
            for name, available in self._available[quota].items():
                n_taken = sum(n for kind, n in per_kind.items() if kind[index] == name)
                bins[quota][name] = {"wanted": targets[name], "available": available, "taken": n_taken}
                if line := self._starves(quota, name, targets[name], available, n_taken, surplus):
                    lines.append(line)
        if self._count is not None and not lines and sum(per_kind.values()) < self._count:
            lines.append(f"count: {self._count:,} items are wanted, but only {sum(per_kind.values()):,} are available")
        return bins, tuple(lines)

    def _starves(self, quota: str, name: str, target: int, available: int, n_taken: int, surplus: int) -> str | None:
        if self._count is not None and n_taken < target:
            return f"{quota} {name}: only {n_taken:,} of {target:,} items were selected ({available:,} available)"
        if self._count is None and not available:
            return f"{quota} {name}: no item is available, so its share is divided among the other bins"
        if self._count is None and self._wanted[quota][name] and available == n_taken and surplus:
            remaining = sum(self._kinds.values()) - available
            return (
                f"{quota} {name}: all {available:,} items are selected, but to keep the shares, some of the other "
                f"{remaining:,} are not"
            )
        return None


def _rounded(shares: Mapping[str, float], total: int) -> dict[str, int]:
    """Round shares to whole numbers with the same sum, by the largest remainders.

    Examples:
        >>> _rounded({"a": 0.5, "b": 0.25, "c": 0.25}, 7)
        {'a': 3, 'b': 2, 'c': 2}
    """
    exact = {name: share * total for name, share in shares.items()}
    rounded = {name: int(value + 1e-9) for name, value in exact.items()}
    missing = round(sum(exact.values())) - sum(rounded.values())
    for name in sorted(exact, key=lambda name: rounded[name] - exact[name])[: max(missing, 0)]:
        rounded[name] += 1
    return rounded


def _within(value: float, of: Range) -> bool:
    return of.min <= value <= (np.inf if of.max is None else of.max)


def _check_shares(shares: Sequence[float]) -> None:
    if any(share < 0 for share in shares):
        raise ValueError("expected shares of at least 0")
    if abs(sum(shares) - 1) > 1e-6:
        raise ValueError(f"expected shares that add up to 1, not to {sum(shares):g}")
