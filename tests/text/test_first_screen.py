"""Test first screens: which columns are shortened to fit the width, and which are not."""

from __future__ import annotations

import pytest

from spotball_core.text.first_screen import WIDTH, FirstScreen

LONG = "organization/a-model-with-a-very-long-name-that-no-terminal-has-room-for-2026-01-31"


def rows_of(text: str) -> list[str]:
    return text.split("\n\n")[1].splitlines()


def test_first_screen_shortens_names_but_not_words_and_numbers() -> None:
    screen = FirstScreen(
        "A headline.",
        ["respondent", "prompt", "type", "trials"],
        [[LONG, "cot", "gap without head bias", "1,234,567"], ["m", "base", "unclear", "1"]],
        n_names=2,
        n_words=1,
    )
    text = screen.text()
    head, long, short = rows_of(text)
    assert len(long) <= WIDTH
    assert long.startswith("organization/")
    assert long.endswith("…  cot     gap without head bias  1,234,567")
    assert short.split() == ["m", "base", "unclear", "1"]
    assert head.index("type") == long.index("gap") == short.index("unclear")
    assert head.index("trials") + len("trials") == len(long)


@pytest.mark.parametrize("n_names", [0, 1])
def test_first_screen_with_too_many_columns_for_the_width_keeps_the_numbers(n_names: int) -> None:
    cells = ["name", *(f"{10**n:,}" for n in range(6, 18))]
    text = FirstScreen("A headline.", [f"c{n}" for n in range(13)], [cells], n_names=n_names).text()
    assert "1,000,000" in text


def test_first_screen_without_notes_and_signature_ends_with_the_table() -> None:
    assert FirstScreen("A headline.", ["a"], [["b"]], n_names=1).text() == "A headline.\n\na\nb\n\n"
