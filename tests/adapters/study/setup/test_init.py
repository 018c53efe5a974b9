"""Test `spotball study init`, and the validation of study.toml and its dataset."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spotball_adapters.study.setup.config import CONFIG, read_config
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.setup.init import init_study
from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.gaze.data.stimuli import read_stimuli, write_stimuli
from spotball_core.io.scenes import read_scenes, write_scenes
from tests.adapters.study.made import change, choices, dataset, rewrite, study
from tests.adapters.study.stored import command
from tests.failures import raises


class TestInit:
    def test_init_makes_a_list_per_sport_with_controls_as_checks(self, tmp_path: Path) -> None:
        folder = study(tmp_path, sports=("soccer", "volleyball"), images=12, checks=2, listed=10)
        config = read_config(folder)
        assert [one.name for one in config.lists] == ["soccer", "volleyball"]
        assert config.explanations == 10
        for one in config.lists:
            assert len(one.images) == 10
            assert one.checks == ("13", "14")
            assert len(one.practice) == 1
            assert set(one.images) | set(one.practice) < {str(number) for number in range(1, 13)}
            assert not set(one.images) & set(one.practice)

    def test_init_reserves_one_image_for_practice_and_does_not_overwrite_a_study(self, tmp_path: Path) -> None:
        data = dataset(tmp_path / "data")
        (one,) = init_study(data, tmp_path / "study").lists
        assert len(one.images) == 5
        assert {*one.images, *one.practice} == {"1", "2", "3", "4", "5", "6"}
        assert one.checks == ("7", "8")
        with raises(OptionError, "output-exists"):
            init_study(data, tmp_path / "study")

    def test_init_with_all_images_reports_that_none_is_left_for_practice(self, tmp_path: Path) -> None:
        data = dataset(tmp_path / "data")
        said = command("init", data, "--images", "6", "--out", tmp_path / "study")
        assert "soccer: 6 images, 2 attention checks, 0 practice images" in said
        assert "soccer: no image is left for practice" in said
        (one,) = read_config(tmp_path / "study").lists
        assert (len(one.images), one.practice) == (6, ())
        assert "no image is left" not in command("init", data, "--images", "5", "--out", tmp_path / "other")

    def test_init_uses_no_image_without_ball_cells_for_practice_or_checks(self, tmp_path: Path) -> None:
        data = dataset(tmp_path / "data", images=2)
        scenes = list(read_scenes(data / "scenes.jsonl"))
        for at in (0, 2):
            scenes[at] = scenes[at].model_copy(update={"ball_cells": None})
        write_scenes(scenes, data / "scenes.jsonl")
        for seed in range(4):
            (one,) = init_study(data, tmp_path / str(seed), seed=seed).lists
            assert (one.images, one.practice, one.checks) == (("1",), ("2",), ("4",))

    def test_init_writes_a_study_toml_that_is_read_with_the_default_settings(self, tmp_path: Path) -> None:
        folder = study(tmp_path, images=3, checks=1)
        text = (folder / CONFIG).read_text(encoding="utf-8")
        assert "@" not in text.replace("@ ", "")
        config = read_config(folder)
        assert (config.task, config.seed, config.explanations) == ("clicks", 0, 3)
        assert "4 photos" in config.texts.consent
        assert (folder / config.dataset).resolve() == (tmp_path / "data").resolve()
        assert config.pay.bonus == 1
        assert config.completion.url is config.completion.code is None
        assert config.exclusion.checks == "any"

    def test_init_draws_the_same_images_only_for_the_same_seed(self, tmp_path: Path) -> None:
        data = dataset(tmp_path / "data", images=20)
        drawn = [init_study(data, tmp_path / str(i), images=8, seed=seed).lists for i, seed in enumerate((1, 1, 2))]
        assert drawn[0] == drawn[1] != drawn[2]

    @pytest.mark.parametrize(
        ("images", "options", "where"),
        [
            (6, {"sports": ("golf",)}, "unknown-name:--sport"),
            (6, {"images": 7}, "invalid-option:--images"),
            (6, {"task": "choice", "sports": ("soccer",)}, "conflicting-options"),
            # All images of the sport are controls.
            (0, {}, "no-data"),
            (0, {"images": 1}, "no-data"),
        ],
    )
    def test_init_with_invalid_options_or_only_controls_is_an_error(
        self, tmp_path: Path, images: int, options: dict[str, Any], where: str
    ) -> None:
        with raises(OptionError, where):
            init_study(dataset(tmp_path / "data", images=images), tmp_path / "study", **options)
        assert not (tmp_path / "study" / CONFIG).exists()

    def test_init_of_a_choice_study_writes_texts_about_photos_and_lists_of_stimuli(self, tmp_path: Path) -> None:
        folder = choices(tmp_path)
        text = (folder / CONFIG).read_text(encoding="utf-8")
        assert text.lower().replace("spotball", "").count("ball") == 1  # only in the list of tasks
        assert "[clicks]" not in text
        config = read_config(folder)
        assert config.title == "Where does this person look?"
        assert "7 photos of a person" in config.texts.instructions
        assert config.pay.bonus == 0
        assert [(one.name, len(one.images)) for one in config.lists] == [("list-0", 4), ("list-1", 4)]
        assert {one.checks for one in config.lists} == {("8", "9", "10")}
        design = load(folder)
        assert design.item_type.name == "choice"
        assert sorted(design.trials("list-0", 1)[0].options) == ["cup", "kettle", "vase"]

    def test_init_of_a_choice_study_with_a_number_of_images_makes_new_lists_of_at_most_this_size(
        self, tmp_path: Path
    ) -> None:
        choices(tmp_path)
        lists = init_study(tmp_path / "data", tmp_path / "again", task="choice", images=5, seed=5).lists
        assert [len(one.images) for one in lists] == [4, 4]
        assert [set(one.images) == {"0", "2", "4", "6"} for one in lists] != [True, False]
        assert sorted(image for one in lists for image in one.images) == [str(number) for number in range(8)]
        with raises(OptionError, "invalid-value"):
            init_study(tmp_path / "data", tmp_path / "more", task="choice", images=2)

    def test_init_with_several_stimuli_files_requires_naming_one(self, tmp_path: Path) -> None:
        choices(tmp_path)
        other = tmp_path / "data/stimuli-other.csv"
        other.write_text((tmp_path / "data/stimuli.csv").read_text(encoding="utf-8"), encoding="utf-8")
        with raises(OptionError, "ambiguous-name"):
            init_study(tmp_path / "data", tmp_path / "more", task="choice")
        config = init_study(other, tmp_path / "more", task="choice")
        assert config.choice is not None
        assert config.choice.stimuli == "stimuli-other.csv"
        assert len(load(tmp_path / "more").pictures) == 11

    def test_init_of_stimuli_with_only_attention_checks_is_an_error(self, tmp_path: Path) -> None:
        choices(tmp_path)
        stimuli = read_stimuli(tmp_path / "data/stimuli.csv")
        write_stimuli([one for one in stimuli if one.attention_check], tmp_path / "data/stimuli.csv")
        with raises(InputError, "no-data:attention_check"):
            init_study(tmp_path / "data", tmp_path / "more", task="choice")


def problems_of(folder: Path) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as caught:
        load(folder)
    return caught.value.problems


class TestLoadErrors:
    def test_load_reports_all_problems_of_study_toml_at_once(self, tmp_path: Path) -> None:
        folder = study(tmp_path)
        changes = {
            "seed = 0": "seed = -1",
            "per_image = 3": "per_image = 0",
            'checks = "any"': 'checks = "some"',
            "[pay]": '[pay]\ncolor = "red"',
            'title = "Spot the Ball"': "",
            "explanations = 6": "",
            "dataset = ": "data = ",
            '# code = "XXXXXXXX"': 'code = "x"\nurl = "javascript:alert(1)"',
        }
        change(folder, changes)
        problems = problems_of(folder)
        assert {one.file for one in problems} == {str(folder / CONFIG)}
        assert (problems[0].code, problems[0].field) == ("missing-value", "dataset")
        assert [(one.code, one.field, one.found) for one in problems[1:]] == [
            ("invalid-value", "seed", "-1"),
            ("invalid-value", "clicks.per_image", "0"),
            ("unknown-key", "pay.color", '"red"'),
            ("invalid-value", "completion.url", '"javascript:alert(1)"'),
            ("invalid-value", "exclusion.checks", '"some"'),
            ("unknown-key", "data", '"../data"'),
        ]
        assert "base, bonus, currency" in problems[3].fix
        assert "'dataset'" in problems[-1].fix

    def test_load_reports_lists_that_do_not_fit_the_dataset(self, tmp_path: Path) -> None:
        folder = study(tmp_path)
        images = '"1", "2", "3", "4", "5", "6"'
        change(folder, {images: '"1", "1", "77"', "explanations = 6": "explanations = 4"})
        again = '\n[[lists]]\nname = "soccer"\nsport = "soccer"\nimages = ["1"]\nchecks = ["7", "8"]\n'
        change(folder, {"# The instructions show": f"{again}\n# The instructions show"})
        problems = problems_of(folder)
        assert {one.code for one in problems} == {"invalid-value"}
        assert [(one.field, one.found.split()[0]) for one in problems] == [
            ("lists", "'soccer'"),
            ("lists.1", "soccer/1"),
            ("explanations", "4"),
            ("lists.1.images", "soccer/77"),
            ("lists.2.checks", "2"),
            ("explanations", "4"),
        ]
        assert [re.findall(r"\d+", problems[i].expected) for i in (2, 4, 5)] == [["3", "1"], ["1"], ["1", "2"]]

    def test_load_reports_checks_without_ball_cells(self, tmp_path: Path) -> None:
        folder = study(tmp_path)
        change(tmp_path / "data", {'["C2"]': "null"}, file="scenes.jsonl")
        assert [(one.code, one.field, one.found.split()[0]) for one in problems_of(folder)] == [
            ("invalid-value", "lists.1.checks", "soccer/7"),
            ("invalid-value", "lists.1.checks", "soccer/8"),
            ("invalid-value", "lists.1.practice", "soccer/9"),
        ]

    def test_load_reports_a_stimulus_without_an_image(self, tmp_path: Path) -> None:
        folder = choices(tmp_path)
        change(tmp_path / "data", {",2.png,": ",,"}, file="stimuli.csv")
        (problem,) = problems_of(folder)
        assert (problem.code, problem.field, problem.found.split()[0]) == ("invalid-value", "lists.1.images", "gaze/2")

    def test_load_reports_unusable_images(self, tmp_path: Path) -> None:
        folder = study(tmp_path)
        images = tmp_path / "data/images/soccer"
        (images / "1.png").unlink()
        (images / "2.png").write_bytes(b"no image")
        Image.new("RGB", (10, 10)).save(images / "3.png")
        Image.new("RGB", (640, 360)).save(images / "4.png", format="TIFF")
        (images / "5.png").write_bytes((images / "5.png").read_bytes()[:-20])
        problems = problems_of(folder)
        assert [(one.code, one.field, Path(one.file).name) for one in problems] == [
            ("missing-file", "image", "1.png"),
            ("unreadable-file", "image", "2.png"),
            ("invalid-value", "image", "3.png"),
            ("unreadable-file", "image", "4.png"),
            ("unreadable-file", "image", "5.png"),
        ]
        assert "10 x 10" in problems[2].found
        assert "640 x 360" in problems[2].expected

    def test_load_reports_images_outside_the_dataset(self, tmp_path: Path) -> None:
        folder = study(tmp_path)
        Image.new("RGB", (640, 360)).save(tmp_path / "secret.png")
        (tmp_path / "data/images/link.png").symlink_to(tmp_path / "secret.png")
        change(tmp_path / "data", {"images/soccer/2.png": "images/link.png"}, file="scenes.jsonl")
        with raises(InputError, "invalid-path:image"):
            load(folder)
        change(tmp_path / "data", {"images/soccer/1.png": "../secret.png"}, file="scenes.jsonl")
        with raises(InputError, "invalid-value:path:1") as caught:
            load(folder)
        assert caught.value.problems[0].found == '"../secret.png"'

    def test_load_of_a_missing_or_invalid_study_toml_is_an_error(self, tmp_path: Path) -> None:
        with raises(InputError, "missing-file:file"):
            load(tmp_path)
        (tmp_path / CONFIG).write_text("title = ", encoding="utf-8")
        with raises(InputError, "invalid-toml:file"):
            load(tmp_path)

    @pytest.mark.parametrize(
        ("row", "where"),
        [
            ("20,front,1,cup,0.png,cup,0", "invalid-value:objects:13"),
            ("20,front,1,cup+vase,0.png,dog,0", "invalid-value:gaze_target:13"),
            ("0,front,1,a+b,c,a,0", "invalid-value:stimulus_id:2"),
        ],
    )
    def test_load_with_invalid_or_duplicate_stimuli_is_an_error(self, tmp_path: Path, row: str, where: str) -> None:
        folder = choices(tmp_path)
        with (tmp_path / "data/stimuli.csv").open("a", encoding="utf-8") as file:
            file.write(row + "\n")
        with raises(InputError, where):
            load(folder)


def test_study_text_is_read_from_a_separate_file_and_a_missing_file_is_an_error(tmp_path: Path) -> None:
    folder = study(tmp_path)
    (folder / "bye.md").write_text("So *long*.", encoding="utf-8")
    bye = 'debriefing = { file = "bye.md" }\n'
    rewrite(folder / CONFIG, "^debriefing = .*?(?=# The question below)", bye, flags=re.MULTILINE | re.DOTALL)
    assert read_config(folder).texts.debriefing == "So *long*."
    (folder / "bye.md").unlink()
    with raises(InputError, "invalid-value:texts.debriefing") as caught:
        load(folder)
    assert caught.value.problems[0].found == '{"file": "bye.md"}'
