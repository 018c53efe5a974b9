"""Test the tools for the documentation: type checks, copy buttons, links, notebooks, and the architecture picture."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import architecture, docs_types
from scripts.docs_check import Page, check_site, malformed
from scripts.docs_copy import commands_of, mark_copies
from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


PAGE = """# Page

```python exec="on" session="one"
name = open
```

Words.

```python exec="on" source="block" session="one"
number: int = name
```

- A list:

  ```python
  from spotball_core import Grid, Scene

  Scene(sport="padel", image="1", grid=Grid.standard(), ball_cells=["C5"])
  Scene(sport="padel", image="1", grid=Grid.standard(), ball_cell=["C5"])
  ```

```python exec="on"
hidden: int = "text"
```
"""


class TestTypes:
    def test_modules_joins_code_blocks_of_the_same_session_into_one_module(self) -> None:
        (first, first_shown), (second, second_shown) = docs_types.modules(PAGE)
        assert (first.splitlines()[3], first.splitlines()[9]) == ("name = open", "number: int = name")
        assert (first_shown, second_shown) == ({10}, {16, 17, 18, 19})
        assert second.splitlines()[15] == "from spotball_core import Grid, Scene"

    @pytest.mark.slow
    def test_check_reports_type_errors_with_the_page_and_its_line(self, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text(PAGE, encoding="utf-8")
        first, of_pyright, second, third = [line for line in docs_types.check([page]) if ": error: " in line]
        assert first.startswith(f"{page}:10: error: Incompatible types in assignment")
        assert of_pyright.startswith(f"{page}:10: error: Type ")
        assert of_pyright.endswith("(reportAssignmentType)")
        assert second == f'{page}:19: error: No parameter named "ball_cell" (reportCallIssue)'
        assert third.startswith(f"{page}:19: error: Unexpected keyword argument")

    @pytest.mark.slow
    def test_pyright_ignores_unknown_types_in_modules_that_import_untyped_libraries(self, tmp_path: Path) -> None:
        code = "import dask.dataframe\n\nfound = []\nfound.append(dask.dataframe.read_csv('a.csv').columns)\n"
        Path(tmp_path, "untyped.py").write_text(code, encoding="utf-8")
        Path(tmp_path, "typed.py").write_text("found = []\nfound.append(1)\nabs()\n", encoding="utf-8")
        errors = docs_types.pyright(tmp_path)
        assert [(name, line) for name, line, _ in errors] == [("typed.py", 2), ("typed.py", 3)]
        assert "reportUnknownMemberType" in errors[0][2]

    def test_pages_returns_the_readme_and_more_than_15_pages_with_code(self) -> None:
        shown = [path for path in docs_types.pages() if docs_types.modules(path.read_text(encoding="utf-8"))]
        assert len(shown) > 15
        assert ROOT / "README.md" in shown


def block(language: str, text: str, attributes: str = "", classes: str = "") -> str:
    """Return a code block as the theme's HTML, with a highlighting tag that copied commands must not contain."""
    code = text.replace("&", "&amp;").replace("<", "&lt;").replace("spotball", '<span class="n">spotball</span>')
    return (
        f'<div class="language-{language} {classes}highlight"{attributes}>'
        f"<pre><span></span><code>{code}</code></pre></div>"
    )


class TestCopies:
    def test_commands_of_and_mark_copies_remove_prompts_and_output_from_copied_code(self) -> None:
        assert commands_of("$ a \\\n  b\nout\n$ c\n") == "a \\\n  b\nc"
        assert commands_of(">>> if x:\n...     y\n...\nout\n>>> z\n") == "if x:\n    y\n\nz"
        text = "$ spotball <a> &\nout"
        copied = block("text", text, ' data-copy="spotball &lt;a&gt; &amp;"')
        assert mark_copies(f"<p>x</p>{block('text', text)}<p>y</p>") == f"<p>x</p>{copied}<p>y</p>"
        # The output of a Python block has no copy button.
        page = f"{block('python', 'f()')}\n{block('text', '3')}"
        assert mark_copies(page) == f"{block('python', 'f()')}\n{block('text', '3', classes='no-copy ')}"
        assert mark_copies(block("pycon", "3")) == block("pycon", "3", classes="no-copy ")

    @pytest.mark.parametrize("page", [block("bash", "spotball demo"), block("text", "a file"), "<p>no code</p>"])
    def test_mark_copies_leaves_pages_without_prompts_unchanged(self, page: str) -> None:
        assert mark_copies(page) == page


class TestLinks:
    @pytest.mark.parametrize(
        ("element", "n"),
        [
            ('<script src="https://cdn.example.org/x.js"></script>', 1),
            ('<link rel="stylesheet" href="//cdn.example.org/x.css">', 1),
            ('<link rel="preconnect" href="https://fonts.example.org">', 1),
            ('<img alt="" src="http://example.org/x.png">', 1),
            ('<svg><use xlink:href="https://example.org/x.svg#a"></use></svg>', 1),
            ('<script src="assets/x.js"></script>', 0),
            ('<img alt="" src="data:image/png;base64,AAAA">', 0),
            ('<link rel="canonical" href="https://example.org/">', 0),
            ("<code>&lt;script src=https://example.org/x.js&gt;</code>", 0),
            ('<a href="https://example.org/x">x</a>', 0),
        ],
    )
    def test_page_loads_contains_only_addresses_that_a_browser_loads_from_a_network(self, element: str, n: int) -> None:
        assert len(Page(f"<p>{element}</p>").loads) == n

    def test_malformed_returns_only_invalid_addresses(self) -> None:
        valid = ["https://docs.ray.io", "http://10.0.0.1:8000/v1?a=b#c", "//example.org", "https://example.org/x(y"]
        invalid = ["https://example.org/x.", "https://example", "https:///x", "https://example.org:port/"]
        invalid.append("https://a.org/b c")
        assert malformed([*valid, *invalid]) == invalid

    def test_check_site_reports_network_loads_and_malformed_links_and_writes_the_list_of_external_links(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "index.html").write_text('<a href="https://example.org">x</a><a href="sub/page.html">y</a>')
        (tmp_path / "sub/page.html").write_text('<a href="https://example.org">x</a>')
        assert check_site(tmp_path) == []
        assert (tmp_path / "external-links.txt").read_text() == "https://example.org  index.html sub/page.html\n"
        (tmp_path / "sub/page.html").write_text('<a href="https://nowhere">x</a><img src="https://example.org/x.png">')
        (tmp_path / "style.css").write_text('@import "https://cdn.example.org/x.css"; a { background: url(x.png) }')
        assert check_site(tmp_path) == [
            "sub/page.html loads https://example.org/x.png",
            "style.css loads https://cdn.example.org/x.css",
            "sub/page.html links to https://nowhere, which is no address",
        ]


class TestNotebooks:
    @pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
    def test_notebook_is_stored_without_outputs_and_its_links_exist(self, file: Path) -> None:
        assert len(NOTEBOOKS) == 3
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert code
        assert not [cell for cell in code if cell["outputs"] or cell["execution_count"]]
        assert cells[0]["source"][0].startswith("# ")
        words = "".join(line for cell in cells for line in cell["source"])
        assert "synthetic" in words.lower() or "made up" in words.lower()
        linked = re.findall(r"\]\(([^)#]+)", words)
        assert linked
        assert [link for link in linked if not (file.parent / link).is_file()] == []

    @pytest.mark.slow
    def test_build_fails_for_a_notebook_with_an_error_a_warning_nan_or_without_figure_and_text(
        self, tmp_path: Path
    ) -> None:
        """Check the checks of `notebook_page`, with which the build runs each notebook."""
        nbformat = pytest.importorskip("nbformat")
        nbclient = pytest.importorskip("nbclient")
        pytest.importorskip("ipykernel")
        from scripts.docs_notebooks import notebook_page, problems

        v4 = nbformat.v4
        cell = v4.new_code_cell()
        cell.outputs = [
            v4.new_output("stream", text="accuracy 3\n"),
            v4.new_output("display_data", data={"image/png": "AAAA\n", "text/plain": "<Figure>"}),
        ]
        assert problems(v4.new_notebook(cells=[cell])) == []
        cell.outputs = [v4.new_output("execute_result", data={"text/markdown": "| nan |"})]
        found = problems(v4.new_notebook(cells=[cell]))
        assert found == ["the notebook prints nan: | nan |", "the notebook shows no figure"]
        file = tmp_path / "x.ipynb"
        for code, error, words in (
            ("import sys; print('careful', file=sys.stderr)", ValueError, "a warning: careful(.|\n)*no figure"),
            ("1 / 0", nbclient.exceptions.CellExecutionError, "ZeroDivisionError"),
        ):
            nbformat.write(v4.new_notebook(cells=[v4.new_markdown_cell("# Title"), v4.new_code_cell(code)]), file)
            with pytest.raises(error, match=words):
                notebook_page(file, tmp_path)

    def test_as_markdown_converts_text_code_and_outputs_of_a_notebook(self) -> None:
        nbformat = pytest.importorskip("nbformat")
        pytest.importorskip("nbclient")
        from scripts.docs_notebooks import as_markdown

        v4 = nbformat.v4
        cell = v4.new_code_cell("draw()", metadata={"alt": "A drawing"})
        cell.outputs = [
            v4.new_output("stream", text="said\n"),
            v4.new_output("display_data", data={"image/png": "AAAA\n", "text/plain": "<Figure>"}),
            v4.new_output("execute_result", data={"text/markdown": "| a |", "text/plain": "x"}),
            v4.new_output("execute_result", data={"text/html": "<b>3</b>", "text/plain": "3"}),
        ]
        before = [v4.new_markdown_cell(text) for text in ("# Title", "[Words](../docs/index.md).")]
        book = v4.new_notebook(cells=[*before, cell])
        title, note, words, code, *shown = as_markdown(book, "x.ipynb").strip().split("\n\n")
        assert (title, words, code) == ("# Title", "[Words](../index.md).", "````python\ndraw()\n````")
        assert "notebooks/x.ipynb" in note
        image = "![A drawing](data:image/png;base64,AAAA)"
        assert shown == ["````text\nsaid\n````", image, "| a |", "````text\n3\n````"]


class TestArchitecture:
    @pytest.mark.slow
    def test_architecture_picture_shows_every_layer_of_the_import_contracts(self) -> None:
        drawn = re.findall(r'<span title="([^"]+)">(\w+)</span>', architecture.picture())
        names = [name for layers in architecture.layers().values() for layer in layers for name in layer]
        assert sorted(name for _, name in drawn) == sorted(names)
        assert len(names) > 40
        assert all(title for title, _ in drawn)

    @pytest.mark.slow
    def test_find_your_way_lists_every_module_and_docstrings_begin_with_a_complete_sentence(self) -> None:
        text = architecture.find_your_way()
        modules = [file for package in architecture.PACKAGES for file in architecture.modules(package)]
        assert len(modules) > 400
        assert text.count("\n| `") == sum(file.name != "__init__.py" for file in modules)
        assert all(architecture.first_line(file).endswith((".", "?", ".)")) for file in modules)

    @pytest.mark.slow
    def test_import_linter_fails_if_a_module_imports_from_a_higher_layer(self, tmp_path: Path) -> None:
        """Check that `make lint` fails if a module imports from a higher layer."""
        shutil.copytree(ROOT / "spotball_gen", tmp_path / "spotball_gen", ignore=shutil.ignore_patterns("__pycache__"))
        for package in ("spotball_core", "spotball_adapters"):
            (tmp_path / package).symlink_to(ROOT / package)
        shutil.copy(ROOT / "pyproject.toml", tmp_path)
        check = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
        command = [sys.executable, "-c", check]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        with (tmp_path / "spotball_gen/items/item.py").open("a", encoding="utf-8") as item:
            item.write("\nimport spotball_gen.review.store\n")
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "spotball_gen.items is not allowed to import spotball_gen.review" in done.stdout
