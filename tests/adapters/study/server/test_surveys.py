"""Test questionnaires and the comprehension quiz over HTTP, from validation to the export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from spotball_adapters.study.server.wire import MAX_POINTS
from spotball_adapters.study.setup.check import check
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.store import reading
from spotball_core.errors import InputError, OptionError
from tests.adapters.study.asked import PLAYER, QUESTIONNAIRES, QUIZ, RIGHT, WRONG, add
from tests.adapters.study.made import Person, body, change, running, sent, study
from tests.adapters.study.people import command
from tests.failures import raises

CLIENTS: list[httpx.Client] = []
"""The clients of a test, which are closed at its end."""


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    changes = {'# url = "https': 'screened_code = "SCREENED"\nurl = "https'}
    return add(study(tmp_path, images=2, checks=1, changes=changes), QUESTIONNAIRES, QUIZ)


@pytest.fixture
def url(asked: Path) -> Iterator[str]:
    with running(asked, password="secret") as address:
        yield address


@pytest.fixture(autouse=True)
def _clients_are_closed() -> Iterator[None]:
    yield
    while CLIENTS:
        CLIENTS.pop().close()


def newcomer(url: str) -> Person:
    CLIENTS.append(httpx.Client(base_url=url))
    return Person(CLIENTS[-1])


def someone(url: str) -> Person:
    person = newcomer(url)
    person.start()
    return person


def refused(person: Person, kind: str, **value: Any) -> str:
    response = person.post(sent(person.state["seq"] + 1, kind, **value))
    assert response.status_code == 422
    return str(response.json()["error"])


def to_quiz(person: Person) -> None:
    person.do("questionnaire", name="background", answers={"plays": "no"})
    person.do("stage", stage="instructions")


def whole(person: Person, effort: dict[str, Any]) -> None:
    person.do("quiz", answers=RIGHT)
    for item in person.state["practice"]:
        person.answer(item)
    person.do("stage", stage="practice")
    for item in person.state["trials"]:
        person.answer(item)
    person.do("questionnaire", name="effort", answers=effort)


def test_questionnaires_and_quiz_are_taken_and_exported(url: str, asked: Path, tmp_path: Path) -> None:
    described = httpx.get(f"{url}/api/study").json()
    assert [one["name"] for one in described["questionnaires"]] == ["background", "effort"]
    assert described["questionnaires"][0]["questions"][0]["options"][0] == {"value": "yes", "text": "Yes"}
    assert "right" not in str(described["quiz"])

    person = someone(url)
    assert (person.state["stage"], person.state["questionnaire"]) == ("before", "background")
    assert "the questionnaire effort cannot" in refused(person, "questionnaire", name="effort", answers={"hard": 1})
    assert "the current stage is before" in refused(person, "stage", stage="instructions")
    assert "years: expected" in refused(
        person, "questionnaire", name="background", answers={"plays": "yes", "sports": ["soccer"], "years": 1e6}
    )
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

    command("export", asked, "--out", tmp_path / "out", "--keep-all")
    (row,) = pl.read_csv(tmp_path / "out/questionnaires.csv").rows(named=True)
    assert row == {
        "participant": person.state["participant"],
        "plays": "yes",
        "sports": "soccer | other",
        "years": 12.5,
        "how": 'Às a child, "at" home',
        "hard": 4,
        # The quote prevents spreadsheets from reading the text as a formula.
        "why": "'=the ball is small",
    }
    quiz = pl.read_csv(tmp_path / "out/quiz.csv")
    assert quiz.select("attempt", "question", "right").rows() == [
        (1, "task", False),
        (1, "cells", False),
        (2, "task", True),
        (2, "cells", True),
    ]
    (person_row,) = pl.read_csv(tmp_path / "out/participants.csv").rows(named=True)
    assert (person_row["quiz_attempts"], person_row["screened_out"]) == (2, False)


def test_failing_the_quiz_ends_the_participation(url: str, asked: Path, tmp_path: Path) -> None:
    person = someone(url)
    to_quiz(person)
    for _ in range(2):
        person.do("quiz", answers=WRONG)
    state = person.reload()
    assert (state["stage"], state["completion"], state["debriefing"]) == ("screened", {"code": "SCREENED"}, None)
    for kind, value in (("quiz", {"answers": RIGHT}), ("stage", {"stage": "instructions"}), ("away", {"ms": 1.0})):
        refused(person, kind, **value)
    other = someone(url)
    to_quiz(other)
    whole(other, {"hard": 1})
    command("export", asked, "--out", tmp_path / "out", "--keep-all")
    rows = {row["participant"]: row for row in pl.read_csv(tmp_path / "out/participants.csv").rows(named=True)}
    assert rows[person.state["participant"]]["excluded"] == "screened-out"
    assert rows[person.state["participant"]]["screened_out"]
    assert "screened out" in httpx.get(f"{url}/admin", auth=("admin", "secret")).text


def test_screened_out_participants_free_their_place(tmp_path: Path) -> None:
    folder = add(study(tmp_path, images=2, checks=1, changes={"per_list = 0": "per_list = 1"}), QUIZ)
    with running(folder) as url:
        person = someone(url)
        person.do("stage", stage="instructions")
        assert newcomer(url).start().status_code == 410
        for _ in range(2):
            person.do("quiz", answers=WRONG)
        assert newcomer(url).start().status_code == 200


def test_failing_the_quiz_leads_back_to_the_instructions(asked: Path) -> None:
    change(asked, {'failure = "screened-out"': 'failure = "instructions"'})
    with running(asked) as url:
        person = someone(url)
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


@pytest.mark.parametrize(
    "value",
    [
        {"name": "background", "answers": {"plays": True}},
        {"name": "background", "answers": {"plays": None}},
        {"name": "background", "answers": {"plays": {"a": 1}}},
        {"name": "background", "answers": {"plays": [["yes"]]}},
        {"name": "background", "answers": {"plays": "x" * 2001}},
        {"name": "background", "answers": {f"q{n}": "yes" for n in range(101)}},
        {"name": "background", "answers": {"plays": ["yes"] * 51}},
        {"name": "background", "answers": {"pl ays": "yes"}},
        {"name": "background"},
        {"answers": {"plays": "no"}},
        {"name": "background", "answers": {"plays": "no"}, "more": 1},
        {"name": "../background", "answers": {"plays": "no"}},
    ],
)
def test_malformed_answers_are_rejected_and_not_stored(url: str, asked: Path, value: Any) -> None:
    person = someone(url)
    refused(person, "questionnaire", **value)
    with reading(asked) as reader:
        assert [event.kind for event in reader.events(1)] == ["stage"]


def test_text_answers_with_invalid_characters_are_repaired(url: str, asked: Path) -> None:
    person = someone(url)
    event = sent(2, "questionnaire", name="background", answers={**PLAYER, "how": "half \ud83d and \x00 nul"})
    headers = {"content-type": "application/json"}
    assert person.client.post("/api/events", content=body({"events": [event]}), headers=headers).status_code == 200
    with reading(asked) as reader:
        assert reader.events(1)[-1].value["answers"]["how"].startswith("half ")


def test_change_of_questions_after_the_first_participant_is_an_error(asked: Path) -> None:
    with running(asked) as url:
        someone(url)
    change(asked, {"How hard was it?": "Was it hard?"})
    with raises(OptionError, "different-settings"), running(asked):
        pass


def test_questionnaires_are_read_from_a_separate_file(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, changes={"\ntitle = ": '\nquestionnaires = { file = "asked.toml" }\ntitle = '})
    (folder / "asked.toml").write_text(QUESTIONNAIRES, encoding="utf-8")
    assert [one.name for one in load(folder).config.questionnaires] == ["background", "effort"]
    (folder / "asked.toml").write_text(QUESTIONNAIRES + "\nmore = 1\n[other]\n", encoding="utf-8")
    with raises(InputError, "invalid-value:questionnaires"):
        load(folder)
    (folder / "asked.toml").unlink()
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
    folder = study(tmp_path, images=2, checks=1)
    with running(folder) as url:
        person = someone(url)
        person.to_trials()
        person.do("shown", 0)
        answer = person.post(sent(person.state["seq"] + 1, "mouse", 0, 5.0, points=[[1, 2, 3]]))
        assert (answer.status_code, answer.json()["error"]) == (422, "this study does not record mouse paths")


def test_mouse_paths_are_limited_and_exported_to_a_separate_file(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, checks=1, changes={"mouse = false": "mouse = true"})
    with running(folder) as url:
        assert httpx.get(f"{url}/api/study").json()["records"]["mouse"] is True
        person = someone(url)
        person.to_trials()
        person.do("shown", 0)
        for points in ([], [[0, 0, 0]] * (MAX_POINTS + 1), [[0, 0.5, 0]], [[0, 0]], [[-1, 0, 0]], [[0, 2001, 0]]):
            assert person.post(sent(person.state["seq"] + 1, "mouse", 0, 5.0, points=points)).status_code == 422
        for _ in range(5):
            person.do("mouse", 0, 5.0, points=[[0, 500, 250], [50, -1000, 2000]])
        answer = person.post(sent(person.state["seq"] + 1, "mouse", 0, 5.0, points=[[1, 2, 3]]))
        assert "this trial already has the maximum of 5 paths" in answer.json()["error"]
        for item in person.state["trials"]:
            person.answer(item)
    command("export", folder, "--out", tmp_path / "out", "--keep-all")
    mouse = pl.read_csv(tmp_path / "out/mouse.csv")
    assert mouse.columns == ["participant", "order", "sport", "image", "path", "milliseconds", "x", "y"]
    assert mouse.select("order", "path", "milliseconds", "x", "y").rows()[:2] == [
        (1, 1, 0, 0.5, 0.25),
        (1, 1, 50, -1, 2),
    ]
    assert mouse["path"].unique().sort().to_list() == [1, 2, 3, 4, 5]


def test_full_screen_and_window_size_are_exported_and_can_exclude(tmp_path: Path) -> None:
    changes = {"fullscreen = false": "fullscreen = true", "min_width = 0": "min_width = 1300"}
    folder = study(tmp_path, images=2, checks=1, changes=changes)
    with running(folder) as url:
        person = someone(url)
        person.do("fullscreen", on=False)
        person.do("fullscreen", on=True)
        person.to_trials()
        for item in person.state["trials"]:
            person.answer(item)
        refused(person, "fullscreen", on=False)
    command("export", folder, "--out", tmp_path / "out", "--keep-all")
    (row,) = pl.read_csv(tmp_path / "out/participants.csv").rows(named=True)
    assert (row["times_left_fullscreen"], row["small_windows"]) == (1, 3)
    assert (row["flag_fullscreen"], row["flag_small_window"]) == (True, True)
    # The columns are always exported, but they exclude only if study.toml names the rules.
    assert row["excluded"] is None
    change(folder, {"also = []": 'also = ["fullscreen", "small-window"]'})
    command("export", folder, "--out", tmp_path / "out", "--keep-all")
    assert pl.read_csv(tmp_path / "out/participants.csv")["excluded"].to_list() == ["fullscreen small-window"]
