"""Hooks of the documentation's build: pages made from the code, formulas as MathML, and a folder to run commands in.

Pages show commands by running them (markdown-exec). The commands of each page run in its own new folder, which contains
the dataset that `spotball demo --out demo` writes. Each notebook also runs in its own folder.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

from spotball_core.metrics.registry import METRICS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.docs_blocks import blocks  # noqa: E402
from scripts.docs_check import check_site  # noqa: E402
from scripts.docs_copy import mark_copies  # noqa: E402
from scripts.docs_notebooks import notebook_page  # noqa: E402

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)

_FAMILIES = {
    "task": "Task: how close guesses are to the ball",
    "alignment": "Alignment: Wasserstein distance (earth mover's distance, EMD)",
    "strategy": "Strategy: players, center and entropy",
    "scoring rules": "Scoring rules for probabilities",
}
"""The headings of the metrics' families."""

_SEARCH_BOOSTS = {
    "changelog.md": 0.2,
    "cite.md": 2,
    "glossary.md": 2,
    "how-to/custom-model.md": 2,
    "how-to/resume.md": 2,
    "reference/api.md": 0.5,
    "reference/gaze.md": 0.5,
    "tutorials/run-a-model.md": 3,
    "tutorials/score-predictions.md": 2,
}
"""Pages that the search ranks higher, because readers look for them, or lower, because they mention everything."""


def on_startup(**_: Any) -> None:
    """Create the dataset for the pages' commands, and put our command first in the PATH."""
    folder = tempfile.mkdtemp(prefix="spotball-docs-")
    os.environ["SPOTBALL_DOCS_FOLDERS"] = folder
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ["COLUMNS"] = "100"
    os.environ["SPOTBALL_DOCS_ROOT"] = str(ROOT)
    subprocess.run(["spotball", "demo", "--out", "demo", "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def on_shutdown(**_: Any) -> None:
    """Delete the folders, which contain the videos and datasets that the pages made."""
    shutil.rmtree(os.environ["SPOTBALL_DOCS_FOLDERS"], ignore_errors=True)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made from the code and from other files of the repository."""
    pages = {
        "reference/metrics.md": metrics_page(),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        # On the site, the page is in the folder `docs`.
        "contributing.md": (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "]("),
    }
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        work = Path(os.environ["SPOTBALL_DOCS_FOLDERS"], "notebooks", notebook.stem)
        work.mkdir(parents=True)
        pages[f"notebooks/{notebook.stem}.md"] = notebook_page(notebook, work)
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    """Create the folder of a page, and save the listings that have the name of a file, as the page's readers do."""
    if "DOCS_WORK" not in markdown:
        return
    folders = Path(os.environ["SPOTBALL_DOCS_FOLDERS"])
    work = folders / "pages" / Path(page.file.src_uri).with_suffix("")
    shutil.copytree(folders / "demo", work / "demo")
    os.environ["DOCS_WORK"] = str(work)
    for block in blocks(markdown):
        if block.file is not None and block.is_visible:
            path = work / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.visible_text + "\n", encoding="utf-8")


def on_page_content(text: str, page: Any, **_: Any) -> str:
    """Turn formulas into MathML, which needs no script; set what copy buttons copy, and the rank in the search."""
    if boost := _SEARCH_BOOSTS.get(page.file.src_uri):
        page.meta["search"] = {"boost": boost}

    def mathml(match: re.Match[str]) -> str:
        alone = match[2] == "["
        formula = convert(html.unescape(match[3]).strip(), display="block" if alone else "inline")
        return f'<div class="formula">{formula}</div>' if alone else formula

    return mark_copies(_FORMULA.sub(mathml, text))


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
