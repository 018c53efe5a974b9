"""Find the sentences of the project: in Markdown, docstrings, comments, command help, messages and settings."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("spotball_core", "spotball_adapters", "spotball_gen")
AREAS: Final = (
    *("README", "help", "messages", "tutorials", "how-to", "docstrings", "explanation", "reference", "changelog"),
    *("comments", "contributing", "tests", "settings"),
)
"""Areas of text. Readers rate the first nine. The others are only checked for phrases to avoid."""

TOOLS: Final = ("tests", "benchmarks", "scripts")
"""Folders whose docstrings and comments are checked, but not their strings, which are data."""

SETTINGS: Final = ("Makefile", "*.toml", "*.yml", ".*.yaml", ".ci/*", ".github/**/*.yml", "deploy/**/*")
"""Files whose comments are checked."""

GENERATED: Final = ("THIRD_PARTY_LICENSES.md",)
"""Pages whose text comes from other projects."""

DATA: Final = (
    *("spotball_adapters/prompts", "spotball_adapters/gaze/prompts", "spotball_adapters/replies"),
    *("spotball_core/reasoning/lexicon", "spotball_adapters/study/texts"),
)
"""Modules whose strings are data, such as prompts from the papers, and not messages."""

PROSE: Final = re.compile(r"\b[A-Za-z]?[a-z]+[,;:]? [a-z]{2,}")
"""Pattern of two words in lower case, which addresses, identifiers and most SQL do not contain. The first word may
start with a capital letter.
"""


@dataclass(frozen=True)
class Text:
    """A paragraph, docstring, comment or message, with the file and line where it starts."""

    path: str
    line: int
    area: str
    words: str


def texts(root: Path = ROOT) -> Iterator[Text]:
    """Yield every text of the repository, in the order of its files."""
    for path in sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")]):
        name = path.relative_to(root).as_posix()
        if name not in GENERATED:
            yield from markdown(path.read_text(encoding="utf-8"), name)
    for package in PACKAGES:
        for path in sorted(root.glob(f"{package}/**/*.py")):
            yield from python(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    for folder in TOOLS:
        for path in sorted(root.glob(f"{folder}/**/*.py")):
            for text in python(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix()):
                if text.area not in ("messages", "help"):
                    yield replace(text, area="tests")
    for path in sorted(file for pattern in SETTINGS for file in root.glob(pattern) if file.is_file()):
        yield from comments(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())


def sentences(text: Text) -> Iterator[str]:
    """Yield the sentences of a text that have at least four words."""
    for sentence in re.split(r"(?<=[.!?:;])\s+(?=[A-Z`\"*\[])", " ".join(text.words.split())):
        if len(re.findall(r"[A-Za-z]{2,}", sentence)) >= 4:
            yield sentence


def markdown(content: str, path: str) -> Iterator[Text]:
    """Yield the paragraphs, headings, list items and table rows of a page, without code blocks and HTML."""
    area = _area_of_page(path)
    fence: str | None = None
    paragraph: list[str] = []
    start = 1
    for number, line in enumerate([*content.splitlines(), ""], start=1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence is not None or mark:
            if fence is None and mark:
                fence = mark[1]
            elif fence is not None and line.strip() == fence:
                fence = None
            stop = True
        else:
            stop = not line.strip() or re.match(r"\s*([-*+] |\d+\. |#|\||<|!!!|:::)", line) is not None
        if stop and paragraph:
            yield Text(path, start, area, " ".join(paragraph))
            paragraph = []
        if fence is None and not mark and line.strip() and not line.lstrip().startswith(("<", ":::")):
            if not paragraph:
                start = number
            paragraph.append(re.sub(r"^(#+|[-*+]|\|)\s+", "", line.strip()).rstrip("| "))


def comments(content: str, path: str) -> Iterator[Text]:
    """Yield the comments of a file of settings."""
    for number, line in enumerate(content.splitlines(), start=1):
        if comment := re.search(r"(?:^|\s)# (.*)", line):
            yield Text(path, number, "settings", comment[1])


def python(content: str, path: str) -> Iterator[Text]:
    """Yield the docstrings, comments, help texts and messages of a module."""
    nodes = list(ast.walk(ast.parse(content)))
    documented = {}
    for node in nodes:
        body = getattr(node, "body", None)
        if isinstance(body, list):
            for statement in body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    documented[id(statement.value)] = statement.value
    for constant in documented.values():
        if isinstance(constant.value, str):
            area = "help" if "/cli/" in path and path.startswith(PACKAGES) else "docstrings"
            for offset, words in _paragraphs(constant.value):
                yield Text(path, constant.lineno + offset, area, words)
    if not path.startswith(DATA):
        yield from _strings(nodes, path, set(documented))
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT and not re.match(r"#\s*(noqa|type:|pragma|!)", token.string):
            yield Text(path, token.start[0], "comments", token.string.lstrip("# "))


def _strings(nodes: Sequence[ast.AST], path: str, skipped: set[int]) -> Iterator[Text]:
    skipped = skipped | {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            words = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            words = node.value
        else:
            continue
        is_prose = PROSE.search(words) and not re.search(r"[<{\\]|SELECT|CREATE|INSERT|ORDER BY|^AND ", words)
        if is_prose and len(re.findall(r"[A-Za-z]{2,}", words)) >= 4:
            yield Text(path, node.lineno, "help" if "/cli/" in path else "messages", words)


def _paragraphs(docstring: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a docstring without examples, each with its line within the docstring."""
    paragraph: list[str] = []
    start = 0
    example = False
    for number, line in enumerate([*docstring.splitlines(), ""]):
        example = bool(line.strip()) and (example or line.lstrip().startswith((">>>", "...")))
        if (not line.strip() or example) and paragraph:
            yield start, " ".join(paragraph)
            paragraph = []
        elif line.strip() and not example:
            if not paragraph:
                start = number
            paragraph.append(line.strip())


def _area_of_page(path: str) -> str:
    if path.startswith("docs/"):
        folder = path.split("/")[1]
        return {"tutorials": "tutorials", "how-to": "how-to", "reference": "reference"}.get(folder, "explanation")
    return {"README.md": "README", "CHANGELOG.md": "changelog"}.get(path, "contributing")
