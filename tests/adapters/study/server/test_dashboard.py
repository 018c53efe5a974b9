"""Test the admin page: the row of each participant, and that a refresh reads only new events."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from spotball_adapters.study.results.participations import participations
from spotball_adapters.study.server import dashboard as module
from spotball_adapters.study.server.charts import over_time
from spotball_adapters.study.server.dashboard import Dashboard
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.store import StudyReader, StudyStore, reading
from spotball_core.service.sqlite_file import StoreError
from tests.adapters.study.asked import QUIZ, RIGHT, WRONG, add
from tests.adapters.study.made import change, people, study
from tests.adapters.study.stored import simulate
from tests.failures import raises

AUTH = ("admin", "secret")


def rows_of(page: str) -> list[list[str]]:
    """Return the cells of each participant's row."""
    people = page.partition('<table class="people">')[2].partition("</table>")[0]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", people)
    return [re.split(r"</t[hd]><td[^>]*>", row.removesuffix("</td>")) for row in rows]


@pytest.fixture
def renewed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(module, "SHARE", 1e9)
    monkeypatch.setattr(module, "PATIENCE", None)


@pytest.mark.usefixtures("renewed_at_once")
def test_dashboard_shows_stage_progress_and_flags_of_each_participant(tmp_path: Path) -> None:
    folder = add(study(tmp_path, images=2, checks=1, changes={"same_cell = false": "same_cell = true"}), QUIZ)
    with people(folder, None, None, password="secret") as (person, stranger):

        def lines() -> dict[str, list[str]]:
            page = httpx.get(f"{person.client.base_url}/admin", auth=AUTH)
            assert page.status_code == 200
            return {row[0]: row[1:] for row in rows_of(page.text)}

        assert lines() == {}
        person.start()
        label = person.state["participant"]
        assert lines()[label][:2] == ["soccer", "instructions"]
        assert re.fullmatch(r"\d+ s ago", lines()[label][-1])
        person.do("stage", stage="instructions")
        assert lines()[label][1] == "quiz"
        person.do("quiz", answers=RIGHT)
        for item in person.state["practice"]:
            person.answer(item)
        person.do("stage", stage="practice")
        first, *others = person.state["trials"]
        person.answer(first)
        assert lines()[label][1:3] == ["images", '<progress max="3" value="1"></progress>1 of 3']
        for item in others:
            person.answer(item)
        assert lines()[label][1:3] == ["finished", '<progress max="3" value="3"></progress>3 of 3']
        # study.toml names only the rule same-cell, so only this flag excludes and is emphasized.
        assert lines()[label][3] == "<strong>same-cell</strong>, clock, duplicates"
        stranger.start()
        stranger.do("stage", stage="instructions")
        for _ in range(2):
            stranger.do("quiz", answers=WRONG)
        assert lines()[stranger.state["participant"]][1] == "screened out"


def test_dashboard_refresh_reads_only_the_events_of_new_participants_and_shows_all_participants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = study(tmp_path, images=9, checks=2, changes={"explanations = 9": "explanations = 4"})
    with StudyStore(folder):
        pass
    asked: list[int] = []
    read = StudyReader.events

    def counted(self: StudyReader, participant_id: int, *, after: int = 0) -> Any:
        found = read(self, participant_id, after=after)
        asked.append(len(found))
        return found

    monkeypatch.setattr(StudyReader, "events", counted)
    design = load(folder)
    with closing(Dashboard(design, folder, " ".join)) as live:
        for seed in range(3):
            simulate(folder, 4, seed=seed)
            asked.clear()
            page = live.look({})
            # Events of earlier participants are not read again.
            assert len(asked) == 4
        with closing(Dashboard(design, folder, " ".join)) as fresh:
            assert [row[:-1] for row in rows_of(fresh.look({}))] == [row[:-1] for row in rows_of(page)]
        with reading(folder) as reader:
            everybody = participations(reader, design)
        assert {row[0] for row in rows_of(page)} == {person.participant for person in everybody}


def test_dashboard_escapes_markup_and_drops_deleted_participants(tmp_path: Path) -> None:
    folder = study(tmp_path, images=3, changes={'name = "soccer"': 'name = "<b>soccer"'})
    labels = simulate(folder, 3)
    with closing(Dashboard(load(folder), folder, " ".join)) as live:
        page = live.look({"<script>": 1})
        assert len(rows_of(page)) == 3
        assert not any(markup in page for markup in ("<b>soccer", "<script>:"))
        assert "&lt;script&gt;" in page
        with StudyStore(folder) as store, store.study.transaction() as connection:
            connection.execute("DELETE FROM participants WHERE participant = ?", (labels[0],))
        assert {row[0] for row in rows_of(live.look({}))} == set(labels[1:])


def test_dashboard_of_a_changed_study_is_an_error(tmp_path: Path) -> None:
    folder = study(tmp_path, images=3)
    simulate(folder, 1)
    change(folder, {"per_image = 3": "per_image = 4"})
    with closing(Dashboard(load(folder), folder, " ".join)) as live, raises(StoreError, "unusable-store"):
        live.look({})


def test_wall_has_the_clicked_cells_of_each_image_and_forgets_deleted_participants(tmp_path: Path) -> None:
    folder = study(tmp_path, images=3)
    labels = simulate(folder, 4)
    with closing(Dashboard(load(folder), folder, "/".join)) as live:

        def wall() -> dict[str, tuple[str, int, int]]:
            """Return each image's address, its number of answers, and its number of clicked cells, by its name."""
            item = r'<li><div><img src="(.*?)"(.*?)</div><span>(.*?)</span> <strong>(\d+)</strong></li>'
            found = re.findall(item, live.look({}))
            return {name: (source, int(n), heat.count("h1v1h-1z")) for source, heat, name, n in found}

        with reading(folder) as reader:
            everybody = participations(reader, load(folder))

        def expected(kept: list[str]) -> dict[str, tuple[str, int, int]]:
            answers = [given for person in everybody if person.participant in kept for given in person.answers]
            cells: dict[tuple[str, str], set[tuple[int, int]]] = {}
            for given in answers:
                cells.setdefault((given.sport, given.image), set()).update(given.places)
            counted = Counter((given.sport, given.image) for given in answers)
            return {
                f"soccer {image}": (f"soccer/{image}", counted["soccer", image], len(cells.get(("soccer", image), ())))
                for image in load(folder).config.lists[0].images
            }

        assert wall() == expected(labels)
        with StudyStore(folder) as store, store.study.transaction() as connection:
            connection.execute("DELETE FROM participants WHERE participant = ?", (labels[0],))
        assert wall() == expected(labels[1:])
        assert expected(labels[1:]) != expected(labels)


@pytest.mark.parametrize(
    ("minutes", "per", "heights"),
    [
        ({100: 4}, "1 min", [100]),
        ({100: 4, 101: 1, 159: 2}, "1 min", [100, 25, 50]),
        ({0: 3, 1: 1, 119: 2}, "2 min", [100, 50]),
        ({0: 1, 60 * 24 * 60: 4}, "2 d", [25, 100]),
        ({5: 0, 6: 1}, "1 min", [100]),
    ],
)
def test_over_time_has_one_bar_per_interval_with_answers(
    minutes: dict[int, int], per: str, heights: list[float]
) -> None:
    chart = over_time(minutes)
    assert f"Answers per {per}," in chart
    assert [float(height) for height in re.findall(r'<rect[^>]*height="([\d.]+)"', chart)] == heights


def test_over_time_without_answers_is_empty() -> None:
    assert over_time({}) == ""


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_admin_page_refreshes_itself_without_reloading(tmp_path: Path, browser: Any, width: int) -> None:
    from tests.adapters.study.browsing import expect, fits

    credentials = {"username": "admin", "password": "secret"}
    with people(study(tmp_path, images=2, checks=1), None, password="secret") as (person,):
        context = browser.new_context(http_credentials=credentials, viewport={"width": width, "height": 800})
        try:
            page = context.new_page()
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(f"{person.client.base_url}/admin")
            page.evaluate("window.same = true")
            person.start()
            page.locator("#people summary").click()
            row = page.get_by_role("row", name=person.state["participant"])
            expect(row).to_contain_text("instructions", timeout=30_000)
            person.do("stage", stage="instructions")
            expect(row).to_contain_text("practice", timeout=30_000)
            assert page.evaluate("window.same")
            assert page.evaluate("document.activeElement.parentElement.id") == "people"
            fits(page)
            page.route("**/admin", lambda route: route.abort())
            expect(page.locator("#state")).to_contain_text("Not up to date", timeout=30_000)
            page.unroute("**/admin")
            expect(page.locator("#state")).to_have_text("", timeout=30_000)
            assert not errors
        finally:
            context.close()
