"""Test the page in a browser: layout, script functions, and that it loads and stores nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browsing import launched
from tests.report.conftest import Written

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture
def opened(browser: Any, written: Written) -> Iterator[Any]:
    """Yield the opened page, and check that it logs no messages, sends no requests and stores nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.complaints.append(request.url) if "report.html" not in request.url else 0)
    page.goto((written.out / "report.html").as_uri())
    yield page
    assert page.complaints == []
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    context.close()


@pytest.mark.parametrize("width", [360, 400, 1280])
@pytest.mark.parametrize("script", [True, False])
def test_page_with_all_details_open_fits_the_screen_width(
    browser: Any, written: Written, width: int, script: bool
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, java_script_enabled=script)
    page = context.new_page()
    page.goto((written.out / "report.html").as_uri())
    if script:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("details.image").count() == 6
    assert page.locator("#explorer button").count() == (2 if script else 0)
    context.close()


def column(page: Any, table: str, place: int) -> list[list[str]]:
    """Return the texts of a column, for each sport."""
    return page.evaluate(
        """([name, place]) => [...document.getElementById(`${name}-caption`).closest("table").tBodies].map((body) =>
        [...body.rows].filter((row) => !row.hidden && !row.querySelector("th.sport"))
          .map((row) => row.cells[place].textContent.trim()))""",
        [table, place],
    )


def table_of(page: Any, name: str) -> Any:
    return page.locator(f"#{name}-caption").locator("xpath=ancestor::table")


def test_table_sorts_rows_within_sports_and_shows_only_rows_that_match_the_filter(opened: Any) -> None:
    head = table_of(opened, "headline").get_by_role("button", name="Accuracy (%)")
    for direction, reverse in (("descending", True), ("ascending", False)):
        head.click()
        assert head.locator("xpath=..").get_attribute("aria-sort") == direction
        for sport in column(opened, "headline", 2):
            values = [float(text) for text in sport]
            assert values == sorted(values, reverse=reverse)
    # Rows without a value remain at the end.
    table_of(opened, "headline").get_by_role("button", name="Wasserstein").click()
    assert all(sport[-1] == "–" for sport in column(opened, "headline", 10))
    opened.get_by_label("Filter").first.fill("COT")
    assert column(opened, "headline", 1) == [["cot"]] * 3
    opened.get_by_label("Filter").first.fill("")
    assert [len(sport) for sport in column(opened, "headline", 1)] == [4, 4, 4]


def test_table_copy_buttons_copy_csv_markdown_and_latex(opened: Any, written: Written) -> None:
    tools = opened.locator(".tools").first
    tools.get_by_role("button", name="CSV").click()
    lines = list(csv.reader(io.StringIO(opened.evaluate("navigator.clipboard.readText()"))))
    assert lines[0][:5] == ["", "Respondent", "Prompt", "Accuracy (%)", "Accuracy (%): 95% interval"]
    assert len({len(line) for line in lines}) == 1
    first = written.report.groups[0]
    assert lines[1][:4] == ["soccer", "human", "base", f"{100 * (first.metrics['accuracy'].value or 0):.1f}"]
    assert len(lines) == 1 + 12
    tools.get_by_role("button", name="Markdown").click()
    markdown = opened.evaluate("navigator.clipboard.readText()").splitlines()
    assert markdown[0].startswith("|  | Respondent | Prompt |")
    assert set(markdown[1]) == set("| -")
    tools.get_by_role("button", name="LaTeX").click()
    latex = opened.evaluate("navigator.clipboard.readText()")
    assert "\\begin{tabular}{" in latex
    assert "Accuracy (\\%)" in latex
    assert latex.count("\\\\\n") == 1 + 12


def test_unchecked_respondent_is_hidden_in_tables_and_cards_and_dimmed_in_figures(opened: Any) -> None:
    opened.get_by_text("Respondents shown: all").click()
    opened.get_by_role("checkbox", name="alpha").uncheck()
    assert opened.get_by_text("Respondents shown: 2 of 3").is_visible()
    assert all("alpha" not in sport for sport in column(opened, "headline", 0))
    assert opened.locator(".card[data-r=alpha]:not([hidden])").count() == 0
    assert opened.locator(".card[data-r=beta]:not([hidden])").count() == 6
    marks = "[...document.querySelectorAll('[data-mark]')]"
    dimmed = opened.evaluate(f"{marks}.filter((m) => m.matches('.dim')).map((m) => m.dataset.mark)")
    assert dimmed
    assert all(mark.startswith("alpha ") for mark in dimmed)
    opened.get_by_role("checkbox", name="alpha").check()
    assert opened.locator(".dim").count() == 0


def images(page: Any) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('details.image')].filter((i) => !i.hidden).map((i) => i.id)")


def test_gallery_images_are_sorted_and_filtered_by_the_controls_and_opened_by_links(
    opened: Any, written: Written
) -> None:
    assert not opened.locator("#soccer-2-alpha-cot").is_visible()
    opened.evaluate("location.hash = '#soccer-2-alpha-cot'")
    opened.locator("#soccer-2-alpha-cot").wait_for(state="visible")
    shown = written.report.page.gallery
    assert shown is not None
    right = {f"{i.scene.sport}-{i.scene.image}": i.reference_right or 0.0 for i in shown.images}
    opened.get_by_label("Sort").select_option("difficulty")
    soccer = [name for name in images(opened) if name.startswith("soccer")]
    assert [right[name] for name in soccer] == sorted(right[name] for name in soccer)
    opened.get_by_role("combobox", name="Show").select_option("far")
    assert images(opened) == ["soccer-1"]
    opened.get_by_role("combobox", name="Show").select_option("")
    assert len(images(opened)) == 6


@pytest.mark.parametrize("width", [400, 1280, 1600])
def test_contents_bar_stays_at_the_top_and_above_the_heading_after_a_jump_to_a_section(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 900})
    opened.locator("nav.contents a", has_text="Every number").click()
    place = "document.querySelector('nav.contents').getBoundingClientRect()"
    assert opened.evaluate(f"{place}.top") == 0
    heading = opened.evaluate("document.getElementById('numbers-title').getBoundingClientRect().top")
    assert heading >= opened.evaluate(f"{place}.bottom") > 0


def test_figure_markers_show_values_as_tooltips_and_page_controls_are_hidden_in_print(opened: Any) -> None:
    titles = opened.evaluate("[...document.querySelectorAll('#accuracy [data-mark] title')].map((t) => t.textContent)")
    assert any(title.startswith("human: ") and title.endswith("]") for title in titles)
    opened.emulate_media(media="print")
    for shown in ("nav.contents", ".choose", ".tools", "#explorer"):
        assert not opened.locator(shown).first.is_visible()


def test_long_respondent_name_does_not_hide_scores_on_a_narrow_screen(opened: Any) -> None:
    opened.set_viewport_size({"width": 400, "height": 900})
    name, score = "[...table.tBodies[0].rows[1].cells]", "getBoundingClientRect().right"
    right = opened.evaluate(
        f"""(() => {{ const table = document.getElementById("headline-caption").closest("table");
        {name}[0].textContent = "openai/gpt-6.5-ultra-preview-2026-11-25-high-reasoning-effort-128k";
        return {name}[2].{score}; }})()"""
    )
    assert right < 400


def test_guess_first_button_hides_the_ball_until_the_user_has_made_three_guesses(opened: Any) -> None:
    opened.evaluate("location.hash = '#soccer-3'")
    opened.get_by_role("button", name="Guess first").click()
    image = opened.locator("#soccer-3")
    assert not image.locator(".truth .hide").is_visible()
    assert not image.locator("#soccer-3-beta-base").is_visible()
    svg = image.locator(".truth svg")
    assert "Ball" not in svg.get_attribute("aria-label")
    box = svg.bounding_box()
    left, top, wide, high = (float(v) for v in svg.get_attribute("viewBox").split())

    def click(x: float, y: float) -> None:
        svg.click(position={"x": (x - left) / wide * box["width"], "y": (y - top) / high * box["height"]})

    click(288, 210)  # D5 contains the ball.
    click(-10, 100)  # This point is outside the image, so it does not count.
    click(32, 30)  # A1 does not contain the ball.
    assert not image.locator("p.guess").is_visible()
    click(352, 210)  # D6 also contains the ball.
    said = image.locator("p.guess").inner_text()
    assert "You: 2 of 3 guesses hit" in said
    assert "human: 100.0% hit the ball; the mean error is 0 px." in said  # People named D5 and D6 six times each.
    assert "beta: 100.0% hit the ball." in said
    assert "100.0% of the guesses of human are in your cells." in said
    assert image.locator(".truth .hide").is_visible()
    assert "Ball: D5, D6" in svg.get_attribute("aria-label")
    # Guesses can also be typed, in upper or lower case.
    opened.evaluate("location.hash = '#soccer-1'")
    other = opened.locator("#soccer-1")
    other.get_by_label("type them:").fill("d5 Z99 nonsense a1, f10")
    other.get_by_label("type them:").press("Enter")
    assert "You: 1 of 3 guesses hit" in other.locator("p.guess").inner_text()
