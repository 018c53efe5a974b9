"""Provide one written report for the tests of this folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from spotball_core.report.build import write_report
from spotball_core.report.numbers.analyze import analyze
from spotball_core.report.numbers.records import PageReport
from spotball_core.report.view import PageView
from tests.report.study import scoring_of, write_study
from tests.sharing import shared_folder


@dataclass(frozen=True)
class Written:
    """Hold the folder of a study, the folder of its report, and the data of the report."""

    study: Path
    out: Path
    report: PageReport

    @property
    def page(self) -> str:
        """Return the HTML of the page."""
        return (self.out / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="session")
def view(study: Path) -> PageView:
    return PageView(analyze(scoring_of(study)))


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    def write(folder: Path) -> None:
        write_report(scoring_of(write_study(folder / "study")), folder / "out/report", image_folders=[folder / "study"])

    folder = shared_folder(tmp_path_factory, "written", write)
    report = PageReport.model_validate_json((folder / "out/report/report.json").read_bytes())
    return Written(folder / "study", folder / "out/report", report)
