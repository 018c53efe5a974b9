"""Test the published join of answers and players by file name against plain loops and hand-computed values."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from spotball_core.replication.by_file_name import Joined
from spotball_core.replication.material import Material
from tests.release_layout import write_csv, write_release
from tests.replication.small import read_rows

ALIASES = {"bb": "basketball", "vball": "volleyball"}
PROMPTS = {"0": "base", "1": "cue", "2": "cot"}
LETTERS = "ABCDEF"

Box = tuple[float, float, float, float]
Rates = tuple[int, float, float]


def joined_by_loops(data: Path) -> dict[tuple[str, str, str], Rates]:
    """Return the number of answers, near-player rate and overlap rate of each sport, respondent and prompt."""
    boxes: dict[str, list[Box]] = {}
    sport_of: dict[str, str] = {}
    for row in read_rows(data / "analysis/player_proximity/filtered_people_boxes_long.csv"):
        name = Path(row["image"]).name
        boxes.setdefault(name, []).append((float(row["x1"]), float(row["y1"]), float(row["x2"]), float(row["y2"])))
        sport_of[name] = row["sport"]
    hits: dict[tuple[str, str, str], list[tuple[bool, bool]]] = {}
    for path in sorted((data / "responses/models").glob("*/*.csv")):
        level, sport = path.stem.removeprefix("level").split("_")
        for row in read_rows(path):
            name, cell = file_of(row["image"], boxes), position(row["cell"])
            if name and cell:
                condition = (ALIASES.get(sport, sport), path.parent.name, PROMPTS[level])
                hits.setdefault(condition, []).append(near_and_over(cell, boxes[name]))
    for path in sorted((data / "responses/humans").glob("*_clicks.csv")):
        for row in read_rows(path):
            name = file_of(row["image"], boxes)
            if name:
                cell = (int(row["row"]), int(row["col"]))
                hits.setdefault((sport_of[name], "human", "base"), []).append(near_and_over(cell, boxes[name]))
    return {
        condition: (len(found), sum(n for n, _ in found) / len(found), sum(o for _, o in found) / len(found))
        for condition, found in hits.items()
    }


def file_of(image: str, boxes: dict[str, list[Box]]) -> str | None:
    name = Path(image).name
    tried = [name, *(f"{Path(name).stem}{ending}" for ending in (".jpg", ".png", ".jpeg"))]
    return next((candidate for candidate in tried if candidate in boxes), None)


def position(cell: str) -> tuple[int, int] | None:
    text = cell.strip().upper()
    match = re.fullmatch(r"([A-F])\s*([1-9]|10)", text) or re.fullmatch(r"([1-9]|10)\s*([A-F])", text)
    if not match:
        return None
    letter, number = sorted(match.groups(), key=str.isdigit)
    return LETTERS.index(letter) + 1, int(number)


def near_and_over(cell: tuple[int, int], boxes: list[Box]) -> tuple[bool, bool]:
    row, col = cell
    left, top = (col - 1) * 64, (row - 1) * 60
    x, y = left + 32, top + 30
    distances, areas = [], []
    for x1, y1, x2, y2 in boxes:
        distances.append(math.hypot(max(x1 - x, 0, x - x2), max(y1 - y, 0, y - y2)))
        wide, high = min(left + 64, x2) - max(left, x1), min(top + 60, y2) - max(top, y1)
        areas.append(max(wide, 0) * max(high, 0))
    return min(distances) <= 0.08 * math.hypot(640, 360), max(areas) / 3840 >= 0.02


@pytest.mark.parametrize("seed", range(6))
def test_joined_near_player_and_overlap_rates_equal_those_of_plain_loops(tmp_path: Path, seed: int) -> None:
    folder = write_release(tmp_path, seed)
    material = Material.read(folder)
    expected = joined_by_loops(folder / "data")
    found = {
        condition: (joined.n, joined.near_player_rate, joined.overlap_rate)
        for condition in material.conditions
        if (joined := material.joined(condition))
    }
    assert set(found) == set(expected)
    for condition, rates in expected.items():
        assert found[condition] == pytest.approx(rates, abs=1e-12), condition


@pytest.fixture(scope="module")
def material(release: Path) -> Material:
    return Material.read(release)


def joined(material: Material, sport: str, respondent: str, prompt: str) -> Joined:
    found = material.joined((sport, respondent, prompt))
    assert found is not None
    return found


def test_join_by_file_name_mixes_players_of_basketball_and_volleyball_only(material: Material) -> None:
    names = material.by_file_name
    assert names.name(("basketball", "1")) == names.name(("volleyball", "1")) == "1.png"
    assert len(names.boxes("1.png")) == 2
    assert len(names.boxes("2.jpg")) == 2  # Both boxes belong to soccer.
    assert names.name(("volleyball", "2")) is None  # No players were detected on this image.
    for prompt in ("base", "cue", "cot"):
        assert not joined(material, "soccer", "gpt", prompt).mixed
        assert joined(material, "volleyball", "gpt", prompt).mixed


def test_join_excludes_answers_whose_image_name_has_no_boxes(material: Material) -> None:
    # The files of boxes and of GPT call the controls 302.jpg and 347.jpg, but the file of Gemini uses other names.
    assert joined(material, "soccer", "gpt", "cot").n == 3 * 4  # Images 2, 302 and 347; players of 163 are unknown.
    assert joined(material, "soccer", "gemini", "cot").n == 4  # Only image 2 is matched.


def test_join_assigns_answers_of_people_to_the_sport_whose_image_file_has_the_answered_number(
    material: Material,
) -> None:
    # Each image has nine answers. Image 2 of any sport is matched to soccer's 2.jpg; images 1 and 3 to volleyball's.
    soccer = joined(material, "soccer", "human", "base")
    assert (soccer.n, soccer.mixed) == (3 * 9, True)
    assert joined(material, "volleyball", "human", "base").n == 3 * 9
    assert material.joined(("basketball", "human", "base")) is None


def test_join_reads_sports_from_folder_names_if_boxes_have_no_sport_column_and_returns_none_without_boxes(
    material: Material, tmp_path: Path
) -> None:
    folder = write_release(tmp_path)
    players = folder / "data/analysis/player_proximity"
    path = players / "filtered_people_boxes_long.csv"
    columns = ("image", "x1", "y1", "x2", "y2")
    write_csv(path, columns, [[row[column] for column in columns] for row in read_rows(path)])
    same = Material.read(folder).by_file_name.boxes("1.png")
    assert same.tolist() == material.by_file_name.boxes("1.png").tolist()
    path.unlink()
    (players / "filtered_people_image_summary.csv").unlink()
    without = Material.read(folder)
    assert all(without.joined(condition) is None for condition in without.conditions)
