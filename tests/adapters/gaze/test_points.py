"""Test the conversion of gaze points to choices of the nearest object, and errors of invalid points."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import assume, given, strategies as st

from spotball_adapters.gaze.points import Predicted, nearest, point_trials, read_points, write_points
from spotball_core.errors import InputError, OptionError
from spotball_core.gaze.data.faces import read_faces
from spotball_core.gaze.data.stimuli import write_stimuli
from spotball_core.gaze.data.trials import read_trials
from tests.adapters.gaze.made import rows, stimulus
from tests.adapters.run_process import good
from tests.builders import write_csv, write_jsonl
from tests.failures import raises

SHARE = st.floats(0, 1, allow_nan=False)
POINT = st.tuples(SHARE, SHARE)
STUDY = (
    "Stimulus_ID,Angle,Proximity,n_candidates,Candidates,label,list_id,HeadTarget,path,"
    "option1_x,option1_y,option2_x,option2_y,option3_x,option3_y,option4_x,option4_y\n"
    "1,front,1,3,bottle+umbrella+keys,keys,0,-1,a.jpg,0.8,0.6,0.5,0.6,0.2,0.6,-1,-1\n"
    "2,left,2,2,keys+remote control,keys,0,keys,b.jpg,0.4,0.5,0.6,0.5,-1,-1,-1,-1\n"
)


@given(POINT, st.lists(POINT, min_size=1, max_size=9))
def test_nearest_returns_the_closest_point_or_none_for_ties(
    point: tuple[float, float], points: list[tuple[float, float]]
) -> None:
    found = nearest(point, points)
    squares = [(point[0] - x) ** 2 + (point[1] - y) ** 2 for x, y in points]
    if found is None:
        assert sorted(squares)[0] == pytest.approx(sorted(squares)[1], rel=1e-6, abs=1e-12)
    else:
        assert squares[found] <= min(squares) * (1 + 1e-9) + 1e-300


@given(st.lists(POINT, min_size=2, max_size=9, unique=True), st.data())
def test_nearest_of_an_object_position_is_that_object(points: list[tuple[float, float]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(points) - 1))
    assume(all(math.dist(points[place], other) > 0 for other in points[:place] + points[place + 1 :]))
    assert nearest(points[place], points) == place


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_gaze_points_reads_study_columns_and_points_in_csv_or_jsonl(tmp_path: Path, form: str) -> None:
    study, path, trials = tmp_path / "study.csv", tmp_path / f"moondream.{form}", tmp_path / "trials.csv"
    study.write_text(STUDY)
    points = [{"stimulus_id": "1", "x": 0.25, "y": 0.1}, {"stimulus_id": "2", "x": 0.5, "y": 0.5}]
    (write_csv if form == "csv" else write_jsonl)(path, points)
    done = good("gaze", "points", study, path, "--out", trials)
    assert "2 trials, 1 of them without a choice, which count as wrong" in done.stderr
    found = [(row["respondent"], row["prompt_id"], row["choice"]) for row in rows(trials)]
    assert found == [("moondream", "point", "keys"), ("moondream", "point", "")]
    assert len(read_trials(trials).frame) == 2


def test_gaze_points_reads_several_samples_and_empty_points(tmp_path: Path) -> None:
    stimuli, path, trials = tmp_path / "stimuli.csv", tmp_path / "p.csv", tmp_path / "t.csv"
    write_stimuli([stimulus(0, points=((0.1, 0.5), (0.9, 0.5)))], stimuli)
    path.write_text("stimulus_id,x,y,sample\n1000,0.2,0.5,1\n1000,,,2\n1000,0.7,0,3\n")
    good("gaze", "points", stimuli, path, "--out", trials, "--respondent", "me")
    found = [(row["respondent"], row["sample"], row["choice"]) for row in rows(trials)]
    assert found == [("me", "1", "kettle"), ("me", "2", ""), ("me", "3", "bunny")]


@given(st.lists(st.one_of(st.none(), POINT), min_size=1, max_size=20))
def test_read_points_returns_the_points_of_write_points(
    tmp_path_factory: pytest.TempPathFactory, points: list[tuple[float, float] | None]
) -> None:
    path = tmp_path_factory.mktemp("points") / "a.csv"
    predicted = [Predicted(str(number), point) for number, point in enumerate(points)]
    write_points(predicted, path)
    for one, read in zip(predicted, read_points(path), strict=True):
        assert (one.stimulus_id, one.point is None) == (read.stimulus_id, read.point is None)
        assert read.point is None or read.point == pytest.approx(one.point, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "text", "where", "value"),
    [
        ("p.csv", "stimulus_id,x,y\n1,12,300\n", "invalid-value:x, y:2", "12, 300"),
        ("p.csv", "stimulus_id,x,y\n1,0.5,\n", "invalid-value:x, y:2", "0.5, None"),
        ("p.csv", "stimulus_id,x,y\n1,nan,0\n", "invalid-value:x, y:2", "nan, 0"),
        ("p.csv", "stimulus_id,x,y\n1,left,0\n", "invalid-value:x, y:2", "left, 0"),
        ("p.csv", "stimulus_id,x,y\n,0,0\n", "missing-value:stimulus_id:2", ""),
        ("p.csv", "stimulus_id,x,y\n1,0,0\n1,0,0\n", "duplicate:stimulus_id:3", "1"),
        ("p.csv", "stimulus_id,x,y,sample\n1,0,0,0\n", "invalid-value:sample:2", "'0'"),
        ("p.csv", "stimulus_id,x\n1,0\n", "missing-column:y", "stimulus_id, x"),
        ("p.jsonl", '{"stimulus_id": "1", "x": 0, "y": 0}\n[1]\n', "invalid-json:line:2", ""),
        ("p.jsonl", '{"stimulus_id"\n', "invalid-json:line:1", ""),
        ("p.jsonl", '\n{"x": 0, "y": 0}\n', "missing-value:stimulus_id:2", ""),
        ("p.jsonl", '{"stimulus_id": "1", "x": "a", "y": 0}', "invalid-value:x, y:1", "a, 0"),
    ],
)
def test_read_points_of_an_invalid_row_or_line_raises_input_error(
    tmp_path: Path, name: str, text: str, where: str, value: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with raises(InputError, where) as caught:
        read_points(path)
    assert caught.value.file == str(path)
    assert value in caught.value.problems[0].found


def test_point_trials_without_object_positions_or_with_unknown_stimulus_is_an_error() -> None:
    with raises(OptionError, "missing-value"):
        point_trials([Predicted("1000", (0.5, 0.5))], [stimulus(0)], "m")
    with raises(OptionError, "missing-value"):
        point_trials([Predicted("1000", (0.5, 0.5))], [stimulus(0, points=((0, 0), None))], "m")
    with raises(OptionError, "unknown-image"):
        point_trials([Predicted("7", (0.5, 0.5))], [stimulus(0)], "m")


def test_read_faces_returns_boxes_and_rejects_duplicate_and_invalid_ones(tmp_path: Path) -> None:
    path = tmp_path / "faces.csv"
    valid = "stimulus_id,x1,y1,x2,y2\n1,0.1,0.2,0.3,0.4\n"
    path.write_text(valid)
    assert read_faces(path) == {"1": (0.1, 0.2, 0.3, 0.4)}
    path.write_text(valid + "1,0.1,0.2,0.3,0.4\n2,0.5,0,0.2,1\n3,10,20,30,40\n4,,,,\n")
    with raises(InputError, "invalid-value:face:3") as caught:
        read_faces(path)
    assert (len(caught.value.problems), caught.value.total) == (1, 4)
    assert caught.value.problems[0].found.startswith("1: 0.1, 0.2, 0.3, 0.4; 2: 0.5, 0, 0.2, 1; ")
