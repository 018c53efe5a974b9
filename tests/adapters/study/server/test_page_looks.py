"""Test size, layout, colors and accessibility of the page in a real browser."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image

from spotball_core.grid import Grid
from tests.adapters.study.browsing import Route, Visit, Visitor, box, choice_study, clicks_study, expect, fits

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SIZES = {
    "small phone": {"width": 360, "height": 740},
    "phone held sideways": {"width": 740, "height": 360},
    "tablet": {"width": 820, "height": 1180},
    "laptop": {"width": 1280, "height": 720},
    "4K": {"width": 3840, "height": 2160},
}


def screens(visitor: Visitor, look: Callable[[str], None]) -> None:
    """Go through a clicks study, and call `look` on every screen."""
    visitor.heading("Spot the Ball")
    look("consent")
    visitor.agree("Instructions")
    look("instructions")
    visitor.button("Try it").click()
    visitor.ready()
    look("practice")
    visitor.click((3, 2), (3, 2), (1, 1))
    look("practice, all chosen")
    visitor.confirm()
    visitor.feedback("The ball was in C2.")
    look("feedback")
    visitor.button("Start").click()
    for number in range(1, 7):
        visitor.where(f"Image {number} of 6")
        visitor.click((1, 1), (6, 10))
        if number == 1:
            look("an image")
        visitor.click((3, 5))
        visitor.confirm()
        visitor.after_confirming()
        if visitor.page.get_by_role("textbox").count():
            look("explanation")
            visitor.explain_if_asked()
    visitor.ends()
    look("the end")


def test_page_is_smaller_than_100_kb_and_loads_only_from_its_own_host(visitor: Visitor) -> None:
    weights: dict[str, int] = {}

    def weigh(route: Route) -> None:
        reply = route.fetch()
        weights[route.request.url] = len(reply.body())
        route.fulfill(response=reply)

    visitor.context.route("**/*", weigh)
    visitor.page.reload()
    screens(visitor, lambda _: None)
    assert {urlsplit(url).netloc for url in weights} == {urlsplit(visitor.address).netloc}
    paths = {urlsplit(url).path: weight for url, weight in weights.items()}
    page = {path: weight for path, weight in paths.items() if path == "/" or path.startswith("/static/")}
    assert {"/", "/static/app.js", "/static/style.css", "/static/icon.svg"} <= page.keys()
    assert sum(page.values()) < 100_000
    # All other requests are for pictures or the study's API.
    assert all(path.startswith(("/api/", "/images/")) for path in paths.keys() - page.keys())


@pytest.mark.parametrize("size", SIZES)
def test_every_screen_fits_the_window(tmp_path: Path, visit: Visit, size: str) -> None:
    visitor = visit(clicks_study(tmp_path), viewport=SIZES[size])

    def look(screen: str) -> None:
        fits(visitor.page)
        if screen in ("practice", "practice, all chosen", "an image", "feedback", "explanation"):
            # The whole picture and all controls must be visible without scrolling.
            grid = visitor.page.get_by_role("grid")
            for one in (grid, *visitor.page.locator(".foot button, .foot textarea").all()):
                at = box(one)
                assert min(at["x"], at["y"]) >= 0
                assert at["x"] + at["width"] <= SIZES[size]["width"]
                assert at["y"] + at["height"] <= SIZES[size]["height"], screen
            at = box(grid)
            assert at["width"] / at["height"] == pytest.approx(640 / 360, rel=0.02)
            assert at["width"] > 0.4 * SIZES[size]["width"]

    screens(visitor, look)


@pytest.mark.parametrize("size", [{"width": 640, "height": 400}, {"width": 640, "height": 360}, *SIZES.values()])
def test_labels_of_chosen_cells_are_on_one_line(tmp_path: Path, visit: Visit, size: dict[str, int]) -> None:
    visitor = visit(clicks_study(tmp_path), viewport=size)
    visitor.try_it()
    visitor.click((1, 10), (6, 10), (4, 10))
    for label in visitor.page.locator(".slots span").all():
        lines = "node => { const range = document.createRange(); range.selectNodeContents(node);"
        assert label.evaluate(f"{lines} return range.getClientRects().length; }}") == 1
        inner, outer = box(label), box(label.locator(".."))
        assert outer["x"] <= inner["x"]
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"]


def test_first_load_reports_nothing_in_the_console(tmp_path: Path, visit: Visit) -> None:
    visitor = visit(clicks_study(tmp_path))
    said: list[str] = []
    page = visitor.context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("response", lambda answer: said.append(answer.url) if answer.status >= 400 else None)
    page.goto(visitor.address)
    expect(page.get_by_role("checkbox")).to_be_visible()
    assert said == []


@pytest.mark.parametrize("size", ["small phone", "laptop"])
def test_layout_does_not_shift_while_pictures_load_or_after_clicks(tmp_path: Path, visit: Visit, size: str) -> None:
    visitor = visit(clicks_study(tmp_path), viewport=SIZES[size])
    page = visitor.page
    page.add_init_script(
        "window.shifts = []; new PerformanceObserver((list) => list.getEntries().forEach((entry) => {"
        " if (!entry.hadRecentInput) window.shifts.push(entry.value); }))"
        ".observe({ type: 'layout-shift', buffered: true });"
    )
    held: list[Route] = []
    page.route("**/images/*", lambda route: held.append(route))
    page.reload()
    example = visitor.context.request.get(f"{visitor.address}/api/study").json()["example"]

    def arrive(*, of_example: bool) -> None:
        for route in list(held):
            if (urlsplit(route.request.url).path.lstrip("/") in example.values()) == of_example:
                held.remove(route)
                route.continue_()

    def places() -> list[Any]:
        return [one.bounding_box() for one in page.locator(".frame, .grid, .foot button, .slots li, h1").all()]

    visitor.agree("Instructions")
    example_and_button = page.locator("figure img, button")
    before = [one.bounding_box() for one in example_and_button.all()]
    assert len(before) == 3
    page.wait_for_timeout(200)
    arrive(of_example=True)
    visitor.until("[...document.images].every((image) => image.complete && image.naturalWidth)")
    assert [one.bounding_box() for one in example_and_button.all()] == before
    visitor.button("Try it").click()
    expect(page.locator(".grid[aria-busy]")).to_be_visible()
    waiting = places()
    arrive(of_example=False)
    page.unroute("**/images/*")
    visitor.ready()
    assert places() == waiting
    for cell in ((1, 1), (6, 10), (6, 10)):
        visitor.click(cell)
        assert places() == waiting
    visitor.confirm()
    visitor.button("Start").click()
    visitor.finish()
    assert sum(page.evaluate("() => window.shifts")) == 0


def test_page_prefetches_the_pictures_of_the_next_images(visitor: Visitor) -> None:
    visitor.practice()
    asked: list[str] = []
    visitor.page.on("request", lambda request: asked.append(request.url))
    visitor.page.wait_for_load_state("networkidle")
    asked.clear()
    visitor.images(range(1, 2))
    visitor.image(2)
    shown = visitor.page.locator(".frame img").get_attribute("src")
    assert f"{visitor.address}/{shown}" not in asked
    # The page requests only one picture in advance: the next one that is not yet loaded.
    assert sum("/images/" in url for url in asked) == 1


CONTRASTS = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)];
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    if (!node) return [255, 255, 255];
    const color = parse(getComputedStyle(node).backgroundColor);
    return color[3] === 0 ? ground(node.parentElement) : over(color, ground(node.parentElement));
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    // Labels on the picture have a rim of their own.
    if (!walker.currentNode.data.trim() || node.closest('.grid span, script, .unseen')) continue;
    if (!node.checkVisibility()) continue;
    const below = ground(node), style = getComputedStyle(node), text = over(parse(style.color), below);
    const [a, b] = [luminance(text), luminance(below)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    found.push([(a + 0.05) / (b + 0.05), large ? 3 : 4.5, walker.currentNode.data.trim()]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_wcag_aa_contrast(tmp_path: Path, visit: Visit, scheme: str) -> None:
    visitor = visit(clicks_study(tmp_path), color_scheme=scheme)
    seen = set()

    def look(screen: str) -> None:
        texts = visitor.page.evaluate(CONTRASTS)
        assert texts
        for contrast, wanted, text in texts:
            assert contrast >= wanted, (screen, text)
            seen.add(text)

    screens(visitor, look)
    # All participants see images on the same background, in light and dark mode.
    ground = visitor.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    assert {"Undo", "Confirm", "Practice", "Instructions", "Take part"} <= seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_of_a_choice_study_has_wcag_aa_contrast(tmp_path: Path, visit: Visit, scheme: str) -> None:
    visitor = visit(choice_study(tmp_path), color_scheme=scheme)
    visitor.try_it()
    texts = visitor.page.evaluate(CONTRASTS)
    visitor.press("1")
    expect(visitor.button("Start")).to_be_visible()
    texts += visitor.page.evaluate(CONTRASTS)
    assert [(text, contrast) for contrast, wanted, text in texts if contrast < wanted] == []
    assert {"cup", "vase", "bowl"} <= {text for _, _, text in texts}


@pytest.mark.parametrize("ground", [0, 128, 255])
def test_cell_labels_are_legible_on_black_gray_and_white(visitor: Visitor, ground: int) -> None:
    content = io.BytesIO()
    Image.new("RGB", (640, 360), (ground,) * 3).save(content, "PNG")
    visitor.page.route("**/images/*", lambda route: route.fulfill(body=content.getvalue(), content_type="image/png"))
    visitor.page.reload()
    visitor.try_it()
    grid = visitor.page.get_by_role("grid")
    labels = grid.locator("span").all_text_contents()
    assert labels == list(Grid.standard().labels)
    with Image.open(io.BytesIO(grid.screenshot())) as image:
        pixels = np.asarray(image.convert("L")).astype(int)
    height, width = pixels.shape[0] / 6, pixels.shape[1] / 10
    for row in range(6):
        for col in range(10):
            y, x = round(row * height), round(col * width)
            inside = pixels[y + 3 : y + round(0.45 * height), x + 3 : x + round(0.6 * width)]
            assert np.ptp(inside) >= 150
            # The rest of the cell is empty.
            rest = pixels[y + round(0.5 * height) : y + round(height) - 3, x + 3 : x + round(width) - 3]
            if (row, col) != (0, 0):  # this cell has the focus
                assert np.ptp(rest) <= 3


@pytest.mark.parametrize("width", [360, 390, 430])
def test_row_and_column_names_surround_a_small_picture(tmp_path: Path, visit: Visit, width: int) -> None:
    """Check the names outside a small picture, where labels in cells would cover players."""
    visitor = visit(clicks_study(tmp_path), viewport={"width": width, "height": 844})
    visitor.try_it()
    expect(visitor.page.locator(".grid span").first).to_be_hidden()
    for side, names in {"left": "ABCDEF", "right": "ABCDEF", "above": range(1, 11), "below": range(1, 11)}.items():
        shown = visitor.page.locator(f".name.{side}")
        assert shown.all_text_contents() == [str(name) for name in names]
        for one in shown.all():
            expect(one).to_be_visible()
    # Each name is centered above its column.
    for number in range(1, 11):
        name = box(visitor.page.locator(".name.above").nth(number - 1))
        cell = box(visitor.cell(1, number))
        assert name["x"] + name["width"] / 2 == pytest.approx(cell["x"] + cell["width"] / 2, abs=1)
        assert name["y"] + name["height"] <= cell["y"] + 2


def test_page_has_aria_roles_accessible_names_and_focus_order_and_respects_reduced_motion(visitor: Visitor) -> None:
    page = visitor.page
    expect(page.get_by_role("heading", name="Spot the Ball")).to_be_focused()
    expect(page.get_by_role("checkbox")).to_have_accessible_name("I have read this and agree to take part.")
    visitor.practice()
    expect(page.locator("#live")).to_have_text("Image 1 of 6")
    grid = page.get_by_role("grid")
    expect(grid).to_have_accessible_name("The image, with 6 rows and 10 columns. Choose three cells.")
    assert grid.get_by_role("row").count() == 6
    expect(visitor.cell(3, 5)).to_have_accessible_name("row C, column 5")
    expect(visitor.cell(3, 5)).to_have_attribute("aria-selected", "false")
    bar = page.get_by_role("progressbar")
    expect(bar).to_have_accessible_name("Progress")
    expect(bar).to_have_attribute("aria-valuetext", "0 of 6 images done")
    expect(page.get_by_role("list", name="Your guesses")).to_be_visible()

    # The grid is one tab stop before the buttons, and arrow keys move within it.
    expect(visitor.cell(1, 1)).to_be_focused()
    visitor.press("ArrowDown", "ArrowDown", *["ArrowRight"] * 4)
    expect(visitor.cell(3, 5)).to_be_focused()
    visitor.press("Enter")
    expect(page.locator("#live")).to_have_text("Row C, column 5 chosen. Two choices left.")
    expect(visitor.cell(3, 5)).to_have_accessible_name("row C, column 5, guess 1")
    expect(visitor.cell(3, 5)).to_have_attribute("aria-selected", "true")
    visitor.press("Tab")
    expect(visitor.button("Undo")).to_be_focused()
    visitor.press("Tab")
    expect(visitor.button("Confirm")).to_be_focused()
    visitor.press("Shift+Tab", "Enter")
    expect(page.locator("#live")).to_have_text("Row C, column 5 removed.")
    expect(visitor.button("Undo")).to_be_focused()
    visitor.press("Shift+Tab")
    expect(visitor.cell(3, 5)).to_be_focused()
    for key, cell in {"End": (3, 10), "PageDown": (6, 10), "Control+Home": (1, 1), "ArrowUp": (1, 1)}.items():
        visitor.press(key)
        expect(visitor.cell(*cell)).to_be_focused()
    # A screen reader clicks by calling `click()`.
    visitor.cell(2, 3).evaluate("(cell) => cell.click()")
    assert visitor.chosen() == ["B3"]
    # The progress bar advances with each image.
    visitor.answer((1, 1), (1, 1))
    expect(bar).to_have_attribute("aria-valuetext", "1 of 6 images done")
    moves = "() => getComputedStyle(document.querySelector('#progress div')).transitionDuration"
    assert page.evaluate(moves) == "0.3s"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(moves) == "0s"


@pytest.mark.parametrize("width", [390, 1280])
def test_not_saved_message_neither_covers_nor_moves_other_elements(tmp_path: Path, visit: Visit, width: int) -> None:
    folder = clicks_study(tmp_path, **{"explanations = 1": "explanations = 4"})
    visitor = visit(folder, viewport={"width": width, "height": 844})
    visitor.practice()
    # The first image is never a check, so it must be explained.
    visitor.click((3, 3), (3, 3), (3, 3))
    visitor.confirm()
    visitor.after_confirming()
    others = visitor.page.locator("textarea, .foot button, .frame, h1, #where")
    before = [one.bounding_box() for one in others.all()]
    visitor.page.route("**/api/events", lambda route: route.abort())
    visitor.page.get_by_role("textbox").fill("They all look to the left.")
    assert [one.bounding_box() for one in others.all()] == before
    visitor.button("Continue").click()
    saving = visitor.page.locator("#saving")
    expect(saving).to_have_text("Not saved yet, trying again …")
    at = box(saving)
    assert at["x"] + at["width"] <= width
    assert saving.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    for place in map(box, others.all()):
        assert place["y"] >= at["y"] + at["height"] or place["x"] + place["width"] <= at["x"]
