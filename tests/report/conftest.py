"""One written report, which the tests of this folder look at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from spotball_core.report.analysis import Analysis, analyze
from spotball_core.report.build import write_report
from spotball_core.schema import ScoreReport
from tests.report.study import scoring_of, write_study


@dataclass(frozen=True)
class Written:
    """A study's folder, its report's folder, and what the report is made from."""

    study: Path
    out: Path
    report: ScoreReport

    @property
    def page(self) -> str:
        """The page."""
        return (self.out / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="session")
def analysis(study: Path) -> Analysis:
    scoring, scenes = scoring_of(study)
    return analyze(scoring, scenes)


@pytest.fixture(scope="session")
def written(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Written:
    scoring, scenes = scoring_of(study)
    out = tmp_path_factory.mktemp("out") / "report"
    return Written(study, out, write_report(scoring, scenes, out, image_folders=[study]))
