"""Test the page: valid and accessible markup, the numbers of the scores, and notes on missing parts."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from spotball_core import METRICS
from spotball_core.pages.parts import render_page
from spotball_core.report.build import all_sections, page_of, write_report
from spotball_core.report.numbers.analyze import analyze
from spotball_core.report.numbers.records import MEAN_OVER_PROMPTS
from spotball_core.report.view import PageView
from spotball_core.schema import MetricValue
from spotball_core.scoring.groups import Scoring
from tests.builders import scene
from tests.report.conftest import Written
from tests.report.markup import Element, parsed
from tests.report.study import responses, scenes, scored, scoring_of, view_of

SECTIONS = [
    *("summary", "gallery", "accuracy", "error", "alignment", "ceiling", "players", "center", "where", "mixture"),
    *("numbers", "density", "thresholds"),
]


@pytest.fixture(scope="module")
def page(written: Written) -> Element:
    return parsed(written.page)


def rows(page: Element, name: str) -> list[list[str]]:
    """Return the cells of a table's rows; each row begins with the heading of its group."""
    (caption,) = [span for span in page.all("span") if span.attributes.get("id") == f"{name}-caption"]
    (table,) = [table for table in page.all("table") if caption in list(table.walk())]
    out, heading = [], ""
    for row in table.all("tr"):
        if head := row.all("th", scope="rowgroup"):
            heading = head[0].text
        elif not row.all("th", scope="col") and not row.all("th", scope="colgroup"):
            out.append([heading, *(cell.text for cell in row.children)])
    return out


# Markup ------------------------------------------------------------------------------------------------------


def test_page_loads_no_external_resources_and_has_one_inline_script(written: Written, page: Element) -> None:
    assert not re.search(r"https?:|@import|url\((?!#)", written.page)
    (script,) = page.all("script")
    assert not script.attributes  # The script is inline.
    assert not page.all("link")
    for element in page.walk():
        assert not any(name.startswith("on") for name in element.attributes)
        for name in ("src", "href"):
            address = element.attributes.get(name, "#")
            assert address.startswith(("#", "data:image/", "figures/", "report.json")), address


def test_page_has_nested_headings_landmarks_unique_ids_and_working_internal_links(page: Element) -> None:
    headings = [one for one in page.walk() if re.fullmatch("h[1-6]", one.tag)]
    levels = [int(one.tag[1]) for one in headings]
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(one.text for one in headings)
    for tag in ("header", "main", "footer", "nav"):
        assert len(page.all(tag)) == 1, tag
    assert len(page.all("head")[0].all("title")) == 1
    assert page.all("html")[0].attributes["lang"] == "en"
    assert page.all("nav")[0].attributes["aria-label"]
    first = next(one for one in page.all("body")[0].walk() if one.tag == "a")
    assert first.attributes["href"] == f"#{page.all('main')[0].attributes['id']}"
    ids = [one.attributes["id"] for one in page.walk() if "id" in one.attributes]
    assert len(set(ids)) == len(ids)
    for one in page.walk():
        for name in ("aria-labelledby", "href"):
            if (target := one.attributes.get(name, "")).startswith("#") or name == "aria-labelledby":
                assert not target or target.removeprefix("#") in ids, target
    assert [link.attributes["href"] for link in page.all("nav")[0].all("a")] == [f"#{name}" for name in SECTIONS]
    assert [one.attributes["id"] for one in page.all("main")[0].children if one.tag == "section"] == SECTIONS


def test_every_figure_and_table_has_a_caption_and_labels_for_screen_readers(page: Element) -> None:
    assert page.all("figure")
    for figure in page.all("figure"):
        assert figure.all("figcaption")[0].text
        pictures = [one for one in figure.walk() if one.attributes.get("role") == "img"]
        assert pictures
        assert all(re.search(r"\d", one.attributes["aria-label"]) for one in pictures)
    for picture in page.all("svg"):
        assert picture.attributes.get("role") == "img" or picture.attributes.get("aria-hidden") == "true"
    tables = page.all("table")
    assert len(tables) >= 9
    for table in tables:
        assert table.all("caption")[0].text
        assert all(head.attributes["scope"] in ("col", "colgroup", "row", "rowgroup") for head in table.all("th"))
        spans = [[int(cell.attributes.get("colspan", 1)) for cell in row.children] for row in table.all("tr")]
        assert len(set(map(sum, spans))) == 1
    for region in (one.attributes for one in page.walk() if one.attributes.get("role") == "region"):
        assert region["tabindex"] == "0"
        assert region["aria-labelledby"]


# Numbers -----------------------------------------------------------------------------------------------------


def test_tables_show_the_scores_with_their_intervals(written: Written, page: Element) -> None:
    def shown(value: MetricValue, factor: float, digits: int) -> list[str]:
        if value.value is None:
            return ["–", ""]
        assert value.ci95 is not None
        low, high = (f"{factor * end:.{digits}f}" for end in value.ci95)
        return [f"{factor * value.value:.{digits}f}", f"[{low}, {high}]"]

    expected = [
        [
            *(str(group.sport), str(group.respondent).replace("human", "people"), str(group.prompt)),
            *shown(group.metrics["accuracy"], 100, 1),
            *shown(group.metrics["euclidean_error"], 1, 1),
            *shown(group.metrics["wasserstein_matched"], 1, 1),
            *(f"{n:,}" for n in (group.n_images, group.n_responses, group.n_unparsed)),
        ]
        for group in written.report.groups
    ]
    found = [row for row in rows(page, "headline") if row[0] in ("soccer", "volleyball")]
    # The columns of differences and ranks are excluded.
    assert [[*row[:5], *row[7:9], *row[11:13], *row[14:]] for row in found] == expected
    assert len(expected) == 8
    keys = MEAN_OVER_PROMPTS[1:]
    entropies = [row[5:] for row in rows(page, "center") if row[2] != "mean"]
    assert entropies == [
        [text for key in keys for text in shown(group.metrics[key], 1, 3)] for group in written.report.groups
    ]
    # The other rows of this table are means over prompts.
    (row,) = [row for row in rows(page, "center") if row[:3] == ["soccer", "alpha", "mean"]]
    alpha = [written.report.group("alpha", sport="soccer", prompt=prompt) for prompt in ("base", "cot")]
    assert row[3] == f"{sum(group.metrics['center_ratio'].value or 0.0 for group in alpha) / 2:.3f}"


def test_every_metric_of_every_group_is_on_the_page(written: Written, page: Element) -> None:
    captions = [span.attributes["id"] for span in page.all("span") if span.attributes.get("id", "").startswith("all-")]
    assert captions == [f"all-{name}-caption" for name in ("task", "alignment", "strategy", "scoring-rules")]
    cells = [cell for name in captions for row in rows(page, name.removesuffix("-caption")) for cell in row]
    for group in written.report.groups:
        for key, value in group.metrics.items():
            if value.value is not None:
                if METRICS[key].unit == "share":
                    number = f"{100 * value.value:.1f}"
                else:
                    number = f"{value.value:.{1 if METRICS[key].unit == 'px' else 3}f}"
                assert any(cell.split(" ")[0] == number for cell in cells), (group.respondent, key)


def test_accuracy_section_shows_the_same_accuracy_in_its_sentence_and_figure(written: Written, page: Element) -> None:
    (section,) = page.all("section", id="accuracy")
    accuracy = f"{100 * (written.report.group('human', sport='soccer').metrics['accuracy'].value or 0.0):.1f}%"
    figure, sentence = section.all("div", class_="dots")[0], section.all("li")[0]
    assert f"people {accuracy}" in sentence.text
    assert f"people {accuracy}" in figure.attributes["aria-label"]
    rows = figure.all("div", class_="row first")
    assert (rows[0].children[0].text, rows[0].children[-1].text) == ("people", accuracy)
    # The ball covers 1, 1, 2 and 1 of 60 cells in the soccer images.
    assert f"uniform guessing: {100 * 5 / 4 / 60:.1f}%" in sentence.text
    # The positions of the dot and of its interval are proportional to the values.
    (circle,) = rows[0].all("circle")
    (line,) = [one for one in rows[0].all("line") if one.attributes.get("y1") == "50%"]
    value = written.report.group("human", sport="soccer").metrics["accuracy"]
    assert value.value is not None
    assert value.ci95 is not None
    places = (circle.attributes["cx"], line.attributes["x1"], line.attributes["x2"])
    at, low, high = (float(place.rstrip("%")) for place in places)
    assert [low / at, high / at] == pytest.approx([end / value.value for end in value.ci95], rel=1e-3)


def test_page_shows_the_signature_and_the_number_of_excluded_controls(written: Written, page: Element) -> None:
    header, footer = page.all("header")[0].text, page.all("footer")[0].text
    assert written.report.signature in footer
    assert "Excluded: controls: 1" in footer
    assert " responses of people and 2 models to 6 images of soccer and volleyball." in header


def test_ceiling_section_shows_the_noise_ceiling_of_the_report(written: Written, page: Element) -> None:
    assert [ceiling.sport for ceiling in written.report.ceilings] == ["soccer", "volleyball"]
    (section,) = page.all("section", id="ceiling")
    for ceiling, said in zip(written.report.ceilings, section.all("li"), strict=True):
        assert ceiling.split_half.value is not None
        assert f"two halves of 4 participants is {ceiling.split_half.value:.1f} px" in said.text
        for row in rows(page, "floors"):
            if row[0] == ceiling.sport:
                name = "/".join(row[:3])
                score = ceiling.score[name]
                low, high = score.ci95 or (math.nan, math.nan)
                floor = ceiling.sampling_floor[name]
                assert row[-3:] == [f"{floor:.1f}", f"{score.value:.2f}", f"[{low:.2f}, {high:.2f}]"]


# The gallery -------------------------------------------------------------------------------------------------


def walled(gallery: Element) -> list[Element]:
    """Return the thumbnails of the wall."""
    return [thumb for wall in gallery.all("ul", class_="wall") for thumb in wall.all("li")]


def test_gallery_has_a_card_per_image_and_respondent(page: Element) -> None:
    (gallery,) = page.all("section", id="gallery")
    images = {image.attributes["id"]: image for image in gallery.all("dialog", class_="image")}
    thumbs = {thumb.all("a")[0].attributes["href"].removeprefix("#"): thumb for thumb in walled(gallery)}
    assert list(thumbs) == list(images)
    assert next(iter(images)) == "soccer-4"  # This image has the most disagreement.
    assert sorted(images) == ["soccer-1", "soccer-2", "soccer-3", "soccer-4", "volleyball-1", "volleyball-2"]
    for name, image in images.items():
        cards = [card.attributes["id"] for card in image.all("article")]
        assert cards == [f"{name}-alpha-base", f"{name}-alpha-cot", f"{name}-beta-base"]
        order = json.loads(thumbs[name].attributes["data-order"])
        assert set(order) == {"disagreement", "agreement", "typical", "difficulty", "ease", "leak"}
    assert thumbs["soccer-1"].attributes["data-fails"] == "far sure"
    (card,) = gallery.all("article", id="soccer-2-alpha-cot")
    assert card.attributes["class"].split() == ["card", "is-center", "is-sure"]
    counts = {tuple(row[:3]): row[3:] for row in rows(page, "failures")}
    assert counts["soccer", "alpha", "base"] == ["4", "1", "1", "3"]
    assert counts["soccer", "alpha", "cot"] == ["4", "0", "2", "2"]
    assert counts["volleyball", "beta", "base"] == ["2", "0", "1", "2"]


def test_gallery_lists_the_images_of_each_failure_with_links(page: Element) -> None:
    (found,) = page.all("section", id="gallery")[0].all("details", class_="found")
    start = "Near the center, but the ball is elsewhere, soccer, alpha cot"
    (line,) = [li for li in found.all("li") if li.text.startswith(start)]
    assert line.text == f"{start}: 2 of 4 – 2, 4"
    assert {link.attributes["href"] for link in line.all("a")} == {"#soccer-2-alpha-cot", "#soccer-4-alpha-cot"}


def test_gallery_embeds_each_image_once_and_states_how_many_have_no_file(page: Element) -> None:
    (gallery,) = page.all("section", id="gallery")
    images = gallery.all("image")
    assert len(images) == 5  # One of 6 scored images has no file.
    assert all(image.attributes["href"].startswith("data:image/webp;base64,") for image in images)
    assert "1 image is shown without a picture" in gallery.text
    (bare,) = gallery.all("symbol", id="soccer-3-photo")
    assert not bare.all("image")
    assert bare.all("path")[0].attributes["stroke"] == "var(--rule)"  # Without an image, the grid is drawn here.
    assert len(bare.all("rect", fill="var(--rule)")) == 1  # This rectangle is the player.
    # The ball of image 2 is in A10. Half of its 9 px wide outline lies outside the image, and must not be cut off.
    (symbol,) = page.all("symbol", id="soccer-2-ball")
    assert symbol.attributes["overflow"] == "visible"


def test_gallery_card_shows_the_ball_the_guesses_of_people_and_those_of_the_respondent(page: Element) -> None:
    (image,) = page.all("dialog", id="soccer-1")
    (truth,) = image.all("figure", class_="truth")
    label = truth.all("svg")[0].attributes["aria-label"]
    assert label == "soccer 1: 12 guesses of people, most at D5 (83.3%) and D6 (16.7%). Ball: D5."
    # Two of 12 guesses are one cell (64 px) away from the ball.
    assert (truth.attributes["data-right"], truth.attributes["data-error"]) == ("0.8333", "10.7")
    (card,) = image.all("article", id="soccer-1-alpha-base")
    assert card.all("svg")[0].attributes["aria-label"] == "alpha base: 10 guesses, most at A1 (100.0%)."
    (heat,) = card.all("g", class_="heat")
    (cell,) = heat.all("path")
    assert cell.attributes["d"].startswith("M0 0h64v60")
    (thumb,) = [one for one in walled(page) if one.all("a")[0].attributes["href"] == "#soccer-1"]
    for picture in (truth, thumb):
        shades = picture.all("g", class_="heat people")[0].all("path")
        cells = [(one.attributes["d"].split("h")[0], one.attributes["fill-opacity"]) for one in shades]
        assert cells == [("M256 180", "0.75"), ("M320 180", "0.15")]
    assert "none of its guesses name a cell with the ball" in card.text
    assert card.all("li")[0].text == "Far from people, near a player"


# Amount of text ----------------------------------------------------------------------------------------------


def test_paragraphs_outside_the_appendix_have_at_most_60_words_and_sections_at_most_three_open_sentences(
    page: Element,
) -> None:
    sections = [one for one in page.all("section") if one.attributes["id"] not in ("density", "thresholds")]
    texts = [part.text for one in sections for tag in ("p", "li", "figcaption") for part in one.all(tag)]
    assert len(texts) > 50
    assert max(len(text.split()) for text in texts) <= 60
    for section in sections:
        (words,) = section.all("div", class_="words")
        folded = [part for one in words.all("details") for part in one.walk()]
        sentences = [part for tag in ("p", "li") for part in words.all(tag) if part not in folded]
        assert len(sentences) <= 3, section.attributes["id"]


def test_warnings_are_folded_below_the_sections_and_counted_at_the_top(written: Written) -> None:
    view = PageView(written.report.model_copy(update={"warnings": ("Use `--seed`.", "Another")}))
    page = parsed(render_page(page_of(view), [], {}))
    (link,) = page.all("header")[0].all("a")
    assert (link.text, link.attributes["href"]) == ("2 warnings", "#warnings")
    (folded,) = page.all("details", id="warnings")
    assert "open" not in folded.attributes
    assert [code.text for code in folded.all("code")] == ["--seed"]


# Missing parts -----------------------------------------------------------------------------------------------


def page_about(scoring: Scoring, out: Path) -> Element:
    write_report(scoring, out)
    return parsed((out / "report.html").read_text())


def missing(page: Element) -> dict[str, str]:
    found = {section.attributes["id"]: section.all("p", class_="missing") for section in page.all("section")}
    return {name: said[0].text for name, said in found.items() if said}


@pytest.mark.slow
def test_report_without_a_reference_explains_the_missing_sections(study: Path, tmp_path: Path) -> None:
    page = page_about(scoring_of(study, reference=None, bootstrap=0), tmp_path / "out")
    said = missing(page)
    assert said.keys() == {"alignment", "ceiling"}
    assert all("--reference human" in text for text in said.values())
    assert len(page.all("section")) == len(SECTIONS)
    (gallery,) = page.all("section", id="gallery")
    assert len(gallery.all("dialog", class_="image")) == 6
    assert len(gallery.all("article")) == 24  # There are four groups on six images, including people.
    assert all(text not in gallery.text for text in ("None", "nan"))
    assert "[" not in "".join(cell for row in rows(page, "headline") for cell in row)


@pytest.mark.slow
def test_report_without_players_and_participants_explains_the_missing_sections(tmp_path: Path) -> None:
    bare = [one.model_copy(update={"players": None}) for one in scenes()]
    told = responses().with_columns(participant=pl.lit(None, pl.String), sample=1 + pl.int_range(pl.len()))
    page = page_about(scored(told, bare), tmp_path / "out")
    said = missing(page)
    assert said.keys() == {"ceiling", "players", "density", "thresholds"}
    assert "fewer than two participants" in said["ceiling"]
    assert said["density"] == "None of the scored images has player boxes."
    assert "nearest-player is excluded" in page.all("section", id="mixture")[0].text.lower()


def test_long_respondent_names_are_shortened_in_figures_and_complete_in_tables() -> None:
    long = "somebody/a-model-with-a-very-long-name-2025-01-01"
    other = long.replace("very", "much")
    told = responses().with_columns(pl.col("respondent").replace({"alpha": long, "beta": other}))
    view = view_of(told)
    # Both names would have the same short form, so they are not shortened.
    assert {view.labels(group)[0] for group in view.scored} == {"people", long, other}
    view = view_of(told.filter(pl.col("respondent") != other))
    labels = {view.labels(group)[0] for group in view.scored}
    assert len(labels) == 2
    (label,) = labels - {"people"}
    start, end = label.split("…")
    assert len(label) == 22
    assert long.startswith(start)
    assert long.endswith(end)
    table = all_sections(view)[0].tables[0]
    assert long in [row[0].text for row in table.groups[0].rows]


@pytest.mark.slow
def test_report_with_another_grid_has_no_center_window(tmp_path: Path) -> None:
    fields = {"grid": {"rows": 4, "cols": 8}, "ball_cells": ["A1"], "players": [[0, 0, 50, 50]]}
    known = [scene(image, "padel", size=size, **fields) for image, size in (("0", (1280, 720)), ("1", (640, 360)))]
    told = [
        {"sport": "padel", "image": image, "respondent": name, "kind": kind, "cell": cell, "sample": 1}
        for image in ("0", "1")
        for name, kind, cell in (("human", "human", "B2"), ("me", "model", "C8"))
    ]
    page = page_about(scored(pl.DataFrame(told), known), tmp_path / "out")
    assert "Center ratio has no value in this report" in page.all("section", id="center")[0].text
    (gallery,) = page.all("section", id="gallery")
    assert "center=" not in gallery.all("div", id="explorer")[0].attributes["data-modes"]
    assert len(gallery.all("article")) == 2


@pytest.mark.slow
def test_page_escapes_markup_in_names_from_the_data(tmp_path: Path) -> None:
    bad = "<script>$x$&\"'`y`"
    told = responses().with_columns(pl.col("respondent").replace("alpha", bad), pl.col("prompt").replace("cot", "<b>"))
    known = [one.model_copy(update={"sport": f"<i>{one.sport}"}) for one in scenes()]
    scoring = scored(told.with_columns(sport=pl.concat_str(pl.lit("<i>"), "sport")), known)
    view = PageView(analyze(scoring))
    sections = all_sections(view)
    page = parsed(render_page(page_of(view), sections, {p.name: [] for s in sections for p in s.pictures}))
    assert len(page.all("script")) == 1
    assert not page.all("b")
    assert bad in [row[1] for row in rows(page, "headline")]
    whole = page_about(scoring, tmp_path / "out")
    assert len(whole.all("script")) == 1
    assert bad in [one.text for one in whole.all("section", id="accuracy")[0].all("span")]
