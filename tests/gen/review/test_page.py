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
from tests.browsing import free_port, launched
from tests.gen.review.made import by_id, dataset, reviewing

pytestmark = [pytest.mark.browser, pytest.mark.slow]


# The scope is not the session, because no test can call asyncio.run while Playwright is running.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


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


def said(page: Page, verdict: str) -> None:
    expect(page.locator("#verdict")).to_have_text(verdict)


def at(page: Page, number: int) -> None:
    """Check that the page shows the image with this number, counted from 1."""
    expect(page.locator("#where")).to_contain_text(f"{number} of ")


def press(page: Page, *keys: str, to: int | None = None, verdict: str | None = None) -> None:
    """Press keys, and check that the page then shows the image with this number and this verdict."""
    for key in keys:
        page.keyboard.press(key)
    if to is not None:
        at(page, to)
    if verdict is not None:
        said(page, verdict)


def counted(page: Page, counts: str) -> None:
    expect(page.locator("#counts")).to_have_text(f"anna: {counts}")


def drag(page: Page, *corners: tuple[float, float]) -> None:
    """Draw a box with the mouse from one corner to the other."""
    page.mouse.move(*corners[0])
    page.mouse.down()
    page.mouse.move(*corners[1], steps=3)
    page.mouse.up()


def parts(page: Page) -> list[str]:
    return page.locator("figcaption").all_text_contents()


def stored(folder: Path) -> list[Decision | None]:
    """Return the stored decisions per image in review order."""
    with ReviewStore(folder) as store:
        found = store.decisions().get("anna", {})
    return [found.get(scene.key) for scene in scenes_of(folder)]


def first_decision(folder: Path) -> Decision:
    """Return the stored decision on the first image."""
    decision = stored(folder)[0]
    assert decision is not None
    return decision


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
        press(page, "a", "3", "ArrowDown", "Space", "m", "ArrowRight", "Shift+ArrowDown", "Enter", "n", to=4)
        counted(page, "1 accepted, 1 rejected, 1 to inpaint again, 1 undecided")
        first, second, third, last = stored(folder)
        assert (first, second) == (Decision("accept"), Decision("reject", "ball's place is wrong"))
        assert third is not None
        assert (third.verdict, third.unchecked) == ("repaint", ((scenes[2].players or ())[0].corners,))
        ball = scenes[2].ball_box
        assert ball is not None
        ((x1, y1, x2, y2),) = third.regions
        assert (x1, y1) == pytest.approx((ball[0] + 8, ball[3]))
        assert (x2 - x1, y2 - y1) == pytest.approx((ball[2] - ball[0], max((ball[3] - ball[1]) / 2, 8) + 8))
        assert last is None

        press(page, "Enter", verdict="Accepted")
        press(page, "p", "Delete", to=3, verdict="Not decided")
        press(page, "u", "u", to=4, verdict="Not decided")
        press(page, "Control+z", to=3, verdict="Not decided")
        expect(page.locator("#boxes input").first).not_to_be_checked()
        press(page, "Backspace", "u", "u", to=1, verdict="Not decided")
        expect(page.locator("#undo")).to_be_disabled()
        press(page, "u")
        counted(page, "0 accepted, 0 rejected, 0 to inpaint again, 4 undecided")
    assert stored(folder) == [None] * 4


def test_review_with_the_mouse_stores_decisions_and_regions(tmp_path: Path, browser: Any) -> None:
    folder = dataset(tmp_path, images=2)
    scene = scenes_of(folder)[0]
    with reviewing(folder) as (link, _), looking(browser, link) as page:
        page.locator("rect.player").first.click(force=True)
        expect(page.locator("rect.unchecked")).to_have_count(1)
        for count in (0, 1):
            page.get_by_role("checkbox").first.click()
            expect(page.locator("rect.unchecked")).to_have_count(count)
        page.get_by_role("button", name="Mark a region").click()
        edges = page.locator("svg").bounding_box()
        assert edges
        scale = edges["width"] / scene.width
        drag(page, *((edges["x"] + x * scale, edges["y"] + y * scale) for x, y in ((220, 110), (100, 50))))
        said(page, "Inpaint again")
        decision = first_decision(folder)
        assert decision.regions[0] == pytest.approx((100, 50, 220, 110), abs=1.5)
        assert decision.unchecked == ((scene.players or ())[0].corners,)
        # Keys still work after mouse actions.
        page.get_by_role("button", name="blurred").click()
        at(page, 2)
        press(page, "Enter", verdict="Accepted")
        page.get_by_role("button", name="Previous").click()
        said(page, "Rejected: blurred")
        press(page, "Space", verdict="Rejected: blurred")
    first, second = stored(folder)
    assert (first, second) == (Decision("reject", "blurred", decision.unchecked), Decision("accept"))


def test_review_survives_a_page_reload_and_a_killed_server(tmp_path: Path, browser: Any) -> None:
    folder, port = dataset(tmp_path), free_port()
    with reviewing(folder, port=port) as (link, child), looking(browser, link) as page:
        press(page, "a", "1", to=3)
        page.reload()
        at(page, 3)
        expect(page.locator("#counts")).to_contain_text("1 accepted, 1 rejected")
        press(page, "u", to=2)
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
            counted(page, "1 accepted, 0 rejected, 0 to inpaint again, 3 undecided")
            press(page, "a", "a", to=4)
    assert [one and one.verdict for one in stored(folder)] == ["accept", "accept", "accept", None]


def test_review_in_two_tabs_reports_a_conflict(tmp_path: Path, browser: Any) -> None:
    folder = dataset(tmp_path)
    with reviewing(folder) as (link, _), looking(browser, link) as one, looking(browser, link) as other:
        press(one, "a", to=2)
        press(other, "9")
        expect(other.locator("#trouble")).to_contain_text("changed in another place")
        other.reload()
        at(other, 2)
        expect(other.locator("#trouble")).to_be_hidden()
        press(other, "9", to=3)
    assert stored(folder)[:3] == [Decision("accept"), Decision("reject", "other"), None]


def test_review_page_escapes_html_in_image_and_reviewer_names(tmp_path: Path, browser: Any) -> None:
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
        decision = first_decision(folder)
        assert (decision.verdict, decision.unchecked, decision.regions) == (None, (), ())
        ball = scene.ball_box
        assert ball is not None
        (box,) = decision.added
        assert box[:2] == pytest.approx((ball[0] + 8, ball[3]))
        # A detected box that is moved 16 pixels down is unchecked, and added at the new place.
        press(page, "ArrowDown", "v", "ArrowDown", "ArrowDown", "Enter")
        expect(page.locator("rect.added")).to_have_count(2)
        decision = first_decision(folder)
        assert decision.unchecked == (players[0].corners,)
        x1, y1, x2, y2 = players[0].corners
        assert decision.added[1] == pytest.approx((x1, min(y1 + 16, 360 - (y2 - y1)), x2, min(y2 + 16, 360)))
        # Moving the added box again does not create another one, and unchecking removes it.
        press(page, "v", "ArrowUp", "Enter")
        expect(page.locator("rect.added.chosen")).to_have_count(1)
        press(page, "Space")
        expect(page.locator("rect.added")).to_have_count(1)
        press(page, "u", "a", to=2)
        decision = first_decision(folder)
        assert (decision.verdict, len(decision.added)) == ("accept", 2)
    applied = apply_review(folder)
    assert (applied.boxes, applied.added) == (1, 2)
    (after,) = (one for one in read_scenes(folder / "scenes.jsonl") if one.key == scene.key)
    assert after.players is not None
    assert [box.corners for box in after.players] == [*(box.corners for box in players[1:]), *decision.added]


def test_review_page_keeps_box_coordinates_when_zoomed_and_switches_pictures_with_keys(
    tmp_path: Path, browser: Any
) -> None:
    folder = dataset(tmp_path, images=2)
    ball = scenes_of(folder)[0].ball_box
    with reviewing(folder) as (link, _), looking(browser, link) as page:
        whole = page.locator("rect.ball").bounding_box() or {}
        press(page, "z", "z")
        expect(page.locator("#times")).to_have_text("4×")
        large = page.locator("rect.ball").bounding_box() or {}
        assert large["width"] == pytest.approx(4 * whole["width"], rel=0.1)
        # The picture is enlarged like the boxes: it is four times as wide as its frame.
        image, frame = (page.locator(name).first.bounding_box() or {} for name in ("figure img", ".frame"))
        assert image["width"] == pytest.approx(4 * frame["width"], rel=0.01)
        # A box drawn around the ball on the screen has the coordinates of the ball.
        press(page, "d")
        drag(page, (large["x"], large["y"]), (large["x"] + large["width"], large["y"] + large["height"]))
        expect(page.locator("rect.added")).to_have_count(1)
        assert first_decision(folder).added[0] == pytest.approx(ball, abs=1.5)
        page.mouse.wheel(0, 100)
        expect(page.locator("#times")).to_have_text("2×")
        press(page, "z", "z")
        expect(page.locator("#times")).to_have_text("8×")
        press(page, "z")
        expect(page.locator("#times")).to_have_text("1×")

        assert parts(page) == ["without ball"]
        press(page, "b")
        assert parts(page) == ["with ball"]
        press(page, "s")
        assert parts(page) == ["with ball", "without ball"]
        expect(page.locator("rect.ball")).to_have_count(2)
        press(page, "o")
        expect(page.locator("rect")).to_have_count(0)
        press(page, "o", "ArrowRight", to=2)
        assert parts(page) == ["with ball", "without ball"]
        press(page, "s")
        assert parts(page) == ["without ball"]
        # Each picture is loaded and has its original aspect ratio.
        page.wait_for_function("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
        sizes = page.locator("img").evaluate_all("all => all.map(i => [i.naturalWidth, i.width / i.height])")
        assert sizes
        assert all(size == [640, pytest.approx(640 / 360, rel=0.01)] for size in sizes)


def test_small_images_show_the_decisions_around_the_current_image_and_open_an_image(
    browser: Any, tmp_path: Path
) -> None:
    with reviewing(dataset(tmp_path, images=12)) as (link, _), looking(browser, link) as page:
        small = page.locator("#near button")
        expect(small).to_have_count(10)
        expect(small.first).to_have_attribute("aria-current", "true")
        press(page, "a", to=2)
        press(page, "1", to=3)
        classes = [page.locator("#near li").nth(place).get_attribute("class") for place in range(3)]
        assert classes == ["accept", "reject", ""]
        small.nth(8).click()
        at(page, 9)
        # The images around number 9 of 12 are numbers 3 to 12.
        expect(small.nth(6)).to_have_attribute("aria-current", "true")
        press(page, "ArrowRight", to=10)
