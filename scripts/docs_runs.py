"""Run the code of the documentation's pages, and insert the output below the code.

A block with `exec="on"` is run. Blocks of one page run in order in one process, so Python blocks share their names.
Options of a block:

- `source`: show the code too; with `console`, in the same block as its output. Lines with `# docs: hide` are not shown.
- `result`: the language of the output. Without it, the output is Markdown, or HTML with `html="on"`.
- `returncode`: the expected exit status of the commands of a `console` block.

Each page and notebook runs in its own new folder, `$DOCS_WORK`. Output is stored in `.docs_cache`, by the digest of the
page's code, the packages and the installed libraries, so a build runs only what changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from scripts.docs_blocks import Block, blocks
from spotball_core.service.files import replacing

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".docs_cache"
DEMO = "demo"
"""Folder of the demo dataset, which is copied into the folder of each page that mentions it."""

_INPUTS = ("spotball_core", "spotball_adapters", "spotball_gen", "scripts", "docs/assets", "benchmarks/kept.json")
"""Folders and files that the code of pages reads."""


_THREADS = ("OPENBLAS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")
"""Variables with the number of threads of libraries."""

_SLOW = re.compile(r"^\$ spotball gen run|spotball gaze analyze|gaze\.analysis import", re.MULTILINE)
"""Pattern of code that runs longer than that of all other pages."""

_PICTURE = re.compile(r"data:image/[^)\s\"]+")
_PLACEHOLDER = re.compile(r"<div>data:output,(\d+);</div>|data:output,(\d+);")


class RunError(Exception):
    """Raised if code of a page fails."""


def outputs(pages: Mapping[str, str], notebooks: Iterable[Path]) -> dict[str, list[str]]:
    """Return the outputs of each page's blocks that are run, in order, and each notebook's page as its only output.

    Args:
        pages: the Markdown of each page, by path.
        notebooks: notebook files.

    Raises:
        RunError: if a block fails, with the page and the line.
    """
    inputs = _digest_of_inputs()
    jobs = {path: text for path, text in pages.items() if any("exec" in block.options for block in blocks(text))}
    jobs |= {str(notebook): notebook.read_text(encoding="utf-8") for notebook in notebooks}
    files = {path: CACHE / f"{_digest(inputs, path, _code_of(path, text))}.json" for path, text in jobs.items()}
    CACHE.mkdir(exist_ok=True)
    for old in set(CACHE.glob("*.json")) - set(files.values()):
        old.unlink(missing_ok=True)
    missing = [path for path, file in files.items() if not file.exists()]
    if missing:
        with tempfile.TemporaryDirectory(prefix="spotball-docs-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
            demo = ["spotball", "demo", "--out", DEMO, "--quiet"]
            subprocess.run(demo, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            # Start with the pages that take longest, so that none of them is left at the end.
            missing.sort(key=lambda path: _SLOW.search(jobs[path]) is None)
            for job in [pool.submit(_run_apart, path, jobs[path], files[path], Path(folder)) for path in missing]:
                job.result()
    return {path: json.loads(file.read_text(encoding="utf-8")) for path, file in files.items()}


def with_outputs(text: str, results: list[str], kept: list[str]) -> str:
    """Return the Markdown of a page in which blocks that were run are replaced by their code and output.

    HTML outputs and embedded pictures are replaced by placeholders, because Markdown would change the former and takes
    minutes for the latter. `restored` inserts them into the page's HTML.

    Args:
        text: the page.
        results: the outputs of its blocks.
        kept: receives the texts that placeholders stand for.
    """
    lines = text.splitlines()
    parts: list[str] = []
    end = 0
    for block, output in zip((block for block in blocks(text) if "exec" in block.options), results, strict=True):
        if block.options.get("html"):
            kept.append(output)
            output = f"<div>data:output,{len(kept) - 1};</div>"
        else:
            output = without_pictures(output, kept)
        parts += [*lines[end : block.line - 1], _shown(block, output)]
        end = block.end
    return "\n".join([*parts, *lines[end:]]) + "\n"


def without_pictures(text: str, kept: list[str]) -> str:
    """Return Markdown with placeholders for embedded pictures, which `kept` receives."""

    def placeholder(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"data:output,{len(kept) - 1};"

    return _PICTURE.sub(placeholder, text)


def restored(html: str, kept: list[str]) -> str:
    """Return HTML with the texts that placeholders stand for."""
    return _PLACEHOLDER.sub(lambda match: kept[int(match[1] or match[2])], html)


def _shown(block: Block, output: str) -> str:
    result, source = block.options.get("result", ""), block.options.get("source", "")
    title = f' title="{block.options["title"]}"' if "title" in block.options else ""
    if source == "console":
        text = _fenced(result or block.language, f"{block.visible_text.strip()}\n{output}", title)
    else:
        text = _fenced(result, output) if result and output else output
        if source:
            text = f"{_fenced(block.language, block.visible_text.strip(), title)}\n\n{text}"
    return "\n".join(f"{block.indent}{line}" if line else "" for line in text.splitlines())


def _fenced(language: str, text: str, options: str = "") -> str:
    return f"````````{language}{options}\n{text.rstrip()}\n````````"


# Running ------------------------------------------------------------------------------------------------------------


def _run_apart(path: str, text: str, file: Path, folder: Path) -> None:
    """Run a page in its own process, which writes the outputs to a file."""
    work = folder / "pages" / path.strip("/")
    work.mkdir(parents=True)
    if "demo" in text:
        shutil.copytree(folder / DEMO, work / "demo")
    environment = os.environ | {"DOCS_WORK": str(work), "SPOTBALL_DOCS_ROOT": str(ROOT), "COLUMNS": "100"}
    # Pages run in parallel, so one thread per process is enough.
    environment |= dict.fromkeys(_THREADS, "1")
    command = [sys.executable, "-m", "scripts.docs_runs", path, str(file)]
    done = subprocess.run(command, cwd=ROOT, env=environment, input=text, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{path}: {done.stdout}{done.stderr}")


def _run(path: str, text: str, work: Path) -> list[str]:
    if path.endswith(".ipynb"):
        from scripts.docs_notebooks import notebook_page

        return [notebook_page(Path(path), work)]
    results = []
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(text):
        if block.file is not None and block.is_visible:
            saved = work / block.file
            saved.parent.mkdir(parents=True, exist_ok=True)
            saved.write_text(block.visible_text + "\n", encoding="utf-8")
    for block in blocks(text):
        if "exec" not in block.options:
            continue
        if block.language == "console":
            results.append(_commands(block))
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * block.line + block.text, path, "exec"), names)
        results.append(printed.getvalue())
    return results


def _commands(block: Block) -> str:
    """Run the commands of a block and return their output, including error output."""
    lines = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
    done = subprocess.run(
        ["sh", "-c", "\n".join(lines)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != int(block.options.get("returncode", "0")):
        raise RunError(f"line {block.line}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


# Digests ------------------------------------------------------------------------------------------------------------


def _code_of(path: str, text: str) -> str:
    """Return the part of a page that its outputs depend on."""
    if path.endswith(".ipynb"):
        return text
    used = [block for block in blocks(text) if "exec" in block.options or block.file is not None]
    return json.dumps([(block.language, block.options, block.file, block.text) for block in used])


def _digest_of_inputs() -> str:
    files = [file for name in _INPUTS for file in sorted((ROOT / name).rglob("*")) or [ROOT / name]]
    contents = [
        f"{file.relative_to(ROOT)} {hashlib.sha256(file.read_bytes()).hexdigest()}"
        for file in files
        if file.is_file() and "__pycache__" not in file.parts
    ]
    libraries = sorted(f"{one.name} {one.version}" for one in distributions() if one.name != "spotball-core")
    return _digest(sys.version, *contents, *libraries)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def main() -> None:
    """Run the page on standard input in its folder, and write its outputs, as a list of texts, to a JSON file."""
    path, file = sys.argv[1], Path(sys.argv[2]).resolve()
    work = Path(os.environ["DOCS_WORK"]).resolve()
    os.chdir(work)
    found = _run(path, sys.stdin.read(), work)
    with replacing(file) as fresh:
        fresh.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
