"""Test `spotball study check`, and the example pair of the instructions."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from spotball_adapters.study.setup.check import check
from spotball_adapters.study.setup.config import CONFIG, read_config
from spotball_adapters.study.setup.init import init_study
from spotball_core.errors import OptionError
from spotball_core.io.scenes import read_scenes, write_scenes
from tests.adapters.run_process import here
from tests.adapters.study.made import change, choices, dataset, rewrite
from tests.failures import raises

READY = {
    "NAME, INSTITUTION, EMAIL": "A. Person, University of Examples, person@example.org",
    '"AMOUNT an hour"': '"12.00 USD an hour"',
    '# code = "XXXXXXXX"': 'code = "C1"',
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return dataset(tmp_path / "data", images=12)


@pytest.fixture
def folder(tmp_path: Path, data: Path) -> Path:
    init_study(data, tmp_path / "study")
    return tmp_path / "study"


def test_check_lists_placeholders_and_completion_until_they_are_filled_in(folder: Path) -> None:
    done = here("study", "check", str(folder))
    assert done.returncode == 1
    to_fill_in = "NAME, INSTITUTION, EMAIL"
    fields = {"texts.consent": to_fill_in, "texts.debriefing": to_fill_in, "pay.base": "AMOUNT"}
    assert [line.removeprefix(f"{folder / CONFIG}: ") for line in done.stdout.splitlines()] == [
        *(
            f"{field}: the text still contains placeholders: {words}. Replace them with your own text"
            for field, words in fields.items()
        ),
        "completion: there is no `url` or `code`, so participants cannot prove that they finished. Add one of them",
    ]
    assert done.stderr == "4 problems: the study is not ready for participants\n"
    change(folder, READY)
    done = here("study", "check", str(folder))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"{folder} is ready for participants\n")


def test_check_reports_a_choice_study_without_attention_checks(tmp_path: Path) -> None:
    folder = choices(tmp_path)
    rewrite(folder / CONFIG, r"^checks = \[.*", "checks = []")
    missing = "there is no attention check. Add photos with an obvious answer to `checks`"
    assert [line.endswith(missing) for line in check(folder)].count(True) == 2


def test_check_reports_images_without_ball_cells(folder: Path) -> None:
    change(folder, READY)
    path = folder.parent / "data/scenes.jsonl"
    first = read_config(folder).lists[0].images[:2]
    write_scenes(
        [one.model_copy(update={"ball_cells": None}) if one.image in first else one for one in read_scenes(path)], path
    )
    (line,) = check(folder)
    assert line.endswith("2 images without ball cells in scenes.jsonl cannot earn a bonus: 1; 3. Remove these images")


@pytest.mark.parametrize(
    ("pattern", "becomes", "said"),
    [
        (r"base = .*", "", "pay.base: the payment is missing"),
        (r'code = "C1"', 'url = "https://app.prolific.com/?cc=XXXXXXXX"', "completion.url: the text still contains"),
        (r"\[example\]\n.*\n.*\n.*\n", "", "example: the instructions have no example images"),
        (r"images = .*", 'images = ["1", "3"]', "lists.1 (soccer): found 2 images, expected at least 10. Add images"),
        (r"checks = \[.*", "checks = []", "lists.1 (soccer): there is no attention check"),
        (r"practice = .*", "practice = []", "lists.1 (soccer): there is no practice image"),
        (r"practice = .*", 'practice = ["13"]', "lists.1 (soccer): practice image 13 is also an attention check"),
        (r"practice = .*", 'practice = ["14"]', "lists.1 (soccer): the ball is visible in practice image 14"),
        (r"seed = 0", "seed = -1", "seed: ... -1"),
        (r'"14"', '"99"', "lists.1.checks: ... soccer/99"),
    ],
)
def test_check_of_a_study_toml_with_one_problem_reports_only_this_problem(
    folder: Path, pattern: str, becomes: str, said: str
) -> None:
    change(folder, {**READY, "explanations = 10": "explanations = 1"})
    if "14" in becomes:
        # Image 14 must no longer be a check. Its ball is still visible.
        rewrite(folder / CONFIG, r"^checks = \[.*", 'checks = ["13"]')
    rewrite(folder / CONFIG, rf"^{pattern}" if "14" not in pattern else pattern, becomes)
    (line,) = check(folder)
    start, *values = said.split("... ")
    assert line.startswith(f"{folder / CONFIG}: {start}")
    assert all(value in line for value in values)


def test_check_reports_a_practice_image_that_is_shown_again(folder: Path) -> None:
    change(folder, READY)
    (study_list,) = read_config(folder).lists
    change(folder, {f'practice = ["{study_list.practice[0]}"]': f'practice = ["{study_list.images[0]}"]'})
    assert "is shown again later" in check(folder)[0]


def test_check_without_study_toml_reports_the_missing_file(tmp_path: Path) -> None:
    (line,) = check(tmp_path)
    assert line.startswith(f"{tmp_path / CONFIG}: ")


def originals(folder: Path, *names: object) -> Path:
    folder.mkdir(parents=True)
    for name in names:
        Image.new("RGB", (640, 360), "white").save(folder / f"{name}.jpg")
    return folder


class TestExample:
    """Test the sources of the example pair: the dataset, an original image, or a synthetic scene."""

    def test_example_without_originals_is_drawn_and_marked_as_synthetic(self, folder: Path) -> None:
        example = read_config(folder).example
        assert example is not None
        assert (example.synthetic, example.with_ball) == (True, "example-with-ball.png")
        assert (folder / "example-with-ball.png").read_bytes() != (folder / "example-without-ball.png").read_bytes()

    @pytest.mark.parametrize("images", [None, 8])
    def test_example_uses_an_original_and_an_image_that_no_participant_sees(
        self, tmp_path: Path, data: Path, images: int | None
    ) -> None:
        config = init_study(
            data, tmp_path / "study", originals=originals(tmp_path / "originals", *range(1, 13)), images=images
        )
        (one,) = config.lists
        assert len(one.images) == (images or 10)
        assert config.example is not None
        assert (config.example.with_ball, config.example.synthetic) == ("example-with-ball.jpg", False)
        # The image without the ball is from the dataset, and no participant sees it.
        copied = (tmp_path / "study/example-without-ball.png").read_bytes()
        (name,) = [n for n in range(1, 15) if (data / f"images/soccer/{n}.png").read_bytes() == copied]
        assert str(name) not in {*one.images, *one.practice, *one.checks}

    def test_example_uses_originals_in_the_with_ball_folder_of_the_dataset(self, tmp_path: Path, data: Path) -> None:
        originals(data / "with_ball/soccer", *range(1, 13))
        example = init_study(data, tmp_path / "study").example
        assert example is not None
        assert not example.synthetic

    def test_example_prefers_the_example_pair_of_the_dataset(self, tmp_path: Path, data: Path) -> None:
        for name in ("with", "without"):
            Image.new("RGB", (64, 36)).save(data / f"images/example-{name}-ball.png")
        config = init_study(data, tmp_path / "study")
        assert config.example is not None
        assert config.example.without_ball == "images/example-without-ball.png"
        assert len(config.lists[0].images) == 11

    def test_example_with_missing_or_unrelated_originals_is_an_error(self, tmp_path: Path, data: Path) -> None:
        with raises(OptionError, "missing-file:--originals"):
            init_study(data, tmp_path / "study", originals=tmp_path / "nowhere")
        with raises(OptionError, "invalid-option"):
            init_study(data, tmp_path / "study", originals=originals(tmp_path / "originals", 77))
        assert not (tmp_path / "study").exists()
