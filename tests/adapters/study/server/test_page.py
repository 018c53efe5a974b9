"""Test whole studies in a real browser, and the events that the store then contains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="needs Playwright, of the dev extra")

from playwright.sync_api import Route, expect

from tests.adapters.study.browsing import (
    CODE,
    LINK,
    Visitor,
    choice_study,
    clicks_of,
    clicks_study,
    kinds,
    only,
    stored,
)
from tests.adapters.study.made import running, study

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Visit = Callable[..., Visitor]

ITEM = ["shown", "click", "click", "click", "answer"]


def test_study_by_mouse_stores_all_events_and_shows_the_code_only_at_the_end(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path)
    answers: list[tuple[str, bytes]] = []
    visitor = visit(folder, query="?PROLIFIC_PID=pid1&STUDY_ID=s1&SESSION_ID=x1")

    def read(route: Route) -> None:
        reply = route.fetch()
        answers.append((route.request.url, reply.body()))
        route.fulfill(response=reply)

    visitor.page.route("**/*", read)
    visitor.page.reload()
    visitor.practice()
    visitor.images(range(1, 6))
    visitor.where("Image 6 of 6")
    assert len(answers) > 40
    assert not [url for url, body in answers if CODE.encode() in body]
    visitor.images(range(6, 7))
    visitor.heading("Thank you. You are done.")
    expect(visitor.page.get_by_role("link", name="Return to Prolific")).to_have_attribute("href", LINK)
    assert [url for url, body in answers if CODE.encode() in body] == [f"{visitor.address}/api/state"]

    progress, events = only(folder)
    assert progress.stage == "finished"
    explained = [event for event in events if event.kind == "explanation"]
    assert [event.value for event in explained] == [{"text": "They look there."}]
    expected = ["stage", "stage", *ITEM, "stage"]
    for trial in range(6):
        expected += [*ITEM, *(["explanation"] if trial == explained[0].trial else [])]
        assert clicks_of(events, trial) == [(3, 2), (2, 4), (6, 10)]
    assert kinds(events) == expected
    assert {event.value["by"] for event in events if event.kind == "click"} == {"mouse"}
    for event in events[1:]:
        assert event.viewport == (1280, 800, 1)
        assert (event.elapsed_ms == 0) == (event.kind in ("stage", "shown"))
    # A reload after the end shows the end again.
    visitor.page.reload()
    visitor.heading("Thank you. You are done.")


def test_study_by_keyboard_alone_stores_all_answers(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path)
    visitor = visit(folder)
    press = visitor.page.keyboard.press

    def answer() -> None:
        """Choose C2, C3 and (after an undo) B3, starting at the first cell, which has the focus."""
        visitor.ready()
        expect(visitor.cell(1, 1)).to_be_focused()
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter", "ArrowRight", " ", "End", "Enter"):
            press(key)
        assert visitor.chosen() == ["C2", "C3", "C10"]
        press("Backspace")
        assert visitor.chosen() == ["C2", "C3"]
        for key in ("ArrowUp", "Home", "ArrowLeft", "ArrowRight", "ArrowRight", "Enter"):
            press(key)
        assert visitor.chosen() == ["C2", "C3", "B3"]
        press(" ")
        assert visitor.chosen() == ["C2", "C3", "B3"]
        press("Enter")

    visitor.heading("Spot the Ball")
    for key in ("Tab", " ", "Tab", "Enter"):
        press(key)
    visitor.heading("Instructions")
    press("Tab")
    press("Enter")
    answer()
    expect(visitor.page.locator(".feedback")).to_contain_text("The ball was in C2. One of your guesses is there.")
    expect(visitor.button("Start")).to_be_focused()
    press("Enter")
    for number in range(1, 7):
        visitor.where(f"Image {number} of 6")
        answer()
        visitor.after_confirming()
        if visitor.page.get_by_role("textbox").count():
            expect(visitor.page.get_by_role("textbox")).to_be_focused()
            visitor.page.keyboard.type("Because they look.")
            press("Tab")
            press("Enter")
    visitor.heading("Thank you. You are done.")

    progress, events = only(folder)
    assert progress.stage == "finished"
    assert {event.value["by"] for event in events if event.kind == "click"} == {"keyboard"}
    assert [answered.answer.clicks[2].cell for answered in progress.answers] == [(2, 3)] * 6
    for event in events:
        if event.kind == "click":
            assert event.value["x"] == pytest.approx((event.value["col"] - 0.5) / 10)
            assert event.value["y"] == pytest.approx((event.value["row"] - 0.5) / 6)


def test_study_by_touch_on_a_small_phone_stores_all_answers(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path)
    phone = {"width": 360, "height": 740}
    visitor = visit(folder, viewport=phone, has_touch=True, is_mobile=True, device_scale_factor=3)
    page = visitor.page
    page.get_by_role("checkbox").tap()
    visitor.button("Take part").tap()
    visitor.button("Try it").tap()
    for number in range(-1, 6):
        visitor.where("Practice" if number < 0 else f"Image {number + 1} of 6")
        visitor.ready()
        visitor.cell(3, 2).tap()
        # A sliding finger chooses the cell from which it is lifted.
        slide(visitor, (1, 9), (5, 7))
        visitor.cell(6, 10).tap()
        assert visitor.chosen() == ["C2", "E7", "F10"]
        visitor.button("Undo").tap()
        visitor.cell(6, 9).tap()
        visitor.button("Confirm").tap()
        if number < 0:
            visitor.button("Start").tap()
        else:
            visitor.explain_if_asked()
    visitor.heading("Thank you. You are done.")

    progress, events = only(folder)
    assert progress.stage == "finished"
    assert {event.value["by"] for event in events if event.kind == "click"} == {"touch"}
    assert {event.viewport for event in events} == {(360, 740, 3)}
    assert [[click.cell for click in one.answer.clicks] for one in progress.answers] == [[(3, 2), (5, 7), (6, 9)]] * 6


def slide(visitor: Visitor, start: tuple[int, int], end: tuple[int, int]) -> None:
    """Put a finger on a cell, move it to another cell, and lift it."""
    points = []
    for cell in (start, end):
        box = visitor.cell(*cell).bounding_box()
        assert box
        points.append({"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2})
    session = visitor.context.new_cdp_session(visitor.page)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [points[0]]})
    session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [points[1]]})
    expect(visitor.cell(*end)).to_have_class("lit")
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    session.detach()


def test_click_coordinates_match_the_pointer(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path)
    visitor = visit(folder)
    visitor.practice()
    box = visitor.page.get_by_role("grid").bounding_box()
    assert box
    wanted = [(0.003, 0.004), (0.997, 0.996), (0.537, 0.271)]
    for x, y in wanted:
        visitor.page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
    assert visitor.chosen() == ["A1", "F10", "B6"]
    visitor.saved()
    clicked = [event for event in only(folder)[1] if event.kind == "click" and event.trial == 0]
    for event, (x, y) in zip(clicked, wanted, strict=True):
        assert event.value["x"] == pytest.approx(x, abs=0.002)
        assert event.value["y"] == pytest.approx(y, abs=0.004)
    # A press inside the picture that is released outside is not a click.
    visitor.button("Undo").click()
    visitor.page.mouse.move(box["x"] + 40, box["y"] + 40)
    visitor.page.mouse.down()
    visitor.page.mouse.move(box["x"] + 40, box["y"] - 20)
    visitor.page.mouse.up()
    assert visitor.chosen() == ["A1", "F10"]


def test_undo_and_confirm_are_disabled_until_possible(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path)
    visitor = visit(folder)
    visitor.practice()
    undo, confirm = visitor.button("Undo"), visitor.button("Confirm")
    expect(undo).to_have_attribute("aria-disabled", "true")
    # Playwright clicks a disabled button only with `force`, but people may click it.
    confirm.click(force=True)
    expect(visitor.page.locator("#live")).to_have_text("You still have to choose three cells.")
    expect(visitor.page.locator(".hint")).to_have_text("You still have to choose three cells.")
    visitor.click((1, 1), (1, 1))
    expect(visitor.page.locator(".hint")).to_have_text("")
    assert visitor.chosen() == ["A1", "A1"]
    expect(visitor.cell(1, 1)).to_have_accessible_name("row A, column 1, guess 1 and 2")
    confirm.click(force=True)
    undo.click()
    undo.click()
    undo.click(force=True)
    assert visitor.chosen() == []
    visitor.click((1, 1), (2, 2), (3, 3))
    hint = visitor.page.locator(".hint")
    expect(hint).to_have_text("")
    visitor.click((4, 4))
    assert visitor.chosen() == ["A1", "B2", "C3"]
    expect(hint).to_be_visible()
    expect(hint).to_have_text("Three cells chosen. Confirm, or undo.")
    expect(visitor.page.locator("#live")).to_have_text("Three cells chosen. Confirm, or undo.")
    visitor.saved()
    progress, events = only(folder)
    at = kinds(events).index("shown", 8)
    assert kinds(events)[at:] == ["shown", "click", "click", "undo", "undo", "click", "click", "click"]
    assert not progress.answers


def test_choice_study_by_keyboard_and_mouse_stores_all_answers(tmp_path: Path, visit: Visit) -> None:
    folder = choice_study(tmp_path)
    visitor = visit(folder)
    page = visitor.page
    visitor.agree()
    visitor.button("Try it").click()
    visitor.ready()
    # In practice, choose the right option by its number key.
    labels = page.locator(".option span").all_text_contents()
    assert sorted(labels) == ["bowl", "cup", "vase"]
    page.keyboard.press(str(labels.index("cup") + 1))
    expect(page.locator(".feedback")).to_have_text("That is correct.")
    expect(page.locator(".option.right span")).to_have_text("cup")
    page.keyboard.press("Enter")
    for number in range(1, 5):
        visitor.where(f"Image {number} of 4")
        visitor.ready()
        page.keyboard.press("7")
        if number % 2:
            page.keyboard.press("2")
        else:
            page.locator(".option").nth(2).click()
    visitor.heading("Thank you. You are done.")
    progress, events = only(folder)
    assert kinds(events) == ["stage", "stage", "shown", "choice", "stage", *["shown", "choice"] * 4]
    assert [one.answer.option for one in progress.answers] == [1, 2, 1, 2]
    assert [event.elapsed_ms > 0 for event in events if event.kind == "choice"] == [True] * 5


def test_practice_feedback_shows_the_right_option(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(choice_study(tmp_path))
    page = visitor.page
    visitor.agree()
    visitor.button("Try it").click()
    visitor.ready()
    wrong = page.locator(".option span").all_text_contents().index("vase")
    page.locator(".option").nth(wrong).click()
    expect(page.locator(".feedback")).to_have_text("Not quite. The answer is: cup.")
    expect(page.locator(".option.wrong span")).to_have_text("vase")
    # The feedback is still visible after a reload.
    page.reload()
    expect(page.locator(".feedback")).to_have_text("Not quite. The answer is: cup.")
    visitor.button("Start").click()
    visitor.where("Image 1 of 4")


def test_practice_without_feedback_does_not_show_the_answer(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(choice_study(tmp_path, **{"feedback = true": "feedback = false"}))
    visitor.agree()
    visitor.button("Try it").click()
    visitor.ready()
    visitor.page.keyboard.press("1")
    expect(visitor.page.locator(".feedback")).to_have_text("Thank you.")
    visitor.button("Start").click()
    visitor.where("Image 1 of 4")


EVIL = '<img src=x onerror="document.title=1234"><script>document.title=1234</script>'


@pytest.mark.parametrize("task", ["clicks", "choice"])
def test_markup_is_shown_as_text(tmp_path: Path, visit: Visit, task: str) -> None:
    quoted = EVIL.replace('"', '\\"')
    title = {"clicks": "Spot the Ball", "choice": "Where does this person look?"}[task]
    changes = {
        f'title = "{title}"': f'title = "{quoted}"',
        "**This is a study": f"{EVIL}\n\n**This is a study",
        '# code = "XXXXXXXX"': f'code = "{quoted}"',
        "**Thank you for taking part.**": EVIL,
        'explanation = "Why do you think so?': f'explanation = "{quoted}',
    }
    if task == "clicks":
        changes['url = "' + LINK + '"'] = "# no link"
        visitor = visit(clicks_study(tmp_path, **changes))
    else:
        changes['question = "Which object is this person looking at?"'] = f'question = "{quoted}"'
        visitor = visit(choice_study(tmp_path, options=f"{EVIL}+vase", **changes))
    page = visitor.page
    visitor.heading(EVIL)
    expect(page.locator(".prose")).to_contain_text(EVIL)
    if task == "clicks":
        visitor.practice()
        visitor.images(range(1, 7))
        visitor.heading("Thank you. You are done.")
    else:
        visitor.agree()
        visitor.button("Try it").click()
        visitor.heading(EVIL)
        expect(page.locator(".option").filter(has_text=EVIL)).to_have_count(1)
        visitor.ready()
        page.keyboard.press("1")
        visitor.button("Start").click()
        for number in range(1, 5):
            visitor.where(f"Image {number} of 4")
            visitor.ready()
            page.keyboard.press("1")
        visitor.heading("Thank you. You are done.")
    expect(page.locator(".code")).to_have_text(EVIL)
    expect(page.locator(".debriefing")).to_contain_text(EVIL)
    assert page.title() == EVIL
    assert page.locator("main img[src=x], main script").count() == 0


def test_second_session_and_incomplete_link_show_a_message(
    tmp_path: Path, visit: Visit, served: Callable[[Path], str]
) -> None:
    folder = clicks_study(tmp_path)
    address = served(folder)
    first = visit(folder, address=address, query="?PROLIFIC_PID=p&STUDY_ID=s&SESSION_ID=1")
    first.agree()
    first.heading("Instructions")
    again = visit(folder, address=address, query="?PROLIFIC_PID=p&STUDY_ID=s&SESSION_ID=2")
    again.agree()
    again.heading("You have already taken part")
    broken = visit(folder, address=address, query="?PROLIFIC_PID=p2")
    broken.agree()
    broken.heading("Your link is not complete")
    # Another person at the same computer becomes a new participant.
    first.page.goto(f"{address}/?PROLIFIC_PID=other&STUDY_ID=s&SESSION_ID=3")
    first.heading("Spot the Ball")
    first.agree()
    first.heading("Instructions")
    assert len(stored(folder)) == 2


def test_page_states_pay_bonus_and_explanations_of_study_toml(tmp_path: Path, visit: Visit) -> None:
    pay = {'"AMOUNT an hour"': '"11.50 EUR an hour"', "bonus = 1.00": "bonus = 2.50", '"USD"': '"EUR"'}
    visitor = visit(clicks_study(tmp_path, **pay))
    visitor.heading("Spot the Ball")
    bonus = "Bonus: up to 2.50 EUR. You get this amount times the share of your clicks that hit the ball."
    written = "For one image, you are also asked to explain your answer in writing."
    terms = visitor.page.locator(".terms li")
    expect(terms).to_have_text(["Pay: 11.50 EUR an hour.", bonus, written])
    visitor.agree()
    visitor.heading("Instructions")
    expect(terms).to_have_text([bonus, written])
    captions = visitor.page.locator("figcaption")
    expect(captions).to_have_count(2)
    expect(captions.first).to_contain_text("This example is a drawing, not a photo.")
    expect(visitor.page.locator("#pilot")).to_be_hidden()


def test_page_omits_terms_that_do_not_apply(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(choice_study(tmp_path))
    expect(visitor.page.locator(".terms li")).to_have_text(["Pay: AMOUNT an hour."])
    visitor.agree()
    visitor.heading("Instructions")
    expect(visitor.page.locator(".terms li")).to_have_count(0)


def test_pilot_page_is_marked_and_shows_the_list_named_in_the_link(tmp_path: Path, visit: Visit) -> None:
    folder = study(tmp_path, sports=("soccer", "volleyball"), images=2)
    with running(folder, pilot=True) as address:
        first = visit(folder, address=address, query="?list=volleyball")
        expect(first.page.locator("#pilot")).to_be_visible()
        first.agree()
        first.heading("Instructions")
        # The other list in the same browser starts a new participant.
        first.page.goto(f"{address}/?list=soccer")
        first.heading("Spot the Ball")
        first.agree()
        first.heading("Instructions")
        first.page.reload()
        first.heading("Instructions")
    assert [one.list for one, _ in stored(folder / "pilot-1")] == ["volleyball", "soccer"]


def test_start_without_consent_is_not_possible(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path)
    visitor = visit(folder)
    visitor.button("Take part").click()
    expect(visitor.page.get_by_role("checkbox")).to_be_focused()
    expect(visitor.page.get_by_role("checkbox")).to_have_accessible_description(
        "Please tick the box above if you agree."
    )
    assert stored(folder) == []


def test_response_time_starts_when_the_picture_is_visible(tmp_path: Path, visit: Visit) -> None:
    """Check that the loading time of a picture is not part of the response time."""
    folder = clicks_study(tmp_path)
    visitor = visit(folder)
    visitor.agree()
    visitor.heading("Instructions")

    def late(route: Route) -> None:
        visitor.page.evaluate("() => { window.asked ??= performance.now(); }")
        visitor.page.wait_for_timeout(1000)
        route.continue_()

    visitor.page.route("**/images/*", late)
    visitor.page.reload()
    visitor.button("Try it").click()
    visitor.click((1, 1))
    since_asked = visitor.page.evaluate("() => performance.now() - window.asked")
    visitor.page.wait_for_timeout(300)
    visitor.click((1, 2))
    visitor.saved()
    shown, first, second = only(folder)[1][-3:]
    assert (shown.kind, first.kind, second.kind) == ("shown", "click", "click")
    assert 0 < first.elapsed_ms <= since_asked - 1000
    assert second.elapsed_ms >= first.elapsed_ms + 300


def test_leaving_the_page_is_recorded(tmp_path: Path, visit: Visit) -> None:
    """Check that leaving is recorded at every stage, and keeps the feedback of practice visible."""
    folder = clicks_study(tmp_path)
    visitor = visit(folder)

    def leave() -> None:
        # Pages in Playwright always have the focus, so dispatch the events.
        visitor.page.evaluate("window.dispatchEvent(new Event('blur'))")
        visitor.page.wait_for_timeout(50)
        visitor.page.evaluate("window.dispatchEvent(new Event('focus'))")

    leave()  # before consent: not recorded
    visitor.agree()
    visitor.heading("Instructions")
    leave()
    visitor.button("Try it").click()
    visitor.click((3, 2), (3, 2), (1, 1))
    visitor.confirm()
    expect(visitor.page.locator(".feedback")).to_contain_text("The ball was in C2. Two")
    leave()
    visitor.saved()
    expect(visitor.page.locator(".feedback")).to_contain_text("The ball was in C2. Two")
    visitor.button("Start").click()
    visitor.where("Image 1 of 6")
    visitor.ready()
    leave()
    visitor.images(range(1, 7))
    visitor.heading("Thank you. You are done.")
    leave()
    progress, events = only(folder)
    assert progress.stage == "finished"
    away = [event for event in events if event.kind == "away"]
    assert [event.trial for event in away] == [None, None, 0]
    assert all(event.value["ms"] >= 50 for event in away)
    assert "chrom" in events[0].value["device"]["browser"].lower()
    assert events[0].value["device"]["language"] != "other"


def test_full_study_shows_a_message(tmp_path: Path, visit: Visit, served: Callable[[Path], str]) -> None:
    folder = clicks_study(tmp_path, **{"per_list = 0": "per_list = 1"})
    address = served(folder)
    first = visit(folder, address=address)
    first.agree()
    first.heading("Instructions")
    second = visit(folder, address=address)
    second.agree()
    second.heading("The study is full")
