"""Test questionnaires and the comprehension quiz over HTTP, from validation to the export."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from spotball_adapters.study.server.wire import MAX_POINTS
from spotball_adapters.study.setup.check import check
from spotball_adapters.study.setup.config import CONFIG, read_config
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.store import reading
from spotball_core.errors import InputError
from tests.adapters.study.asked import PLAYER, QUESTIONNAIRES, QUIZ, RIGHT, WRONG, add
from tests.adapters.study.made import Person, change, people, rewrite, sent, study
from tests.adapters.study.stored import command
from tests.conftest import ROOT
from tests.failures import raises

QUESTIONS = (ROOT / "docs/how-to/study-questions.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", QUESTIONS, re.DOTALL)


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    changes = {'# url = "https': 'screened_code = "SCREENED"\nurl = "https'}
    return add(study(tmp_path, images=2, checks=1, changes=changes), QUESTIONNAIRES, QUIZ)


def refused(person: Person, kind: str, **value: Any) -> str:
    response = person.send(kind, **value)
    assert response.status_code == 422, value
    return str(response.json()["error"])


def to_quiz(person: Person) -> None:
    person.do("questionnaire", name="background", answers={"plays": "no"})
    person.do("stage", stage="instructions")


def whole(person: Person, effort: dict[str, Any]) -> None:
    person.do("quiz", answers=RIGHT)
    for item in person.state["practice"]:
        person.answer(item)
    person.do("stage", stage="practice")
    person.finish()
    person.do("questionnaire", name="effort", answers=effort)


def exported(folder: Path, name: str) -> pl.DataFrame:
    """Export all participants, and read one of the tables."""
    command("export", folder, "--out", folder / "out", "--keep-all")
    return pl.read_csv(folder / "out" / name)


def test_questionnaires_and_quiz_are_validated_stored_and_exported(asked: Path) -> None:
    with people(asked, None) as (person,):
        described = person.client.get("/api/study").json()
        assert [one["name"] for one in described["questionnaires"]] == ["background", "effort"]
        assert described["questionnaires"][0]["questions"][0]["options"][0] == {"value": "yes", "text": "Yes"}
        assert "right" not in str(described["quiz"])

        person.start()
        assert (person.state["stage"], person.state["questionnaire"]) == ("before", "background")
        assert "the questionnaire effort cannot" in refused(person, "questionnaire", name="effort", answers={"hard": 1})
        assert "the current stage is before" in refused(person, "stage", stage="instructions")
        wrong = {"plays": "yes", "sports": ["soccer"], "years": 1e6}
        assert "years: expected" in refused(person, "questionnaire", name="background", answers=wrong)
        person.do("questionnaire", name="background", answers=PLAYER)
        assert person.reload()["stage"] == "instructions"
        assert person.state["survey"] == PLAYER
        assert "the stage is instructions" in refused(person, "quiz", answers=RIGHT)
        person.do("stage", stage="instructions")
        assert person.reload()["quiz"] == {"attempts": 0, "left": 2, "passed": False}
        person.do("quiz", answers=WRONG)
        assert person.reload()["quiz"] == {"attempts": 1, "left": 1, "passed": False}
        assert person.state["stage"] == "quiz"
        whole(person, {"hard": 4, "why": "=the ball is small"})
        assert person.reload()["stage"] == "finished"
        assert "cannot be filled in now" in refused(person, "questionnaire", name="effort", answers={"hard": 1})

    (row,) = exported(asked, "questionnaires.csv").rows(named=True)
    # The quote prevents spreadsheets from reading the text as a formula.
    answers = {**PLAYER, "sports": "soccer | other", "hard": 4, "why": "'=the ball is small"}
    assert row == {"participant": person.state["participant"], **answers}
    quiz = exported(asked, "quiz.csv")
    rows = [(1, "task", False), (1, "cells", False), (2, "task", True), (2, "cells", True)]
    assert quiz.select("attempt", "question", "right").rows() == rows
    (row,) = exported(asked, "participants.csv").rows(named=True)
    assert (row["quiz_attempts"], row["screened_out"]) == (2, False)


def test_failing_the_quiz_ends_the_participation(asked: Path) -> None:
    with people(asked, None, None, password="secret") as (person, other):
        for one in (person, other):
            one.start()
            to_quiz(one)
        for _ in range(2):
            person.do("quiz", answers=WRONG)
        state = person.reload()
        assert (state["stage"], state["completion"], state["debriefing"]) == ("screened", {"code": "SCREENED"}, None)
        for kind, value in (("quiz", {"answers": RIGHT}), ("stage", {"stage": "instructions"}), ("away", {"ms": 1.0})):
            refused(person, kind, **value)
        whole(other, {"hard": 1})
        assert "screened out" in person.client.get("/admin", auth=("admin", "secret")).text
    rows = {row["participant"]: row for row in exported(asked, "participants.csv").rows(named=True)}
    row = rows[person.state["participant"]]
    assert (row["excluded"], row["screened_out"]) == ("screened-out", True)


def test_screened_out_participant_frees_their_place_in_the_quota(tmp_path: Path) -> None:
    folder = add(study(tmp_path, images=2, checks=1, changes={"per_list = 0": "per_list = 1"}), QUIZ)
    with people(folder, None, None) as (person, other):
        person.start()
        person.do("stage", stage="instructions")
        assert other.start().status_code == 410
        for _ in range(2):
            person.do("quiz", answers=WRONG)
        assert other.start().status_code == 200


def test_failing_the_quiz_with_failure_instructions_leads_back_to_the_instructions(asked: Path) -> None:
    change(asked, {'failure = "screened-out"': 'failure = "instructions"'})
    with people(asked, None) as (person,):
        person.start()
        to_quiz(person)
        for attempt in range(1, 5):
            person.do("quiz", answers=WRONG)
            stage = "quiz" if attempt % 2 else "instructions"
            assert person.reload()["stage"] == stage
            if stage == "instructions":
                person.do("stage", stage="instructions")
        person.do("quiz", answers=RIGHT)
        assert person.reload()["stage"] == "practice"
        assert person.state["quiz"] == {"attempts": 5, "left": 1, "passed": True}


def test_malformed_survey_answers_are_rejected_and_invalid_characters_in_a_text_are_replaced(asked: Path) -> None:
    with people(asked, None) as (person,), reading(asked) as reader:
        person.start()
        for answers in (
            {"plays": True},
            {"plays": None},
            {"plays": {"a": 1}},
            {"plays": [["yes"]]},
            {"plays": "x" * 2001},
            {f"q{n}": "yes" for n in range(101)},
            {"plays": ["yes"] * 51},
            {"pl ays": "yes"},
        ):
            refused(person, "questionnaire", name="background", answers=answers)
        refused(person, "questionnaire", name="background")
        refused(person, "questionnaire", answers={"plays": "no"})
        refused(person, "questionnaire", name="background", answers={"plays": "no"}, more=1)
        refused(person, "questionnaire", name="../background", answers={"plays": "no"})
        assert [event.kind for event in reader.events(1)] == ["stage"]

        event = sent(2, "questionnaire", name="background", answers={**PLAYER, "how": "half \ud83d and \x00 nul"})
        content, headers = json.dumps({"events": [event]}), {"content-type": "application/json"}
        assert person.client.post("/api/events", content=content, headers=headers).status_code == 200
        assert reader.events(1)[-1].value["answers"]["how"].startswith("half ")


def test_questionnaires_are_read_from_a_separate_file(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, changes={"\ntitle = ": '\nquestionnaires = { file = "asked.toml" }\ntitle = '})
    asked = folder / "asked.toml"
    asked.write_text(QUESTIONNAIRES, encoding="utf-8")
    design = load(folder)
    assert [one.name for one in design.config.questionnaires] == ["background", "effort"]
    # Questionnaires may not change after the first participant began.
    assert design.parts["questionnaires"] == [one.model_dump(mode="json") for one in design.config.questionnaires]
    asked.write_text(QUESTIONNAIRES + "\nmore = 1\n[other]\n", encoding="utf-8")
    with raises(InputError, "invalid-value:questionnaires"):
        load(folder)
    asked.unlink()
    with raises(InputError, "invalid-value:questionnaires"):
        load(folder)


def test_check_reports_problems_of_questions(asked: Path) -> None:
    change(asked, {"About you": "About EMAIL", 'screened_code = "SCREENED"\n': ""})
    found = "\n".join(check(asked))
    assert "questionnaires.1 (background): the text still contains placeholders: EMAIL" in found
    assert "there is no `screened_url` or `screened_code`" in found
    change(asked, {'question = "years"': 'question = "age"'})
    assert "questionnaires.1.questions.4.show_if" in "\n".join(check(asked))


def test_mouse_path_is_rejected_if_the_study_does_not_record_it(tmp_path: Path) -> None:
    with people(study(tmp_path, images=2, checks=1), None) as (person,):
        person.begin().do("shown", 0)
        answer = person.send("mouse", 0, 5.0, points=[[1, 2, 3]])
        assert (answer.status_code, answer.json()["error"]) == (422, "this study does not record mouse paths")


def test_mouse_paths_are_limited_and_exported_to_a_separate_file(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, checks=1, changes={"mouse = false": "mouse = true"})
    with people(folder, None) as (person,):
        assert person.client.get("/api/study").json()["records"]["mouse"] is True
        person.begin().do("shown", 0)
        for points in ([], [[0, 0, 0]] * (MAX_POINTS + 1), [[0, 0.5, 0]], [[0, 0]], [[-1, 0, 0]], [[0, 2001, 0]]):
            assert person.send("mouse", 0, 5.0, points=points).status_code == 422
        for _ in range(5):
            person.do("mouse", 0, 5.0, points=[[0, 500, 250], [50, -1000, 2000]])
        answer = person.send("mouse", 0, 5.0, points=[[1, 2, 3]])
        assert "this trial already has the maximum of 5 paths" in answer.json()["error"]
        person.finish()
    mouse = exported(folder, "mouse.csv")
    assert mouse.columns == ["participant", "order", "sport", "image", "path", "milliseconds", "x", "y"]
    points = [(1, 1, 0, 0.5, 0.25), (1, 1, 50, -1, 2)]
    assert mouse.select("order", "path", "milliseconds", "x", "y").rows()[:2] == points
    assert mouse["path"].unique().sort().to_list() == [1, 2, 3, 4, 5]


def test_left_full_screen_and_small_windows_are_exported_and_exclude_only_if_study_toml_names_the_rules(
    tmp_path: Path,
) -> None:
    changes = {"fullscreen = false": "fullscreen = true", "min_width = 0": "min_width = 1300"}
    folder = study(tmp_path, images=2, checks=1, changes=changes)
    with people(folder, None) as (person,):
        person.start()
        for on in (False, True):
            person.do("fullscreen", on=on)
        person.to_trials()
        person.finish()
        refused(person, "fullscreen", on=False)
    (row,) = exported(folder, "participants.csv").rows(named=True)
    assert (row["times_left_fullscreen"], row["small_windows"]) == (1, 3)
    assert (row["flag_fullscreen"], row["flag_small_window"]) == (True, True)
    # The columns are always exported, but they exclude only if study.toml names the rules.
    assert row["excluded"] is None
    change(folder, {"also = []": 'also = ["fullscreen", "small-window"]'})
    assert exported(folder, "participants.csv")["excluded"].to_list() == ["fullscreen small-window"]


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.startswith(("[[questionnaires]]", "[quiz]"))])
def test_documented_question_tables_are_accepted(tmp_path: Path, block: str) -> None:
    folder = study(tmp_path, images=2)
    with (folder / CONFIG).open("a", encoding="utf-8") as file:
        file.write(block)
    design = load(folder)
    assert design.surveys.questionnaires or design.surveys.quiz


def test_documented_display_table_is_accepted_in_place_of_the_table_of_init(tmp_path: Path) -> None:
    (block,) = (block for block in BLOCKS if block.startswith("[display]"))
    folder = study(tmp_path, images=2)
    rewrite(folder / CONFIG, r"\[display\]\n.*?min_height = 0\n", block, flags=re.DOTALL)
    assert read_config(folder).display.min_height == 600
