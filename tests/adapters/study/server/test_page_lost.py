"""Test in a real browser that failures do not cause events to be lost, duplicated or reordered."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from spotball_adapters.study.results.deletion import delete
from tests.adapters.study.browsing import Route, Visit, Visitor, clicks_of, clicks_study, expect, stored
from tests.adapters.study.made import middle, sent, serving
from tests.browsing import free_port

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PERSON = "?PROLIFIC_PID=p&STUDY_ID=s&SESSION_ID=1"
NOT_SAVED = "Not saved yet, trying again …"


def test_clicks_made_offline_are_stored_when_the_network_returns(visitor: Visitor) -> None:
    visitor.practice()
    visitor.images(range(1, 2))
    visitor.saved()
    before = len(visitor.only()[1])
    visitor.context.set_offline(True)
    # The next pictures are already loaded.
    visitor.images(range(2, 4), cells=((1, 1), (1, 2), (1, 3)))
    visitor.click((2, 2), (2, 3))
    saving = visitor.page.locator("#saving")
    expect(saving).to_have_text(NOT_SAVED)
    assert len(visitor.only()[1]) <= before + 1
    visitor.context.set_offline(False)
    expect(saving).to_have_text("")
    visitor.saved()
    progress, events = visitor.only()
    assert [clicks_of(events, trial) for trial in (1, 2, 3)] == [*[[(1, 1), (1, 2), (1, 3)]] * 2, [(2, 2), (2, 3)]]
    assert len(progress.answers) == 3
    visitor.answer((2, 4))
    visitor.finish(5)


def test_page_reopened_after_its_tab_was_closed_offline_resumes_with_unsent_answers(visitor: Visitor) -> None:
    visitor.practice()
    visitor.saved()
    visitor.context.set_offline(True)
    visitor.images(range(1, 2), cells=((4, 4), (4, 5), (4, 6)))
    visitor.where("Image 2 of 6")
    visitor.click((5, 5))
    visitor.page.close()
    visitor.context.set_offline(False)
    assert not visitor.only()[0].answers

    again = visitor.tab()
    again.shows(2, "E5")
    again.saved()
    progress, events = visitor.only()
    assert clicks_of(events, 0) == [(4, 4), (4, 5), (4, 6)]
    assert clicks_of(events, 1) == [(5, 5)]
    assert len(progress.answers) == 1


@pytest.mark.parametrize("reload", [False, True])
def test_lost_response_to_the_start_does_not_begin_a_second_participation(visitor: Visitor, reload: bool) -> None:
    lost: list[int] = []

    def lose(route: Route) -> None:
        lost.append(route.fetch().status)
        route.abort()

    visitor.page.route("**/api/start", lose, times=1)
    visitor.agree()
    visitor.until("document.getElementById('saving').textContent !== ''")
    if reload:
        visitor.context.clear_cookies()
        visitor.page.reload()
        visitor.agree()
    visitor.heading("Instructions")
    assert lost == [200]
    assert len(stored(visitor.folder)) == 1


def test_last_page_shows_the_label_and_the_code_after_the_minimum_time(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(clicks_study(tmp_path, **{"min_minutes = 0": "min_minutes = 0.7"}))
    visitor.practice()
    visitor.finish()
    label = stored(visitor.folder)[0][0].participant
    expect(visitor.page.locator("main")).to_contain_text(label)
    link = visitor.page.get_by_role("link")
    expect(link).to_have_count(0)
    expect(link).to_have_count(1, timeout=60_000)
    expect(visitor.page.locator("main")).to_contain_text(label)


@pytest.mark.parametrize("way", ["reload", "back", "closed"])
def test_participant_resumes_after_leaving_the_page(visitor: Visitor, way: str) -> None:
    def away() -> None:
        nonlocal visitor
        if way == "reload":
            visitor.page.reload()
        elif way == "back":
            visitor.page.goto("about:blank")
            visitor.page.go_back()
        else:
            visitor.page.close()
            visitor = visitor.tab()

    visitor.agree("Instructions")
    away()
    visitor.heading("Instructions")
    visitor.button("Try it").click()
    visitor.click((3, 2), (2, 2), (2, 2))
    away()
    visitor.ready()
    assert visitor.chosen() == ["C2", "B2", "B2"]
    visitor.confirm()
    visitor.feedback("One of your guesses is there.")
    away()
    expect(visitor.page.locator(".feedback")).to_have_text("The ball was in C2.")
    visitor.button("Start").click()
    visitor.images(range(1, 3))
    visitor.click((1, 1), (2, 2))
    away()
    visitor.shows(3, "A1", "B2")
    visitor.answer((3, 3))
    _, events = visitor.finish(4)
    assert clicks_of(events, 2) == [(1, 1), (2, 2), (3, 3)]
    # The elapsed time starts at zero each time the image is shown.
    shown = [event for event in events if event.kind == "shown" and event.trial == 2]
    assert [event.elapsed_ms for event in shown] == [0, 0]


def test_unsent_explanation_survives_a_reload(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(clicks_study(tmp_path, **{"explanations = 1": "explanations = 4"}))
    visitor.practice()
    area = visitor.page.get_by_role("textbox")
    for number in range(1, 7):
        visitor.where(f"Image {number} of 6")
        visitor.click((3, 3), (3, 3), (3, 3))
        visitor.confirm()
        visitor.after_confirming()
        if not area.count():
            continue
        visitor.button("Continue").click()
        expect(area).to_have_accessible_description("Please write a few words first.")
        area.press_sequentially("x")
        expect(area).to_have_accessible_description("")
        visitor.button("Continue").click()
        expect(area).to_have_accessible_description("Please write a few more words.")
        area.fill(f"Some words\nof {number}: “ü” 🏐")
        visitor.page.reload()
        expect(area).to_have_value(f"Some words\nof {number}: “ü” 🏐")
        assert [mark for mark in visitor.page.locator(".grid b").all_text_contents() if mark] == ["1 2 3"]
        visitor.button("Continue").click()
    progress, _ = visitor.ends()
    said = [(one.trial.trial, one.explanation) for one in progress.answers if one.trial.explain]
    assert said == [(trial, f"Some words\nof {trial + 1}: “ü” 🏐") for trial, _ in said]
    assert len(said) == 4


def test_second_tab_shows_a_message_and_can_take_over(visitor: Visitor) -> None:
    first = visitor
    first.practice()
    first.click((1, 1))
    second = first.tab()
    second.heading("The study is open in another tab")
    # Meanwhile, the first tab continues offline, so only the browser has these clicks.
    first.saved()
    first.context.set_offline(True)
    first.click((1, 2))
    first.context.set_offline(False)
    second.button("Continue here").click()
    second.shows(1, "A1", "A2")
    first.heading("The study continues in another tab")
    # Each time, a single click is enough to continue in the other tab.
    for here, there in ((first, second), (second, first)):
        here.button("Continue here").click()
        here.where("Image 1 of 6")
        there.heading("The study continues in another tab")
    second.answer((1, 3))
    _, events = second.finish(2)
    assert clicks_of(events, 0) == [(1, 1), (1, 2), (1, 3)]
    first.button("Continue here").click()
    first.ends()


@pytest.mark.parametrize(
    "answer", [(503, "{}"), (429, "{}"), (200, "<html>Please log in to the hotel</html>"), None], ids=str
)
def test_events_are_sent_again_after_an_error_or_a_lost_response(visitor: Visitor, answer: Any) -> None:
    visitor.practice()
    visitor.saved()
    lost = []

    def fail(route: Route) -> None:
        if answer:
            route.fulfill(status=answer[0], body=answer[1], headers={"Retry-After": "1"})
        else:
            # The server stores the events, but only its response is lost.
            lost.append(route.fetch().status)
            route.abort()

    visitor.page.route("**/api/events", fail, times=2)
    visitor.click((1, 1), (2, 2))
    saving = visitor.page.locator("#saving")
    expect(saving).to_have_text(NOT_SAVED)
    visitor.saved()
    expect(saving).to_have_text("")
    assert lost == ([] if answer else [200, 200])
    # `only` also checks that no event is stored twice.
    assert clicks_of(visitor.only()[1], 0) == [(1, 1), (2, 2)]


def test_page_loses_no_clicks_when_the_server_is_killed_and_restarted(tmp_path: Path, visit: Visit) -> None:
    folder, port = clicks_study(tmp_path), free_port()
    with serving(folder, port=port) as (address, server):
        visitor = visit(folder, address=address)
        visitor.practice()
        visitor.images(range(1, 3))
        visitor.click((1, 1))
        os.kill(server.pid, signal.SIGKILL)
        server.wait(timeout=60)
        visitor.click((1, 2))
        expect(visitor.page.locator("#saving")).to_have_text(NOT_SAVED)
    with serving(folder, port=port):
        visitor.answer((1, 3))
        _, events = visitor.finish(4)
        assert clicks_of(events, 2) == [(1, 1), (1, 2), (1, 3)]


def test_page_that_is_behind_the_server_adopts_the_state_of_the_server(visitor: Visitor) -> None:
    """Check that the page continues from the stored events after another client used the same cookie."""
    visitor.practice()
    visitor.saved()
    cookies = {cookie["name"]: cookie["value"] for cookie in visitor.context.cookies()}
    seq = visitor.only()[1][-1].seq
    with httpx.Client(base_url=visitor.address, cookies=cookies) as elsewhere:
        event = sent(seq + 1, "click", 0, 10.0, **middle(6, 6))
        assert elsewhere.post("/api/events", json={"events": [event]}).status_code == 200
    visitor.cell(1, 1).click()
    expect(visitor.page.locator(".slots li.filled")).to_have_text("1F6")
    visitor.ready()
    visitor.answer((1, 1), (1, 2))
    visitor.image(2)
    visitor.saved()
    progress, _ = visitor.only()
    assert [click.cell for click in progress.answers[0].answer.clicks] == [(6, 6), (1, 1), (1, 2)]


def test_page_whose_cookies_were_cleared_shows_an_error(visitor: Visitor) -> None:
    visitor.practice()
    visitor.image(1)
    visitor.saved()
    visitor.context.clear_cookies()
    visitor.cell(1, 1).click()
    visitor.heading("The study cannot continue in this browser")


def test_prolific_link_restores_a_participant_without_a_cookie(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path)
    visitor = visit(folder, query=PERSON)
    visitor.practice()
    visitor.image(1)
    visitor.saved()
    visitor.context.clear_cookies()
    visitor.click((1, 1))
    visitor.saved()
    visitor.shows(1, "A1")
    assert clicks_of(visitor.only()[1], 0) == [(1, 1)]
    visitor.context.clear_cookies()
    visitor.page.reload()
    visitor.shows(1, "A1")
    # Without cookies and local storage, the participant must consent again.
    visitor.context.clear_cookies()
    visitor.page.evaluate("localStorage.clear()")
    visitor.page.reload()
    visitor.heading("Spot the Ball")
    visitor.agree()
    visitor.shows(1, "A1")
    assert len(stored(folder)) == 1


def test_page_with_blocked_cookies_and_a_prolific_link_shows_an_error(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(clicks_study(tmp_path), query=PERSON)

    def without_cookie(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, headers={k: v for k, v in reply.headers.items() if k != "set-cookie"})

    visitor.page.route("**/api/start", without_cookie)
    # The browser stores the cookies of a fetched response, so clear them.
    visitor.page.route("**/api/events", lambda route: (visitor.context.clear_cookies(), route.continue_()))
    visitor.agree()
    visitor.context.clear_cookies()
    visitor.heading("Instructions")
    visitor.button("Try it").click()
    visitor.heading("The study cannot continue in this browser")


def test_reload_by_a_deleted_participant_shows_the_consent_page_and_stores_nothing(
    tmp_path: Path, visit: Visit
) -> None:
    folder, port = clicks_study(tmp_path), free_port()
    with serving(folder, port=port) as (address, _):
        visitor = visit(folder, address=address, query=PERSON)
        visitor.agree("Instructions")
    delete(folder, prolific="p")
    with serving(folder, port=port):
        visitor.page.reload()
        visitor.heading("Spot the Ball")
        assert stored(folder) == []


def test_unsent_clicks_of_one_participant_are_not_sent_for_another(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(clicks_study(tmp_path), query=PERSON)
    visitor.practice()
    visitor.saved()
    visitor.context.set_offline(True)
    visitor.click((1, 1), (1, 2))
    visitor.page.close()
    visitor.context.set_offline(False)
    other = visitor.tab("?PROLIFIC_PID=p2&STUDY_ID=s&SESSION_ID=2")
    other.practice()
    other.click((5, 5))
    other.until("document.querySelectorAll('.slots .filled').length === 1")
    # Only the unsent events of the first participant are left.
    other.until("Object.keys(localStorage).filter((key) => key.startsWith('spotball:queue:')).length === 1")
    other.page.close()
    back = visitor.tab(PERSON)
    back.heading("Spot the Ball")
    back.agree()
    back.shows(1, "A1", "A2")
    back.saved()
    (_, of_first), (_, of_second) = stored(visitor.folder)
    assert clicks_of(of_first, 0) == [(1, 1), (1, 2)]
    assert clicks_of(of_second, 0) == [(5, 5)]
