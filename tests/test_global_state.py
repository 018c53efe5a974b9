"""Test that functions do not change the state of modules, and that caches hold only values that never change."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_imports import FILES

MUTATORS = {
    *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "appendleft", "popleft"),
    *("add", "discard", "update", "setdefault", "popitem", "difference_update", "intersection_update"),
}

CACHES = {
    "spotball_core/cli/app.py:_entries": "the installed entry points",
    "spotball_core/gaze/follow/annotations.py:size": "the sizes of images, within one command",
    "spotball_core/metrics/pot.py:_alone": "a compiled module of the installed POT",
    "spotball_core/overlay.py:_font": "a font of the installed Pillow",
    "spotball_core/overlay.py:_labels": "a function of an immutable grid and numbers",
    "spotball_core/stats/bootstrap.py:_cached_weights": "a read-only array of a function of numbers",
    "spotball_core/stats/permutation.py:_cached_ways": "a read-only array of a function of numbers",
    "spotball_core/overlay.py:layout": "a function of an immutable grid",
    "spotball_core/plots/canvas.py:_advance": "the width of a character in the font of the installed matplotlib",
    "spotball_core/planning/published.py:_pilots": "a file of the package",
    "spotball_core/replication/published.py:published": "a file of the package",
    "spotball_core/schema/scene.py:_grid": "a function of four numbers",
    "spotball_core/service/parallel.py:_read": "a worker process's file, which does not change",
    "spotball_adapters/study/server/security.py:network": "a function of a string",
    "spotball_adapters/gaze/judge.py:judge_prompt": "a file of the package",
    "spotball_adapters/gaze/templates.py:_known_names": "a function of strings",
    "spotball_adapters/gaze/prompts.py:built_in": "a file of the package",
    "spotball_gen/pipeline/engines/ray_work.py:_reader": "a worker process's reader, a function of the packed job",
    "spotball_gen/pipeline/engines/ray_work.py:stretch": "a worker process's stages, a function of the packed job",
    "spotball_gen/items/pictures.py:opencv": "the imported library",
    "spotball_gen/items/item.py:known_sports": "a file of the package",
    "spotball_core/stats/power.py:_noncentrality": "a function of numbers",
}
"""Functions with cached results, and the reason why the cache does not change a result."""

ENVIRONMENT = {
    "spotball_core/cli/app.py": "POT loads no other array libraries; results are the same",
    "spotball_core/cli/memory.py": "threads and allocation under a memory limit; results are the same",
    "spotball_core/counting/engines/pieces.py": "threads of a worker process",
    "spotball_core/counting/engines/ray_cluster.py": "Ray sends no usage statistics",
    "spotball_core/service/parallel.py": "threads of libraries and worker processes; restored",
    "spotball_gen/items/pictures.py": "what OpenCV prints",
}
"""Modules whose functions set environment variables, and the reason why that does not change a result."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def module_names(tree: ast.Module) -> set[str]:
    """Return the names that a module binds outside of functions and classes."""
    return {name for node in tree.body if not isinstance(node, Function | ast.ClassDef) for name in stored(node)}


def stored(node: ast.AST) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))


def changed(node: ast.AST) -> ast.expr | None:
    """Return the object that a statement or call changes in place, without subscripts and attributes."""
    target: ast.expr | None = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
        target = node.func.value
    elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        target = node.value
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return target


def faults(tree: ast.Module) -> Iterator[str]:
    """Yield the statements that change global state, except environment variables, or use a global generator."""
    ours = module_names(tree)
    for function in functions(tree):
        local = {arg.arg for arg in ast.walk(function) if isinstance(arg, ast.arg)} | set(stored(function))
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                yield f"line {node.lineno}: global {', '.join(node.names)}"
            target = changed(node)
            if isinstance(target, ast.Name) and target.id in ours - local:
                yield f"line {node.lineno}: {ast.unparse(node)}"
            if isinstance(target, ast.Call) and ast.unparse(target.func) in ("globals", "vars"):
                yield f"line {node.lineno}: {ast.unparse(node)}"
    for node in ast.walk(tree):
        draws = isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np.random", "numpy.random")
        if draws and node.attr[0].islower() and node.attr != "default_rng":
            yield f"line {node.lineno}: {ast.unparse(node)} draws from a global generator"
        if isinstance(node, ast.Import) and any(alias.name == "random" for alias in node.names):
            yield f"line {node.lineno}: {ast.unparse(node)}, which draws from a global generator"


def caches(tree: ast.AST) -> Iterator[str]:
    """Yield the functions whose results a decorator caches."""
    for function in functions(tree):
        if any("cache" in ast.unparse(one) and "property" not in ast.unparse(one) for one in function.decorator_list):
            yield function.name


def sets_environment(tree: ast.AST) -> bool:
    """Return whether a module changes `os.environ`."""
    changes = (node for node in ast.walk(tree) if changed(node) is not None)
    return any(ast.unparse(node).startswith(("os.environ.", "os.environ[")) for node in changes)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.slow
def test_no_function_changes_module_state() -> None:
    found = [f"{name_of(path)}, {fault}" for path in FILES for fault in faults(tree_of(path))]
    # The package imports public names on first use and stores them; their values never change.
    kept = re.compile(r"spotball_core/__init__.py, line \d+: globals\(\)\[name\]")
    assert [fault for fault in found if not kept.fullmatch(fault)] == []


@pytest.mark.slow
def test_caches_lists_all_cached_functions_and_environment_lists_all_modules_that_set_variables() -> None:
    assert {f"{name_of(path)}:{name}" for path in FILES for name in caches(tree_of(path))} == CACHES.keys()
    assert {name_of(path) for path in FILES if sets_environment(tree_of(path))} == ENVIRONMENT.keys()


@pytest.mark.parametrize(
    ("body", "n"),
    [
        ("global left\n    left -= 1", 1),
        ("seen.append(1)", 1),
        ("known['a'] = 1", 1),
        ("del known['a']", 1),
        ("known['a']['b'] += 1", 1),
        ("known['a'].update(b=1)", 1),
        ("state.count = 1", 1),
        ("globals()['left'] = 1", 1),
        ("np.random.shuffle(x)", 1),
        ("import random", 1),
        ("seen = []\n    seen.append(1)", 0),
        ("x.append(1)", 0),
        ("return seen + [1]", 0),
        ("np.random.default_rng(0).shuffle(x)", 0),
    ],
)
def test_faults_finds_only_changes_of_global_state(body: str, n: int) -> None:
    top = "import numpy as np\nleft, seen, known, state = 1, [], {}, Any()\nknown.update(a={})\n"
    assert len(list(faults(ast.parse(f"{top}def f(x):\n    {body}\n")))) == n
