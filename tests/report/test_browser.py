"""Test the page in a browser: layout, script functions, and that it loads and stores nothing."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spotball_core import score
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
    assert page.locator(".wall > li").count() == 6
    assert page.locator("#explorer button").count() == (1 if script else 0)
    # The links open an image and a card also without the script.
    page.goto((written.out / "report.html").as_uri() + "#soccer-2-alpha-cot")
    page.locator("#soccer-2-alpha-cot").wait_for(state="visible")
    context.close()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_first_screen_shows_images_and_the_chart_of_all_respondents_and_no_cut_navigation(
    opened: Any, width: int, height: int
) -> None:
    opened.set_viewport_size({"width": width, "height": height})

    def bottom(selector: str) -> float:
        box = opened.locator(selector).last.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        return float(box["y"] + box["height"])

    assert bottom(".opening > svg:visible") <= height
    assert bottom("#summary .dots") <= height
    if width == 1280:
        assert opened.locator(".opening > svg:visible").count() == 6
        assert bottom("#summary .words > ul > li") <= height
        last = opened.locator("nav li").last.bounding_box()
        assert last["x"] + last["width"] <= width
    else:
        assert not opened.locator("nav li").first.is_visible()
        opened.locator("nav summary", has_text="Sections").click()
        opened.locator("nav a", has_text="Tables").click()
        opened.locator("nav li").first.wait_for(state="hidden")


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
    opened.locator("#summary .fold").first.click()
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
    opened.locator("#summary .fold").first.click()
    tools = opened.locator(".tools").first
    tools.get_by_role("button", name="CSV").click()
    lines = list(csv.reader(io.StringIO(opened.evaluate("navigator.clipboard.readText()"))))
    assert lines[0][:5] == ["", "Respondent", "Prompt", "Accuracy (%)", "Accuracy (%): 95% interval"]
    assert len({len(line) for line in lines}) == 1
    first = written.report.groups[0]
    assert lines[1][:4] == ["soccer", "people", "base", f"{100 * (first.metrics['accuracy'].value or 0):.1f}"]
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
    """Return the names of the images in the wall."""
    return page.evaluate(
        "[...document.querySelectorAll('.wall > li')].filter((i) => !i.hidden).map((i) => i.firstChild.hash.slice(1))"
    )


def test_wall_is_sorted_and_filtered_by_the_controls(opened: Any, written: Written) -> None:
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


def test_wall_shows_the_guesses_of_the_selected_respondent_and_the_slider_blends_photo_and_guesses(opened: Any) -> None:
    thumb = opened.locator(".wall > li", has=opened.locator("a[href='#soccer-1']"))

    def shaded() -> str:
        return str(thumb.locator(".heat path").first.get_attribute("d"))

    assert shaded().startswith("M256 180")  # People name D5.
    opened.get_by_role("combobox", name="Guesses of").select_option("alpha base")
    assert shaded().startswith("M0 0")  # Alpha names A1.
    assert thumb.locator(".second").inner_text() == "0%"
    opened.get_by_role("combobox", name="Guesses of").select_option("people")
    assert shaded().startswith("M256 180")

    def opacities() -> list[float]:
        parts = (thumb.locator(selector) for selector in ("use.photo", ".heat"))
        return [float(part.evaluate("(one) => getComputedStyle(one).opacity")) for part in parts]

    assert opacities() == [1, 1]
    for value, expected in (("0", [1, 0]), ("100", [0, 1])):
        opened.locator("#explorer .blend").fill(value)
        assert opacities() == expected


def test_large_view_opens_by_click_and_link_and_is_operated_with_arrows_and_escape(opened: Any) -> None:
    order = images(opened)
    opened.locator(f".wall a[href='#{order[1]}']").click()
    view = opened.locator("dialog[open]")
    view.wait_for()
    assert view.get_attribute("id") == order[1]
    assert view.locator(".card").count() == 3
    for key, place in (("ArrowRight", 2), ("ArrowLeft", 1), ("ArrowLeft", 0), ("ArrowLeft", -1)):
        opened.keyboard.press(key)
        opened.locator(f"#{order[place]}[open]").wait_for()
        assert view.count() == 1
    opened.keyboard.press("Escape")
    view.wait_for(state="detached")
    assert opened.evaluate("document.activeElement.hash") == f"#{order[-1]}"
    # Arrows skip images that are not shown.
    opened.get_by_role("combobox", name="Show").select_option("far")
    opened.locator(".wall a[href='#soccer-1']").click()
    opened.keyboard.press("ArrowRight")
    assert view.get_attribute("id") == "soccer-1"
    opened.evaluate("location.hash = '#soccer-2-alpha-cot'")
    opened.locator("#soccer-2[open] #soccer-2-alpha-cot").wait_for()
    opened.go_back()
    opened.locator("#soccer-1[open]").wait_for()


@pytest.mark.parametrize("width", [400, 1280, 1600])
def test_contents_bar_stays_at_the_top_and_above_the_heading_after_a_jump_to_a_section(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 900})
    opened.evaluate("location.hash = '#numbers'")
    place = "document.querySelector('nav.contents').getBoundingClientRect()"
    assert opened.evaluate(f"{place}.top") == 0
    heading = opened.evaluate("document.getElementById('numbers-title').getBoundingClientRect().top")
    assert heading >= opened.evaluate(f"{place}.bottom") > 0


def test_figure_markers_show_values_as_tooltips_and_page_controls_are_hidden_in_print(opened: Any) -> None:
    titles = opened.evaluate("[...document.querySelectorAll('#accuracy [data-mark]')].map((row) => row.title)")
    assert any(title.startswith("people: ") and title.endswith("]") for title in titles)
    opened.emulate_media(media="print")
    for shown in ("nav.contents", ".choose", ".tools", "#explorer"):
        assert not opened.locator(shown).first.is_visible()


def test_long_respondent_name_does_not_hide_scores_on_a_narrow_screen(opened: Any) -> None:
    opened.set_viewport_size({"width": 400, "height": 900})
    opened.locator("#summary .fold").first.click()
    name, score = "[...table.tBodies[0].rows[1].cells]", "getBoundingClientRect().right"
    right = opened.evaluate(
        f"""(() => {{ const table = document.getElementById("headline-caption").closest("table");
        {name}[0].textContent = "openai/gpt-6.5-ultra-preview-2026-11-25-high-reasoning-effort-128k";
        return {name}[2].{score}; }})()"""
    )
    assert right < 400


def test_guess_before_you_look_compares_the_reader_with_everyone_and_saves_answers_that_score_reads(
    opened: Any, written: Written, tmp_path: Path
) -> None:
    opened.get_by_role("button", name="Guess before you look").click()
    play = opened.locator("#play")
    order = images(opened)
    named = {}
    for place, image in enumerate(order):
        assert play.locator(".ball, .heat").count() == 0
        if place % 2:
            play.get_by_role("button", name="D5", exact=True).click()
        else:  # From A1, move to D5 and choose it with the keyboard only.
            assert opened.evaluate("document.activeElement.dataset.cell") == "A1"
            for key in (*["ArrowDown"] * 3, *["ArrowRight"] * 4, "Enter"):
                opened.keyboard.press(key)
        hit = image in ("soccer-1", "soccer-3")
        assert play.locator("tbody tr").first.locator("td").first.inner_text() == ("100%" if hit else "0%")
        named[image] = [row.split("\t") for row in play.locator("tbody").inner_text().splitlines()]
        opened.keyboard.press("Enter")  # The button for the next photo has the focus.
    # B6 is two rows and one column away from D5. The grid's cells have 64 x 60 pixels.
    assert named["volleyball-1"][0] == ["you", "0%", f"{math.hypot(120, 64):.0f}"]
    assert named["soccer-1"][1:] == [
        ["people", "83%", "11"],
        ["alpha base", "0%", f"{math.hypot(256, 180):.0f}"],
        ["alpha cot", "100%", "0"],
        ["beta", "50%", "32"],
    ]
    totals = {row.split("\t")[0]: row.split("\t")[1] for row in play.locator("tbody").inner_text().splitlines()}
    assert totals["you"] == "33%"
    assert set(totals) == {"you", "people", "alpha base", "alpha cot", "beta"}
    with opened.expect_download() as download:
        play.get_by_role("button", name="Save your answers").click()
    download.value.save_as(tmp_path / "guesses.csv")
    report = score(tmp_path / "guesses.csv", scenes=written.study / "scenes.jsonl")
    groups = {group.sport: group for group in report.groups if group.respondent == "reader"}
    assert {sport: group.n_responses for sport, group in groups.items()} == {"soccer": 4, "volleyball": 2}
    assert groups["soccer"].metrics["accuracy"].value == 0.5
    opened.keyboard.press("Escape")
    play.wait_for(state="detached")
