"""Test exports in the layout of the published release, also with the release's own soccer clicks."""

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
from spotball_core.counting.read import read_counts
from spotball_core.errors import OptionError
from spotball_core.io.frames import COLUMNS
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.random import generator_for
from spotball_core.replication import replicate
from spotball_core.schema.scene import GridShape, Scene
from tests.adapters.study import made
from tests.adapters.study.stored import Clock, command, confirmed, simulate, store_participant
from tests.failures import raises

CLICKS = "data/responses/humans/soccer_clicks.csv"


def release_of(study: Path, out: Path, *options: str) -> str:
    return command("export", study, "--out", out, "--format", "release", *options)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Create a study with two sports that the release layout supports, answered by simulated participants."""
    folder = made.study(tmp_path, sports=("soccer", "volleyball"))
    known = read_scenes(tmp_path / "data/scenes.jsonl")
    boxed = [scene.model_copy(update={"ball_box": (70.5, 130.25, 95.5, 160.5)}) for scene in known]
    write_scenes(boxed, tmp_path / "data/scenes.jsonl")
    simulate(folder, 6, population=Population(unfinished=0, careless=0))
    return folder


def test_release_export_is_read_back_by_import_release_and_its_order_numbers_count_checks(
    study: Path, tmp_path: Path
) -> None:
    out = tmp_path / "release"
    release_of(study, out)
    command("export", study, "--out", tmp_path / "human.jsonl", "--respondent", "human")
    release = import_release(out)
    scenes = {scene.key: scene for scene in read_scenes(tmp_path / "data/scenes.jsonl")}
    fields = ("ball_cells", "ball_box", "control")
    assert {scene.key: [getattr(scene, name) for name in fields] for scene in release.scenes} == {
        key: [getattr(scene, name) for name in fields] for key, scene in scenes.items()
    }
    controls = {scene.image for scene in scenes.values() if scene.control}
    ours = pl.read_ndjson(tmp_path / "human.jsonl").filter(~pl.col("image").is_in(controls))
    assert ours.select(COLUMNS).sort(COLUMNS).rows() == release.responses.sort(COLUMNS).rows()
    # Clicks on checks are excluded, but the order numbers of the other images count the checks.
    assert pl.read_csv(out / CLICKS, infer_schema=False).rows() == [
        (who, str(trial["trial"] + 1), trial["image"], str(number), str(row), str(col))
        for who, trial, cells in confirmed(study)
        if trial["sport"] == "soccer" and not trial["check"]
        for number, (row, col) in enumerate(cells, start=1)
    ]


def test_release_export_replaces_an_earlier_export_but_no_other_files_and_reports_images_without_a_ball_box(
    study: Path, tmp_path: Path
) -> None:
    out, scenes = tmp_path / "release", tmp_path / "data/scenes.jsonl"
    for _ in range(2):
        release_of(study, out)
    (out / "data/responses/models").mkdir()
    (out / "data/responses/models/mine.csv").write_text("mine")
    before = (out / CLICKS).read_bytes()
    with raises(OptionError, "output-exists:--out"):
        release_of(study, out, "--keep-all")
    assert (out / CLICKS).read_bytes() == before
    first, *others = read_scenes(scenes)
    write_scenes([first.model_copy(update={"ball_box": None}), *others], scenes)
    said = release_of(study, tmp_path / "other")
    assert "soccer: the exported ground truth does not contain 1 image without a `ball_box`" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sport": "curling"}, "invalid-option"),
        ({"grid": GridShape(rows=3, cols=5)}, "different-grids"),
        ({"image": "a1"}, "invalid-value"),
    ],
)
def test_release_export_of_an_unsupported_sport_grid_or_image_id_is_an_error(
    tmp_path: Path, change: Any, said: str
) -> None:
    made.dataset(tmp_path / "data", images=2, checks=1)
    known = [scene.model_copy(update=change) for scene in read_scenes(tmp_path / "data/scenes.jsonl")[:1]]
    write_scenes(known, tmp_path / "data/scenes.jsonl")
    init_study(tmp_path / "data", tmp_path / "study")
    simulate(tmp_path / "study", 1, population=Population(unfinished=0))
    with raises(OptionError, said):
        release_of(tmp_path / "study", tmp_path / "release")
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
    """Test exports of the published soccer clicks, stored as events of 50 participants.

    The release contains no clicks on checks.
    """

    @pytest.mark.slow
    def test_published_clicks_are_exported_byte_for_byte_and_replicate_the_same_figures(
        self, published: Path, real_release: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "release"
        release_of(published, out)
        assert (out / CLICKS).read_bytes() == (real_release / CLICKS).read_bytes()
        # Copy the parts that a study does not contain from the release.
        for part in ("analysis", "processed", "responses/models"):
            shutil.copytree(real_release / "data" / part, out / "data" / part)
        ours, theirs = replicate(out), replicate(real_release)
        assert len(ours.items) == len(theirs.items)
        for mine, said in zip(ours.items, theirs.items, strict=True):
            assert (mine.name, mine.quantity, mine.status) == (said.name, said.quantity, said.status)
            for figure, wanted in ((mine.reproduced, said.reproduced), (mine.standard, said.standard)):
                assert figure == (None if wanted is None else pytest.approx(wanted, rel=1e-12))
        assert sum(item.reproduced is not None for item in ours.items) > 30

    def test_exported_responses_of_published_clicks_equal_those_of_import_release(
        self, published: Path, real_release: Path, tmp_path: Path
    ) -> None:
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


def clicks_of(path: Path) -> dict[str, dict[int, tuple[str, list[tuple[int, int]]]]]:
    """Return the image and the clicked cells by participant and order."""
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
    """Return trials and events of these answers, with synthetic times. On checks, all clicks hit the ball."""
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
