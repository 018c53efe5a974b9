from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from pydantic import ValidationError

from spotball_core.errors import InputError
from spotball_core.gaze.data.stimuli import Stimulus, read_stimuli, stimuli_frame, write_stimuli
from spotball_core.gaze.measures import with_measures
from spotball_core.gaze.power.observers import factorial_design
from tests.failures import raises

HEADER = "stimulus_id,view,proximity,objects,gaze_target,head_target,points,condition\n"


def written(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "stimuli.csv"
    path.write_text(header + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def test_read_stimuli_parses_the_standard_columns_and_round_trips_with_write_stimuli(tmp_path: Path) -> None:
    path = written(tmp_path, "a, front ,1,cup + pen,cup,,,", "b,left,3,cup+pen+key,pen,key,0.1 0.2;;0.5 1,incongruent")
    one, other = read_stimuli(path)
    assert (one.objects, one.condition, one.gaze, one.head) == (("cup", "pen"), "natural", 0, None)
    assert (other.condition, other.gaze, other.head) == ("incongruent", 1, 2)
    assert other.points == ((0.1, 0.2), None, (0.5, 1.0))
    stimuli = (one, other, *factorial_design())
    write_stimuli(stimuli, tmp_path / "again.csv")
    assert read_stimuli(tmp_path / "again.csv") == stimuli


def test_read_stimuli_parses_the_columns_of_the_published_study_files(tmp_path: Path) -> None:
    header = "Stimulus_ID,Angle,Proximity,n_candidates,Candidates,Actor,label,list_id,Site,HeadTarget,DistEyeHead,"
    header += "option1_x,option1_y,option2_x,option2_y,option3_x,option3_y\n"
    rows = (
        "1,right,1,2,cup+pen,Z,pen,,SiteB,-1,,0.25,0.5,-1,-1,-1,-1",
        "2,left,2,2,cup+pen,Z,pen,-1,SiteH,cup,1.0,,,,,,",
    )
    natural, check = read_stimuli(written(tmp_path, *rows, header=header))
    assert (natural.head_target, natural.condition, natural.attention_check) == (None, "natural", False)
    assert (natural.scene, natural.actor, natural.points) == ("SiteB", "Z", ((0.25, 0.5), None))
    assert (check.condition, check.attention_check, check.points) == ("incongruent", True, None)


def test_read_stimuli_reports_all_problems_with_line_numbers_and_groups_repeated_problems(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "a,up,1,cup+pen,cup,,,",
        "",
        "b,left,4,cup+pen,cup,,,",
        "c,left,1,cup,cup,,,",
        "d,left,1,cup+cup,cup,,,",
        "e,left,1,cup+pen,key,,,",
        "f,left,1,cup+pen,cup,key,,",
        "g,left,1,cup+pen,cup,,0.5,",
        "h,left,1,cup+pen,cup,,0.5 0.5,",
        "i,left,1,cup+pen,cup,pen,,natural",
        "j,left,1,cup+pen,cup,,,",
        "j,left,1,cup+pen,pen,,,",
    )
    with pytest.raises(InputError) as error:
        read_stimuli(path)
    assert {problem.file for problem in error.value.problems} == {str(path)}
    assert [(one.code, one.field, one.found, one.lines) for one in error.value.problems] == [
        ("invalid-value", "view", "'up'", (2,)),
        ("invalid-value", "proximity", "'4'", (4,)),
        ("invalid-value", "objects", "'cup'; 'cup+cup'", (5, 6)),
        ("invalid-value", "gaze_target", "'key'", (7,)),
        ("invalid-value", "head_target", "'key'", (8,)),
        ("invalid-value", "points", "'0.5'", (9,)),
        ("invalid-value", "points", "'0.5 0.5'", (10,)),
        ("invalid-value", "condition", "'natural'", (11,)),
        ("invalid-value", "stimulus_id", "'j'", (12, 13)),
    ]
    repeated = written(tmp_path, *(f"{number},up,1,cup+pen,cup,,," for number in range(30)))
    with raises(InputError, "invalid-value:view:2") as caught:
        read_stimuli(repeated)
    assert (len(caught.value.problems), caught.value.total) == (1, 30)


def test_read_stimuli_of_an_empty_incomplete_or_missing_file_is_an_error(tmp_path: Path) -> None:
    for header, row, where in (
        ("", "", "no-data:file"),
        (HEADER, "", "no-data:file"),
        ("stimulus_id,view\n", "a,left\n", "missing-column:objects"),
        (HEADER, "a,left\n", "invalid-csv:line:2"),
    ):
        (tmp_path / "stimuli.csv").write_text(header + row, encoding="utf-8")
        with raises(InputError, where):
            read_stimuli(tmp_path / "stimuli.csv")
    with raises(InputError, "missing-file:file"):
        read_stimuli(tmp_path / "none.csv")


def test_stimulus_with_invalid_fields_is_an_error() -> None:
    right = {"stimulus_id": "a", "objects": ("cup", "pen"), "view": "left", "proximity": 1, "gaze_target": "cup"}
    assert Stimulus.model_validate(right).condition == "natural"
    for field, value in (
        ("objects", ("cup", "cup")),
        ("gaze_target", "key"),
        ("head_target", "key"),
        ("points", ((0.1, 0.2),)),
        ("points", ((0.1, 1.2), None)),
        ("proximity", 0),
        ("view", "above"),
    ):
        with pytest.raises(ValidationError):
            Stimulus.model_validate({**right, field: value})


def test_factorial_design_has_1368_stimuli_with_the_object_sets_and_conditions_of_the_main_study() -> None:
    design = factorial_design()
    assert len(design) == 1368
    assert len({one.stimulus_id for one in design}) == 1368
    assert len({one.objects for one in design}) == 13
    assert len({name for one in design for name in one.objects}) == 11
    assert Counter(one.condition for one in design) == {"natural": 333, "congruent": 333, "incongruent": 702}


@pytest.mark.real
def test_read_stimuli_of_the_main_study_returns_the_published_design_and_eye_head_distances(gaze_data: Path) -> None:
    stimuli = read_stimuli(gaze_data / "stimuli_main.csv")
    kept = [one for one in stimuli if not one.attention_check]
    assert (len(stimuli), len(kept)) == (1366, 1360)
    assert Counter(one.condition for one in kept) == {"natural": 332, "congruent": 328, "incongruent": 700}
    assert len({one.objects for one in kept}) == 13
    assert {one.scene for one in kept} == {"SiteB", "SiteH"}
    # Eight cells of the synthetic design are missing: two have no photo, and six are attention checks.
    made = Counter((len(one.objects), one.condition) for one in factorial_design())
    theirs = Counter((len(one.objects), one.condition) for one in kept)
    assert (made - theirs).total() == 8
    assert not theirs - made
    # The distances equal the published ones.
    published = pl.read_csv(gaze_data / "stimuli_main.csv", infer_schema_length=None).select(
        stimulus_id=pl.col("Stimulus_ID").cast(pl.String), published="DistEyeHead"
    )
    columns = {name: [getattr(one, name) for one in stimuli] for name in ("stimulus_id", "gaze", "head")}
    places = pl.DataFrame({**columns, "n_objects": [len(one.objects) for one in stimuli], "choice": columns["gaze"]})
    both = with_measures(places).join(published, on="stimulus_id")
    assert len(both) == 1366
    assert both["dist_eye_head"].equals(both["published"].rename("dist_eye_head"))


@pytest.mark.real
def test_read_stimuli_of_the_pilot_returns_900_natural_photos(gaze_data: Path) -> None:
    stimuli = read_stimuli(gaze_data / "stimuli_1743457603.csv")
    assert sum(not one.attention_check for one in stimuli) == 900
    assert {one.condition for one in stimuli} == {"natural"}
    assert {one.actor for one in stimuli} == {"X", "Y"}
    assert stimuli_frame(stimuli)["image"].null_count() == 0
