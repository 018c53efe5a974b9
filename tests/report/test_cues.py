"""Test that reports of scenes with keypoints have a section on cues, with the numbers and maps of the record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from spotball_core import Scene, ScorePolicy, read_counts, synthetic_poses, synthetic_scenes
from spotball_core.plots.cue_maps import draw_cue_map, photo_pixels
from spotball_core.plots.dots import DotChart
from spotball_core.report.build import all_sections, write_report
from spotball_core.report.numbers.records import PageReport
from spotball_core.report.sections.cues import CuePhotoChart, cues
from spotball_core.report.view import PageView
from spotball_core.scoring.groups import Scoring
from spotball_core.synthetic.pictures import draw_scene
from spotball_core.synthetic.respondents import cue_responses

pytestmark = pytest.mark.slow

SPORT = "synthetic-soccer"


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Scene]]:
    """Return a folder with images of some scenes, and scenes with poses."""
    folder = tmp_path_factory.mktemp("pictures")
    made = synthetic_poses([scene for scene in synthetic_scenes(45) if scene.sport == SPORT])
    for scene in made[:3]:
        draw_scene(scene, ball=False).save(folder / f"{scene.image}.png")
    return folder, [Scene.model_validate({**scene.model_dump(), "path": f"{scene.image}.png"}) for scene in made]


@pytest.fixture(scope="module")
def written(scenes: tuple[Path, list[Scene]], tmp_path_factory: pytest.TempPathFactory) -> tuple[PageReport, Path]:
    folder, known = scenes
    rows = cue_responses(known, {"heads": {"head": 1.5}, "center": {"center": 1.5}}, samples=30)
    policy = ScorePolicy.standard(reference="heads", bootstrap=100)
    out = tmp_path_factory.mktemp("out") / "report"
    return write_report(Scoring(read_counts(rows, known), known, policy), out, image_folders=[folder]), out


def test_report_of_scenes_with_keypoints_has_a_cues_section_with_the_recorded_gains_maps_and_signature(
    written: tuple[PageReport, Path], scenes: tuple[Path, list[Scene]]
) -> None:
    report, out = written
    assert report.page.cues is not None
    view = PageView(report)
    section = cues(view, report.page.cues, [scenes[0]])
    found = {group.respondent: group for group in report.page.cues.groups}
    gains, maps = section.pictures
    assert isinstance(gains.chart, DotChart)
    values = {dot.respondent: dot.value for dot in gains.chart.panels[0].dots}
    assert values == {name: group.body_gain.value for name, group in found.items()}
    assert (values["heads"] or 0.0) > 0.1
    assert any(point.startswith("heads, synthetic-soccer: cues predict guesses") for point in section.details)
    assert isinstance(maps.chart, CuePhotoChart)
    assert len(maps.chart.photos) == 3
    assert maps.chart.photos[0].maps[0][0] == "guesses of heads"
    assert section.signature == report.page.cues.signature
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Which cues do guesses follow?" in page
    assert (out / "figures/cue-maps.png").is_file()
    again = PageReport.model_validate_json((out / "report.json").read_text(encoding="utf-8"))
    assert again.page.cues == report.page.cues
    assert "cues" in [section.name for section in all_sections(PageView(again))]


def test_report_without_keypoints_has_no_cues_section(view: PageView) -> None:
    assert view.page.cues is None
    assert "cues" not in [section.name for section in all_sections(view)]


def map_of(scores: list[float], **fields: Any) -> np.ndarray:
    """Return the pixels of a cue map over a gray photo."""
    scene = Scene(sport="a", image="1", grid={"rows": 2, "cols": 2}, width=40, height=20, **fields)
    axes = Figure().add_axes((0, 0, 1, 1))
    draw_cue_map(axes, scene, np.array(scores), np.full((10, 20, 3), 200))
    return np.asarray(axes.images[0].get_array())


def test_draw_cue_map_draws_the_highest_value_in_the_strongest_color_and_no_map_for_nan() -> None:
    pixels = map_of([0.0, 1.0, 0.5, 0.0], ball_cells=["A1"])
    assert pixels[:5, :10].tolist() == np.full((5, 10, 3), 200).tolist()
    strong, weak = pixels[2, 15], pixels[7, 5]
    assert (strong != weak).any()
    assert strong.sum() < weak.sum() < 600
    assert (map_of([np.nan] * 4) == 200).all()


def test_photo_pixels_shrinks_and_lightens_a_photo_and_returns_none_for_an_unreadable_or_missing_file(
    scenes: tuple[Path, list[Scene]], tmp_path: Path
) -> None:
    folder, known = scenes
    pixels = photo_pixels(folder / f"{known[0].image}.png", 64)
    assert pixels is not None
    assert pixels.shape == (36, 64, 3)
    assert pixels.min() >= 0.45 * 255 - 1
    (tmp_path / "broken.png").write_bytes(b"no picture")
    assert photo_pixels(tmp_path / "broken.png") is None
    assert photo_pixels(None) is None
