"""Show the layers of the packages, from the contracts that `make lint` checks, and list all modules.

python scripts/architecture.py > layers.html
"""

from __future__ import annotations

import ast
import html
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]

PACKAGES = ("spotball_core", "spotball_adapters", "spotball_gen")

_COLORS = {"spotball_core": "#009688", "spotball_adapters": "#e07b00", "spotball_gen": "#7e57c2"}


@cache
def layers() -> dict[str, list[list[str]]]:
    """Return the layers of each contract by package, top first.

    Names in the same layer do not import each other.
    """
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {
        contract["containers"][0]: [layer.split(" | ") for layer in contract["layers"]]
        for contract in configuration["tool"]["importlinter"]["contracts"]
        if "containers" in contract
    }


def picture() -> str:
    """Return the layers of the three packages as HTML. Each box may import from boxes in lower rows."""
    return f'<div class="layers">{"".join(_column(package) for package in PACKAGES)}</div>{_STYLE}'


def find_your_way() -> str:
    """Return a Markdown table for each package: every subpackage and module with the first line of its docstring."""
    return "\n".join(line for package in PACKAGES for line in _tables(package))


def modules(package: str) -> Iterator[Path]:
    """Yield the modules of a package. A folder's modules come before its subfolders."""
    yield from sorted((ROOT / package).rglob("*.py"), key=lambda file: (file.parent, file.name != "__init__.py", file))


def first_line(file: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n", 1)[0]


def _column(package: str) -> str:
    """Return a package's layers, followed by those of subpackages with their own contract."""
    contracts = [container for container in layers() if f"{container}.".startswith(f"{package}.")]
    parts = "".join(f"<strong>{container}</strong>{_rows(container)}" for container in contracts)
    return f'<div class="package" style="--color: {_COLORS[package]}">{parts}</div>'


def _rows(container: str) -> str:
    return "".join(
        f'<div class="layer">{"".join(_box(container, name) for name in layer)}</div>' for layer in layers()[container]
    )


def _box(container: str, name: str) -> str:
    path = ROOT / container.replace(".", "/") / name
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return f'<span title="{html.escape(first_line(file))}">{name}</span>'


def _tables(package: str) -> Iterator[str]:
    for folder in sorted({file.parent for file in modules(package)}):
        files = [file for file in modules(package) if file.parent == folder]
        own = [file for file in files if file.name != "__init__.py"]
        yield (
            f"\n## `{'.'.join(folder.relative_to(ROOT).parts)}`\n"
            if folder.name == package
            else f"\n### `{'.'.join(folder.relative_to(ROOT).parts)}`\n"
        )
        yield f"{first_line(folder / '__init__.py')}\n"
        if own:
            yield "| Module | What it does |\n|---|---|"
            yield from (f"| `{file.stem}` | {first_line(file).replace('|', chr(92) + '|')} |" for file in own)


_STYLE = """<style>
.layers { display: flex; flex-wrap: wrap; gap: 1.2rem; align-items: flex-start; }
.layers .package { flex: 1 1 13rem; min-width: 0; }
.layers strong { display: block; margin-top: 0.6rem; }
.layers .layer { display: flex; gap: 0.3rem; margin-top: 0.3rem; }
.layers .layer span { flex: 1; min-width: 0; overflow-wrap: anywhere; padding: 0.15rem 0.3rem; text-align: center;
  font-size: 0.7rem; border-radius: 0.2rem;
  border: 1px solid var(--color); background: color-mix(in srgb, var(--color) 14%, transparent); }
</style>"""


if __name__ == "__main__":
    print(picture())
