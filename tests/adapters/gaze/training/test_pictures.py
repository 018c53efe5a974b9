"""Test the image sets for gaze training and their files."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from spotball_adapters.gaze.training import pictures
from spotball_adapters.gaze.training.pictures import DISAGREE, design_plans, draw_set, read_set, split_photos
from spotball_core.errors import OptionError
from spotball_core.gaze.data.stimuli import CONDITIONS, Stimulus, read_stimuli
from spotball_core.gaze.power.observers import factorial_design
from tests.adapters.gaze.made import stimulus
from tests.failures import raises


class TestPlans:
    def test_training_sets_differ_only_in_the_head_target(self) -> None:
        plans = pictures.training_plans(1500, 0)
        for one, other in zip(plans[pictures.AGREE], plans[DISAGREE], strict=True):
            assert one.key == other.key
            same = {"exclude": {"head_target"}}
            assert one.stimulus.model_dump(**same) == other.stimulus.model_dump(**same)
            assert one.stimulus.condition == "congruent"
        shares = [np.mean([one.stimulus.condition == c for one in plans[DISAGREE]]) for c in CONDITIONS]
        assert shares == pytest.approx([333 / 1368, 333 / 1368, 702 / 1368], abs=0.02)

    def test_validation_plans_contain_each_stimulus_once_before_repeating(self) -> None:
        plans = pictures.validation_plans(1368, 0)
        said = {one.stimulus.model_copy(update={"stimulus_id": "x"}).model_dump_json() for one in plans}
        assert len(said) == len({one.key for one in plans}) == 1368

    def test_training_plans_depend_only_on_the_seed_and_share_no_key_with_validation_and_test_plans(self) -> None:
        first, again, other = (pictures.training_plans(50, seed)[DISAGREE] for seed in (0, 0, 1))
        assert first == again != other
        agree, disagree = ({one.key for one in plans} for plans in pictures.training_plans(50, 0).values())
        assert agree == disagree
        for plans in (pictures.validation_plans(50, 0), design_plans()):
            assert agree.isdisjoint({one.key for one in plans})

    def test_design_plans_equal_the_factorial_design_and_plans_with_one_key_differ_only_in_gaze_target(self) -> None:
        stimuli = [plan.stimulus for plan in design_plans()]
        known = [(one.condition, one.gaze) for one in factorial_design()]
        assert [(one.condition, one.gaze) for one in stimuli] == known
        assert len({one.stimulus_id for one in stimuli}) == 1368
        groups: dict[tuple[str, ...], list[Stimulus]] = defaultdict(list)
        for plan in design_plans():
            groups[plan.key].append(plan.stimulus)
        for group in groups.values():
            assert len({(one.objects, one.view, one.proximity, one.head_target) for one in group}) == 1
            expected = 1 if group[0].condition == "natural" else len(group[0].objects)
            assert len({one.gaze_target for one in group}) == len(group) == expected


class TestFiles:
    def test_read_set_returns_the_stimuli_faces_and_images_of_draw_set(self, tmp_path: Path) -> None:
        plans = pictures.training_plans(6, 3)[DISAGREE]
        draw_set(plans, tmp_path / "set", size=48, seed=3)
        found = read_set(tmp_path / "set")
        assert found.images == tmp_path / "set"
        for plan, one in zip(plans, found.stimuli, strict=True):
            same = {"image", "points"}
            assert one.model_dump(exclude=same) == plan.stimulus.model_dump(exclude=same)
            assert one.points is not None
            x1, y1, x2, y2 = found.faces[one.stimulus_id]
            assert y1 < y2 < one.points[0][1]  # type: ignore[index]
            assert x1 < x2
            with Image.open(found.images / str(one.image)) as image:
                assert (image.size, image.mode) == ((48, 48), "RGB")

    def test_draw_set_writes_the_same_files_with_any_number_of_jobs(self, tmp_path: Path) -> None:
        plans = pictures.validation_plans(70, 0)
        for jobs in (1, 2):
            draw_set(plans, tmp_path / str(jobs), size=32, seed=0, jobs=jobs)
        names = sorted(path.relative_to(tmp_path / "1") for path in (tmp_path / "1").rglob("*.*"))
        assert len(names) == 72
        assert all((tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes() for name in names)


def photos(n: int = 120) -> list[Stimulus]:
    points = ((0.1, 0.8), (0.4, 0.8), (0.6, 0.8), (0.9, 0.8))
    return [stimulus(number, points=points[: 2 + number % 3]) for number in range(n)]


class TestSplit:
    def test_split_photos_puts_each_photo_into_one_part_by_condition(self, tmp_path: Path) -> None:
        known = photos()
        parts = split_photos(known, {"1003": (0.1, 0.1, 0.2, 0.2)}, tmp_path, 0)
        together = [one for part in parts.values() for one in part]
        assert sorted(together, key=lambda one: one.stimulus_id) == known
        for condition in CONDITIONS:
            names = (pictures.PHOTOS, pictures.VALIDATION, pictures.TEST)
            n = [sum(one.condition == condition for one in parts[name]) for name in names]
            assert np.array(n) / sum(n) == pytest.approx([0.7, 0.15, 0.15], abs=0.02)
        for name, part in parts.items():
            assert read_stimuli(tmp_path / name / "stimuli.csv") == part
        (holder,) = (name for name, part in parts.items() if any(one.stimulus_id == "1003" for one in part))
        assert read_set(tmp_path / holder, tmp_path).faces == {"1003": (0.1, 0.1, 0.2, 0.2)}

    def test_split_photos_depends_only_on_the_seed(self, tmp_path: Path) -> None:
        one, same, other = (split_photos(photos(), {}, tmp_path / str(i), seed) for i, seed in enumerate((0, 0, 1)))
        assert one == same != other

    def test_split_photos_excludes_attention_checks(self, tmp_path: Path) -> None:
        known = [one.model_copy(update={"attention_check": one.stimulus_id == "1000"}) for one in photos()]
        parts = split_photos(known, {}, tmp_path, 0)
        assert "1000" not in {one.stimulus_id for part in parts.values() for one in part}

    def test_split_photos_of_too_few_photos_or_without_object_positions_is_an_error(self, tmp_path: Path) -> None:
        with raises(OptionError, "cannot-estimate"):
            split_photos(photos(2), {}, tmp_path, 0)
        with raises(OptionError, "missing-value"):
            split_photos([stimulus(number) for number in range(60)], {}, tmp_path, 0)

    def test_conditions_of_returns_the_conditions_in_the_order_of_the_paper(self) -> None:
        assert pictures.conditions_of(photos()) == ["congruent", "incongruent", "natural"]
        assert pictures.conditions_of(photos(2)) == ["natural"]
