"""Test whole studies in a real browser, and the events that the store then contains."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.study.browsing import (
    CODE,
    LINK,
    Route,
    Visit,
    Visitor,
    box,
    choice_study,
    clicks_of,
    clicks_study,
    expect,
    kinds,
    stored,
)
from tests.adapters.study.made import running, study

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ITEM = ["shown", "click", "click", "click", "answer"]


def test_study_by_mouse_stores_all_events_and_shows_the_code_only_at_the_end(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(clicks_study(tmp_path), query="?PROLIFIC_PID=pid1&STUDY_ID=s1&SESSION_ID=x1")
    visitor.practice()
    visitor.images(range(1, 6))
    visitor.where("Image 6 of 6")
    assert CODE not in visitor.page.content()
    _, events = visitor.finish(6)
    expect(visitor.page.get_by_role("link", name="Return to Prolific")).to_have_attribute("href", LINK)
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
    visitor.ends()


def test_study_by_keyboard_alone_stores_all_answers(visitor: Visitor) -> None:
    def answer() -> None:
        """Choose C2, C3 and (after an undo) B3, starting at the first cell, which has the focus."""
        visitor.ready()
        expect(visitor.cell(1, 1)).to_be_focused()
        visitor.press("ArrowDown", "ArrowDown", "ArrowRight", "Enter", "ArrowRight", " ", "End", "Enter")
        assert visitor.chosen() == ["C2", "C3", "C10"]
        visitor.press("Backspace")
        assert visitor.chosen() == ["C2", "C3"]
        visitor.press("ArrowUp", "Home", "ArrowLeft", "ArrowRight", "ArrowRight", "Enter")
        assert visitor.chosen() == ["C2", "C3", "B3"]
        visitor.press(" ")
        assert visitor.chosen() == ["C2", "C3", "B3"]
        visitor.press("Enter")

    visitor.heading("Spot the Ball")
    visitor.press("Tab", " ", "Tab", "Enter")
    visitor.heading("Instructions")
    visitor.press("Tab", "Enter")
    answer()
    visitor.feedback("The ball was in C2. One of your guesses is there.")
    expect(visitor.button("Start")).to_be_focused()
    visitor.press("Enter")
    area = visitor.page.get_by_role("textbox")
    for number in range(1, 7):
        visitor.where(f"Image {number} of 6")
        answer()
        visitor.after_confirming()
        if area.count():
            expect(area).to_be_focused()
            visitor.page.keyboard.type("Because they look.")
            visitor.press("Tab", "Enter")
    progress, events = visitor.ends()
    assert {event.value["by"] for event in events if event.kind == "click"} == {"keyboard"}
    assert [answered.answer.clicks[2].cell for answered in progress.answers] == [(2, 3)] * 6
    for event in events:
        if event.kind == "click":
            assert event.value["x"] == pytest.approx((event.value["col"] - 0.5) / 10)
            assert event.value["y"] == pytest.approx((event.value["row"] - 0.5) / 6)


def test_study_by_touch_on_a_small_phone_stores_all_answers(tmp_path: Path, visit: Visit) -> None:
    phone = {"width": 360, "height": 740}
    visitor = visit(clicks_study(tmp_path), viewport=phone, has_touch=True, is_mobile=True, device_scale_factor=3)
    visitor.page.get_by_role("checkbox").tap()
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
    progress, events = visitor.ends()
    assert {event.value["by"] for event in events if event.kind == "click"} == {"touch"}
    assert {event.viewport for event in events} == {(360, 740, 3)}
    assert [[click.cell for click in one.answer.clicks] for one in progress.answers] == [[(3, 2), (5, 7), (6, 9)]] * 6


def slide(visitor: Visitor, start: tuple[int, int], end: tuple[int, int]) -> None:
    """Put a finger on a cell, move it to another cell, and lift it."""
    places = [box(visitor.cell(*cell)) for cell in (start, end)]
    points = [{"x": at["x"] + at["width"] / 2, "y": at["y"] + at["height"] / 2} for at in places]
    session = visitor.context.new_cdp_session(visitor.page)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [points[0]]})
    session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [points[1]]})
    expect(visitor.cell(*end)).to_have_class("lit")
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    session.detach()


def test_pointer_highlights_the_cell_below_it_and_click_coordinates_match_the_pointer(visitor: Visitor) -> None:
    visitor.practice()
    lit = visitor.page.locator(".lit")
    for col in (4, 5):
        visitor.cell(4, col).hover()
        expect(lit).to_have_count(1)
        expect(lit).to_have_accessible_name(f"row D, column {col}")
    visitor.button("Confirm").hover(force=True)
    expect(lit).to_have_count(0)

    mouse, grid = visitor.page.mouse, box(visitor.page.get_by_role("grid"))
    wanted = [(0.003, 0.004), (0.997, 0.996), (0.537, 0.271)]
    for x, y in wanted:
        mouse.click(grid["x"] + x * grid["width"], grid["y"] + y * grid["height"])
    assert visitor.chosen() == ["A1", "F10", "B6"]
    visitor.saved()
    clicked = [event for event in visitor.only()[1] if event.kind == "click" and event.trial == 0]
    for event, (x, y) in zip(clicked, wanted, strict=True):
        assert event.value["x"] == pytest.approx(x, abs=0.002)
        assert event.value["y"] == pytest.approx(y, abs=0.004)
    # A press inside the picture that is released outside is not a click.
    visitor.button("Undo").click()
    mouse.move(grid["x"] + 40, grid["y"] + 40)
    mouse.down()
    mouse.move(grid["x"] + 40, grid["y"] - 20)
    mouse.up()
    assert visitor.chosen() == ["A1", "F10"]


def test_undo_and_confirm_are_disabled_until_possible(visitor: Visitor) -> None:
    visitor.practice()
    undo, confirm = visitor.button("Undo"), visitor.button("Confirm")
    hint, live = visitor.page.locator(".hint"), visitor.page.locator("#live")
    expect(undo).to_have_attribute("aria-disabled", "true")
    # Playwright clicks a disabled button only with `force`, but people may click it.
    confirm.click(force=True)
    expect(live).to_have_text("You still have to choose three cells.")
    expect(hint).to_have_text("You still have to choose three cells.")
    visitor.click((1, 1), (1, 1))
    expect(hint).to_have_text("")
    assert visitor.chosen() == ["A1", "A1"]
    expect(visitor.cell(1, 1)).to_have_accessible_name("row A, column 1, guess 1 and 2")
    confirm.click(force=True)
    undo.click()
    undo.click()
    undo.click(force=True)
    assert visitor.chosen() == []
    visitor.click((1, 1), (2, 2), (3, 3))
    expect(hint).to_have_text("")
    visitor.click((4, 4))
    assert visitor.chosen() == ["A1", "B2", "C3"]
    expect(hint).to_be_visible()
    expect(hint).to_have_text("Three cells chosen. Confirm, or undo.")
    expect(live).to_have_text("Three cells chosen. Confirm, or undo.")
    visitor.saved()
    progress, events = visitor.only()
    at = kinds(events).index("shown", 8)
    assert kinds(events)[at:] == ["shown", "click", "click", "undo", "undo", "click", "click", "click"]
    assert not progress.answers


def test_choice_study_by_keyboard_and_mouse_stores_all_answers_and_never_shows_the_word_null(
    tmp_path: Path, visit: Visit
) -> None:
    visitor = visit(choice_study(tmp_path, **{'# code = "XXXXXXXX"': 'code = "SYNTHETIC"'}))
    page = visitor.page
    shown: list[tuple[str, ...]] = []
    visitor.agree("Instructions")
    # This study has no worked example, which must not appear as null.
    assert "null" not in page.locator("main").inner_text()
    visitor.button("Try it").click()
    visitor.where("Practice")
    visitor.ready()
    # In practice, choose the right option by its number key.
    labels = page.locator(".option span").all_text_contents()
    assert sorted(labels) == ["bowl", "cup", "vase"]
    visitor.press(str(labels.index("cup") + 1))
    expect(page.locator(".feedback")).to_have_text("That is correct.")
    expect(page.locator(".option.right span")).to_have_text("cup")
    visitor.press("Enter")
    for number in range(1, 5):
        visitor.image(number, of=4)
        shown.append(tuple(page.locator(".option span").all_text_contents()))
        visitor.press("7")
        if number % 2:
            visitor.press("2")
        else:
            page.locator(".option").nth(2).click()
    progress, events = visitor.ends()
    assert "null" not in page.locator("main").inner_text()
    expect(page.locator("output")).to_have_text("SYNTHETIC")
    assert kinds(events) == ["stage", "stage", "shown", "choice", "stage", *["shown", "choice"] * 4]
    assert [one.answer.option for one in progress.answers] == [1, 2, 1, 2]
    assert [one.trial.options for one in progress.answers] == shown
    assert [event.elapsed_ms > 0 for event in events if event.kind == "choice"] == [True] * 5


def test_choice_page_shows_only_applicable_terms_and_a_labeled_option_group_and_corrects_a_wrong_choice(
    tmp_path: Path, visit: Visit
) -> None:
    visitor = visit(choice_study(tmp_path))
    page = visitor.page
    # Bonus and explanations do not apply to this study.
    expect(page.locator(".terms li")).to_have_text(["Pay: AMOUNT an hour."])
    visitor.agree("Instructions")
    expect(page.locator(".terms li")).to_have_count(0)
    visitor.button("Try it").click()
    visitor.ready()
    group = page.get_by_role("group", name="Which object is this person looking at?")
    assert group.get_by_role("button").count() == 3
    for option in ("cup", "vase", "bowl"):
        expect(group.get_by_role("button", name=option, exact=True)).to_have_count(1)
    wrong = page.locator(".option span").all_text_contents().index("vase")
    page.locator(".option").nth(wrong).click()
    expect(page.locator(".feedback")).to_have_text("Not quite. The answer is: cup.")
    expect(page.locator(".option.wrong span")).to_have_text("vase")
    # The feedback is still visible after a reload.
    page.reload()
    expect(page.locator(".feedback")).to_have_text("Not quite. The answer is: cup.")
    visitor.button("Start").click()
    visitor.where("Image 1 of 4")


EVIL = '<img src=x onerror="document.title=1234"><script>document.title=1234</script>'


@pytest.mark.parametrize("task", ["clicks", "choice"])
def test_markup_in_study_texts_is_shown_as_plain_text(tmp_path: Path, visit: Visit, task: str) -> None:
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
        visitor.finish()
    else:
        visitor.agree()
        visitor.button("Try it").click()
        visitor.heading(EVIL)
        expect(page.locator(".option").filter(has_text=EVIL)).to_have_count(1)
        visitor.ready()
        visitor.press("1")
        visitor.button("Start").click()
        for number in range(1, 5):
            visitor.image(number, of=4)
            visitor.press("1")
        visitor.ends()
    expect(page.locator(".code")).to_have_text(EVIL)
    expect(page.locator(".debriefing")).to_contain_text(EVIL)
    assert page.title() == EVIL
    assert page.locator("main img[src=x], main script").count() == 0


def test_second_session_incomplete_link_and_full_study_each_show_a_message(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path, **{"per_list = 0": "per_list = 2"})
    first = visit(folder, query="?PROLIFIC_PID=p&STUDY_ID=s&SESSION_ID=1")
    address = first.address
    first.agree("Instructions")
    again = visit(folder, address=address, query="?PROLIFIC_PID=p&STUDY_ID=s&SESSION_ID=2")
    again.agree("You have already taken part")
    broken = visit(folder, address=address, query="?PROLIFIC_PID=p2")
    broken.agree("Your link is not complete")
    # Another person at the same computer becomes a new participant.
    first.page.goto(f"{address}/?PROLIFIC_PID=other&STUDY_ID=s&SESSION_ID=3")
    first.heading("Spot the Ball")
    first.agree("Instructions")
    assert len(stored(folder)) == 2
    visit(folder, address=address).agree("The study is full")


def test_consent_page_states_pay_bonus_and_explanations_and_requires_consent(tmp_path: Path, visit: Visit) -> None:
    pay = {'"AMOUNT an hour"': '"11.50 EUR an hour"', "bonus = 1.00": "bonus = 2.50", '"USD"': '"EUR"'}
    visitor = visit(clicks_study(tmp_path, **pay))
    visitor.heading("Spot the Ball")
    bonus = (
        "Bonus: up to 2.50 EUR. You get this amount times the share of your clicks that hit the ball. "
        "Practice images and check images, whose answer is obvious, do not count."
    )
    written = "For one image, you are also asked to explain your answer in writing."
    terms = visitor.page.locator(".terms li")
    expect(terms).to_have_text(["Pay: 11.50 EUR an hour.", bonus, written])
    visitor.button("Take part").click()
    consent = visitor.page.get_by_role("checkbox")
    expect(consent).to_be_focused()
    expect(consent).to_have_accessible_description("Please tick the box above if you agree.")
    assert stored(visitor.folder) == []
    visitor.agree("Instructions")
    expect(terms).to_have_text([bonus, written])
    captions = visitor.page.locator("figcaption")
    expect(captions).to_have_count(2)
    expect(captions.first).to_contain_text("This example is a drawing, not a photo.")
    expect(visitor.page.locator("#pilot")).to_be_hidden()


def test_pilot_page_is_marked_and_shows_the_list_named_in_the_link(tmp_path: Path, visit: Visit) -> None:
    folder = study(tmp_path, sports=("soccer", "volleyball"), images=2)
    with running(folder, pilot=True) as address:
        first = visit(folder, address=address, query="?list=volleyball")
        expect(first.page.locator("#pilot")).to_be_visible()
        first.agree("Instructions")
        # The other list in the same browser starts a new participant.
        first.page.goto(f"{address}/?list=soccer")
        first.heading("Spot the Ball")
        first.agree("Instructions")
        first.page.reload()
        first.heading("Instructions")
    assert [one.list for one, _ in stored(folder / "pilot-1")] == ["volleyball", "soccer"]


def test_response_time_starts_when_the_picture_is_visible(visitor: Visitor) -> None:
    visitor.agree("Instructions")

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
    shown, first, second = visitor.only()[1][-3:]
    assert (shown.kind, first.kind, second.kind) == ("shown", "click", "click")
    assert 0 < first.elapsed_ms <= since_asked - 1000
    assert second.elapsed_ms >= first.elapsed_ms + 300


def test_leaving_the_page_is_recorded_only_after_consent_and_before_the_end(visitor: Visitor) -> None:

    def leave() -> None:
        # Pages in Playwright always have the focus, so dispatch the events.
        visitor.page.evaluate("window.dispatchEvent(new Event('blur'))")
        visitor.page.wait_for_timeout(50)
        visitor.page.evaluate("window.dispatchEvent(new Event('focus'))")

    leave()  # before consent: not recorded
    visitor.agree("Instructions")
    leave()
    visitor.button("Try it").click()
    visitor.click((3, 2), (3, 2), (1, 1))
    visitor.confirm()
    visitor.feedback("The ball was in C2. Two")
    leave()
    visitor.saved()
    visitor.feedback("The ball was in C2. Two")
    visitor.button("Start").click()
    visitor.image(1)
    leave()
    visitor.finish()
    leave()
    _, events = visitor.only()
    away = [event for event in events if event.kind == "away"]
    assert [event.trial for event in away] == [None, None, 0]
    assert all(event.value["ms"] >= 50 for event in away)
    assert "chrom" in events[0].value["device"]["browser"].lower()
    assert events[0].value["device"]["language"] != "other"
