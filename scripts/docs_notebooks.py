"""Convert notebooks to pages of the documentation: run each notebook, and show the output below each cell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient


def notebook_page(file: Path, work: Path) -> str:
    """Run a notebook and return it as Markdown.

    Args:
        file: the notebook, which is not changed.
        work: the folder in which it runs.

    Raises:
        CellExecutionError: if a cell raises an error.
        ValueError: if the outputs have one of the `problems`.
    """
    notebook = nbformat.read(file, as_version=4)
    resources = {"metadata": {"path": str(work)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    if found := problems(notebook):
        raise ValueError(f"{file.name}: {'; '.join(found)}")
    return as_markdown(notebook, file.name)


def problems(notebook: Any) -> list[str]:
    """Return what is wrong with a notebook's outputs: warnings, missing values, or no figure or text."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    warnings = [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    texts = [output.get("text", "") + output.get("data", {}).get("text/markdown", "") for output in outputs]
    found = [f"the notebook prints a warning: {text}" for text in warnings]
    found += [f"the notebook prints nan: {text}" for text in texts if re.search(r"\bnan\b", text)]
    if not any("image/png" in output.get("data", {}) for output in outputs):
        found.append("the notebook shows no figure")
    if not any(texts):
        found.append("the notebook prints no text")
    return found


def as_markdown(notebook: Any, name: str) -> str:
    """Return a notebook's cells and outputs as Markdown. A cell's metadata `alt` is its image's alternative text."""
    title, *cells = notebook.cells
    parts = [
        title.source,
        f"*This page is the notebook `notebooks/{name}` of the repository, run when the page was built.*",
    ]
    for cell in cells:
        if cell.cell_type == "markdown":
            # In the repository, pages and notebooks are in neighboring folders; on the site, in the same folder.
            parts.append(cell.source.replace("](../docs/", "](../"))
        elif cell.cell_type == "code":
            parts.append(_fenced(cell.source, "python"))
            parts += [_output(output, cell) for output in cell.outputs]
    return "\n\n".join(parts) + "\n"


def _output(output: Any, cell: Any) -> str:
    if output.output_type == "stream":
        return _fenced(output.text.rstrip("\n"), "text")
    data = output.data
    if "image/png" in data:
        return f"![{cell.metadata['alt']}](data:image/png;base64,{data['image/png'].strip()})"
    if "text/markdown" in data:
        return str(data["text/markdown"])
    return _fenced(data["text/plain"], "text")


def _fenced(text: str, language: str) -> str:
    return f"````{language}\n{text}\n````"
