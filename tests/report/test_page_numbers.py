"""Test that pages are rendered from a record, by modules that do not compute statistics."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from spotball_core.pages.parts import render_page
from spotball_core.report.build import all_sections, page_of
from spotball_core.report.numbers.records import PageReport
from spotball_core.report.view import PageView
from tests.conftest import ROOT
from tests.report.conftest import Written
from tests.test_imports import imported, package_of

NOT_PAGES = {"build.py", "guess_maps.py", "__init__.py"}
"""Modules that may compute: `build` computes a record and writes its page; `guess_maps` draws arrays of the user."""

PAGES = [
    *(
        path
        for folder in ("report", "report/sections", "report/charts", "pages", "plots", "gaze/page")
        for path in sorted((ROOT / "spotball_core" / folder).glob("*.py"))
        if path.name not in NOT_PAGES
    ),
    ROOT / "spotball_core/reasoning/figure.py",
    *(ROOT / "spotball_core/leaderboard" / name for name in ("write.py", "text.py")),
    *(ROOT / "spotball_core/planning" / name for name in ("page.py", "text.py")),
]

MAY_COMPUTE = ("metrics", "stats", "scoring", "counting", "baselines", "comparison", "cues", "report.numbers")
RECORDS = {
    *("metrics.metric", "metrics.registry", "report.numbers.change_records", "report.numbers.records"),
    *("scoring.tables", "cues.explanation_record", "cues.explanation_text"),
}
"""Modules in these packages that compute nothing: they contain only records, descriptions of metrics, or texts."""

WRITE = """
import sys
from spotball_core.report.numbers.records import PageReport
from spotball_core.report.build import write_page
write_page(PageReport.model_validate_json(open(sys.argv[1]).read()), sys.argv[2], image_folders=sys.argv[3:])
computing = ('scoring.estimates', 'scoring.groups', 'counting.counts', 'stats.bootstrap', 'cues.mixture')
print([name for name in computing if f'spotball_core.{name}' in sys.modules])
"""

STATISTICS = {"mean", "std", "var", "median", "quantile", "percentile", "average", "nanmean", "default_rng", "cumsum"}


def computing(path: Path) -> list[str]:
    """Return the computing modules that a file imports, and the statistical functions that it calls."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [name.removeprefix("spotball_core.") for name in imported(tree, package_of(path))]
    found = [name for name in names if f"{name}.".startswith(tuple(f"{one}." for one in MAY_COMPUTE))]
    found = [name for name in found if name not in RECORDS]
    called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return found + [func.attr for func in called if isinstance(func, ast.Attribute) and func.attr in STATISTICS]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT / "spotball_core").as_posix())
def test_page_modules_neither_import_statistical_modules_nor_call_statistical_functions(path: Path) -> None:
    assert computing(path) == []


def test_computing_helper_finds_imports_and_calls_in_modules_that_compute_statistics() -> None:
    assert len(PAGES) > 30
    assert set(computing(ROOT / "spotball_core/plots/guess_maps.py")) >= {"metrics.inputs", "metrics.strategy"}
    assert "mean" in computing(ROOT / "spotball_core/report/numbers/analyze.py")


@pytest.mark.slow
def test_write_page_does_not_import_scoring_modules(written: Written, tmp_path: Path) -> None:
    arguments = [str(written.out / "report.json"), str(tmp_path / "page"), str(written.study)]
    done = subprocess.run([sys.executable, "-c", WRITE, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert (tmp_path / "page/report.html").read_text(encoding="utf-8") == written.page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        ("page.sports.0.uniform.accuracy", 0.4321, "uniform guessing: 43.2%"),
        ("page.sports.0.uniform.euclidean_error", 987.65, "uniform guessing: 987.6 px"),
        ("page.sports.0.uniform.wasserstein_matched", 876.54, "uniform guessing: 876.5 px"),
        ("page.sports.0.n_with_players", 77, "77 images with players"),
        ("page.sports.0.ball_near_player", 0.5678, "the ball 56.8%"),
        ("page.sports.0.crowd.n_players.value", 5.43, "an image has 5.43 players"),
        ("page.sports.0.ball.in_window", 0.1234, "12.3% in the center window"),
        ("page.groups.1.cells.n", 4711.0, "4,711 guesses"),
        ("page.prompt_means.0.metrics.center_ratio", 7.654, "7.654"),
        ("page.mixtures.0.weights.uniform.value", 0.4567, "45.7"),
        ("page.thresholds.at_policy", 0.3579, "35.8%"),
        ("page.thresholds.n_pairs", 1234, "of 1234 pairs"),
        ("page.gallery.images.0.cases.0.distance", 765.43, "765.4 px from people"),
        ("page.gallery.failures.0.failed.far.n", 6161, "6161"),
        ("page.n_responses", 123456, "123,456 responses"),
        ("page.n_images", 321, "321 images"),
    ],
)
def test_page_rendered_from_report_json_shows_a_number_changed_in_the_json(
    written: Written, path: str, value: float, shown: str
) -> None:
    record = json.loads((written.out / "report.json").read_text(encoding="utf-8"))
    assert shown not in rendered(record)
    *parents, last = path.split(".")
    inside = record
    for key in parents:
        inside = inside[int(key) if isinstance(inside, list) else key]
    assert last in inside
    inside[last] = value
    assert shown in rendered(record)


def rendered(record: object) -> str:
    view = PageView(PageReport.model_validate_json(json.dumps(record)))
    sections = all_sections(view)
    words = (text for section in sections for picture in section.pictures for text in picture.alts)
    panels = (panel.under for s in sections for p in s.pictures for panel in getattr(p.chart, "panels", ()))
    page = render_page(page_of(view), sections, {p.name: [] for s in sections for p in s.pictures})
    return "\n".join([page, *words, *panels])
