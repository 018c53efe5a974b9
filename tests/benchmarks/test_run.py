"""Test that benchmarks are found, run in separate processes, stored, and reported on a page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import run as runner

from tests.benchmarks.made_up import SETTING, figure, result
from tests.conftest import ROOT

GOOD = '''"""Claim: a made-up benchmark is fast.

It measures nothing.
"""
from measure import figure
figure("made-up time", 3.0, "s", below=2, note="a|b")
figure("made-up ratio", 7.0, "times", at_least=5)
'''
BAD = '"""Claim: it works."""\nfrom measure import figure\nfigure("first", 1.0, "s")\nraise SystemExit("it broke")\n'
TWICE = '"""Claim: names are unique."""\nfrom measure import figure\nfigure("a", 1.0, "s")\nfigure("a", 2.0, "s")\n'
DRAWS = '''"""Claim: it draws."""
import sys
from pathlib import Path
assert sys.argv[1] == "--plot"
Path(sys.argv[2]).write_text("<svg/>")
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "benchmarks"))
    (tmp_path / "docs").mkdir()
    for name, text in (("good", GOOD), ("bad", BAD), ("twice", TWICE), ("draws", DRAWS), ("helper", '"""Helps."""\n')):
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def test_benchmarks_finds_scripts_whose_docstring_states_a_claim_and_main_rejects_other_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(runner.benchmarks(folder)) == ["bad", "draws", "good", "twice"]
    found = set(runner.benchmarks())
    assert {"intervals", "replicate", "report", "wasserstein_growth", "wasserstein_pairs"} <= found
    assert found.isdisjoint({"run", "measure", "results", "page", "study", "release"})
    with pytest.raises(SystemExit) as stopped:
        runner.main(["nothing"], folder=folder)
    assert stopped.value.code == 2
    assert "unknown benchmarks: nothing" in capsys.readouterr().err


def test_run_returns_all_figures_and_the_time_or_the_figures_measured_before_a_failure(folder: Path) -> None:
    good, *failed = (
        runner.run(runner.benchmarks(folder)[name], SETTING, folder / "docs") for name in ("good", "bad", "twice")
    )
    assert good.finished
    assert [(one.name, one.value, one.unit, one.goal, one.met) for one in good.figures] == [
        ("made-up time", 3.0, "s", "below 2", False),
        ("made-up ratio", 7.0, "times", "at least 5", True),
    ]
    assert good.seconds > 0
    for one in failed:
        assert not one.finished
        assert one.figures


@pytest.mark.slow
def test_main_runs_all_benchmarks_and_reports_failures_on_the_page(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert runner.main([], folder=folder, docs=folder / "docs") == 1
    page = (folder / "RESULTS.md").read_text()
    assert "`benchmarks/good.py` claims: a made-up benchmark is fast." in page
    assert "It measures nothing." in page
    assert "| made-up time | 3 s | below 2: **MISSED** |" in page
    assert "| made-up ratio | 7 times | at least 5: met |" in page
    assert "a\\|b" in page
    assert "FAILED" in page.split("## Bad")[1].split("## ")[0]
    assert "failed: bad" in page
    assert "missed: made-up time (good)" in page
    assert "(docs/assets/benchmarks/draws.svg)" in page
    assert (folder / "docs/assets/benchmarks/draws.svg").exists()
    assert "failed: bad" in capfd.readouterr().out
    assert not (folder / "kept.json").exists()


@pytest.mark.slow
def test_main_and_page_compare_new_figures_with_the_stored_figures(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("bad", "twice"):
        (folder / f"{name}.py").unlink()
    page, other = folder / "RESULTS.md", '"""Claim: another."""\nfrom measure import figure\n'
    (folder / "other.py").write_text(f'{other}figure("its own", 4.0, "s")\n')
    assert runner.main(["good", "--keep"], folder=folder, docs=folder / "docs") == 0
    assert not page.exists()
    assert runner.main(["--keep"], folder=folder, docs=folder / "docs") == 0
    assert "| 3 s | below 2: **MISSED** |  |" in page.read_text()
    (folder / "good.py").write_text(GOOD.replace("3.0", "30.0"))
    assert runner.main([], folder=folder, docs=folder / "docs") == 0
    assert "| 30 s | below 2: **MISSED** | 3 s, worse |" in page.read_text()
    assert "| 7 times | at least 5: met |  |" in page.read_text()
    # A run of one benchmark changes the page only with `--keep`. The page then shows the stored figures of the others.
    (folder / "other.py").write_text(f'{other}raise SystemExit("it ran")\n')
    page.write_text("before")
    capfd.readouterr()
    assert runner.main(["good"], folder=folder, docs=folder / "docs") == 0
    assert "worse" in capfd.readouterr().out
    assert page.read_text() == "before"
    assert runner.read_kept(folder / "kept.json")["good"].figures[0].value == 3.0
    assert runner.main(["good", "--keep"], folder=folder, docs=folder / "docs") == 0
    assert "| 30 s | below 2: **MISSED** | 3 s, worse |" in page.read_text()
    assert "| its own | 4 s |" in page.read_text()


def test_write_kept_stores_results_and_does_not_replace_them_with_failed_results(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    assert runner.read_kept(file) == {}
    one, two = result("one", figure("a", 1.0, goal="below 2", met=True)), result("two", figure("b", 2.0))
    runner.write_kept({}, [one, two], file)
    assert runner.read_kept(file) == {"one": one, "two": two}
    later = result("two", figure("b", 3.0))
    runner.write_kept(runner.read_kept(file), [result("one", finished=False), later], file)
    assert runner.read_kept(file) == {"one": one, "two": later}


@pytest.mark.slow
def test_benchmark_of_local_models_measures_a_tiny_model_on_a_cpu() -> None:
    """Test the GPU benchmark without a GPU."""
    pytest.importorskip("torch", reason="needs the extra local")
    pytest.importorskip("transformers", reason="needs the extra local")
    options = ("--size", "tiny", "--images", "1", "--samples", "3", "--tokens", "4", "--plain", "2")
    command = [sys.executable, "benchmarks/local_models.py", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (rate,) = re.findall(r"^provider transformers: ([\d.e+]+) answers/s$", done.stdout, re.MULTILINE)
    assert float(rate) > 0
    assert "random weights" in done.stdout
