"""Test the page in a real browser when things go wrong: no event is lost, doubled or out of order."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

pytest.importorskip("playwright", reason="needs Playwright, of the dev extra")

from playwright.sync_api import Route, expect

from spotball_adapters.study.results.deletion import delete
from tests.adapters.study.browsing import Visitor, clicks_of, clicks_study, only, serving_at, stored
from tests.adapters.study.made import middle, sent
from tests.browsing import free_port

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Visit = Callable[..., Visitor]

NOT_SAVED = "Not saved yet, trying again …"


def test_clicks_made_offline_are_stored_when_the_network_returns(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path)
    visitor = visit(folder)
    visitor.practice()
    visitor.images(range(1, 2))
    visitor.saved()
    before = len(only(folder)[1])
    visitor.context.set_offline(True)
    # The next pictures are already loaded.
    visitor.images(range(2, 4), cells=((1, 1), (1, 2), (1, 3)))
    visitor.click((2, 2), (2, 3))
    expect(visitor.page.locator("#saving")).to_have_text(NOT_SAVED)
    assert len(only(folder)[1]) <= before + 1
    visitor.context.set_offline(False)
    expect(visitor.page.locator("#saving")).to_have_text("")
    visitor.saved()
    progress, events = only(folder)
    assert [clicks_of(events, trial) for trial in (1, 2, 3)] == [*[[(1, 1), (1, 2), (1, 3)]] * 2, [(2, 2), (2, 3)]]
    assert len(progress.answers) == 3
    visitor.click((2, 4))
    visitor.confirm()
    visitor.explain_if_asked()
    visitor.images(range(5, 7))
    visitor.heading("Thank you. You are done.")
    assert only(folder)[0].stage == "finished"


def test_tab_closed_offline_resumes_with_unsent_answers(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path)
    visitor = visit(folder)
    visitor.practice()
    visitor.saved()
    visitor.context.set_offline(True)
    visitor.images(range(1, 2), cells=((4, 4), (4, 5), (4, 6)))
    visitor.where("Image 2 of 6")
    visitor.click((5, 5))
    visitor.page.close()
    visitor.context.set_offline(False)
    assert not only(folder)[0].answers

    again = Visitor(visitor.context, visitor.address)
    again.where("Image 2 of 6")
    again.ready()
    assert again.chosen() == ["E5"]
    again.saved()
    progress, events = only(folder)
    assert clicks_of(events, 0) == [(4, 4), (4, 5), (4, 6)]
    assert clicks_of(events, 1) == [(5, 5)]
    assert len(progress.answers) == 1
    assert again.errors == []


@pytest.mark.parametrize("way", ["reload", "back", "closed"])
def test_participant_resumes_after_leaving_the_page(tmp_path: Path, visit: Visit, way: str) -> None:
    folder = clicks_study(tmp_path)
    visitor = visit(folder)

    def away() -> None:
        nonlocal visitor
        if way == "reload":
            visitor.page.reload()
        elif way == "back":
            visitor.page.goto("about:blank")
            visitor.page.go_back()
        else:
            visitor.page.close()
            visitor = Visitor(visitor.context, visitor.address)

    visitor.agree()
    visitor.heading("Instructions")
    away()
    visitor.heading("Instructions")
    visitor.button("Try it").click()
    visitor.click((3, 2), (2, 2), (2, 2))
    away()
    visitor.ready()
    assert visitor.chosen() == ["C2", "B2", "B2"]
    visitor.confirm()
    expect(visitor.page.locator(".feedback")).to_contain_text("One of your guesses is there.")
    away()
    expect(visitor.page.locator(".feedback")).to_have_text("The ball was in C2.")
    visitor.button("Start").click()
    visitor.images(range(1, 3))
    visitor.click((1, 1), (2, 2))
    away()
    visitor.where("Image 3 of 6")
    visitor.ready()
    assert visitor.chosen() == ["A1", "B2"]
    visitor.click((3, 3))
    visitor.confirm()
    visitor.explain_if_asked()
    visitor.images(range(4, 7))
    visitor.heading("Thank you. You are done.")
    progress, events = only(folder)
    assert progress.stage == "finished"
    assert clicks_of(events, 2) == [(1, 1), (2, 2), (3, 3)]
    # The time of each display starts at zero.
    shown = [event for event in events if event.kind == "shown" and event.trial == 2]
    assert [event.elapsed_ms for event in shown] == [0, 0]


def test_unsent_explanation_survives_a_reload(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path, **{"explanations = 1": "explanations = 4"})
    visitor = visit(folder)
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
    visitor.heading("Thank you. You are done.")
    progress, _ = only(folder)
    said = [(one.trial.trial, one.explanation) for one in progress.answers if one.trial.explain]
    assert said == [(trial, f"Some words\nof {trial + 1}: “ü” 🏐") for trial, _ in said]
    assert len(said) == 4


def test_second_tab_shows_a_message_and_can_take_over(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path)
    first = visit(folder)
    first.practice()
    first.click((1, 1))
    second = Visitor(first.context, first.address)
    second.heading("The study is open in another tab")
    # Meanwhile, the first tab continues offline, so only the browser has these clicks.
    first.saved()
    first.context.set_offline(True)
    first.click((1, 2))
    first.context.set_offline(False)
    second.button("Continue here").click()
    second.where("Image 1 of 6")
    second.ready()
    assert second.chosen() == ["A1", "A2"]
    first.heading("The study continues in another tab")
    # One click switches back each time.
    first.button("Continue here").click()
    first.where("Image 1 of 6")
    second.heading("The study continues in another tab")
    second.button("Continue here").click()
    second.where("Image 1 of 6")
    first.heading("The study continues in another tab")
    second.click((1, 3))
    second.confirm()
    second.explain_if_asked()
    second.images(range(2, 7))
    second.heading("Thank you. You are done.")
    progress, events = only(folder)
    assert progress.stage == "finished"
    assert clicks_of(events, 0) == [(1, 1), (1, 2), (1, 3)]
    first.button("Continue here").click()
    first.heading("Thank you. You are done.")
    assert second.errors == []


def test_event_with_a_lost_response_is_sent_again_and_stored_once(tmp_path: Path, visit: Visit) -> None:
    """Check that the page sends events again if only the server's response was lost."""
    folder = clicks_study(tmp_path)
    visitor = visit(folder)
    visitor.practice()
    visitor.saved()
    lost = []

    def lose(route: Route) -> None:
        if len(lost) < 2:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    visitor.page.route("**/api/events", lose)
    visitor.images(range(1, 3))
    visitor.saved()
    assert lost == [200, 200]
    progress, events = only(folder)
    assert len(progress.answers) == 2
    assert clicks_of(events, 0) == clicks_of(events, 1) == [(3, 2), (2, 4), (6, 10)]


@pytest.mark.parametrize("answer", [(503, "{}"), (429, "{}"), (200, "<html>Please log in to the hotel</html>")])
def test_page_retries_after_a_server_error(tmp_path: Path, visit: Visit, answer: tuple[int, str]) -> None:
    folder = clicks_study(tmp_path)
    visitor = visit(folder)
    visitor.practice()
    visitor.saved()
    status, body = answer
    visitor.page.route(
        "**/api/events", lambda route: route.fulfill(status=status, body=body, headers={"Retry-After": "1"}), times=2
    )
    visitor.click((1, 1), (2, 2))
    expect(visitor.page.locator("#saving")).to_have_text(NOT_SAVED)
    visitor.saved()
    expect(visitor.page.locator("#saving")).to_have_text("")
    assert clicks_of(only(folder)[1], 0) == [(1, 1), (2, 2)]


def test_page_loses_no_clicks_when_the_server_is_killed_and_restarted(tmp_path: Path, visit: Visit) -> None:
    folder, port = clicks_study(tmp_path), free_port()
    with serving_at(folder, port) as server:
        visitor = visit(folder, address=f"http://127.0.0.1:{port}")
        visitor.practice()
        visitor.images(range(1, 3))
        visitor.click((1, 1))
        os.kill(server.pid, signal.SIGKILL)
        server.wait(timeout=60)
        visitor.click((1, 2))
        expect(visitor.page.locator("#saving")).to_have_text(NOT_SAVED)
    with serving_at(folder, port):
        visitor.click((1, 3))
        visitor.confirm()
        visitor.explain_if_asked()
        visitor.images(range(4, 7))
        visitor.heading("Thank you. You are done.")
        progress, events = only(folder)
        assert progress.stage == "finished"
        assert clicks_of(events, 2) == [(1, 1), (1, 2), (1, 3)]


def test_page_adopts_the_state_of_the_server_if_it_is_behind(tmp_path: Path, visit: Visit) -> None:
    """Check that the page continues from the stored events after another client used the same cookie."""
    folder = clicks_study(tmp_path)
    visitor = visit(folder)
    visitor.practice()
    visitor.saved()
    cookies = {cookie["name"]: cookie["value"] for cookie in visitor.context.cookies()}
    seq = only(folder)[1][-1].seq
    with httpx.Client(base_url=visitor.address, cookies=cookies) as elsewhere:
        event = sent(seq + 1, "click", 0, 10.0, **middle(6, 6))
        assert elsewhere.post("/api/events", json={"events": [event]}).status_code == 200
    visitor.cell(1, 1).click()
    expect(visitor.page.locator(".slots li.filled")).to_have_text("1F6")
    visitor.ready()
    visitor.click((1, 1), (1, 2))
    visitor.confirm()
    visitor.explain_if_asked()
    visitor.where("Image 2 of 6")
    visitor.ready()
    visitor.saved()
    progress, _ = only(folder)
    assert [click.cell for click in progress.answers[0].answer.clicks] == [(6, 6), (1, 1), (1, 2)]


def test_page_without_cookies_shows_an_error(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(clicks_study(tmp_path))
    visitor.practice()
    visitor.where("Image 1 of 6")
    visitor.ready()
    visitor.saved()
    visitor.context.clear_cookies()
    visitor.cell(1, 1).click()
    visitor.heading("The study cannot continue in this browser")


def test_prolific_link_restores_a_participant_without_a_cookie(tmp_path: Path, visit: Visit) -> None:
    folder = clicks_study(tmp_path)
    visitor = visit(folder, query="?PROLIFIC_PID=p&STUDY_ID=s&SESSION_ID=1")
    visitor.practice()
    visitor.where("Image 1 of 6")
    visitor.ready()
    visitor.saved()
    visitor.context.clear_cookies()
    visitor.click((1, 1))
    visitor.saved()
    visitor.where("Image 1 of 6")
    visitor.ready()
    assert visitor.chosen() == ["A1"]
    assert clicks_of(only(folder)[1], 0) == [(1, 1)]
    visitor.context.clear_cookies()
    visitor.page.reload()
    visitor.where("Image 1 of 6")
    visitor.ready()
    assert visitor.chosen() == ["A1"]
    # Without cookies and local storage, the participant must consent again.
    visitor.context.clear_cookies()
    visitor.page.evaluate("localStorage.clear()")
    visitor.page.reload()
    visitor.heading("Spot the Ball")
    visitor.agree()
    visitor.where("Image 1 of 6")
    visitor.ready()
    assert visitor.chosen() == ["A1"]
    assert len(stored(folder)) == 1


def test_page_with_blocked_cookies_and_a_prolific_link_shows_an_error(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(clicks_study(tmp_path), query="?PROLIFIC_PID=p&STUDY_ID=s&SESSION_ID=1")

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


def test_deleted_participant_is_not_stored_again_by_their_link(tmp_path: Path, visit: Visit) -> None:
    folder, port = clicks_study(tmp_path), free_port()
    with serving_at(folder, port):
        visitor = visit(folder, address=f"http://127.0.0.1:{port}", query="?PROLIFIC_PID=p&STUDY_ID=s&SESSION_ID=1")
        visitor.agree()
        visitor.heading("Instructions")
    delete(folder, prolific="p")
    with serving_at(folder, port):
        visitor.page.reload()
        visitor.heading("Spot the Ball")
        assert stored(folder) == []


def test_unsent_clicks_of_one_participant_are_not_sent_for_another(tmp_path: Path, visit: Visit) -> None:
    """Check two participants at one computer: offline clicks of the first are not sent for the second."""
    folder = clicks_study(tmp_path)
    visitor = visit(folder, query="?PROLIFIC_PID=p1&STUDY_ID=s&SESSION_ID=1")
    visitor.practice()
    visitor.saved()
    visitor.context.set_offline(True)
    visitor.click((1, 1), (1, 2))
    visitor.page.close()
    visitor.context.set_offline(False)
    other = Visitor(visitor.context, visitor.address, "?PROLIFIC_PID=p2&STUDY_ID=s&SESSION_ID=2")
    other.practice()
    other.click((5, 5))
    other.until("document.querySelectorAll('.slots .filled').length === 1")
    expect(other.page.locator("#saving")).to_have_text("")
    other.page.close()
    back = Visitor(visitor.context, visitor.address, "?PROLIFIC_PID=p1&STUDY_ID=s&SESSION_ID=1")
    back.heading("Spot the Ball")
    back.agree()
    back.where("Image 1 of 6")
    back.ready()
    assert back.chosen() == ["A1", "A2"]
    back.saved()
    (_, of_first), (_, of_second) = stored(folder)
    assert clicks_of(of_first, 0) == [(1, 1), (1, 2)]
    assert clicks_of(of_second, 0) == [(5, 5)]
