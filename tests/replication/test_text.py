"""Test the text and Markdown output of a replication."""

from __future__ import annotations

import pytest

from spotball_core.replication import ReplicatedFigure, Replication
from spotball_core.replication.text import to_markdown, to_text


def an_item(**changes: object) -> ReplicatedFigure:
    name = {"sport": "soccer", "respondent": "human", "prompt": "base"}
    quantity = {"where": "table 2", "quantity": "mean error (px)", "published": "113.4", "status": "match"}
    values = {"reproduced": 113.3597, "standard": 113.3597, "note": None}
    return ReplicatedFigure.model_validate({**name, **quantity, **values, **changes})


def text_of(*items: ReplicatedFigure, width: int = 80) -> str:
    return to_text(replication(*items), width=width)


def replication(*items: ReplicatedFigure) -> Replication:
    return Replication(items=items, signature="spotball|standard", signature_reproduced="spotball|paper")


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_to_text_lines_fit_the_width_except_signatures(found: Replication, width: int) -> None:
    lines = to_text(found, width=width).splitlines()
    body = [line for line in lines if "spotball|" not in line and not line.startswith("unexplained:")]
    assert max(map(len, body)) <= width
    assert not any("…" in line for line in lines)


def test_to_text_shows_numbers_with_the_published_number_of_digits() -> None:
    shown = text_of(
        an_item(),
        an_item(prompt="cot", respondent="gemini", published="141.1", reproduced=139.96, standard=145.38),
        an_item(
            where="figure 4", quantity="accuracy", published="0.8649681528662421", reproduced=0.83367, standard=0.5
        ),
        an_item(where="figure 6", quantity="ratio", published="< 1", reproduced=0.69794, standard=None),
        an_item(where="figure 9", quantity="Wasserstein (px)", published=None, reproduced=101.76, standard=101.76),
        width=100,
    )
    rows = [line.split() for line in shown.splitlines()]
    assert ["soccer/human/base", "113.4", "113.4", "113.4", "match"] in rows
    assert ["soccer/gemini/cot", "141.1", "140.0", "145.4", "match"] in rows
    assert ["soccer/human/base", "0.8650", "0.8337", "0.5000", "match"] in rows
    assert ["soccer/human/base", "<", "1", "0.698", "-", "match"] in rows
    assert ["soccer/human/base", "-", "101.8", "101.8", "match"] in rows


def test_to_text_lists_each_note_once_below_the_table_with_a_letter() -> None:
    swapped = an_item(status="mismatch", note="columns swapped: so it is")
    other = an_item(prompt="cot", status="mismatch", note="unexplained")
    shown = text_of(swapped, other, an_item(prompt="cue", status="mismatch", note=swapped.note))
    assert shown.count("columns swapped") == 1
    assert all(status in shown for status in ("mismatch a", "mismatch b"))
    assert "  a  columns swapped: so it is" in shown.splitlines()
    assert "3 mismatches (1 unexplained)" in shown
    assert "unexplained: table 2, soccer/human/cot, mean error (px)" in shown


def test_to_text_summarizes_items_without_data_by_sport_and_respondent() -> None:
    nothing = {"published": "1.0", "reproduced": None, "standard": None, "status": "no data"}
    shown = text_of(
        an_item(),
        an_item(respondent="gpt", prompt="base", **nothing),
        an_item(respondent="gpt", prompt="cue", **nothing),
        an_item(respondent="human", prompt="cue", **nothing),
        an_item(sport="volleyball", respondent="gpt", **nothing),
        an_item(sport="volleyball", respondent="human", **nothing),
        an_item(sport="basketball", note="needs the answers to all three prompts", **nothing),
        width=120,
    )
    assert "  no data for 5 values: soccer/gpt, soccer/human/cue, volleyball" in shown.splitlines()
    assert "  no data for 1 value (needs the answers to all three prompts): basketball" in shown.splitlines()


def test_to_text_lists_at_most_20_unexplained_mismatches_and_labels_notes_after_z_with_two_letters() -> None:
    shown = text_of(*(an_item(respondent=f"model{i}", status="mismatch", note="unexplained") for i in range(25)))
    assert shown.count("unexplained: table 2") == 20
    assert "... and 5 more unexplained" in shown
    shown = text_of(*(an_item(respondent=f"model{i}", status="mismatch", note=f"cause {i}") for i in range(30)))
    assert "  z  cause 25" in shown.splitlines()
    assert "  ad  cause 29" in shown.splitlines()


def test_to_markdown_writes_one_table_per_place_in_the_paper_with_notes_below(found: Replication) -> None:
    lines = to_markdown(found).splitlines()
    assert "**Table 1: the images**" in lines
    shown = [i for i in found.items if i.reproduced is not None or i.standard is not None]
    heads = lines.count("| quantity | of | published | reproduced | standard | status |")
    assert heads == len({i.where for i in shown})
    rows = [line for line in lines if line.startswith("| ")]
    assert all(row.count(" | ") == 5 for row in rows)
    assert len(rows) == len(shown) + 2 * heads
    for i in shown:
        if i.note:
            assert any(line.startswith("- ") and line.endswith(f": {i.note}") for line in lines)
    assert {f"standard: {found.signature}  ", f"reproduced: {found.signature_reproduced}  "} <= set(lines)
    # Vertical bars are escaped.
    lines = to_markdown(replication(an_item(quantity="this | that"))).splitlines()
    assert "| this \\| that | soccer/human/base | 113.4 | 113.4 | 113.4 | match |" in lines
