"""Test that text files have the same bytes on every system: all code that writes text specifies the line ending."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.conftest import ROOT
from tests.test_imports import FILES


def writes(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield calls that write text: `write_text`, and `open` with a text mode that writes."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        # The first argument of the function `open` is the path.
        arguments = node.args if isinstance(node.func, ast.Attribute) else node.args[1:]
        constants = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
        modes = [value for value in constants if isinstance(value, str) and set(value) <= set("wxat+")]
        if name == "write_text" or (name in ("open", "fdopen") and any(set(mode) & set("wxa") for mode in modes)):
            yield node


def test_every_call_that_writes_text_has_the_argument_newline() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in FILES
        for call in writes(ast.parse(path.read_text(encoding="utf-8")))
        if not any(keyword.arg == "newline" for keyword in call.keywords)
    ]
    assert not found, f'give newline="\\n": {", ".join(found)}'


@pytest.mark.parametrize("line", ["p.write_text('b')", "p.open('w', encoding='utf-8')", "open('a', 'x')"])
def test_writes_finds_only_calls_that_write_text(line: str) -> None:
    assert len(list(writes(ast.parse(line)))) == 1
    assert not list(writes(ast.parse("p.open('wb'); p.open(); open('a')")))
