"""Test the documentation: it builds, needs no network, and its commands and code run."""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest
import typer

import spotball_core
from scripts.docs_commands import example, helps
from scripts.replication_results import cause, results, stored
from spotball_core import baseline_responses, load, score, synthetic_scenes
from spotball_core.cli.app import app
from spotball_core.io.frames import write_responses
from spotball_core.release.convert import import_release
from spotball_core.replication import Replication
from tests.browsing import launched
from tests.builders import dataset
from tests.conftest import ROOT
from tests.sharing import Prepared, shared_folder

SCRIPTS = Path(sys.executable).parent

PHONE, LAPTOP = 400, 1280
"""Widths of screens in pixels."""

SEARCHES = {
    "add my own model": "how-to/models.html",
    "cite": "index.html",
    "resume": "tutorials/run-a-model.html",
    "earth mover's distance": "reference/metrics.html",
    "normalized entropy": "reference/metrics.html",
    "run a model": "tutorials/run-a-model.html",
    "glossary": "glossary.html",
    "supported models": "how-to/models.html",
    "power": "how-to/plan.html",
    "0 to 1000 coordinates": "reference/parsing.html",
}
"""Words that readers may search for, and the page that should be the first search result."""

CUT_OFF = """() => [...document.querySelectorAll(".md-content :is(pre > code, .md-typeset__scrollwrap, .formula, img)")]
    .filter(element => element.scrollWidth > element.clientWidth + 1
        || element.getBoundingClientRect().right > innerWidth)
    .map(element => element.innerText.slice(0, 80))"""
"""JavaScript that returns the start of each code block, table, formula and image that is wider than the page."""


README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the documentation with warnings as errors; the build also fails if a page loads anything from a network.

    Test processes that run in parallel share one built site.
    """

    def build(folder: Path) -> None:
        command = [str(SCRIPTS / "mkdocs"), "build", "--strict", "--site-dir", str(folder)]
        work = tmp_path_factory.mktemp("work")
        environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "TMPDIR": str(work)}
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        assert list(work.glob("spotball-docs-*")) == []

    return shared_folder(tmp_path_factory, "site", build)


def public_homes() -> set[str]:
    """Return the full name of each public name: the module that documents it, a dot, and the name."""
    homes = set()
    for name in spotball_core.__all__:
        value = getattr(spotball_core, name)
        module = getattr(value, "__module__", None) or spotball_core._HOME_OF[name]
        # Values that are neither classes nor functions are documented in the module that they are imported from.
        homes.add(f"{module if callable(value) else spotball_core._HOME_OF[name]}.{name}")
    return homes


@pytest.mark.docs
@pytest.mark.timeout(2400)  # includes the build of the site
def test_built_site_contains_all_commands_public_names_formulas_and_notebooks(site: Path) -> None:
    pages = {file.relative_to(site).as_posix(): file.read_text(encoding="utf-8") for file in site.rglob("*.html")}
    formulas = pages["reference/metrics.html"]
    assert "<math" in formulas
    assert "\\(" not in formulas
    assert not [name for name, page in pages.items() if "Traceback" in page]

    # The expected commands come from `--help`, not from the script that makes the page.
    shown = set(re.findall(r"<code>(spotball[a-z -]*)</code><a class=\"headerlink\"", pages["reference/command.html"]))
    assert shown == {"spotball", *commands()}

    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    documented = {line.split()[0] for line in zlib.decompress(inventory).decode().splitlines() if line}
    assert public_homes() - documented == set()

    entries = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    assert any("wasserstein" in entry["text"].lower() for entry in entries)
    assert (site / "external-links.txt").read_text(encoding="utf-8").count("https://") > 3

    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        page = pages[f"notebooks/{notebook.stem}.html"]
        assert "data:image/png;base64," in page

    assert 'rel="prev"' in pages["faq.html"]
    assert 'rel="next"' in pages["faq.html"]

    # Copy buttons copy commands without prompts, so each block with a prompt needs the attribute `data-copy`.
    transcripts = re.findall(r'highlight"([^>]*)><pre><span></span><code>\$ ', "".join(pages.values()))
    assert len(transcripts) > 50
    assert {attributes.split("=")[0] for attributes in transcripts} == {" data-copy"}
    assert not [
        text for page in pages.values() for text in re.findall(r'data-copy="([^"]*)"', page) if "$ spot" in text
    ]


def commands() -> set[str]:
    """Return every command, including subcommands, as `--help` lists them."""
    found = set()
    for name in listed():
        inner = listed(name)
        found |= {f"spotball {name}", *(f"spotball {name} {one}" for one in inner)}
    return found


def listed(*words: str) -> list[str]:
    command = [sys.executable, "-m", "spotball_core", *words, "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    _, _, lines = text.partition("Show this message and exit.\n")
    return re.findall(r"^  ([a-z-]+)  ", lines, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.docs
@pytest.mark.timeout(2400)  # includes the build of the site
def test_built_pages_fit_phone_and_laptop_screens_and_search_lists_the_expected_page_first(site: Path) -> None:
    with served(site) as address, launched() as browser:
        asked: list[str] = []
        page = browser.new_page(viewport={"width": PHONE, "height": 800})
        page.on("request", lambda request: asked.append(request.url))
        wide = {}
        for file in sorted(site.rglob("*.html")):
            page.goto(f"{address}/{file.relative_to(site).as_posix()}")
            if (width := page.evaluate("document.documentElement.scrollWidth")) > PHONE:
                wide[file.name] = width
        assert wide == {}
        page.set_viewport_size({"width": LAPTOP, "height": 900})
        cut_off = {}
        for file in sorted(site.rglob("*.html")):
            page.goto(f"{address}/{file.relative_to(site).as_posix()}")
            if parts := page.evaluate(CUT_OFF):
                cut_off[file.name] = parts
        assert cut_off == {}
        found = {}
        for words in SEARCHES:
            page.goto(f"{address}/index.html")
            page.locator(".md-search__input").fill(words)
            first = page.locator(".md-search-result__item a").first
            first.wait_for(timeout=20_000)
            found[words] = first.get_attribute("href").removeprefix(f"{address}/").partition("?")[0]
        assert found == SEARCHES
        assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


@contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(timeout=60)


@pytest.mark.slow
def test_readme_shell_commands_succeed_and_print_the_output_in_the_readme(tmp_path: Path, prepared: Prepared) -> None:
    lines = [line for block in blocks("bash") for line in block.splitlines() if not line.startswith("pip ")]
    assert any(line.startswith("spotball score") for line in lines)
    assert [line for line in lines if line.startswith("spotball gen ")] == ["spotball gen run --demo --out items"]
    environment = os.environ | {"PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-c", prepared.commands("\n".join(["set -e", *lines]))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "spotball|v:" in done.stdout
    (shown,) = blocks("console")
    assert shown in done.stdout
    trials = pl.read_csv(tmp_path / "run-eye/trials.csv")
    assert (trials["choice"] == trials["gaze_target"]).mean() > 0.6
    assert len(json.loads((tmp_path / "items/card.json").read_text(encoding="utf-8"))["items"]) == 3


def test_readme_figures_equal_the_stored_replication_results() -> None:
    text = " ".join(README.split())
    items = stored().items
    matches = sum(item.status == "match" for item in items)
    assert f"{len(items)} published figures: {matches} agree" in text
    assert f"and {len(items) - matches} do not" in text
    rows = re.findall(r"\| (People|Gemini, third prompt): ([^|]+?) \| ([\d.]+) \| ([\d.]+) \| (match|mismatch)", text)
    assert len(rows) == 6
    for who, quantity, published, reproduced, status in rows:
        person = "human" if who == "People" else "gemini"
        of_person = [item for item in items if item.respondent == person and item.sport == "soccer"]
        (item,) = (item for item in of_person if quantity.startswith(item.quantity))
        assert item.reproduced is not None
        digits = len(reproduced.partition(".")[2])
        assert (published, f"{item.reproduced:.{digits}f}", status) == (item.published, reproduced, item.status)


@pytest.mark.real
@pytest.mark.slow
def test_readme_accuracies_of_people_and_gemini_equal_the_results_of_compare(real_release: Path) -> None:
    release = import_release(str(real_release))
    (contrast,) = load(release.responses, release.scenes, reference="human").compare("gemini/cot", "human").contrasts
    accuracy = contrast.metrics["accuracy"]
    assert accuracy.ci95
    gemini, people, difference, low, high = (
        f"{100 * (value or 0.0):.1f}" for value in (accuracy.a, accuracy.b, accuracy.difference, *accuracy.ci95)
    )
    finding = (
        f"people find the ball in {people}% of guesses and Gemini 2.0 Flash in {gemini}% (difference {difference} "
        f"points, 95% interval {low} to {high})"
    )
    assert finding in " ".join(README.split())
    report = score(release.responses, release.scenes, reference="human")
    table = str(report).partition("\n\n")[2].splitlines()[:4]
    assert "\n".join(table) in README
    assert (
        report.signature.split("|")[2:] == next(re.finditer(r"^spotball.*ref:human.*$", README, re.M))[0].split("|")[2:]
    )


@pytest.mark.real
@pytest.mark.slow
def test_stored_replication_results_equal_a_new_replication_of_the_release(real_release: Path) -> None:
    """Check the stored results; `python scripts/replication_results.py RELEASE` updates them."""

    def figures(found: Replication) -> list[tuple[object, ...]]:
        return [
            (item.where, item.name, item.published, item.status, pytest.approx(item.reproduced), item.standard is None)
            for item in found.items
        ]

    assert figures(stored()) == figures(results(real_release))


def test_replication_page_has_a_table_row_for_each_cause_of_a_replication_mismatch() -> None:
    page = (ROOT / "docs/explanation/replication.md").read_text(encoding="utf-8")
    causes = {cause(item) for item in stored().items if item.status == "mismatch"}
    assert len(causes) == 3
    assert [name for name in causes if f"\n| {name} | " not in page] == []


def test_readme_python_code_prints_the_values_in_its_comments(capsys: pytest.CaptureFixture[str]) -> None:
    printing, _ = blocks("python")
    exec(compile(printing, "README.md", "exec"), {})
    lines = [line for line in printing.splitlines() if line.startswith("print(")]
    assert capsys.readouterr().out.splitlines() == [line.split("# ")[1] for line in lines]


@pytest.mark.slow
def test_readme_python_code_analyzes_a_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _, analyzing = blocks("python")
    scenes = synthetic_scenes(30)
    rows = baseline_responses(scenes, ["center", "nearest-player", "prior"], samples=2)
    simulated = {"nearest-player": "simulated-people", "prior": "simulated-model"}
    rows = rows.with_columns(rows["respondent"].replace(simulated))
    write_responses(rows, dataset(tmp_path / "demo", scenes) / "responses.jsonl")
    exec(compile(analyzing, "README.md", "exec"), {})
    assert "simulated-model" in capsys.readouterr().out
    assert (tmp_path / "report" / "report.html").is_file()


def test_readme_picture_is_nearly_equal_to_the_picture_that_its_script_draws(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    import numpy as np
    from PIL import Image

    from scripts.readme_picture import FILE, picture, save

    save(picture(), tmp_path / "drawn.png")
    drawn, kept = (np.asarray(Image.open(file).convert("RGBA"), dtype=float) for file in (tmp_path / "drawn.png", FILE))
    assert drawn.shape == kept.shape
    # Fonts and rounding differ between releases of Pillow, so small differences are allowed.
    assert np.abs(drawn - kept).mean() < 2
    assert FILE.stat().st_size < 200_000


COMMANDS = re.compile(r"^```(?:bash|text|console)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def shown() -> Iterator[tuple[str, str]]:
    """Yield each `spotball` command in a code block, with its page."""
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))):
        for block in COMMANDS.findall(page.read_text()):
            for line in block.replace("\\\n", " ").splitlines():
                if found := re.match(r"(?:\$ )?(spotball .*)", line.strip()):
                    yield page.relative_to(ROOT).as_posix(), found[1]


def what_is_wrong(line: str) -> str | None:
    """Return a message about the unknown command or options in a line, or None. The command is not run."""
    words = itertools.takewhile(lambda word: not re.match(r"[|>&]|2>", word), shlex.split(line, comments=True))
    _, *rest = words
    command = typer.main.get_command(app)
    context = command.context_class(command, info_name="spotball", **command.context_settings)
    while rest and hasattr(command, "get_command"):
        name, *rest = rest
        if name.startswith("-"):
            break
        command = command.get_command(context, name)
        if command is None:
            return f"no command {name}"
        context = command.context_class(command, info_name=name, parent=context)
    known = {"--help", *(option for one in command.params for option in (*one.opts, *one.secondary_opts))}
    unknown = [word for word in rest if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known]
    return f"no option {', '.join(unknown)}" if unknown else None


def test_commands_and_options_on_pages_and_in_the_examples_of_help_exist() -> None:
    """Check also the commands that no test runs because they need an API key, model weights or participants."""
    lines = list(shown())
    assert len({" ".join(line.split()[:3]) for _, line in lines}) > 20
    assert [f"{page}: {line}: {wrong}" for page, line in lines if (wrong := what_is_wrong(line))] == []
    examples = [example(text) for _, text in helps()]
    assert len(examples) > 30
    assert [f"{line}: {wrong}" for line in examples if (wrong := what_is_wrong(line))] == []


def test_glossary_is_sorted_and_defines_the_main_terms_of_the_project() -> None:
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert terms == sorted(terms, key=str.lower)
    ours = {"Respondent", "Item", "Scene", "Control", "Cell", "Sample", "Cue", "Noise ceiling", "Matched metric"}
    assert ours | {"Policy", "Signature", "Trial"} <= set(terms)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("spotball score mine.csv --scenes x.jsonl | head  # a comment --nothing", None),
        ("spotball gen run --demo --out items", None),
        ("spotball --version", None),
        ("spotball scor mine.csv", "no command scor"),
        ("spotball gen walk", "no command walk"),
        ("spotball score mine.csv --scene x.jsonl -z", "no option --scene, -z"),
    ],
)
def test_what_is_wrong_finds_unknown_commands_and_options(line: str, wrong: str | None) -> None:
    assert what_is_wrong(line) == wrong


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_files_linked_from_readme_and_contributing_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"\]\((?!https?:)([^)#\s]+)", text) + re.findall(r"`((?:scripts|notebooks|docs)/[^`*]*)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_public_name_is_used_in_the_documentation() -> None:
    """Check that a page, a notebook, the README, or an example in a docstring uses the name."""
    texts = [file.read_text(encoding="utf-8") for file in (*ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*"))]
    for file in ROOT.glob("spotball_*/**/*.py"):
        texts += re.findall(r"^ *>>> .*$", file.read_text(encoding="utf-8"), re.MULTILINE)
    together = "\n".join([README, *texts])
    assert [name for name in spotball_core.__all__ if not re.search(rf"\b{name}\b", together)] == []
