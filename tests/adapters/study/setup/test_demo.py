"""Test the demo studies: they are complete, marked as synthetic, and show the ball only where expected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spotball_adapters.study.setup.check import check
from spotball_adapters.study.setup.demo import demo_choices, demo_study
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.setup.init import TO_FILL_IN
from spotball_core.synthetic.pictures import draw_scene

Image = pytest.importorskip("PIL.Image", reason="pictures need the study extra")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_study(tmp_path_factory.mktemp("demo"))


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def test_demo_study_has_synthetic_sports_lists_and_texts(folder: Path) -> None:
    design = load(folder)
    config = design.config
    assert config.title == "Spot the Ball: a demo"
    assert (len(config.lists), config.explanations) == (3, 2)
    assert config.completion.code == "SYNTHETIC"
    assert (config.pay.base, config.pay.bonus, check(folder)) == ("nothing", 0, [])
    for one in config.lists:
        assert one.sport.startswith("synthetic-")
        assert (len(one.images), len(one.checks), len(one.practice)) == (10, 2, 1)
        trials = design.trials(one.name, 0)
        assert sum(trial.explain for trial in trials) == 2
    for text in (config.texts.consent, config.texts.debriefing):
        assert "synthetic" in text
        assert TO_FILL_IN not in text


def test_demo_study_shows_the_ball_only_in_checks_and_the_example(folder: Path) -> None:
    design = load(folder)
    assert len(design.pictures) == 39
    for key, picture in design.pictures.items():
        drawn = np.asarray(draw_scene(design.scenes[key], ball=design.scenes[key].control))
        assert (pixels(picture.path) == drawn).all()
    checks = {(one.sport, image) for one in design.config.lists for image in one.checks}
    assert checks == {key for key, scene in design.scenes.items() if scene.control}
    with_ball, without = (pixels(picture.path) for picture in design.example)
    assert 0 < (with_ball != without).any(axis=2).mean() < 0.01


def test_demo_choices_has_synthetic_lists_checks_and_texts(tmp_path: Path) -> None:
    study = demo_choices(tmp_path)
    assert check(study) == []
    design = load(study)
    config = design.config
    assert config.title == "Where does this person look?: a demo"
    assert [(len(one.images), len(one.checks), len(one.practice)) for one in config.lists] == [(10, 3, 3)] * 2
    assert len({image for one in config.lists for image in one.images}) == 20
    for image in config.lists[0].checks:
        photo = design.stimuli["gaze", image]
        # Checks are as easy as those of the gaze study.
        assert (photo.attention_check, len(photo.objects), photo.proximity) == (True, 2, 1)
    assert {(picture.width, picture.height) for picture in design.pictures.values()} == {(448, 448)}
    assert "synthetic" in config.texts.consent
    assert config.completion.code == "SYNTHETIC"
