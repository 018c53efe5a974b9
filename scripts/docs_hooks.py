"""Hook into the documentation's build: generate pages, run the code of pages, and convert formulas to MathML."""

from __future__ import annotations

import html
import os
import re
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from spotball_core.metrics.registry import METRICS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.docs_check import check_site  # noqa: E402
from scripts.docs_copy import mark_copies  # noqa: E402
from scripts.docs_runs import RunError, outputs, restored, with_outputs, without_pictures  # noqa: E402

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)

_FAMILIES = {
    "task": "Task: how close guesses are to the ball",
    "alignment": "Alignment: Wasserstein distance (earth mover's distance, EMD)",
    "strategy": "Strategy: players, center and entropy",
    "scoring rules": "Scoring rules for probabilities",
}
"""Heading of each family of metrics."""

_SEARCH_BOOSTS = {
    "changelog.md": 0.2,
    "glossary.md": 2,
    "how-to/models.md": 2,
    "how-to/plan.md": 4,
    "reference/api.md": 0.5,
    "reference/command.md": 0.5,
    "reference/gaze.md": 0.5,
    "reference/parsing.md": 3,
    "tutorials/run-a-model.md": 6,
    "tutorials/score-predictions.md": 2,
}
"""Search ranks: higher for pages that readers look for, lower for pages that match almost every query."""


_results: dict[str, list[str]] = {}
"""The outputs of the code of each page."""

_kept: list[str] = []
"""Outputs that are inserted into the HTML of pages."""


def on_startup(**_: Any) -> None:
    """Put the installed `spotball` command first in the PATH."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def on_files(files: Any, config: Any) -> Any:
    """Add generated pages, and run the code of all pages and notebooks."""
    pages = {
        "reference/metrics.md": metrics_page(),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        # On the site, this page is inside the folder `docs`, so its links must not start with `docs/`.
        "contributing.md": (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "]("),
    }
    texts = {file.src_uri: Path(file.abs_src_path).read_text(encoding="utf-8") for file in files.documentation_pages()}
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    try:
        _results.update(outputs(texts, notebooks))
    except RunError as error:
        raise PluginError(str(error)) from error
    pages |= {
        f"notebooks/{notebook.stem}.md": without_pictures(_results[str(notebook)][0], _kept) for notebook in notebooks
    }
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Insert the outputs of the page's code."""
    path = page.file.src_uri
    return with_outputs(markdown, _results[path], _kept) if path in _results else markdown


def on_page_content(text: str, page: Any, **_: Any) -> str:
    """Convert formulas to MathML, which needs no script. Set the text of copy buttons and the search rank."""
    if boost := _SEARCH_BOOSTS.get(page.file.src_uri):
        page.meta["search"] = {"boost": boost}

    def mathml(match: re.Match[str]) -> str:
        alone = match[2] == "["
        formula = convert(html.unescape(match[3]).strip(), display="block" if alone else "inline")
        return f'<div class="formula">{formula}</div>' if alone else formula

    return mark_copies(restored(_FORMULA.sub(mathml, text), _kept))


def on_post_build(config: Any, **_: Any) -> None:
    """Fail if a page loads anything from a network, or contains a malformed link."""
    if wrong := check_site(Path(config["site_dir"])):
        raise PluginError("\n".join(wrong))


def metrics_page() -> str:
    """Return the metric reference: a table of all metrics, then the documentation of each one."""
    lines = [
        "# Metrics",
        "",
        "The column *Over* says how the images become one value:",
        "",
        "- *images*: the mean of the images' values;",
        "- *responses*: the mean weighted by each image's number of responses;",
        "- *pool*: the metric of the guesses pooled over images.",
        "",
        "*Equation* is the number in the paper. Metrics without one are not in the paper. The",
        "[glossary](../glossary.md) explains the terms.",
        "",
        "| Metric | Unit | Better | Equation | Needs | Over |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for metric in METRICS.values():
        cells = [
            f"[{metric.title}](#{_anchor(metric.function)})<br>`{metric.key}`",
            metric.unit,
            metric.direction,
            metric.equation or "-",
            ", ".join(metric.needs) or "-",
            metric.over,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    families = dict.fromkeys(metric.family for metric in METRICS.values())
    for family in families:
        lines += ["", f"## {_FAMILIES.get(family, family.capitalize())}", ""]
        for metric in METRICS.values():
            if metric.family == family:
                lines += [f"::: {_anchor(metric.function)}", ""]
    return "\n".join(lines)


def _anchor(function: Any) -> str:
    return f"{function.__module__}.{function.__name__}"
