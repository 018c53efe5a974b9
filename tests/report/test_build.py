"""The report as files: all of them or none, the same each time, nobody else's lost."""

from __future__ import annotations

import base64
import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib import rcParams
from PIL import Image

from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.overlay import gridded, layout
from spotball_core.pages import figures
from spotball_core.pages.pictures import WIDTH, as_data
from spotball_core.report.build import write_report
from spotball_core.report.numbers.records import PageReport
from spotball_core.report.write import check_report, write_page
from spotball_core.schema import ScorePolicy, ScoreReport
from spotball_core.scoring.groups import Scoring
from spotball_core.scoring.score import load_counts
from spotball_core.service.parallel import Workers
from spotball_core.service.paths import find_file
from tests.report.conftest import Written
from tests.report.study import GRID, responses, scenes, scoring_of

FIGURES = {
    *("accuracy", "error", "alignment", "ceiling", "proximity", "center", "entropy", "mixture", "density"),
    *("thresholds", "guess-maps"),
}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_writes_the_page_the_numbers_and_each_figure_twice(written: Written) -> None:
    names = {f"figures/{name}.{ending}" for name in FIGURES for ending in ("png", "svg")}
    files = contents(written.out)
    assert files.keys() == {"report.html", "report.json", "figures/captions.md", *names}
    assert all(files[name].startswith(b"\x89PNG" if name.endswith("png") else b"<?xml") for name in names)
    assert PageReport.model_validate_json(files["report.json"]) == written.report
    # Every figure is named on the page, where it is shown.
    assert all(f'href="figures/{name}.png"' in written.page for name in FIGURES)
    captions = files["figures/captions.md"].decode()
    assert captions.count(written.report.signature) == len(FIGURES)
    assert all(f"- {name.removeprefix('figures/')}\n" in captions for name in names)
    assert [path.name for path in written.out.parent.iterdir()] == ["report"]


def test_the_scores_are_those_of_score(written: Written, study: Path) -> None:
    found_ = {name: getattr(written.report, name) for name in ScoreReport.model_fields}
    assert ScoreReport(**{**found_, "ceilings": ()}) == scoring_of(study).report()


@pytest.mark.slow
def test_again_it_gives_the_same_bytes_whatever_matplotlib_is_set_to(written: Written, tmp_path: Path) -> None:
    scoring = scoring_of(written.study)
    before = dict(rcParams)
    rcParams.update({"font.size": 20, "axes.facecolor": "pink", "svg.fonttype": "path"})
    try:
        write_report(scoring, tmp_path / "again", image_folders=[written.study])
        assert rcParams["font.size"] == 20
    finally:
        rcParams.update(before)
    assert contents(tmp_path / "again") == contents(written.out)


@pytest.mark.slow
def test_several_processes_write_the_same_bytes(written: Written, tmp_path: Path) -> None:
    with Workers(2) as workers:
        write_report(scoring_of(written.study), tmp_path / "again", image_folders=[written.study], workers=workers)
    assert contents(tmp_path / "again") == contents(written.out)


@pytest.mark.slow
def test_the_page_of_a_record_read_from_disk_is_the_same(written: Written, tmp_path: Path) -> None:
    read = PageReport.model_validate_json((written.out / "report.json").read_bytes())
    write_page(read, tmp_path / "again", image_folders=[written.study])
    assert contents(tmp_path / "again") == contents(written.out)


@pytest.mark.slow
def test_an_earlier_report_is_replaced_as_a_whole(written: Written, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(written.out, out)
    write_report(scoring_of(written.study, reference=None, bootstrap=0), out)
    # Nothing of the first is left: without a reference there is neither of these.
    assert not (out / "figures/alignment.png").exists()
    assert not (out / "figures/ceiling.png").exists()


@pytest.mark.parametrize("name", ["notes.txt", "report.html", "report.json", "figures/mine.txt"])
def test_a_folder_that_is_no_report_is_refused(tmp_path: Path, study: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(OptionError, match="not empty and is not an earlier report"):
        write_report(scoring_of(study, bootstrap=0), tmp_path)
    assert contents(tmp_path) == {name: b"mine"}


def test_a_report_with_something_of_the_users_is_refused(written: Written, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(written.out, out)
    check_report(out)
    (out / "figures/notes.txt").write_text("mine")
    with pytest.raises(OptionError, match=r"it contains figures/notes\.txt"):
        check_report(out)
    with pytest.raises(OptionError, match="is a file"):
        check_report(out / "report.html")


@pytest.mark.slow
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_interrupted_it_leaves_what_was_there(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    drawn = []

    def broken(figure: object, path: Path, **_: object) -> None:
        if len(drawn) == 1:
            raise error
        path.write_bytes(b"half a report")
        drawn.append(path)

    monkeypatch.setattr(figures, "save_figure", broken)
    scoring = scoring_of(written.study, reference=None, bootstrap=0)
    out = tmp_path / "out"
    with pytest.raises(error):
        write_report(scoring, out)
    assert len(drawn) == 1
    assert list(tmp_path.iterdir()) == []
    shutil.copytree(written.out, out)
    with pytest.raises(error):
        write_report(scoring, out)
    assert contents(out) == contents(written.out)
    assert list(tmp_path.iterdir()) == [out]


def test_other_groups_and_nothing_to_score_are_refused(study: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="expected sport, respondent, prompt"):
        write_report(scoring_of(study, by=("respondent",)), tmp_path / "out")
    only_controls = [scene.model_copy(update={"control": True}) for scene in scenes()]
    counts, known = load_counts(responses(), only_controls, participants=True)
    with pytest.raises(OptionError, match="no images are left to score"):
        write_report(Scoring(counts, known, ScorePolicy.standard(bootstrap=0)), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


# Pictures ----------------------------------------------------------------------------------------------------


def test_pictures_are_found_in_their_folder_and_nowhere_else(study: Path, tmp_path: Path) -> None:
    path = scenes()[0].path
    assert find_file([tmp_path, study], path) == (study / "images/soccer/1.jpg").resolve()
    assert find_file([tmp_path], path) is None
    assert find_file([study], None) is None


def shown(data: str | None) -> Image.Image:
    assert data is not None
    kind, _, content = data.partition(",")
    assert kind == "data:image/webp;base64"
    return Image.open(io.BytesIO(base64.b64decode(content)))


def apart(one: Image.Image, other: Image.Image) -> float:
    """How far the pixels of two images are apart on average, of 255."""
    first, second = (np.asarray(image.convert("RGB"), dtype=float) for image in (one, other))
    return float(np.abs(first - second).mean())


def test_pictures_are_the_drawing_that_respondents_see_made_small(study: Path) -> None:
    path = study / "images/soccer/1.jpg"
    small = shown(as_data(path, scenes()[0].layout))
    assert small.size == (WIDTH, WIDTH * GRID.height // GRID.width)
    with Image.open(path) as image:
        bare = image.convert("RGB")
    drawn = gridded(bare, scenes()[0].layout)
    assert apart(small, drawn.resize(small.size)) < 3.5 < 6 < apart(small, bare.resize(small.size))


def test_names_beside_the_image_are_not_in_its_picture(tmp_path: Path) -> None:
    grid = Grid(26, 40, 320, 180)
    assert layout(grid).margin != (0, 0)
    image = Image.new("RGB", (320, 180), (0, 200, 0))
    image.paste((200, 0, 0), (160, 0, 320, 180))
    image.save(tmp_path / "a.png")
    assert apart(shown(as_data(tmp_path / "a.png", grid)), image.resize((WIDTH, WIDTH * 180 // 320))) < 15


def test_pictures_are_turned_as_they_say(tmp_path: Path) -> None:
    lying = Image.new("RGB", (360, 640), (200, 0, 0))
    lying.paste((0, 200, 0), (0, 320, 360, 640))
    exif = Image.Exif()
    exif[0x0112] = 6  # its left side is the top of the image
    lying.save(tmp_path / "a.jpg", exif=exif)
    small = np.asarray(shown(as_data(tmp_path / "a.jpg", Grid.standard())).convert("RGB"), dtype=float)
    left, right = small[:, : WIDTH // 2].mean(axis=(0, 1)), small[:, WIDTH // 2 :].mean(axis=(0, 1))
    assert left[1] > 2 * left[0]
    assert right[0] > 2 * right[1]


@pytest.mark.parametrize("grid", [Grid.standard(), Grid(6, 10, 100_000, 90_000)])
def test_what_cannot_be_read_or_drawn_on_is_no_picture(tmp_path: Path, grid: Grid) -> None:
    broken, whole = tmp_path / "broken.jpg", tmp_path / "whole.png"
    broken.write_bytes(b"\xff\xd8\xff\xe0 no picture")
    Image.new("RGB", (64, 36)).save(whole)
    assert as_data(broken, grid) is None
    assert (as_data(whole, grid) is None) == (grid != Grid.standard())
