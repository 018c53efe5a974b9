"""Test that text from data is shown as text only, and is unchanged after writing and reading."""

from __future__ import annotations

import ast
import json
import re

import polars as pl
import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from spotball_core.service.safe_text import csv_cells, csv_frame, csv_restored, markdown_row, markdown_text, printable
from tests.conftest import ROOT
from tests.test_imports import FILES

ATTACKS = ["\x1b[2J", "\x1b]0;title\x07", "\x1b]8;;http://a.b\x1b\\link", "\x9b31m", "a\rb", "a\bb", "\u202egnp.exe"]
ATTACKS += ["\u2066a", "\x00", "\x7f", "\udcff"]


@pytest.mark.parametrize("text", ATTACKS)
def test_printable_escapes_terminal_codes(text: str) -> None:
    assert set(printable(text).encode()) <= set(range(0x20, 0x7F))


@given(st.text())
def test_printable_escapes_all_control_characters_except_tabs_and_line_breaks(text: str) -> None:
    shown = printable(text)
    assert all(sign >= " " or sign in "\t\n" for sign in shown)
    shown.encode()
    assert printable(shown) == shown


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_printable_json_text_is_parsed_to_the_same_value(text: str) -> None:
    assert json.loads(printable(json.dumps(text, ensure_ascii=False))) == text


@pytest.mark.parametrize("text", ["Ünïcode 試合", "👩‍🔬", "a\tb\nc", "1\u00a0000", "क्‍ष"])
def test_printable_keeps_international_text_tabs_and_line_breaks_unchanged(text: str) -> None:
    assert printable(text) == text


HTML = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!-- a", "</td>", "<?a?>", "&lt;b&gt;", "&#60;b"]


@pytest.mark.parametrize("text", [*HTML, "[a](javascript:alert(1))", "![a](http://b.c/d)", "<http://a.b>"])
def test_markdown_text_shows_html_and_links_as_text(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(markdown_text(text))
    inner = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in (*tokens, *inner)}
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}
    assert "".join(child.content for child in inner) == text


@given(st.lists(st.text(st.characters(exclude_characters="`\\\r*_~[]!:"), max_size=9), min_size=1, max_size=4))
def test_markdown_row_renders_with_the_given_number_of_cells(cells: list[str]) -> None:
    head = "|".join(["", *"x" * len(cells), ""]) + "\n" + "|".join(["", *["---"] * len(cells), ""])
    page = MarkdownIt("commonmark").enable("table").render(f"{head}\n{markdown_row(cells)}\n")
    assert page.count("<td>") == len(cells)


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\ta", "\ra", "\na", "'=1", "''-1", "=HYPERLINK(0)", "＝1+1", "－1"]
LATER = ["x;{}=1+1", 'x;;"{}=1', "x\n{}-1", "x\t{}@a", "x\r\n{}＝1;{}+1", ";{}'=1", "a\n \n{}''+1"]
"""Texts in which an apostrophe belongs at each pair of braces."""
PLAIN = ["", "'", "it's", "a=1", "D5", " =1", "'a", "1-1", "a, -1", "a; b=1", "a;'b"]


def test_csv_cells_prefixes_formulas_with_an_apostrophe_and_keeps_other_text_and_numbers() -> None:
    assert csv_cells(FORMULAS) == [f"'{text}" for text in FORMULAS]
    assert csv_cells([text.format("", "") for text in LATER]) == [text.format("'", "'") for text in LATER]
    assert csv_cells(["\n=1"]) == ["'\n'=1"]
    assert csv_cells(PLAIN) == PLAIN
    assert csv_cells([-1.5, 3, None]) == [-1.5, 3, None]
    frame = pl.DataFrame({"text": ["-1.5"], "number": [-1.5], "count": [-2]})
    assert csv_frame(frame).row(0) == ("'-1.5", -1.5, -2)


TEXTS = st.text() | st.text(st.sampled_from("'=+-@＝;\" \t\r\nab"))


@given(st.lists(TEXTS, min_size=1))
def test_csv_restored_inverts_csv_frame(texts: list[str]) -> None:
    written = csv_frame(pl.DataFrame({"text": texts}))
    assert written["text"].to_list() == csv_cells(texts)
    assert written.select(csv_restored(pl.col("text")))["text"].to_list() == texts
    assert not any(text.startswith(tuple("=+-@＝\t\r\n")) for text in written["text"])
    # Some spreadsheets begin a new cell at these signs, even between quotation marks.
    cells = [cell.strip(' "') for text in written["text"] for cell in re.split("[;\t\r\n]", text)[1:]]
    assert not any(cell.startswith(tuple("=+-@＝")) for cell in cells)


@given(st.lists(TEXTS, min_size=1))
def test_csv_cells_differ_for_different_texts(texts: list[str]) -> None:
    assert len(set(csv_cells(texts))) == len(set(texts))


PRINTING = {"print", "typer.echo", "click.echo", "traceback.print_exc", "sys.stdout.write", "sys.stderr.write"}


@pytest.mark.slow
def test_only_the_safe_text_module_calls_print_functions() -> None:
    # Other code that prints would have to escape control characters itself.
    printing = []
    for path in FILES:
        calls = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
        if {ast.unparse(call) for call in calls} & PRINTING:
            printing.append(path.relative_to(ROOT).as_posix())
    assert printing == ["spotball_core/service/safe_text.py"]
