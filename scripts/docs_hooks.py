"""What the documentation's build makes by itself: pages from the code, formulas as MathML, and a folder to work in.

Pages show commands by running them (markdown-exec); they run in a fresh folder that holds the demo's dataset. Notebooks
are run, too, each in a folder of its own.
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

from scripts.docs_check import check_site  # noqa: E402
from scripts.docs_notebooks import notebook_page  # noqa: E402

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_startup(**_: Any) -> None:
    """Make the folder that the pages' commands run in, and find our command first."""
    work = tempfile.mkdtemp(prefix="spotball-docs-")
    os.environ["DOCS_WORK"] = work
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ["COLUMNS"] = "100"
    os.environ["SPOTBALL_DOCS_ROOT"] = str(ROOT)
    subprocess.run(["spotball", "demo", "--out", "demo", "--quiet"], cwd=work, check=True, stdout=subprocess.DEVNULL)


def on_shutdown(**_: Any) -> None:
    """Leave nothing behind: the pages make videos and datasets."""
    shutil.rmtree(os.environ["DOCS_WORK"], ignore_errors=True)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made from the code."""
    pages = {
        "reference/metrics.md": metrics_page(),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    }
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        work = Path(os.environ["DOCS_WORK"], "notebooks", notebook.stem)
        work.mkdir(parents=True)
        pages[f"notebooks/{notebook.stem}.md"] = notebook_page(notebook, work)
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_content(text: str, **_: Any) -> str:
    """Formulas as MathML, which browsers show without any script."""

    def mathml(match: re.Match[str]) -> str:
        alone = match[2] == "["
        formula = convert(html.unescape(match[3]).strip(), display="block" if alone else "inline")
        return f'<div class="formula">{formula}</div>' if alone else formula

    return _FORMULA.sub(mathml, text)


def on_post_build(config: Any, **_: Any) -> None:
    """Fail where a page would load something from a network, or links to what is no address."""
    if wrong := check_site(Path(config["site_dir"])):
        raise PluginError("\n".join(wrong))


def metrics_page() -> str:
    """The metric reference: a table of all, then each with its documentation."""
    lines = [
        "# Metrics",
        "",
        "Made from the metrics' own records. `over` says how images become one number: *images* is the mean of each",
        "image's value, *responses* weighs each image by its number of responses, *pool* is the metric of the guesses",
        "pooled over images. Metrics without an equation go beyond the paper.",
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
        lines += ["", f"## {family.capitalize()}", ""]
        for metric in METRICS.values():
            if metric.family == family:
                lines += [f"::: {_anchor(metric.function)}", ""]
    return "\n".join(lines)


def _anchor(function: Any) -> str:
    return f"{function.__module__}.{function.__name__}"
