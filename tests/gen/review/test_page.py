"""Test the review page in a real browser: keyboard and mouse actions, and the stored decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="needs Playwright, of the dev extra")

from playwright.sync_api import Page, expect

from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from spotball_gen.review.apply import apply_review
from spotball_gen.review.store import Decision, ReviewStore
from tests.browsing import free_port
from tests.gen.review.made import by_id, dataset, reviewing

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@contextmanager
def looking(browser: Any, link: str, **context: Any) -> Iterator[Page]:
    """Open the page by its link, and check that it has no errors and no requests to other hosts."""
    opened = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **context})
    opened.set_default_timeout(15_000)
    page = opened.new_page()
    errors: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(link)
    expect(page.locator("figure img").first).to_be_visible()
    try:
        yield page
    finally:
        opened.close()
    address = link.partition("/?")[0]
    assert not [url for url in asked if not url.startswith(f"{address}/")]
    assert errors == []


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def at(page: Page, number: int) -> None:
    """Check that the page shows the image with this number, counted from 1."""
    expect(page.locator("#where")).to_contain_text(f"{number} of ")


def said(page: Page, verdict: str) -> None:
    expect(page.locator("#verdict")).to_have_text(verdict)


def parts(page: Page) -> list[str]:
    return page.locator("figcaption").all_text_contents()


def stored(folder: Path, reviewer: str = "anna") -> list[Decision | None]:
    """Return the stored decisions per image in review order."""
    with ReviewStore(folder) as store:
        found = store.decisions().get(reviewer, {})
    return [found.get(scene.key) for scene in scenes_of(folder)]


def scenes_of(folder: Path) -> list[Scene]:
    return by_id(read_scenes(folder / "scenes.jsonl"))


def test_review_with_the_keyboard_stores_and_undoes_decisions(tmp_path: Path, browser: Any) -> None:
    folder = dataset(tmp_path)
    scenes = scenes_of(folder)
    with reviewing(folder) as (link, _), looking(browser, link) as page:
        assert "token" not in page.url
        at(page, 1)
        said(page, "Not decided")
        # Keys arrive faster than decisions are stored, and must still be handled in order.
        press(page, "a", "3", "ArrowDown", "Space", "m", "ArrowRight", "Shift+ArrowDown", "Enter", "n")
        at(page, 4)
        expect(page.locator("#counts")).to_have_text("anna: 1 accepted, 1 rejected, 1 to inpaint again, 1 undecided")
        first, second, third, last = stored(folder)
        assert first == Decision("accept")
        assert second == Decision("reject", "ball's place is wrong")
        assert third is not None
        assert third.verdict == "repaint"
        assert third.unchecked == ((scenes[2].players or ())[0].corners,)
        ball = scenes[2].ball_box
        assert ball is not None
        ((x1, y1, x2, y2),) = third.regions
        assert (x1, y1) == pytest.approx((ball[0] + 8, ball[3]))
        assert (x2 - x1, y2 - y1) == pytest.approx((ball[2] - ball[0], max((ball[3] - ball[1]) / 2, 8) + 8))
        assert last is None

        press(page, "Enter")
        said(page, "Accepted")
        press(page, "p", "Delete")
        at(page, 3)
        said(page, "Not decided")
        press(page, "u", "u")
        at(page, 4)
        said(page, "Not decided")
        press(page, "Control+z")
        at(page, 3)
        expect(page.locator("#boxes input").first).not_to_be_checked()
        said(page, "Not decided")
        press(page, "Backspace", "u", "u")
        at(page, 1)
        said(page, "Not decided")
        expect(page.locator("#undo")).to_be_disabled()
        press(page, "u")
        expect(page.locator("#counts")).to_have_text("anna: 0 accepted, 0 rejected, 0 to inpaint again, 4 undecided")
    assert stored(folder) == [None] * 4


def test_keys_switch_between_images_with_and_without_the_ball(tmp_path: Path, browser: Any) -> None:
    folder = dataset(tmp_path, images=2)
    with reviewing(folder) as (link, _), looking(browser, link) as page:
        assert parts(page) == ["without ball"]
        press(page, "b")
        assert parts(page) == ["with ball"]
        press(page, "s")
        assert parts(page) == ["with ball", "without ball"]
        expect(page.locator("rect.ball")).to_have_count(2)
        press(page, "o")
        expect(page.locator("rect")).to_have_count(0)
        press(page, "o", "ArrowRight")
        at(page, 2)
        assert parts(page) == ["with ball", "without ball"]
        press(page, "s")
        assert parts(page) == ["without ball"]
        # Each picture is loaded and has its original aspect ratio.
        page.wait_for_function("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
        for width, height in page.locator("img").evaluate_all(
            "all => all.map(i => [i.naturalWidth, i.width / i.height])"
        ):
            assert (width, height) == (640, pytest.approx(640 / 360, rel=0.01))


def test_review_with_the_mouse_stores_decisions_and_regions(tmp_path: Path, browser: Any) -> None:
    folder = dataset(tmp_path, images=2)
    scene = scenes_of(folder)[0]
    with reviewing(folder) as (link, _), looking(browser, link) as page:
        page.locator("rect.player").first.click(force=True)
        expect(page.locator("rect.unchecked")).to_have_count(1)
        page.get_by_role("checkbox").first.click()
        expect(page.locator("rect.unchecked")).to_have_count(0)
        page.get_by_role("checkbox").first.click()
        expect(page.locator("rect.unchecked")).to_have_count(1)
        page.get_by_role("button", name="Mark a region").click()
        edges = page.locator("svg").bounding_box()
        assert edges
        scale = edges["width"] / scene.width
        corners = [(100, 50), (220, 110)]
        (x1, y1), (x2, y2) = ((edges["x"] + x * scale, edges["y"] + y * scale) for x, y in corners)
        page.mouse.move(x2, y2)
        page.mouse.down()
        page.mouse.move(x1, y1, steps=3)
        page.mouse.up()
        said(page, "Inpaint again")
        decision = stored(folder)[0]
        assert decision is not None
        assert decision.regions[0] == pytest.approx((100, 50, 220, 110), abs=1.5)
        assert decision.unchecked == ((scene.players or ())[0].corners,)
        # Keys still work after mouse actions.
        page.get_by_role("button", name="blurred").click()
        at(page, 2)
        press(page, "Enter")
        said(page, "Accepted")
        page.get_by_role("button", name="Previous").click()
        said(page, "Rejected: blurred")
        press(page, "Space")
        said(page, "Rejected: blurred")
    first, second = stored(folder)
    assert first == Decision("reject", "blurred", decision.unchecked)
    assert second == Decision("accept")


def test_review_survives_a_page_reload_and_a_killed_server(tmp_path: Path, browser: Any) -> None:
    folder, port = dataset(tmp_path), free_port()
    with reviewing(folder, port=port) as (link, child), looking(browser, link) as page:
        press(page, "a", "1")
        at(page, 3)
        page.reload()
        at(page, 3)
        expect(page.locator("#counts")).to_contain_text("1 accepted, 1 rejected")
        press(page, "u")
        at(page, 2)
        child.kill()
        child.wait(timeout=60)
        press(page, "a")
        expect(page.locator("#trouble")).to_contain_text("Not stored yet")
        # A decision that is not stored is not shown as stored.
        at(page, 2)
        said(page, "Not decided")
        with reviewing(folder, port=port) as (again, _):
            expect(page.locator("#trouble")).to_contain_text("open the link")
            page.goto(again)
            at(page, 2)
            expect(page.locator("#counts")).to_have_text(
                "anna: 1 accepted, 0 rejected, 0 to inpaint again, 3 undecided"
            )
            press(page, "a", "a")
            at(page, 4)
    assert [one and one.verdict for one in stored(folder)] == ["accept", "accept", "accept", None]


def test_review_in_two_tabs_reports_a_conflict(tmp_path: Path, browser: Any) -> None:
    folder = dataset(tmp_path)
    with reviewing(folder) as (link, _), looking(browser, link) as one, looking(browser, link) as other:
        press(one, "a")
        at(one, 2)
        press(other, "9")
        expect(other.locator("#trouble")).to_contain_text("changed in another place")
        other.reload()
        at(other, 2)
        expect(other.locator("#trouble")).to_be_hidden()
        press(other, "9")
        at(other, 3)
    assert stored(folder)[:3] == [Decision("accept"), Decision("reject", "other"), None]


def test_review_page_escapes_names(tmp_path: Path, browser: Any) -> None:
    folder = dataset(tmp_path, images=1)
    line = json.loads((folder / "scenes.jsonl").read_text())
    name = "<img src=x onerror=alert(1)>"
    (folder / "scenes.jsonl").write_text(json.dumps({**line, "image": name}))
    with reviewing(folder, reviewer="<b>x</b>") as (link, _), looking(browser, link) as page:
        expect(page.locator("#where")).to_contain_text(name)
        expect(page.locator("#counts")).to_contain_text("<b>x</b>")


def test_review_page_adds_moves_and_removes_boxes(tmp_path: Path, browser: Any) -> None:
    folder = dataset(tmp_path)
    scene = scenes_of(folder)[0]
    players = scene.players or ()
    with reviewing(folder) as (link, _), looking(browser, link) as page:
        # Add a box below the ball with keys, one step to the right.
        press(page, "d", "ArrowRight", "Enter")
        expect(page.locator("rect.added")).to_have_count(1)
        decision = stored(folder)[0]
        assert decision is not None
        assert (decision.verdict, decision.unchecked, decision.regions) == (None, (), ())
        ball = scene.ball_box
        assert ball is not None
        (box,) = decision.added
        assert box[:2] == pytest.approx((ball[0] + 8, ball[3]))
        # A detected box that is moved 16 pixels down is unchecked, and added at the new place.
        press(page, "ArrowDown", "v", "ArrowDown", "ArrowDown", "Enter")
        expect(page.locator("rect.added")).to_have_count(2)
        decision = stored(folder)[0]
        assert decision is not None
        assert decision.unchecked == (players[0].corners,)
        x1, y1, x2, y2 = players[0].corners
        assert decision.added[1] == pytest.approx((x1, min(y1 + 16, 360 - (y2 - y1)), x2, min(y2 + 16, 360)))
        # Moving the added box again does not create another one, and unchecking removes it.
        press(page, "v", "ArrowUp", "Enter")
        expect(page.locator("rect.added.chosen")).to_have_count(1)
        press(page, "Space")
        expect(page.locator("rect.added")).to_have_count(1)
        press(page, "u", "a")
        at(page, 2)
        decision = stored(folder)[0]
        assert decision is not None
        assert decision.verdict == "accept"
        assert len(decision.added) == 2
    applied = apply_review(folder)
    assert (applied.boxes, applied.added) == (1, 2)
    (after,) = (one for one in read_scenes(folder / "scenes.jsonl") if one.key == scene.key)
    assert after.players is not None
    assert [box.corners for box in after.players] == [*(box.corners for box in players[1:]), *decision.added]


def test_zoom_enlarges_the_ball_and_boxes_drawn_in_it_have_correct_coordinates(tmp_path: Path, browser: Any) -> None:
    folder = dataset(tmp_path)
    scene = scenes_of(folder)[0]
    ball = scene.ball_box
    assert ball is not None
    with reviewing(folder) as (link, _), looking(browser, link) as page:
        whole = page.locator("rect.ball").bounding_box()
        press(page, "z", "z")
        expect(page.locator("#times")).to_have_text("4×")
        large = page.locator("rect.ball").bounding_box()
        assert whole is not None
        assert large is not None
        assert large["width"] == pytest.approx(4 * whole["width"], rel=0.1)
        # The picture is enlarged like the boxes: it is four times as wide as its frame.
        image, frame = (page.locator(name).first.bounding_box() for name in ("figure img", ".frame"))
        assert image is not None
        assert frame is not None
        assert image["width"] == pytest.approx(4 * frame["width"], rel=0.01)
        # A box drawn around the ball on the screen has the coordinates of the ball.
        press(page, "d")
        page.mouse.move(large["x"], large["y"])
        page.mouse.down()
        page.mouse.move(large["x"] + large["width"], large["y"] + large["height"])
        page.mouse.up()
        expect(page.locator("rect.added")).to_have_count(1)
        decision = stored(folder)[0]
        assert decision is not None
        assert decision.added[0] == pytest.approx(ball, abs=1.5)
        page.mouse.wheel(0, 100)
        expect(page.locator("#times")).to_have_text("2×")
        press(page, "z", "z")
        expect(page.locator("#times")).to_have_text("8×")
        press(page, "z")
        expect(page.locator("#times")).to_have_text("1×")
