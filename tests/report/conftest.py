"""One written report, which the tests of this folder look at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from spotball_core.report.build import write_report
from spotball_core.report.numbers.analyze import analyze
from spotball_core.report.numbers.records import PageReport
from spotball_core.report.view import PageView
from tests.report.study import scoring_of, write_study


@dataclass(frozen=True)
class Written:
    """A study's folder, its report's folder, and what the report is made from."""

    study: Path
    out: Path
    report: PageReport

    @property
    def page(self) -> str:
        """The page."""
        return (self.out / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="session")
def view(study: Path) -> PageView:
    return PageView(analyze(scoring_of(study)))


@pytest.fixture(scope="session")
def written(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Written:
    out = tmp_path_factory.mktemp("out") / "report"
    return Written(study, out, write_report(scoring_of(study), out, image_folders=[study]))
