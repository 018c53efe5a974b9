"""Test the attrition table of five participants against counts made by hand."""

from __future__ import annotations

import json

import pytest

from spotball_adapters.study.results.attrition import ALL, attrition
from spotball_adapters.study.results.attrition_text import AGREES, to_json, to_markdown, to_text
from spotball_adapters.study.results.exclusion import Exclusion
from tests.adapters.study.people import given, person

GOOD, BAD = given("C2", "C3", "C2", check=True), given("C2", "C3", "D5", check=True)
PEOPLE = [
    person(GOOD, given("A1", seconds=9), name="a", at="soccer", minutes=10.0),
    person(GOOD, given("A1", seconds=9), name="b", at="soccer", minutes=13.0),
    # Two rules exclude this participant, who must be counted once.
    person(BAD, given("A1", seconds=1), given("A2", seconds=1), name="c", at="soccer", minutes=2.5),
    person(given("A1"), name="d", at="volleyball", stage="trials"),
    person(name="e", at="volleyball", stage="instructions"),
]
RULES = Exclusion(("checks", "fast"), min_seconds=2.0)
FOUND = attrition(PEOPLE, ["soccer", "volleyball"], RULES)


def test_attrition_counts_each_step_per_list_and_in_all() -> None:
    assert {said: list(row.values()) for said, row in FOUND.rows.items()} == {
        "took part": [3, 2, 5],
        "read the instructions": [3, 1, 4],
        "reached the images": [3, 1, 4],
        "finished": [3, 0, 3],
        "excluded: checks": [1, 0, 1],
        "excluded: fast": [1, 0, 1],
        "excluded in all": [1, 0, 1],
        "kept": [2, 0, 2],
    }
    assert all(list(row) == ["soccer", "volleyball", ALL] for row in FOUND.rows.values())


def test_attrition_reports_mean_and_sd_of_minutes() -> None:
    kept, nobody = FOUND.kept["soccer"], FOUND.kept["volleyball"]
    # The mean is (10 + 13) / 2, and the SD is sqrt((1.5 ** 2 + 1.5 ** 2) / (2 - 1)).
    assert (kept.n, kept.mean, kept.sd) == (2, 11.5, pytest.approx(4.5**0.5))
    assert (nobody.n, nobody.mean, nobody.sd) == (0, None, None)
    assert (FOUND.finished[ALL].n, FOUND.finished[ALL].mean) == (3, 8.5)


def test_sd_of_one_participant_is_none() -> None:
    alone = attrition(PEOPLE[:1], ["soccer"], RULES).kept["soccer"]
    assert (alone.mean, alone.sd) == (10.0, None)


def test_participants_of_a_removed_list_count_only_in_the_total() -> None:
    found = attrition(PEOPLE, ["soccer"], RULES)
    assert list(found.rows["took part"].values()) == [3, 5]


def test_text_and_markdown_state_counts_rules_and_agreement() -> None:
    text = to_text(FOUND, RULES, [])
    (row,) = [line for line in text.splitlines() if "excluded in all" in line]
    assert row.split()[-3:] == ["1", "0", "1"]
    assert "--min-seconds: 2" in text
    assert AGREES in text
    assert "| kept, mean | 11.5 | - | 11.5 |" in to_markdown(FOUND, RULES, [])


def test_text_states_disagreements_instead_of_agreement() -> None:
    assert "lists were changed" in to_text(FOUND, RULES, ["lists were changed"])
    assert AGREES not in to_text(FOUND, RULES, ["lists were changed"])


def test_json_contains_counts_minutes_rules_and_disagreements() -> None:
    content = json.loads(to_json(FOUND, RULES, ["something"]))
    assert content["participants"]["kept"] == {"soccer": 2, "volleyball": 0, ALL: 2}
    assert content["minutes"]["kept"]["soccer"] == {"n": 2, "mean": 11.5, "sd": pytest.approx(4.5**0.5)}
    assert content["exclusion"] == {"rules": ["checks", "fast"], "min_seconds": 2.0}
    assert content["disagreements"] == ["something"]
