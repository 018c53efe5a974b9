"""Test `spotball gaze train`: trials from images, resuming, a kill, and invalid input."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from spotball_adapters.gaze.training.pictures import draw_set, validation_plans
from spotball_core.gaze.data.stimuli import read_stimuli, write_stimuli
from spotball_core.version import install_command
from tests.adapters.gaze.made import rows
from tests.adapters.run_process import Done, check_error, good, here
from tests.waiting import until

SMALL = """\
pictures = 32
size = 32
[schedule]
epochs = 2
batch = 16
"""

find = importlib.util.find_spec
needs_torch = pytest.mark.skipif(find("torch") is None, reason="PyTorch, from the local extra, is not installed")


def hide(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Simulate that these modules are not installed."""

    def without(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in modules else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)


def test_gaze_train_without_torch_is_a_one_line_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide(monkeypatch, "torch")
    done = here("gaze", "train", "--out", tmp_path / "out")
    check_error(done, "missing-extra", install_command("local"))
    assert (done.stdout, len(done.stderr.splitlines())) == ("", 1)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@needs_torch
def test_gaze_train_on_synthetic_images_works_without_transformers_and_matplotlib(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hide(monkeypatch, "transformers", "matplotlib")
    small = config(tmp_path, "pictures = 16\nsize = 32\nschedule.epochs = 1\n")
    done = good("gaze", "train", "--out", tmp_path / "out", *small, "--seeds", "1", "--jobs", "1")
    assert 'figures are not drawn: install the "report" extra' in done.stderr
    assert (tmp_path / "out/result.json").is_file()
    assert not (tmp_path / "out/figures").exists()


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with 80 synthetic images that serve as photos."""
    folder = tmp_path_factory.mktemp("photos")
    draw_set(validation_plans(80, 5), folder, size=40, seed=5)
    return folder


def config(folder: Path, text: str) -> tuple[str, Path]:
    """Write a configuration; return the option that names it."""
    path = folder / f"{len(text)}.toml"
    path.write_text(text, encoding="utf-8")
    return "--config", path


def command(photos: Path, out: Path, *options: str | Path) -> list[str]:
    data = ("--stimuli", photos / "stimuli.csv", "--images", photos, "--faces", photos / "faces.csv")
    return [*map(str, ("gaze", "train", "--out", out, *data, *config(photos, SMALL), *options))]


def trained(photos: Path, out: Path, *options: str | Path) -> Done:
    return good(*command(photos, out, "--jobs", "1", *options))


def stamps(out: Path) -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in out.glob("runs/*/run.json")}


@pytest.mark.slow
@needs_torch
class TestPhotos:
    def test_gaze_train_keeps_finished_runs_and_trains_missing_ones(self, photos: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        first = trained(photos, out, "--seeds", "1")
        before = stamps(out)
        assert set(before) == {"photos-1"}
        again = trained(photos, out, "--seeds", "1")
        assert stamps(out) == before
        assert again.stdout == first.stdout
        assert "1 run, 1 of them already done" in again.stderr
        trained(photos, out, "--seeds", "2")
        assert stamps(out)["photos-1"] == before["photos-1"]
        assert {row["respondent"] for row in rows(out / "trials.csv")} == {"photos-1", "photos-2"}
        tested = {one.stimulus_id for one in read_stimuli(out / "pictures/test/stimuli.csv")}
        assert {row["stimulus_id"] for row in rows(out / "trials.csv")} == tested
        # A deleted run is trained again, with the same result.
        kept = (out / "trials.csv").read_bytes()
        for path in (out / "runs/photos-2").iterdir():
            path.unlink()
        (out / "runs/photos-2").rmdir()
        trained(photos, out, "--seeds", "2")
        assert (out / "trials.csv").read_bytes() == kept

    def test_gaze_train_resumed_after_a_kill_writes_the_same_trials(self, photos: Path, tmp_path: Path) -> None:
        whole, out = tmp_path / "whole", tmp_path / "out"
        trained(photos, whole, "--seeds", "3")
        line = [sys.executable, "-m", "spotball_core", *command(photos, out, "--jobs", "1", "--seeds", "3")]
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until(lambda: stamps(out) or process.poll() is not None)
        finally:
            process.kill()
            process.wait(60)
        before = stamps(out)
        trained(photos, out, "--seeds", "3")
        assert {name: stamps(out)[name] for name in before} == before
        assert (out / "trials.csv").read_bytes() == (whole / "trials.csv").read_bytes()

    def test_gaze_train_with_other_settings_or_a_damaged_run_is_an_error(self, photos: Path, tmp_path: Path) -> None:
        trained(photos, tmp_path, "--seeds", "1")
        line = command(photos, tmp_path, "--seeds", "1")
        other = config(tmp_path, SMALL + "rate = 0.01\n")
        check_error(here(*line, *other), "different-settings", "schedule")
        path = tmp_path / "runs/photos-1/run.json"
        path.write_text("{", encoding="utf-8")
        check_error(here(*line), "invalid-json", str(path))

    @pytest.mark.parametrize(
        ("options", "code", "value"),
        [
            ("--checkpoint x.pt", "missing-option", "--backbone"),
            ("--stimuli x.csv", "unreadable-file", "x.csv"),
            ("--images x", "missing-option", "--stimuli"),
            ("--config x.toml", "missing-file", "x.toml"),
            ("--faces x.csv", "missing-option", "--stimuli"),
            ("--checkpoint nothing.pt --backbone b", "unreadable-file", "nothing.pt"),
        ],
    )
    def test_gaze_train_with_invalid_options_is_an_error_and_writes_nothing(
        self, options: str, code: str, value: str, tmp_path: Path
    ) -> None:
        check_error(here("gaze", "train", "--out", tmp_path / "out", *options.split()), code, value)
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize(
        ("text", "where"), [("schedule.rate = 0", "schedule.rate"), ("schedule.rate = 1e-6", "schedule")]
    )
    def test_gaze_train_with_invalid_settings_names_the_key(self, text: str, where: str, tmp_path: Path) -> None:
        check_error(here("gaze", "train", "--out", tmp_path / "out", *config(tmp_path, text)), "invalid-value", where)
        assert not (tmp_path / "out").exists()

    def test_gaze_train_into_a_folder_with_other_files_is_an_error(self, photos: Path, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("mine")
        check_error(here(*command(photos, tmp_path)), "output-exists")
        assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]

    def test_gaze_train_with_a_missing_photo_is_an_error(self, photos: Path, tmp_path: Path) -> None:
        known = [one.model_copy(update={"image": "gone.png"}) for one in read_stimuli(photos / "stimuli.csv")]
        write_stimuli(known, tmp_path / "stimuli.csv")
        line = command(photos, tmp_path / "out", "--jobs", "1", "--stimuli", tmp_path / "stimuli.csv")
        check_error(here(*line), "missing-file", "gone.png")


@pytest.mark.slow
@needs_torch
def test_gaze_train_with_a_gazelle_checkpoint_writes_a_trained_checkpoint(photos: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed: it comes with the local extra")
    import torch

    from spotball_adapters.gaze.gazelle import load_gazelle
    from spotball_adapters.gaze.points import point_trials
    from spotball_adapters.gaze.predict import predict
    from spotball_adapters.gaze.training.pictures import read_set
    from tests.adapters.gaze.test_gazelle import decoder, tiny

    model = tiny()
    model.backbone.save_pretrained(tmp_path / "encoder")
    torch.save(decoder(model), tmp_path / "decoder.pt")
    out = tmp_path / "out"
    weights = ("--checkpoint", tmp_path / "decoder.pt", "--backbone", tmp_path / "encoder")
    done = trained(photos, out, "--seeds", "1", *weights)
    assert "before training" in done.stdout
    assert {row["respondent"] for row in rows(out / "trials.csv")} == {"before", "photos-1"}
    epochs = json.loads((out / "runs/photos-1/run.json").read_text(encoding="utf-8"))["epochs"]
    assert epochs[2]["loss"] < epochs[1]["loss"]
    # The trained model is an ordinary checkpoint, and its predictions agree with the trials.
    fresh = load_gazelle(out / "runs/photos-1/model.pt", str(tmp_path / "encoder"))
    assert not torch.equal(fresh.linear.weight, model.linear.weight)
    test = read_set(out / "pictures/test", photos)
    points = list(predict(fresh, test.stimuli, photos, dict(test.faces), "cpu"))
    chosen = {row["stimulus_id"]: row["choice"] for row in rows(out / "trials.csv") if row["respondent"] == "photos-1"}
    same = [chosen[one.stimulus_id] == (one.choice or "") for one in point_trials(points, test.stimuli, "x")]
    # Training stores images in half precision, so one prediction may differ.
    assert sum(same) >= len(same) - 1


@pytest.mark.slow
@needs_torch
def test_gaze_train_on_synthetic_images_writes_trials_that_gaze_analyze_reads(tmp_path: Path) -> None:
    from spotball_adapters.gaze.training.results import TrainingReport

    out = tmp_path / "out"
    small = ("--seeds", "1", "--jobs", "2", "--format", "json")
    done = good("gaze", "train", "--out", out, *config(tmp_path, SMALL), *small)
    report = TrainingReport.model_validate_json(done.stdout)
    assert json.loads(done.stdout) == json.loads((out / "result.json").read_text(encoding="utf-8"))
    found = rows(out / "trials.csv")
    assert len(found) == 2 * 1368
    for one in report.sets:
        (name,) = one.respondents
        for condition, over in one.accuracy.items():
            mine = [row for row in found if (row["respondent"], row["condition"]) == (name, condition)]
            assert over.mean == pytest.approx(sum(row["choice"] == row["gaze_target"] for row in mine) / len(mine))
    assert (out / "figures/gaze-training.svg").stat().st_size > 5000
    done = good("gaze", "analyze", out / "trials.csv", "--format", "json", "--bootstrap", "0", "--jobs", "1")
    assert {one["respondent"] for one in json.loads(done.stdout)["respondents"]} == {"agree-1", "disagree-1"}
