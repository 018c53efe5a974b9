"""The published release's layout: what its own soccer clicks are, put into a study and taken out again."""

from __future__ import annotations

import csv
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from spotball_adapters.study.events import Event, StudyTrial
from spotball_adapters.study.setup.design import StudyDesign, load
from spotball_adapters.study.setup.init import init_study
from spotball_adapters.study.simulation.behavior import Population
from spotball_adapters.study.store import StudyStore
from spotball_core import import_release
from spotball_core.counting.responses import read_counts
from spotball_core.errors import OptionError
from spotball_core.io.frames import COLUMNS
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.random import generator_for
from spotball_core.replication import replicate
from spotball_core.schema.scene import GridShape, Scene
from tests.adapters.study import made
from tests.adapters.study.people import command, confirmed
from tests.adapters.study.stored import Clock, simulate, store_participant

CLICKS = "data/responses/humans/soccer_clicks.csv"


class TestSmall:
    """Synthetic participants, of two sports that the layout has."""

    @pytest.fixture
    def study(self, tmp_path: Path) -> Path:
        folder = made.study(tmp_path, sports=("soccer", "volleyball"))
        known = read_scenes(tmp_path / "data/scenes.jsonl")
        boxed = [scene.model_copy(update={"ball_box": (70.5, 130.25, 95.5, 160.5)}) for scene in known]
        write_scenes(boxed, tmp_path / "data/scenes.jsonl")
        simulate(folder, 6, population=Population(unfinished=0, careless=0))
        return folder

    def test_is_what_the_importer_reads(self, study: Path, tmp_path: Path) -> None:
        out = tmp_path / "release"
        command("export", study, "--out", out, "--format", "release")
        command("export", study, "--out", tmp_path / "human.jsonl", "--respondent", "human")
        release = import_release(out)
        scenes = {scene.key: scene for scene in read_scenes(tmp_path / "data/scenes.jsonl")}
        assert {scene.key for scene in release.scenes} == scenes.keys()
        for scene in release.scenes:
            assert (scene.ball_cells, scene.ball_box) == (scenes[scene.key].ball_cells, scenes[scene.key].ball_box)
            assert scene.control == scenes[scene.key].control
        controls = {scene.image for scene in scenes.values() if scene.control}
        ours = pl.read_ndjson(tmp_path / "human.jsonl").filter(~pl.col("image").is_in(controls))
        assert ours.select(COLUMNS).sort(COLUMNS).rows() == release.responses.sort(COLUMNS).rows()

    def test_order_counts_checks_which_are_left_out(self, study: Path, tmp_path: Path) -> None:
        command("export", study, "--out", tmp_path / "release", "--format", "release")
        with (tmp_path / "release" / CLICKS).open(newline="") as file:
            rows = [tuple(row.values()) for row in csv.DictReader(file)]
        assert rows == [
            (who, str(trial["trial"] + 1), trial["image"], str(number), str(row), str(col))
            for who, trial, cells in confirmed(study)
            if trial["sport"] == "soccer" and not trial["check"]
            for number, (row, col) in enumerate(cells, start=1)
        ]

    def test_the_same_again_replaces_it_and_others_files_are_left_alone(self, study: Path, tmp_path: Path) -> None:
        out = tmp_path / "release"
        for _ in range(2):
            command("export", study, "--out", out, "--format", "release")
        (out / "data/responses/models").mkdir()
        (out / "data/responses/models/mine.csv").write_text("mine")
        before = (out / CLICKS).read_bytes()
        with pytest.raises(OptionError, match="contains other files of a release"):
            command("export", study, "--out", out, "--format", "release", "--keep-all")
        assert (out / CLICKS).read_bytes() == before

    def test_images_without_a_box_are_said_to_have_no_truth(self, study: Path, tmp_path: Path) -> None:
        known = read_scenes(tmp_path / "data/scenes.jsonl")
        boxless = [known[0].model_copy(update={"ball_box": None}), *known[1:]]
        write_scenes(boxless, tmp_path / "data/scenes.jsonl")
        said = command("export", study, "--out", tmp_path / "release", "--format", "release")
        assert "soccer: the exported ground truth does not contain 1 image without a `ball_box`" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sport": "curling"}, "--format release does not support the sport 'curling'"),
        (
            {"grid": GridShape(rows=3, cols=5)},
            "soccer/1 has the grid 3x5@640x360, but the release format requires 6x10@640x360",
        ),
        ({"image": "a1"}, "the image id 'a1' is not a number"),
    ],
)
def test_what_the_layout_has_no_place_for(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    made.dataset(tmp_path / "data", images=2, checks=1)
    known = [scene.model_copy(update=change) for scene in read_scenes(tmp_path / "data/scenes.jsonl")[:1]]
    write_scenes(known, tmp_path / "data/scenes.jsonl")
    init_study(tmp_path / "data", tmp_path / "study")
    simulate(tmp_path / "study", 1, population=Population(unfinished=0))
    with pytest.raises(OptionError, match=said):
        command("export", tmp_path / "study", "--out", tmp_path / "release", "--format", "release")
    assert not (tmp_path / "release").exists()


@pytest.fixture(scope="module")
def published(real_release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    import_release(real_release).write(folder / "data")
    config = init_study(folder / "data", folder / "study", sports=["soccer"], images=50)
    (listed,) = config.lists
    assert (len(listed.images), listed.checks) == (50, ("302", "347"))
    design = load(folder / "study")
    with StudyStore(folder / "study") as store:
        store.claim(design.parts)
        for label, answers in clicks_of(real_release / CLICKS).items():
            trials, events = as_events(label, answers, design)
            store_participant(store, design, label, "soccer", 0, trials, events)
    return folder / "study"


@pytest.mark.real
class TestPublished:
    """The release's soccer clicks as events of fifty participants; what they clicked on checks is not in it."""

    def test_clicks_come_back_byte_for_byte(self, published: Path, real_release: Path, tmp_path: Path) -> None:
        command("export", published, "--out", tmp_path / "release", "--format", "release")
        assert (tmp_path / "release" / CLICKS).read_bytes() == (real_release / CLICKS).read_bytes()

    def test_responses_are_those_of_the_import(self, published: Path, real_release: Path, tmp_path: Path) -> None:
        command("export", published, "--out", tmp_path / "human", "--respondent", "human")
        release = import_release(real_release)
        people = release.responses.filter(pl.col("respondent") == "human")
        scenes = read_scenes(tmp_path / "human/scenes.jsonl")
        assert {scene.key: scene for scene in scenes} == {scene.key: scene for scene in release.scenes}
        ours = pl.read_ndjson(tmp_path / "human/responses-people.jsonl")
        tests = ours.filter(~pl.col("image").is_in(["302", "347"])).cast({"reasoning": pl.String})
        assert len(tests) == 7500
        assert tests.select(COLUMNS).sort(COLUMNS).rows() == people.sort(COLUMNS).rows()
        assert read_counts(tests, scenes).table.equals(read_counts(people, scenes).table)

    def test_replication_gives_the_same_figures(self, published: Path, real_release: Path, tmp_path: Path) -> None:
        out = tmp_path / "release"
        command("export", published, "--out", out, "--format", "release")
        # What a study has no part in is the release's own.
        for part in ("analysis", "processed", "responses/models"):
            shutil.copytree(real_release / "data" / part, out / "data" / part)
        ours, theirs = replicate(out), replicate(real_release)
        assert len(ours.items) == len(theirs.items)
        for mine, said in zip(ours.items, theirs.items, strict=True):
            assert (mine.name, mine.quantity, mine.status) == (said.name, said.quantity, said.status)
            for figure, wanted in ((mine.reproduced, said.reproduced), (mine.standard, said.standard)):
                assert figure == (None if wanted is None else pytest.approx(wanted, rel=1e-12))
        assert sum(item.reproduced is not None for item in ours.items) > 30


def clicks_of(path: Path) -> dict[str, dict[int, tuple[str, list[tuple[int, int]]]]]:
    """By participant and order: the image and the cells that were clicked."""
    found: defaultdict[str, dict[int, tuple[str, list[tuple[int, int]]]]] = defaultdict(dict)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            _, cells = found[row["id"]].setdefault(int(row["order"]), (row["image"], []))
            cells.append((int(row["row"]), int(row["col"])))
            assert len(cells) == int(row["click"])
    return dict(found)


def as_events(
    label: str, answers: dict[int, tuple[str, list[tuple[int, int]]]], design: StudyDesign
) -> tuple[list[StudyTrial], list[Event]]:
    """Trials and events that come to these answers, with synthetic times, and all clicks on the ball on checks."""
    checks = iter(("302", "347"))
    clock = Clock(generator_for(0, label))
    trials, events = [], [clock.event("stage", None, {"stage": stage}) for stage in ("consent", "instructions")]
    for order in range(1, 53):
        image, cells = answers.get(order) or (next(checks), [])
        scene: Scene = design.scenes["soccer", image]
        trials.append(StudyTrial(order - 1, "soccer", image, check=not cells))
        ball = scene.layout.position((scene.ball_cells or ())[0])
        events += clock.answer(order - 1, cells or [ball] * 3, scene.grid, 12.0)
    return trials, events
