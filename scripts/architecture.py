"""The picture of the parts and of what imports what, drawn from the imports themselves.

python scripts/architecture.py > architecture.svg
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Box:
    """One part.

    Attributes:
        package: without `spotball_`.
        title: what it is, in few words.
        modules: of the package, each with what is below it and those called after it: `ledger` names `ledger_file`,
            too. The longest name that fits decides.
        at: column and row in the picture, from 0.
    """

    package: str
    title: str
    modules: tuple[str, ...]
    at: tuple[float, int]


BOXES = {
    # Adapters, at the left.
    "asking commands": Box("adapters", "commands", ("cli", "formats"), (1, 0)),
    "study": Box("adapters", "human study", ("study",), (0, 1)),
    "inspect": Box("adapters", "Inspect AI", ("inspect",), (1, 1)),
    "batch": Box("adapters", "batches", ("batch", "dry_run"), (2, 1)),
    "asking gaze": Box("adapters", "asking about gaze", ("gaze",), (0.5, 2)),
    "embedders": Box("adapters", "embedders", ("embedders",), (1.5, 2)),
    "run": Box(
        "adapters",
        "runner and store",
        (
            *("work_queue", "plan", "runner", "job", "scene_job", "launch", "progress", "responses"),
            *("store", "writer", "limits", "retry_policy"),
        ),
        (1, 3),
    ),
    "prompts": Box(
        "adapters",
        "prompts, pictures, parsing",
        ("prompts", "picture", "parsing"),
        (1, 4),
    ),
    "providers": Box("adapters", "providers", ("providers",), (0.4, 5)),
    # Generation, at the right.
    "gen commands": Box("gen", "commands", ("cli", "formats"), (5, 0)),
    "review": Box("gen", "review", ("review",), (5, 2)),
    "gen run": Box("gen", "run, engines, sources", ("run", "engines", "progress", "sources", "downloads"), (5, 1)),
    "dataset": Box(
        "gen", "dataset, card, exports", ("output", "finish", "card", "positions", "statistics", "exports"), (5.6, 3)
    ),
    "stages": Box(
        "gen",
        "stages",
        (
            *("stages", "spectators", "box_files", "color", "masks", "shadows", "painting", "sharpness"),
            *("torch_models", "views", "yolo"),
        ),
        (4.2, 3),
    ),
    "ledger": Box("gen", "ledger, funnel", ("ledger", "funnel"), (6, 4)),
    "quality": Box("gen", "quality of paintings", ("quality", "splits"), (5, 4)),
    "demo": Box("gen", "synthetic matches", ("demo",), (4, 4)),
    "items": Box(
        "gen",
        "items, stage, configuration",
        (
            "items",
            "pictures",
            "png",
            "folder",
            "ledger_schema",
            "stage",
            "sports",
            "registry",
            "config",
            "quotas",
            "difficulty",
            "frames",
        ),
        (5, 5),
    ),
    # The core, in the middle and below.
    "commands": Box("core", "commands", ("cli", "__main__", "formats"), (3, 2)),
    "gaze": Box("core", "gaze analysis", ("gaze",), (2.4, 6)),
    "replication": Box("core", "replication", ("replication",), (3.6, 6)),
    "report": Box("core", "report, reasoning", ("report", "reasoning"), (2.4, 7)),
    "page numbers": Box("core", "a page's numbers", ("page_numbers", "reasoning.records"), (2.4, 8)),
    "scores": Box(
        "core",
        "groups, scores, statistics",
        ("groups", "estimates", "scoring", "accumulator", "stats", "report.numbers"),
        (3, 9),
    ),
    "baselines": Box("core", "baselines, synthetic scenes", ("baselines", "synthetic", "pen"), (3, 10)),
    "metrics": Box("core", "metrics", ("metrics", "array_scores"), (4, 11)),
    "files": Box("core", "files to counts", ("io", "counts", "engines"), (2.4, 11)),
    "records": Box(
        "core",
        "grid, records, errors",
        ("grid", "schema", "errors", "safe_text", "interchange", "masked", "memory", "overlay", "registered", "web"),
        (3.2, 12),
    ),
}
"""Each part by its name. A test holds that every module is in one of them, and each arrow has an import."""


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """What each module of ours imports of ours when it runs, wherever in it; full names."""
    files = {_name(file): file for package in ("core", "adapters", "gen") for file in _files(package)}
    return {
        name: frozenset(_known(found, files) for found in _imported(ast.parse(file.read_text(encoding="utf-8")))) - {""}
        for name, file in files.items()
    }


def box_of(module: str) -> str | None:
    """The part that a module is in; None for one that is in none, such as a package itself, which only passes on."""
    package, _, rest = module.removeprefix("spotball_").partition(".")
    fits = {
        prefix: name
        for name, box in BOXES.items()
        for prefix in box.modules
        if box.package == package and f"{rest}.".startswith((f"{prefix}.", f"{prefix}_"))
    }
    return fits[max(fits, key=len)] if fits else None


def edges() -> set[tuple[str, str]]:
    """Which part imports which."""
    pairs = {(box_of(module), box_of(other)) for module, others in imports().items() for other in others}
    return {(a, b) for a, b in pairs if a is not None and b is not None and a != b}


def arrows() -> set[tuple[str, str]]:
    """The edges but for those that others lead along as well (the transitive reduction).

    Raises:
        ValueError: where parts import each other in a circle.
    """
    pairs = edges()
    after = {name: {b for a, b in pairs if a == name} for name in BOXES}
    reach: dict[str, set[str]] = {}

    def reached(name: str, above: tuple[str, ...]) -> set[str]:
        if name in above:
            raise ValueError(f"parts import each other: {' -> '.join([*above, name])}")
        if name not in reach:
            reach[name] = set().union(*({b} | reached(b, (*above, name)) for b in after[name]))
        return reach[name]

    for name in BOXES:
        reached(name, ())
    return {(a, b) for a, b in pairs if not any(b in reach[c] for c in after[a] if c != b)}


_COLUMN, _ROW, _WIDTH, _HEIGHT, _EDGE = 152, 74, 140, 42, 24
_COLORS = {"core": "#009688", "adapters": "#e07b00", "gen": "#7e57c2"}


def picture() -> str:
    """The picture as SVG, in the colors of the text around it."""
    drawn = sorted(arrows(), key=lambda arrow: [BOXES[name].at for name in arrow])
    width = max(_left(box) for box in BOXES.values()) + _WIDTH + _EDGE
    height = max(_top(box) for box in BOXES.values()) + _HEIGHT + _EDGE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        'font-family="inherit" font-size="13.5">'
    )
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0.8 7 4 0 7.2z" fill="currentColor"/></marker></defs>'
    )
    title = "<title>The parts of spotball-core and what imports what</title>"
    lines = (_line(a, b, drawn) for a, b in drawn)
    return "\n".join([head, title, tip, *lines, *map(_drawn, BOXES.values()), *_legend(), "</svg>"])


def _left(box: Box) -> float:
    return _EDGE + box.at[0] * _COLUMN


def _top(box: Box) -> float:
    return _EDGE + box.at[1] * _ROW


def _line(a: str, b: str, drawn: list[tuple[str, str]]) -> str:
    """An arrow from below one box to above another; those of a box stand beside each other."""
    x1 = _port(a, [one for one in drawn if one[0] == a], (a, b), 1)
    x2 = _port(b, [one for one in drawn if one[1] == b], (a, b), 0)
    y1, y2 = _top(BOXES[a]) + _HEIGHT, _top(BOXES[b]) - 2
    gap = _ROW - _HEIGHT - 2
    # Across between two rows, and straight down where no box is in the way: at its start or at its end.
    down = x2 if _is_free(x2, y1 + gap, y2 - gap) else x1
    early, late = (gap, 0.0) if down == x2 else (0.0, gap)
    curve = f"M{x1:g} {y1:g}"
    if early:
        curve += _bend(x1, y1, x2, y1 + gap)
    if y2 - late > y1 + early:
        curve += f"V{y2 - late:g}"
    if late:
        curve += _bend(x1, y2 - gap, x2, y2)
    return (
        f'<path data-from="{a}" data-to="{b}" d="{curve}" fill="none" stroke="currentColor" stroke-opacity="0.6" '
        'marker-end="url(#tip)"/>'
    )


def _bend(x1: float, y1: float, x2: float, y2: float) -> str:
    middle = (y1 + y2) / 2
    return f"C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}"


def _is_free(x: float, y1: float, y2: float) -> bool:
    return not any(
        _left(box) - 3 < x < _left(box) + _WIDTH + 3 and y1 < _top(box) + _HEIGHT and _top(box) < y2
        for box in BOXES.values()
    )


def _port(name: str, own: list[tuple[str, str]], arrow: tuple[str, str], other: int) -> float:
    own = sorted(own, key=lambda one: _left(BOXES[one[other]]))
    return _left(BOXES[name]) + _WIDTH * (own.index(arrow) + 1) / (len(own) + 1)


def _drawn(box: Box) -> str:
    x, y = _left(box), _top(box)
    lines = textwrap.wrap(box.title, 19)
    first = y + _HEIGHT / 2 + 4.5 - 7.5 * (len(lines) - 1)
    text = "".join(_text(x + _WIDTH / 2, first + 15 * i, line, "middle") for i, line in enumerate(lines))
    modules = ", ".join(f"spotball_{box.package}.{module}" for module in box.modules)
    return f"<g><title>{modules}</title>{_frame(x, y, _WIDTH, _HEIGHT, box.package)}{text}</g>"


def _legend() -> Iterator[str]:
    for row, package in enumerate(_COLORS):
        y = _EDGE + 10.3 * _ROW + 24 * row
        yield _frame(_EDGE, y, 16, 16, package)
        yield _text(_EDGE + 24, y + 12.5, f"spotball_{package}", "start")


def _frame(x: float, y: float, width: float, height: float, package: str) -> str:
    color = _COLORS[package]
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{min(7, height / 4):g}"'
    return f'<rect {place} fill="{color}" fill-opacity="0.16" stroke="{color}"/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="currentColor">{words}</text>'


def _files(package: str) -> list[Path]:
    return sorted((ROOT / f"spotball_{package}").rglob("*.py"))


def _name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    for inner in ast.iter_child_nodes(node):
        yield from _imported(inner)


def _known(name: str, files: Mapping[str, Path]) -> str:
    """The module of ours that a name is in; nothing for others'."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name


if __name__ == "__main__":
    print(picture())
