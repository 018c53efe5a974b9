"""Test the report of the real soccer data against known numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_core import ScorePolicy, import_release
from spotball_core.report.build import write_report
from spotball_core.scoring.score import Scoring, load_counts
from tests.report.markup import parsed


@pytest.mark.slow
@pytest.mark.real
def test_report_of_the_real_soccer_data_shows_the_published_numbers(real_release: Path, tmp_path: Path) -> None:
    import_release(real_release).write(tmp_path / "dataset")
    counts, scenes = load_counts([str(tmp_path / "dataset")], None, participants=True)
    scoring = Scoring(counts, scenes, ScorePolicy.standard(reference="human", bootstrap=0))
    write_report(scoring, tmp_path / "out", image_folders=[tmp_path / "dataset"])
    page = parsed((tmp_path / "out/report.html").read_text())

    def said(section: str) -> str:
        (found,) = page.all("section", id=section)
        return found.all("div", class_="words")[0].text

    # The accuracies are 1441 of 7500 and 81 of 1000 responses. Table 2 of the paper has 113.36 px.
    assert "people 19.2%" in said("accuracy")
    assert "gemini 8.1%" in said("accuracy")
    assert "people 113.4 px" in said("error")
    assert "gemini 96.2 px" in said("alignment")
    assert "uniform guessing: 144.9 px" in said("alignment")
    assert "the distance between two halves of 50 participants is 28.5 px" in said("ceiling")
    (gallery,) = page.all("section", id="gallery")
    assert len(gallery.all("article")) == len(gallery.all("image")) == 50
