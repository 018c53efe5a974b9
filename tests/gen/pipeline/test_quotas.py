"""Test the choice of items: ranges, quotas, the largest valid selection, and the report of unfilled bins."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from spotball_core.grid import Grid
from spotball_gen.items.item import Box, Item, VideoSource
from spotball_gen.items.pictures import PictureFile
from spotball_gen.pipeline.quotas import OUTSIDE, SURPLUS, Selection, Targets, choose

GRID = Grid.standard()


def item(number: int, *, players: int = 1, sport: str = "soccer", center: bool = False, size: float = 10) -> Item:
    x, y = (320, 180) if center else (20, 20)
    name = f"m-{number:09d}"
    return Item(
        name,
        VideoSource("m", "m.avi", sport, "", "m.avi", ""),
        time=number,
        shot=0,
        frame=PictureFile(Path(f"{name}.png")),
        ball=Box(x - size / 2, y - size / 2, x + size / 2, y + size / 2),
        players=tuple(Box(100 + 20 * n, 100, 110 + 20 * n, 130, label="player") for n in range(players)),
    )


def chosen(items: list[Item], seed: int = 0, **targets: Any) -> tuple[list[Item], Selection]:
    choice = choose(items, Targets.model_validate(targets), GRID, seed=seed)
    assert set(choice.chosen) | set(choice.left_out) == {one.id for one in items}
    assert not set(choice.chosen) & set(choice.left_out)
    return [one for one in items if one.id in choice.chosen], choice


def test_choose_without_targets_takes_all_items() -> None:
    items = [item(n) for n in range(5)]
    taken, choice = chosen(items)
    assert taken == items
    assert (choice.left_out, choice.starving, choice.record()) == ({}, (), {"starving": [], "bins": {}})
    assert chosen([])[0] == []


def test_choose_ranges_include_their_ends() -> None:
    items = [item(n, players=n) for n in range(6)]
    taken, choice = chosen(items, ranges={"players": {"min": 2, "max": 4}})
    assert [len(one.players) for one in taken] == [2, 3, 4]
    assert set(choice.left_out.values()) == {OUTSIDE}


def test_choose_with_a_count_depends_only_on_the_seed_even_if_items_not_chosen_are_removed() -> None:
    items = [item(n) for n in range(30)]
    once, again, other = (chosen(items, seed, count=10)[0] for seed in (1, 1, 2))
    assert once == again != other
    assert len(once) == len(other) == 10
    few, _ = chosen(items, count=5)
    rest = [one for one in items if one in few or one.time < 20]
    assert chosen(rest, count=5)[0] == few


class TestQuotas:
    def test_choose_meets_all_quotas_if_the_items_suffice(self) -> None:
        items = [item(n, players=n % 10, sport="ab"[n % 3 == 0], center=n % 4 == 0) for n in range(200)]
        quotas = {"players": {"edges": [3, 6], "shares": [0.5, 0.3, 0.2]}}
        taken, choice = chosen(items, count=40, quotas=quotas, sports="equal", center=0.25)
        assert len(taken) == 40
        bins = Counter("low" if len(one.players) < 3 else "mid" if len(one.players) < 6 else "high" for one in taken)
        assert bins == {"low": 20, "mid": 12, "high": 8}
        assert Counter(one.sport for one in taken) == {"a": 20, "b": 20}
        assert choice.bins["center"]["inside"] == {"wanted": 10, "available": 50, "taken": 10}
        assert choice.starving == ()
        assert set(choice.left_out.values()) == {SURPLUS}

    def test_choose_without_a_count_takes_the_largest_balanced_selection(self) -> None:
        items = [item(n, sport="a" if n < 17 else "b") for n in range(22)]
        taken, choice = chosen(items, sports="equal")
        assert Counter(one.sport for one in taken) == {"a": 6, "b": 5}
        starving = "sport b: all 5 items are selected, but to keep the shares, some of the other 17 are not"
        assert choice.starving == (starving,)
        # Sports without a share are excluded.
        taken, _ = chosen([item(n, sport="abc"[n % 3]) for n in range(9)], sports={"a": 0.5, "b": 0.5})
        assert {one.sport for one in taken} == {"a", "b"}

    def test_choose_reports_counts_and_quotas_that_cannot_be_filled(self) -> None:
        def check(items: list[Item], n_taken: int, *starving: str, **targets: Any) -> None:
            taken, choice = chosen(items, **targets)
            assert (len(taken), choice.starving) == (n_taken, starving)

        few, none = "only 1 of 5 items were selected (1 available)", "only 0 of 4 items were selected (5 available)"
        one_with_many = [item(n, players=1 if n else 5) for n in range(20)]
        check(one_with_many, 6, f"players from 3 up: {few}", count=10, quotas={"players": {"edges": [3]}})
        check([item(n) for n in range(3)], 3, "count: 5 items are wanted, but only 3 are available", count=5)
        divided = "players from 5 up: no item is available, so its share is divided among the other bins"
        check([item(n, players=n % 2) for n in range(8)], 8, divided, quotas={"players": {"edges": [1, 5]}})
        # Items at the center have no players, so the two quotas cannot be met together.
        items = [item(n, players=0, center=True) for n in range(5)] + [item(n + 9, players=3) for n in range(5)]
        quotas = {"players": {"edges": [2], "shares": [0, 1]}}
        check(items, 0, f"players from 2 up: {none}", f"center inside: {none}", count=4, center=1.0, quotas=quotas)
        inside, outside = (f"only 0 of {count} items were selected (0 available)" for count in (2, 1))
        check([], 0, f"center inside: {inside}", f"center outside: {outside}", count=3, center=0.5)

    @given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans()), max_size=9), st.integers(1, 6))
    def test_choose_takes_as_many_items_as_an_exhaustive_search(
        self, kinds: list[tuple[int, bool, bool]], count: int
    ) -> None:
        items = [item(n, players=2 * k, center=center, sport="ab"[b]) for n, (k, center, b) in enumerate(kinds)]
        taken, choice = chosen(items, count=count, quotas={"players": {"edges": [1, 3]}}, center=0.5)
        caps = {quota: {name: of["wanted"] for name, of in bins.items()} for quota, bins in choice.bins.items()}

        def allowed(some: tuple[Item, ...]) -> bool:
            players = Counter("below 1" if not one.players else f"{len(one.players)}" for one in some)
            names = {"below 1": "below 1", "1 to 3": "2", "from 3 up": "4"}
            inside = sum(one.ball is not None and one.ball.x1 > 100 for one in some)
            return (
                all(players[names[name]] <= cap for name, cap in caps["players"].items())
                and inside <= caps["center"]["inside"]
                and len(some) - inside <= caps["center"]["outside"]
            )

        assert allowed(tuple(taken))
        sizes = range(min(count, len(items)), -1, -1)
        best = next(n for n in sizes if any(map(allowed, itertools.combinations(items, n))))
        assert len(taken) == best

    @given(st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=12))
    def test_choose_without_a_count_meets_each_share_within_one_item(self, kinds: list[tuple[int, bool]]) -> None:
        items = [item(n, players=2 * players, center=center) for n, (players, center) in enumerate(kinds)]
        taken, choice = chosen(items, quotas={"players": {"edges": [1], "shares": [0.25, 0.75]}}, center=0.5)
        for quota, shares in {"players": (0.25, 0.75), "center": (0.5, 0.5)}.items():
            bins = list(choice.bins[quota].values())
            if all(of["available"] for of in bins):
                assert all(abs(of["taken"] - s * len(taken)) < 1 for of, s in zip(bins, shares, strict=True))


@pytest.mark.parametrize(
    ("table", "location"),
    [
        ({"quotas": {"players": {"edges": [4, 2]}}}, ("quotas", "players", "edges")),
        ({"quotas": {"players": {"edges": [4], "shares": [1]}}}, ("quotas", "players")),
        ({"quotas": {"players": {"edges": [4], "shares": [0.5, 0.4]}}}, ("quotas", "players")),
        ({"sports": {"a": -0.5, "b": 1.5}}, ("sports",)),
        ({"quotas": {"spectators": {"edges": [4]}}}, ("quotas", "spectators", "[key]")),
        ({"sports": "all"}, ("sports",)),
        ({"center": 2}, ("center",)),
        ({"colour": 1}, ("colour",)),
    ],
)
def test_targets_with_invalid_values_are_errors(table: Mapping[str, Any], location: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError) as caught:
        Targets.model_validate(table)
    assert [error["loc"] for error in caught.value.errors()] == [location]
