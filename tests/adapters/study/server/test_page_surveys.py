"""Test questionnaires, the quiz, full screen and mouse paths in a real browser."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scripts.study_messages import messages
from tests.adapters.study.asked import QUESTIONNAIRES, QUIZ, add
from tests.adapters.study.browsing import Visit, box, choice_study, clicks_study, expect, fits, kinds, stored
from tests.adapters.study.made import change

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ONE_ATTEMPT = QUIZ.replace("attempts = 2", "attempts = 1")


def events_of(folder: Path) -> list[Any]:
    ((_, events),) = stored(folder)
    return events


@pytest.mark.parametrize("width", [390, 1280])
def test_german_study_with_questionnaires_and_quiz_shows_no_untranslated_text_and_stores_all_answers(
    tmp_path: Path, visit: Visit, width: int
) -> None:
    folder = add(clicks_study(tmp_path), QUESTIONNAIRES, QUIZ)
    change(folder, {'language = "en"': 'language = "de"'})
    visitor = visit(folder, viewport={"width": width, "height": 844})
    page, terms = visitor.page, visitor.page.locator(".terms")
    seen: list[str] = []

    def look() -> None:
        seen.extend(page.locator("body").inner_text().splitlines())
        labels = page.locator("[aria-label]").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
        seen.extend([*labels, page.locator("#live").text_content()])

    expect(terms).to_contain_text("Außerdem füllen Sie 2 Fragebögen aus.")
    expect(terms).to_contain_text("Sie haben 2 Versuche; ist keiner davon richtig, endet Ihre Teilnahme.")
    look()
    page.get_by_role("checkbox").check()
    visitor.button("Teilnehmen").click()

    visitor.heading("Über Sie")
    fits(page)
    expect(page.get_by_role("group", name="Which?")).to_be_hidden()
    visitor.button("Fortfahren").click()
    missing, yes = page.locator("#missing-plays"), page.get_by_role("radio", name="Ja")
    expect(missing).to_have_text("Bitte beantworten Sie diese Frage.")
    expect(yes).to_be_focused()
    look()
    yes.check()
    expect(missing).to_have_text("")
    page.get_by_role("checkbox", name="soccer").check()
    years, how = page.get_by_label("For how many years?"), page.get_by_label("How did you learn it?")
    for text, told in (("viele", "eine Zahl ein."), ("91", "eine Zahl von 0 bis 90 ein.")):
        years.fill(text)
        visitor.button("Fortfahren").click()
        expect(page.locator("#missing-years")).to_have_text(f"Bitte geben Sie {told}")
    years.fill("12,5")
    how.fill("als Kind")
    # Unsent answers survive a reload.
    page.reload()
    visitor.heading("Über Sie")
    expect(years).to_have_value("12.5")
    expect(page.get_by_role("checkbox", name="soccer")).to_be_checked()
    # No answer to a hidden question is sent, even if it was answered before it was hidden.
    years.fill("3")
    expect(how).to_be_hidden()
    visitor.button("Fortfahren").click()

    visitor.heading("Anleitung")
    look()
    visitor.button("Fortfahren").click()
    visitor.heading("Fragen zur Anleitung")
    fits(page)
    page.get_by_role("radio", name="the referee").check()
    page.get_by_role("checkbox", name="there is a time limit").check()
    visitor.button("Fortfahren").click()
    expect(page.locator(".note")).to_have_text("Nicht alle Antworten waren richtig. Sie haben noch einen Versuch.")
    expect(page.get_by_role("radio", name="the referee")).not_to_be_checked()
    look()
    page.get_by_role("radio", name="the ball").check()
    page.get_by_role("checkbox", name="three cells").check()
    page.get_by_role("checkbox", name="chosen again").check()
    visitor.button("Fortfahren").click()

    visitor.click((3, 2), (3, 2), (1, 1))
    look()
    visitor.click((1, 2))
    expect(page.locator(".hint")).to_have_text("Drei Felder gewählt. Bestätigen Sie, oder gehen Sie zurück.")
    look()
    visitor.button("Bestätigen").click()
    expect(page.locator(".feedback")).to_have_text("Der Ball war in C2. Zwei Ihrer Tipps liegen dort.")
    look()
    visitor.button("Beginnen").click()
    for number in range(1, 7):
        visitor.where(f"Bild {number} von 6")
        visitor.click((3, 2), (2, 4))
        look()
        visitor.click((3, 2))
        visitor.button("Bestätigen").click()
        visitor.after_confirming()
        if page.locator("textarea").count():
            visitor.button("Fortfahren").click()
            look()
            page.locator("textarea").fill("Alle schauen dorthin.")
            visitor.button("Fortfahren").click()
    visitor.heading("At the end")
    fits(page)
    look()
    page.get_by_role("radio", name="5").check()
    page.get_by_label("What made it hard?").fill("klein")
    visitor.button("Fortfahren").click()
    visitor.heading("Vielen Dank. Sie sind fertig.")
    look()
    assert visitor.only()[0].stage == "finished"
    english = {one for message in messages() for one in message if " " in one and "{" not in one}
    assert not {text for text in seen if text and text.strip() in english}
    assert any("noch zwei" in text.lower() or "noch eins" in text.lower() for text in seen)

    surveys = [event.value for event in events_of(folder) if event.kind in ("questionnaire", "quiz")]
    assert surveys[0] == {"name": "background", "answers": {"plays": "yes", "sports": ["soccer"], "years": 3}}
    assert surveys[1]["answers"] == {"task": "the referee", "cells": ["there is a time limit"]}
    assert surveys[3] == {"name": "effort", "answers": {"hard": 5, "why": "klein"}}


def test_questionnaire_and_failed_quiz_by_keyboard_alone_lead_to_the_screened_out_page(
    tmp_path: Path, visit: Visit
) -> None:
    folder = add(clicks_study(tmp_path), QUESTIONNAIRES, ONE_ATTEMPT)
    change(folder, {'url = "': 'screened_code = "SCREENED-9"\nurl = "'})
    visitor = visit(folder)
    consent = visitor.page.get_by_role("checkbox")
    expect(consent).to_be_visible()
    visitor.press("Tab", " ")
    expect(consent).to_be_checked()
    visitor.press("Tab", "Enter")
    visitor.heading("About you")
    # Tab focuses the first radio button, and the arrow key chooses the second.
    visitor.press("Tab", "ArrowDown", "Tab", "Enter")
    visitor.heading("Instructions")
    visitor.press("Tab", "Enter")
    visitor.heading("Questions about the instructions")
    visitor.press("Tab", "ArrowDown", "Tab", "Tab", "Tab", " ", "Tab", "Enter")
    visitor.heading("Thank you for your interest.")
    expect(visitor.page.locator("output.code")).to_have_text("SCREENED-9")
    visitor.page.reload()
    visitor.heading("Thank you for your interest.")
    assert kinds(events_of(folder)) == ["stage", "questionnaire", "stage", "quiz"]
    assert events_of(folder)[1].value["answers"] == {"plays": "no"}


def test_quiz_failed_offline_leads_back_to_the_instructions(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(add(clicks_study(tmp_path), ONE_ATTEMPT.replace("screened-out", "instructions")))
    page = visitor.page
    visitor.agree("Instructions")
    visitor.button("Continue").click()
    page.get_by_role("radio", name="the referee").check()
    page.get_by_role("checkbox", name="three cells").check()
    visitor.context.set_offline(True)
    visitor.button("Continue").click()
    visitor.heading("One moment")
    visitor.context.set_offline(False)
    visitor.heading("Instructions")
    expect(page.locator(".note")).to_have_text("Not all answers were correct. Please read the instructions again.")
    visitor.button("Continue").click()
    visitor.heading("Questions about the instructions")
    assert page.locator(".note").count() == 0


def test_full_screen_is_required_and_leaving_it_is_recorded(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(clicks_study(tmp_path, **{"fullscreen = false": "fullscreen = true"}))
    page, gate, back = visitor.page, visitor.page.locator("#gate"), visitor.button("Back to full screen")
    expect(page.locator(".terms")).to_contain_text("The study fills your whole screen.")
    visitor.agree("Instructions")
    visitor.until("document.fullscreenElement !== null")
    expect(gate).to_be_hidden()
    page.evaluate("document.exitFullscreen()")
    expect(gate).to_be_visible()
    assert page.evaluate("document.getElementById('main').inert")
    expect(back).to_be_focused()
    back.click()
    expect(gate).to_be_hidden()
    visitor.button("Try it").click()
    visitor.ready()
    page.reload()
    expect(gate).to_be_visible()
    back.click()
    visitor.click((3, 2), (3, 2), (1, 1))
    visitor.confirm()
    visitor.button("Start").click()
    visitor.finish()
    visitor.until("document.fullscreenElement === null")
    expect(gate).to_be_hidden()
    changes = [event.value["on"] for event in events_of(visitor.folder) if event.kind == "fullscreen"]
    assert changes == [False, True, False, True]


def test_window_below_the_minimum_size_blocks_the_study(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path, **{"min_width = 0": "min_width = 900", "min_height = 0": "min_height = 500"})
    visitor = visit(folder, viewport={"width": 800, "height": 600}, screen={"width": 1280, "height": 800})
    page, gate = visitor.page, visitor.page.locator("#gate")
    expect(page.locator(".terms")).to_contain_text("Your window must have at least 900 × 500 pixels.")
    visitor.agree()
    too_small = "Your window is too small for this study. Please make it larger."
    expect(page.locator("#agree-missing")).to_have_text(too_small)
    page.set_viewport_size({"width": 1000, "height": 600})
    visitor.button("Take part").click()
    visitor.heading("Instructions")
    page.set_viewport_size({"width": 1000, "height": 400})
    expect(gate).to_contain_text("Your window is too small")
    expect(visitor.button("Back to full screen")).to_be_hidden()
    page.set_viewport_size({"width": 1000, "height": 600})
    expect(gate).to_be_hidden()
    small = {"width": 390, "height": 844}
    phone = visit(folder, address=visitor.address, viewport=small, screen=small)
    phone.agree()
    expect(phone.page.locator("#agree-missing")).to_contain_text("Your screen is too small for this study.")


def test_keys_are_ignored_while_the_window_is_too_small_and_feedback_can_be_turned_off(
    tmp_path: Path, visit: Visit
) -> None:
    visitor = visit(
        choice_study(tmp_path, **{"min_width = 0": "min_width = 900", "feedback = true": "feedback = false"})
    )
    page, gate = visitor.page, visitor.page.locator("#gate")
    visitor.try_it()
    page.set_viewport_size({"width": 600, "height": 600})
    expect(gate).to_be_visible()
    visitor.press("1")
    page.set_viewport_size({"width": 1000, "height": 600})
    expect(gate).to_be_hidden()
    visitor.saved()
    assert kinds(events_of(visitor.folder)) == ["stage", "stage", "shown"]
    visitor.press("1")
    # Without feedback, the right answer is not shown.
    expect(page.locator(".feedback")).to_have_text("Thank you.")
    visitor.button("Start").click()
    visitor.where("Image 1 of 4")


def test_mouse_path_is_recorded_if_the_study_enables_it(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(clicks_study(tmp_path, **{"mouse = false": "mouse = true"}))
    expect(visitor.page.locator(".terms")).to_contain_text("The movements of your mouse over the images are recorded.")
    visitor.practice()
    frame = box(visitor.page.locator(".frame"))
    for share in (0.1, 0.3, 0.5):
        visitor.page.mouse.move(frame["x"] + share * frame["width"], frame["y"] + 0.5 * frame["height"])
        visitor.page.wait_for_timeout(80)
    visitor.images(range(1, 2))
    visitor.where("Image 2 of 6")
    visitor.saved()
    events = events_of(visitor.folder)
    (path,) = [event for event in events if event.kind == "mouse"]
    points = path.value["points"]
    assert [round(x, -2) for _, x, y in points if 490 <= y <= 510][:3] == [100, 300, 500]
    assert all(later[0] - earlier[0] >= 49 for earlier, later in pairwise(points))
    # The path is sent just before its answer.
    assert events[events.index(path) + 1].kind == "answer"
