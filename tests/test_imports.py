"""Test imports: their direction, the libraries that they load, and the public names."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import spotball_core
from spotball_core import extend
from tests.builders import Row, dataset, scenes
from tests.conftest import ROOT

MAY_IMPORT = {
    "spotball_core": {"spotball_core"},
    "spotball_adapters": {"spotball_core", "spotball_adapters"},
    "spotball_gen": {"spotball_core", "spotball_gen"},
}
"""Packages of this project that each package may import."""

HEAVY = (
    *("numpy", "pydantic", "polars", "typer", "rich"),
    *("ot", "scipy", "shapely", "pandas", "pyarrow", "matplotlib", "jinja2", "ray", "torch"),
)

FILES = [path for package in MAY_IMPORT for path in sorted((ROOT / package).rglob("*.py"))]


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the absolute names of all modules that a file imports, including imports inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            yield ".".join([*above, *([node.module] if node.module else [])])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def package_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).parent.parts)


def wrong_imports(path: Path) -> set[str]:
    """Return the packages of this project that a file imports but may not import."""
    package = package_of(path)
    names = imported(ast.parse(path.read_text(encoding="utf-8")), package)
    ours = {name.split(".")[0] for name in names} & MAY_IMPORT.keys()
    return ours - MAY_IMPORT[package.split(".")[0]]


@pytest.mark.slow
def test_packages_import_only_the_allowed_packages_of_this_project() -> None:
    assert len(FILES) > 30
    assert {str(path.relative_to(ROOT)): names for path in FILES if (names := wrong_imports(path))} == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import spotball_gen.video", {"spotball_gen.video"}),
        ("def f():\n    from spotball_gen import x", {"spotball_gen"}),
        ("if TYPE_CHECKING:\n    import a.b as c, d", {"a.b", "d"}),
        ("from . import x", {"spotball_core.io"}),
        ("from ..grid import Grid", {"spotball_core.grid"}),
        ("importlib.import_module('spotball_gen')", {"spotball_gen"}),
    ],
)
def test_imported_finds_every_kind_of_import(source: str, names: set[str]) -> None:
    assert set(imported(ast.parse(source), "spotball_core.io")) == names


@pytest.mark.parametrize(
    ("statement", "loaded"),
    [
        ("import spotball_core", []),
        ("from spotball_core import Grid", ["numpy"]),
        ("from spotball_core import Grid, accuracy, center_ratio, wasserstein", ["numpy"]),
        ("from spotball_core import Scene, accuracy, wasserstein", ["numpy", "pydantic"]),
    ],
)
def test_import_of_spotball_core_loads_only_the_expected_heavy_libraries(statement: str, loaded: list[str]) -> None:
    assert heavy_after(statement) == loaded


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "loaded"),
    [
        (["--version"], ["typer"]),
        (["--help"], ["typer"]),
        (["score", "{}", "--format", "json"], ["numpy", "polars", "pydantic", "typer"]),
        (["score", "{}"], ["numpy", "polars", "pydantic", "rich", "typer"]),
        (["score", "{}", "--reference", "people"], ["numpy", "polars", "pydantic", "rich", "typer"]),
    ],
    ids=" ".join,
)
def test_command_loads_only_the_heavy_libraries_that_it_uses(
    arguments: list[str], loaded: list[str], tmp_path: Path
) -> None:
    def rows(respondent: str, cells: str) -> list[Row]:
        return [{"image": i, "respondent": respondent, "cell": cell} for i in "01" for cell in cells.split()]

    data = dataset(tmp_path / "set", scenes("0", "1"), me=rows("me", "A1 B2 D5"), people=rows("people", "A3 C2 D9"))
    words = ["spotball", *(word.format(data) for word in arguments)]
    run = f"sys.argv = {words!r}\nfrom spotball_core.cli.app import main\ntry: main()\nexcept SystemExit: pass"
    assert heavy_after(run) == loaded


def heavy_after(code: str) -> list[str]:
    """Return the heavy libraries that are loaded after running the code."""
    tell = f"print(*sorted({set(HEAVY)!r} & set(sys.modules)))"
    command = [sys.executable, "-c", f"import sys\n{code}\n{tell}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()[-1].split()


def not_public() -> dict[str, set[str]]:
    """Return the classes in annotations of public names that are not in the reference, with these public names."""
    found: dict[str, set[str]] = {}
    reference = reference_names()
    for public in spotball_core.__all__:
        value = getattr(spotball_core, public)
        if not isinstance(value, type | types.FunctionType):
            continue
        module = sys.modules[value.__module__]
        names = dict(vars(module))
        for node in ast.walk(ast.parse(inspect.getsource(module))):  # The names include imports for type checkers.
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("spotball_core"):
                source = importlib.import_module(str(node.module))
                names |= {alias.asname or alias.name: getattr(source, alias.name, None) for alias in node.names}
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
        for annotation in annotations(tree):
            for name in re.findall(r"\w+", ast.unparse(annotation)):
                kind = names.get(name)
                is_ours = isinstance(kind, type) and kind.__module__.startswith("spotball_core")
                if is_ours and reference.isdisjoint((kind.__module__, f"{kind.__module__}.{kind.__name__}")):
                    found.setdefault(name, set()).add(public)
    return found


def reference_names() -> set[str]:
    """Return the full names of everything in the reference of the Python API."""
    text = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    return set(re.findall(r"^::: (\S+)", text, re.MULTILINE))


def annotations(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the annotations of a function or class, except those of private or nested functions."""
    if isinstance(tree, ast.FunctionDef):
        arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs, tree.args.vararg, tree.args.kwarg]
        yield from (one.annotation for one in arguments if one and one.annotation)
        if tree.returns:
            yield tree.returns
    elif isinstance(tree, ast.ClassDef):
        for node in tree.body:
            if isinstance(node, ast.AnnAssign) and not ast.unparse(node.target).startswith("_"):
                yield node.annotation
            elif isinstance(node, ast.FunctionDef) and (node.name == "__init__" or not node.name.startswith("_")):
                yield from annotations(node)


class TestPublicNames:
    @pytest.mark.parametrize("name", spotball_core.__all__)
    def test_every_public_name_resolves_to_its_definition(self, name: str) -> None:
        value = getattr(spotball_core, name)
        assert getattr(spotball_core, name) is value
        assert value is getattr(importlib.import_module(spotball_core._HOME_OF[name]), name)

    def test_types_in_annotations_of_public_functions_are_in_the_reference(self) -> None:
        # `spotball_core.report.numbers.records` documents this type.
        assert not_public() == {"PageReport": {"Dataset"}}

    def test_each_name_for_authors_of_plug_ins_is_in_the_reference_and_is_not_a_name_of_the_package(self) -> None:
        homes = {f"{kind.__module__}.{name}" for name in extend.__all__ for kind in [getattr(extend, name)]}
        assert homes <= reference_names()
        assert set(extend.__all__).isdisjoint(spotball_core.__all__)

    def test_package_has_at_most_60_public_names(self) -> None:
        assert len(spotball_core.__all__) <= 60

    def test_all_is_sorted_and_its_names_are_in_dir_and_star_imports_and_are_not_names_of_submodules(self) -> None:
        assert spotball_core.__all__ == sorted(set(spotball_core.__all__))
        assert set(spotball_core.__all__) <= set(dir(spotball_core))
        names: dict[str, object] = {}
        exec("from spotball_core import *", names)
        assert set(spotball_core.__all__) <= names.keys()
        # Importing a submodule sets its name on the package, so it must not replace a public name.
        submodules = {path.stem for path in (ROOT / "spotball_core").iterdir()}
        assert submodules.isdisjoint(spotball_core.__all__)

    def test_version_equals_that_of_the_installed_distribution(self) -> None:
        assert spotball_core.__version__ == importlib.import_module("importlib.metadata").version("spotball-core")

    @pytest.mark.parametrize("name", ["nothing", "grid_", "_secret", "Scoring2"])
    def test_unknown_attribute_of_spotball_core_raises_attribute_error(self, name: str) -> None:
        with pytest.raises(AttributeError, match=f"module 'spotball_core' has no attribute '{name}'"):
            getattr(spotball_core, name)
