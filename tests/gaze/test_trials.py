from __future__ import annotations

from pathlib import Path

import pytest

from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.data.trials import Trial, make_trials, read_trials, write_trials
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.failures import raises

HEADER = "respondent,stimulus_id,prompt_id,condition,view,proximity,objects,gaze_target,head_target,choice"


def photo(name: str, objects: tuple[str, ...], view: str, proximity: int, gaze: str, **more: object) -> Stimulus:
    fields = {"stimulus_id": name, "objects": objects, "view": view, "proximity": proximity, "gaze_target": gaze}
    return Stimulus.model_validate({**fields, **more})


PHOTOS = (
    photo("a", ("cup", "pen"), "front", 1, "pen"),
    photo("b", ("cup", "pen", "key"), "left", 2, "cup", head_target="key", scene="room"),
    photo("c", ("cup", "pen"), "right", 3, "cup", attention_check=True),
)


def written(folder: Path, header: str, *rows: str) -> Path:
    path = folder / "model-x.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def problems(path: Path, stimuli: tuple[Stimulus, ...] = ()) -> list[tuple[str, int | None, str, str]]:
    """Return the code, line, field and value of each problem."""
    with pytest.raises(InputError) as caught:
        read_trials(path, stimuli)
    assert {problem.file for problem in caught.value.problems} == {str(path)}
    return [(problem.code, problem.line, problem.field, problem.found) for problem in caught.value.problems]


def test_read_trials_without_stimuli_reads_photo_details_from_the_trials_file(tmp_path: Path) -> None:
    rows = ("m,b,1,incongruent,left,2,cup+pen+key,cup,key,pen", "m,a,1,natural,front,1,cup+pen,pen,,")
    trials = read_trials(written(tmp_path, HEADER, *rows))
    found = trials.frame.select("n_objects", "gaze", "head", "choice", "condition").rows()
    assert found == [(3, 0, 2, 1, "incongruent"), (2, 1, None, None, "natural")]


def test_read_trials_with_stimuli_needs_only_the_columns_stimulus_id_and_choice(tmp_path: Path) -> None:
    trials = read_trials(written(tmp_path, "stimulus_id,choice", "b,key", "a,pen", "c,cup"), PHOTOS)
    found = trials.frame.select("respondent", "prompt_id", "scene", "choice").rows()
    assert found == [("model-x", "base", "room", 2), ("model-x", "base", None, 1)]
    assert trials.n_checks == 1


def test_read_trials_reads_choices_in_any_case_unless_objects_differ_only_in_case(tmp_path: Path) -> None:
    rows = [f"m,{n},1,,front,1,cup+Pen+pen,cup,,{choice}" for n, choice in enumerate(("CUP ", "Cup", "cup", "pen"))]
    frame = read_trials(written(tmp_path, HEADER, *rows)).frame
    assert frame["choice"].to_list() == [0, 0, 0, 2]
    assert frame["stimulus_id"].to_list() == ["0", "1", "2", "3"]
    ambiguous = written(tmp_path, HEADER, "m,0,1,,front,1,cup+Pen+pen,cup,,PEN")
    assert problems(ambiguous) == [("invalid-value", 2, "choice", "'PEN'")]


def test_write_trials_and_read_trials_round_trip_keeps_the_trials_and_digest(tmp_path: Path) -> None:
    design = factorial_design()
    trials = simulate(Observer("coin", lapse=0.2), design, prompts=3)
    write_trials(trials, tmp_path / "trials.csv")
    header = (tmp_path / "trials.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == HEADER
    again = read_trials(tmp_path / "trials.csv", design)
    assert again.frame.equals(trials.frame)
    assert again.digest() == trials.digest()


def test_trials_digest_depends_on_content_but_not_on_row_order(tmp_path: Path) -> None:
    trials = simulate(Observer("guess"), factorial_design()[:40], prompts=2)
    write_trials(trials, tmp_path / "one.csv")
    header, *rows = (tmp_path / "one.csv").read_text(encoding="utf-8").splitlines()
    turned = written(tmp_path, header, *reversed(rows))
    assert read_trials(turned).digest() == read_trials(tmp_path / "one.csv").digest()
    changed = written(tmp_path, header, *[rows[0].rsplit(",", 1)[0] + ",", *rows[1:]])
    assert read_trials(changed).digest() != read_trials(tmp_path / "one.csv").digest()


def test_make_trials_equals_read_trials_and_raises_option_error_for_an_unknown_photo_or_choice(tmp_path: Path) -> None:
    records = [
        Trial(respondent="m", stimulus_id="b", choice="key", participant="p1", response_time=1.5),
        Trial(respondent="m", stimulus_id="a", participant="p1"),
    ]
    made = make_trials(records, PHOTOS)
    write_trials(made, tmp_path / "trials.csv")
    assert read_trials(tmp_path / "trials.csv", PHOTOS).frame.equals(made.frame)
    assert made.frame["response_time"].to_list() == [1.5, None]
    for wrong in ({"stimulus_id": "z"}, {"stimulus_id": "a", "choice": "key"}):
        with raises(OptionError, "unknown-image"):
            make_trials([Trial(respondent="m", **wrong)], PHOTOS)


def test_read_trials_reports_all_problems_with_line_numbers(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        HEADER + ",response_time",
        "m,a,1,natural,front,1,cup+pen,pen,,knife,",
        "m,b,1,natural,front,1,cup+pen,pen,,cup,soon",
        "m,c,1,congruent,front,1,cup+pen,pen,,cup,",
        "m,d,1,natural,front,1,cup+pen,,,cup,",
    )
    *others, empty = problems(path)
    assert others == [
        ("invalid-value", 2, "choice", "'knife'"),
        ("invalid-value", 3, "response_time", "'soon'"),
        ("invalid-value", 4, "condition", "'congruent'"),
    ]
    assert empty[:3] == ("invalid-value", 5, "gaze_target")


def test_read_trials_reports_duplicate_trials_and_conflicting_photo_details(tmp_path: Path) -> None:
    of_two_people = written(tmp_path, "stimulus_id,choice,participant", "a,cup,1", "a,cup,2")
    assert len(read_trials(of_two_people, PHOTOS).frame) == 2
    path = written(
        tmp_path,
        HEADER,
        "m,a,1,,front,1,cup+pen,pen,,cup",
        "m,a,1,,front,1,cup+pen,pen,,pen",
        "m,a,2,,front,2,cup+pen,pen,,pen",
    )
    second, conflict = problems(path)
    assert second[:3] == ("duplicate", 3, "stimulus_id")
    assert "m, a, 1" in second[3]
    assert conflict == ("incompatible-data", 4, "proximity", "'2'")


def test_read_trials_of_a_file_that_contradicts_the_stimuli_is_an_error(tmp_path: Path) -> None:
    rows = ("m,a,1,,front,1,cup + pen,pen,,cup", "m,b,1,,left,1,cup+pen+key,cup,key,cup", "m,z,1,,left,1,,,,")
    assert problems(written(tmp_path, HEADER, *rows), PHOTOS) == [
        ("invalid-value", 3, "proximity", "'1'"),
        ("unknown-image", 4, "stimulus_id", "'z'"),
    ]


@pytest.mark.parametrize(
    ("header", "row", "where"),
    [
        ("stimulus_id,choice", "a,cup", "missing-column:objects"),
        (HEADER + ",choice", "m,a,1,,front,1,cup+pen,pen,,cup,pen", "duplicate:choice"),
        # Without the column head_target, all photos would count as natural.
        (
            HEADER.replace("head_target", "head_targets").replace("condition,", ""),
            "m,a,1,front,1,cup+pen,pen,cup,cup",
            "unknown-column:head_targets",
        ),
        (HEADER.replace("respondent", "Respondent"), "m,a,1,,front,1,cup+pen,pen,,cup", "unknown-column:Respondent"),
        (HEADER.replace(",", ";"), "m;a", "invalid-csv:line"),
    ],
)
def test_read_trials_with_missing_duplicate_or_unknown_columns_is_an_error(
    tmp_path: Path, header: str, row: str, where: str
) -> None:
    with raises(InputError, where):
        read_trials(written(tmp_path, header, row))


def test_read_trials_of_a_folder_or_of_a_file_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(bytes(range(256)) * 3)
    with raises(InputError, "unreadable-file:file"):
        read_trials(tmp_path / "t.csv")
    with raises(InputError, "missing-file:file"):
        read_trials(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_read_trials_in_another_format_gives_the_same_trials_and_lines_of_problems(
    tmp_path: Path, separator: str, encoding: str
) -> None:
    rows = [f"m,{n},1,,front,1,cup+pen,pen,,cup,0.5" for n in range(4)]
    expected = read_trials(written(tmp_path, f"{HEADER},response_time", *rows))
    text = "\n".join([f"{HEADER},response_time", *rows, ""]).replace(",", separator)
    text = text.replace("0.5", "0,5") if separator != "," else text
    path = tmp_path / "other.csv"
    path.write_text(text, encoding=encoding)
    assumed: list[Problem] = []
    assert read_trials(path, on_assumed=assumed.append).digest() == expected.digest()
    assert {(problem.code, problem.file) for problem in assumed} <= {("assumed-format", str(path))}
    assert len(assumed) == (separator != ",") + (encoding == "utf-16")
    path.write_text(text.replace("cup+pen", "cup", 1), encoding=encoding)
    with raises(InputError, "invalid-value:objects:2"):
        read_trials(path)


def test_response_times_that_are_certainly_milliseconds_raise_an_error_without_a_unit(tmp_path: Path) -> None:
    def times(*seconds: float) -> Path:
        rows = [f"m,{n},1,,front,1,cup+pen,pen,,cup,{value}" for n, value in enumerate(seconds)]
        return written(tmp_path, f"{HEADER},response_time", *rows)

    path = times(3, 1500, 900, 2400, 700)
    with raises(InputError, "misread-answers:response_time:3"):
        read_trials(path)
    seconds = read_trials(path, time_unit="ms").frame["response_time"].to_list()
    assert seconds == pytest.approx([0.003, 1.5, 0.9, 2.4, 0.7])
    assert read_trials(path, time_unit="s").frame["response_time"].to_list() == [3, 1500, 900, 2400, 700]
    # A slow participant, or few times, are not a certain sign.
    for given in ((3, 1500, 5, 2400, 4), (1500, 900, 700, 800)):
        assert read_trials(times(*given)).frame["response_time"].to_list() == list(given)


def test_read_trials_takes_groups_from_the_trials_or_from_the_participants_file(tmp_path: Path) -> None:
    rows = [f"m,a,1,,front,1,cup+pen,pen,,cup,{person}" for person in "pqr"]
    path = written(tmp_path, f"{HEADER},participant", *rows)
    assert read_trials(path, by="age").frame["group"].to_list() == [None, None, None]
    (tmp_path / "participants.csv").write_text("participant,minutes\np,30\n", encoding="utf-8")
    (tmp_path / "questionnaires.csv").write_text("participant;age\np;30\nq;41\n", encoding="utf-8")
    assert read_trials(path, by="age").frame["group"].to_list() == ["30", "41", None]
    path = written(tmp_path, f"{HEADER},participant,age", *(f"{row},{n}" for n, row in enumerate(rows)))
    assert read_trials(path, by="age").frame["group"].to_list() == ["0", "1", "2"]
    assert "group" not in read_trials(path).frame.columns


def test_read_trials_without_photo_columns_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--stimuli"):
        read_trials(written(tmp_path, "stimulus_id,choice", "a,cup"))


def test_read_trials_excludes_trials_marked_as_attention_checks(tmp_path: Path) -> None:
    header = HEADER + ",attention_check"
    rows = [f"m,{n},1,,front,1,cup+pen,pen,,cup,{n == 3}".lower() for n in range(4)]
    trials = read_trials(written(tmp_path, header, *rows))
    assert (len(trials.frame), trials.n_checks) == (3, 1)
    assert problems(written(tmp_path, header, "m,a,1,,front,1,cup+pen,pen,,cup,yes")) == [
        ("invalid-value", 2, "attention_check", "'yes'")
    ]
