"""Test the keys of JSON Lines records against a plain loop over `json.loads`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from spotball_core.counting.read import read_counts
from spotball_core.errors import InputError
from spotball_core.service import json_keys
from spotball_core.service.json_file import RepeatedKeyError, parse_json, read_json
from spotball_core.service.json_keys import read_keys
from tests.builders import scene
from tests.failures import raises

GOOD = {"sport": "soccer", "image": "1", "respondent": "gpt", "prompt": "base", "cell": "D5", "reasoning": None}


def in_loop(text: str) -> tuple[dict[tuple[str, ...], int], list[int]]:
    """Return key sequences with their first lines, and the lines with a repeated key."""
    shapes: dict[tuple[str, ...], int] = {}
    repeated = []
    for number, line in enumerate(text.split("\n"), start=1):
        twice = []

        def pairs(items: list[tuple[str, Any]], twice: list[bool] = twice) -> dict[str, Any]:
            twice.append(len({key for key, _ in items}) < len(items))
            return dict(items)

        try:
            record = json.loads(line, object_pairs_hook=pairs)
        except ValueError:
            continue
        if any(twice):
            repeated.append(number)
        elif isinstance(record, dict):
            shapes.setdefault(tuple(record), number)
    return shapes, repeated


names = st.sampled_from(["image", "cell", "prompt", "promqt", "respondent", "respondXnt", "probabilities", 'a"b', "é"])
values = st.one_of(
    st.none(),
    st.integers(0, 9),
    st.sampled_from(["D5", 'say "x":1', '\\"', "x\\", '"image":', " :", "a : b", "{", "ü"]),
    st.dictionaries(st.sampled_from(["D5", "image"]), st.integers(0, 1), max_size=2),
)
separators = st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")])


@st.composite
def lines(draw: st.DrawFn) -> str:
    if draw(st.integers(0, 20)) == 0:
        return draw(st.sampled_from(["", "{", "[]", "5", " ", "{}"]))
    comma, colon = draw(separators)
    keys = draw(st.one_of(st.just(["image", "cell", "probabilities"]), st.lists(names, max_size=4)))
    parts = [json.dumps(key) + colon + json.dumps(draw(values), ensure_ascii=False) for key in keys]
    return "{" + comma.join(parts) + "}"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.lists(lines(), min_size=1, max_size=30), block=st.sampled_from([16, 100, 1 << 18]), end=st.booleans())
def test_read_keys_matches_a_plain_loop(
    content: list[str], block: int, end: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_keys, "_BLOCK", block)
    text = "\n".join(content) + ("\n" if end else "")
    path = tmp_path / "responses.jsonl"
    path.write_text(text, encoding="utf-8")
    keys = read_keys(path)
    shapes, repeated = in_loop(text)
    assert keys.shapes == shapes
    assert sum(problem.count for problem in keys.repeated) == len(repeated)
    assert [line for problem in keys.repeated for line in problem.lines or [problem.line]] == repeated[:5]


@pytest.mark.parametrize("line", [2, 101, 3000])
@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('"prompt":', '"promt":', "unknown-column:promt"),
        ('"respondent":', '"respondant":', "unknown-column:respondant"),
        ('"respondent":', '"zespondent":', "unknown-column:zespondent"),
        ('"reasoning":', '"cell":', "duplicate:line"),
        ('"sport":', '"image":', "duplicate:line"),
    ],
)
def test_read_counts_with_a_wrong_key_on_any_line_raises_input_error(
    line: int, old: str, new: str, where: str, tmp_path: Path
) -> None:
    good = json.dumps(GOOD)
    path = tmp_path / "responses.jsonl"
    path.write_text("".join((good.replace(old, new) if n == line else good) + "\n" for n in range(1, 3501)))
    with raises(InputError, f"{where}:{line}") as caught:
        read_counts(path, [scene(image="1")])
    (problem,) = caught.value.problems
    assert where.startswith("unknown") or new.rstrip(":") in problem.found


@pytest.mark.slow
def test_read_counts_with_too_many_columns_raises_input_error(tmp_path: Path) -> None:
    columns = ["image", "cell", *(f"c{i}" for i in range(100_000))]
    for name, text in (
        ("wide.csv", ",".join(columns) + "\n" + ",".join(["1"] * len(columns)) + "\n"),
        ("wide.jsonl", json.dumps(dict.fromkeys(columns, "1")) + "\n"),
    ):
        (tmp_path / name).write_text(text)
        with raises(InputError, "too-large:file"):
            read_counts(tmp_path / name, [scene(image="1")])


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "\\u0061": 2}}]'])
def test_parse_json_and_read_json_of_a_repeated_key_at_any_depth_raise_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(RepeatedKeyError) as caught:
        parse_json(text)
    assert caught.value.key == "a"
    path = tmp_path / "a.json"
    path.write_text(text)
    with raises(InputError, "invalid-json:file"):
        read_json(path, "cards")
    # A file that is not UTF-8, and a folder, cannot be read.
    path.write_bytes(b"\xff")
    for unreadable in (path, tmp_path):
        with raises(InputError, "unreadable-file:file"):
            read_json(unreadable, "cards")


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "1e999", "[" * 100_000, "{", ""])
def test_parse_json_of_invalid_json_raises_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|Expecting|nested"):
        parse_json(text)
