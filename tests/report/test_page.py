"""Test the page: valid and accessible markup, the numbers of the scores, and notes on missing parts."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from spotball_core.grid import Grid
from spotball_core.metrics.registry import METRICS
from spotball_core.pages.page import render_page
from spotball_core.report.build import write_report
from spotball_core.report.numbers.analyze import analyze
from spotball_core.report.numbers.records import MEAN_OVER_PROMPTS
from spotball_core.report.view import PageView
from spotball_core.report.write import all_sections, page_of
from spotball_core.schema import MetricValue, Scene, ScorePolicy
from spotball_core.scoring.groups import Scoring
from spotball_core.scoring.score import load_counts
from tests.report.conftest import Written
from tests.report.markup import Element, parsed
from tests.report.study import responses, scenes, scoring_of

SECTIONS = [
    *("summary", "accuracy", "error", "alignment", "ceiling", "players", "center", "where", "mixture"),
    *("gallery", "numbers", "density", "thresholds"),
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
    assert "http:" not in written.page
    assert "https:" not in written.page
    (script,) = page.all("script")
    assert not script.attributes  # The script is inline.
    assert not page.all("link")
    for element in page.walk():
        assert not any(name.startswith("on") for name in element.attributes)
        for name in ("src", "href"):
            address = element.attributes.get(name, "#")
            assert address.startswith(("#", "data:image/", "figures/", "report.json")), address
    assert not re.search(r"url\((?!#)", written.page)
    assert "@import" not in written.page


def test_headings_are_nested_in_order_with_one_h1(page: Element) -> None:
    levels = [int(one.tag[1]) for one in page.walk() if re.fullmatch("h[1-6]", one.tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(one.text for one in page.walk() if re.fullmatch("h[1-6]", one.tag))


def test_page_has_landmarks_unique_ids_and_working_internal_links(page: Element) -> None:
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


def test_every_figure_has_a_caption_and_an_aria_label_with_numbers(page: Element) -> None:
    figures = page.all("figure")
    assert figures
    for figure in figures:
        assert figure.all("figcaption")[0].text
        pictures = figure.all("svg")
        assert pictures
        for picture in pictures:
            assert picture.attributes["role"] == "img"
            assert re.search(r"\d", picture.attributes["aria-label"])
    for picture in page.all("svg"):
        assert picture.attributes.get("role") == "img" or picture.attributes.get("aria-hidden") == "true"


def test_every_table_has_a_caption_and_headers_with_scope(page: Element) -> None:
    tables = page.all("table")
    assert len(tables) >= 9
    for table in tables:
        assert table.all("caption")[0].text
        assert all(head.attributes["scope"] in ("col", "colgroup", "row", "rowgroup") for head in table.all("th"))
        widths = set()
        for row in table.all("tr"):
            widths.add(sum(int(cell.attributes.get("colspan", 1)) for cell in row.children))
        assert len(widths) == 1
    for region in [one for one in page.walk() if one.attributes.get("role") == "region"]:
        assert region.attributes["tabindex"] == "0"
        assert region.attributes["aria-labelledby"]


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
            *(str(group.sport), str(group.respondent), str(group.prompt)),
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


def test_mean_rows_in_the_center_table_average_over_prompts(written: Written, page: Element) -> None:
    (row,) = [row for row in rows(page, "center") if row[:3] == ["soccer", "alpha", "mean"]]
    values = [
        written.report.group("alpha", sport="soccer", prompt=p).metrics["center_ratio"].value for p in ("base", "cot")
    ]
    assert row[3] == f"{sum(v or 0.0 for v in values) / 2:.3f}"


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


def test_sentences_and_figures_show_the_same_numbers(written: Written, page: Element) -> None:
    (section,) = page.all("section", id="accuracy")
    soccer = written.report.group("human", sport="soccer").metrics["accuracy"]
    assert soccer.value is not None
    text = f"human {100 * soccer.value:.1f}%"
    assert text in section.all("li")[0].text
    assert text in section.all("svg")[0].attributes["aria-label"]
    assert f"{100 * soccer.value:.1f}%" in [one.text for one in section.all("svg")[0].all("text")]
    # The ball covers 1, 1, 2 and 1 of 60 cells in the soccer images.
    assert f"uniform guessing: {100 * 5 / 4 / 60:.1f}%" in section.all("li")[0].text


def test_page_shows_the_signature_and_the_excluded_images(written: Written, page: Element) -> None:
    header, footer = page.all("header")[0].text, page.all("footer")[0].text
    assert written.report.signature in header
    assert written.report.signature in footer
    assert "Excluded: controls: 1" in footer
    assert " responses of people (human) and 2 models to 6 images of soccer and volleyball." in header


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
                assert score.value is not None
                assert score.ci95 is not None
                low, high = score.ci95
                assert row[-3:-1] == [f"{ceiling.sampling_floor[name]:.1f}", f"{score.value:.2f}"]
                assert row[-1] == f"[{low:.2f}, {high:.2f}]"


# The gallery -------------------------------------------------------------------------------------------------


def image_of(page: Element, name: str) -> Element:
    (image,) = page.all("details", id=name)
    return image


def test_gallery_has_a_card_per_image_and_respondent(written: Written, page: Element) -> None:
    (gallery,) = page.all("section", id="gallery")
    images = gallery.all("details", class_="image")
    assert [image.attributes["id"] for image in images[:1]] == ["soccer-4"]  # This image has the most disagreement.
    assert {image.attributes["id"] for image in images} == {
        *("soccer-1", "soccer-2", "soccer-3", "soccer-4", "volleyball-1", "volleyball-2")
    }
    for image in images:
        name = image.attributes["id"]
        assert [card.attributes["id"] for card in image.all("article")] == [
            *(f"{name}-alpha-base", f"{name}-alpha-cot", f"{name}-beta-base")
        ]
        order = json.loads(image.attributes["data-order"])
        assert set(order) == {"disagreement", "agreement", "typical", "difficulty", "ease", "leak"}
    assert image_of(page, "soccer-1").attributes["data-fails"] == "far sure"
    (card,) = gallery.all("article", id="soccer-2-alpha-cot")
    assert card.attributes["class"].split() == ["card", "hide", "is-center", "is-sure"]
    counts = {tuple(row[:3]): row[3:] for row in rows(page, "failures")}
    assert counts["soccer", "alpha", "base"] == ["4", "1", "1", "3"]
    assert counts["soccer", "alpha", "cot"] == ["4", "0", "2", "2"]
    assert counts["volleyball", "beta", "base"] == ["2", "0", "1", "2"]


def test_images_of_each_failure_are_listed_with_links_to_their_cards(page: Element) -> None:
    (found,) = page.all("section", id="gallery")[0].all("details", class_="found")
    start = "Near the center, but the ball is elsewhere, soccer, alpha cot"
    (line,) = [li for li in found.all("li") if li.text.startswith(start)]
    assert line.text == f"{start}: 2 of 4 – 2, 4"
    assert {link.attributes["href"] for link in line.all("a")} == {"#soccer-2-alpha-cot", "#soccer-4-alpha-cot"}


def test_gallery_highlights_images_of_high_typical_and_low_disagreement(page: Element) -> None:
    (highlights,) = page.all("ul", class_="highlights")
    titles = [li.text.partition(":")[0] for li in highlights.all("li")]
    assert titles == [
        "Images on which respondents are farthest from people",
        "Images with typical disagreement",
        "Images on which respondents are closest to people",
    ]
    assert all(li.all("a") for li in highlights.all("li"))


def test_images_are_embedded_once_and_missing_files_are_counted(page: Element) -> None:
    (gallery,) = page.all("section", id="gallery")
    images = gallery.all("image")
    assert len(images) == 5  # One of 6 scored images has no file.
    assert all(image.attributes["href"].startswith("data:image/webp;base64,") for image in images)
    assert "1 image is shown without a picture" in gallery.text
    (bare,) = gallery.all("symbol", id="soccer-3-photo")
    assert not bare.all("image")
    assert bare.all("path")[0].attributes["stroke"] == "var(--rule)"  # Without an image, the grid is drawn here.
    assert len(bare.all("rect", fill="var(--rule)")) == 1  # This is the player.


def test_outline_of_a_ball_in_a_corner_is_not_cut_off(page: Element) -> None:
    # The ball of image 2 is in A10. Its outline is 9 wide, and half of it is outside the image.
    (symbol,) = page.all("symbol", id="soccer-2-ball")
    left, top, wide, high = map(float, symbol.attributes["viewbox"].split())
    assert left <= -4.5
    assert top <= -4.5
    assert left + wide >= 640 + 4.5
    assert top + high >= 360 + 4.5


def test_card_shows_the_ball_the_people_and_the_guesses(page: Element) -> None:
    image = image_of(page, "soccer-1")
    label = image.all("figure")[0].all("svg")[0].attributes["aria-label"]
    assert label == "soccer 1: 12 guesses of people, most at D5 (83.3%) and D6 (16.7%). Ball: D5."
    (card,) = image.all("article", id="soccer-1-alpha-base")
    assert card.all("svg")[0].attributes["aria-label"] == "alpha base: 10 guesses, most at A1 (100.0%)."
    (circle,) = card.all("circle")
    assert (circle.attributes["cx"], circle.attributes["cy"]) == ("32", "30")
    people = image.all("rect", fill="var(--heat-people)")
    assert [(one.attributes["x"], one.attributes["fill-opacity"]) for one in people] == [
        ("256", "0.75"),
        ("320", "0.15"),
    ]
    assert "none of its guesses name a cell with the ball" in card.text
    assert card.all("li")[0].text == "Far from people, near a player"


# Missing parts -----------------------------------------------------------------------------------------------


def missing(page: Element) -> dict[str, str]:
    found = {section.attributes["id"]: section.all("p", class_="missing") for section in page.all("section")}
    return {name: said[0].text for name, said in found.items() if said}


@pytest.mark.slow
def test_report_without_a_reference_explains_the_missing_sections(study: Path, tmp_path: Path) -> None:
    write_report(scoring_of(study, reference=None, bootstrap=0), tmp_path / "out")
    page = parsed((tmp_path / "out/report.html").read_text())
    said = missing(page)
    assert said.keys() == {"alignment", "ceiling"}
    assert all("--reference human" in text for text in said.values())
    assert len(page.all("section")) == len(SECTIONS)
    (gallery,) = page.all("section", id="gallery")
    assert len(gallery.all("details", class_="image")) == 6
    assert len(gallery.all("article")) == 24  # There are four groups on six images, including people.
    assert "None" not in gallery.text
    assert "nan" not in gallery.text
    assert "[" not in "".join(cell for row in rows(page, "headline") for cell in row)


@pytest.mark.slow
def test_report_without_players_and_participants_explains_the_missing_sections(tmp_path: Path) -> None:
    bare = [scene.model_copy(update={"players": None}) for scene in scenes()]
    told = responses().with_columns(participant=pl.lit(None, pl.String), sample=1 + pl.int_range(pl.len()))
    counts, known = load_counts(told, bare, participants=True)
    policy = ScorePolicy.standard(reference="human", bootstrap=0)
    write_report(Scoring(counts, known, policy), tmp_path / "out")
    page = parsed((tmp_path / "out/report.html").read_text())
    said = missing(page)
    assert said.keys() == {"ceiling", "players", "density", "thresholds"}
    assert "fewer than two participants" in said["ceiling"]
    assert said["density"] == "None of the scored images has player boxes."
    assert "nearest-player is excluded" in page.all("section", id="mixture")[0].text.lower()


def test_long_names_are_shortened_in_figures_and_complete_in_tables(study: Path) -> None:
    long = "somebody/a-model-with-a-very-long-name-2025-01-01"
    told = responses().with_columns(pl.col("respondent").replace({"alpha": long, "beta": long.replace("very", "much")}))
    counts, known = load_counts(told, scenes(), participants=True)
    view = PageView(analyze(Scoring(counts, known, ScorePolicy.standard(reference="human", bootstrap=0))))
    # Both names would have the same short form, so they are not shortened.
    assert {view.labels(group)[0] for group in view.scored} == {"human", long, long.replace("very", "much")}
    told = told.filter(pl.col("respondent") != long.replace("very", "much"))
    counts, known = load_counts(told, scenes(), participants=True)
    view = PageView(analyze(Scoring(counts, known, ScorePolicy.standard(reference="human", bootstrap=0))))
    labels = {view.labels(group)[0] for group in view.scored}
    assert len(labels) == 2
    (label,) = labels - {"human"}
    start, end = label.split("…")
    assert len(label) == 22
    assert long.startswith(start)
    assert long.endswith(end)
    table = all_sections(view)[0].tables[0]
    assert long in [row[0].text for row in table.groups[0].rows]


@pytest.mark.slow
def test_report_with_another_grid_has_no_center_window(tmp_path: Path) -> None:
    grids = (Grid(4, 8, 1280, 720), Grid(4, 8, 640, 360))
    known = [
        Scene(sport="padel", image=str(number), grid=grid, ball_cells=["A1"], players=[[0, 0, 50, 50]])
        for number, grid in enumerate(grids)
    ]
    rows_ = [
        {"sport": "padel", "image": str(number), "respondent": name, "kind": kind, "cell": cell, "sample": 1}
        for number in range(2)
        for name, kind, cell in (("human", "human", "B2"), ("me", "model", "C8"))
    ]
    counts, known_ = load_counts(pl.DataFrame(rows_), known, participants=True)
    write_report(Scoring(counts, known_, ScorePolicy.standard(reference="human", bootstrap=0)), tmp_path / "out")
    page = parsed((tmp_path / "out/report.html").read_text())
    assert "Center ratio has no value in this report" in page.all("section", id="center")[0].text
    (gallery,) = page.all("section", id="gallery")
    assert "center=" not in gallery.all("div", id="explorer")[0].attributes["data-modes"]
    assert len(gallery.all("article")) == 2


@pytest.mark.slow
def test_page_escapes_markup_in_names_from_the_data(tmp_path: Path) -> None:
    bad = "<script>$x$&\"'`y`"
    told = responses().with_columns(pl.col("respondent").replace("alpha", bad), pl.col("prompt").replace("cot", "<b>"))
    known = [scene.model_copy(update={"sport": f"<i>{scene.sport}"}) for scene in scenes()]
    counts, known_ = load_counts(
        told.with_columns(sport=pl.concat_str(pl.lit("<i>"), "sport")), known, participants=True
    )
    scoring = Scoring(counts, known_, ScorePolicy.standard(reference="human", bootstrap=0))
    view = PageView(analyze(scoring))
    page = parsed(
        render_page(page_of(view), all_sections(view), {p.name: [] for s in all_sections(view) for p in s.pictures})
    )
    assert len(page.all("script")) == 1
    assert not page.all("b")
    assert bad in [row[1] for row in rows(page, "headline")]
    write_report(scoring, tmp_path / "out")
    whole = parsed((tmp_path / "out/report.html").read_text())
    assert len(whole.all("script")) == 1
    assert bad in [one.text for one in whole.all("section", id="accuracy")[0].all("text")]
