"""Test the files of a report: they are complete and reproducible, and other files are not overwritten."""

from __future__ import annotations

import base64
import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib import rcParams
from PIL import Image

from spotball_core import OptionError, ScoreReport
from spotball_core.pages import figures
from spotball_core.pages.cards import WIDTH, as_data
from spotball_core.report.build import check_report, write_page, write_report
from spotball_core.report.numbers.records import PageReport
from spotball_core.service.parallel import Workers
from spotball_core.service.paths import find_file
from tests.failures import raises
from tests.report.conftest import Written
from tests.report.study import GRID, scenes, scored, scoring_of

FIGURES = {
    *("summary", "accuracy", "error", "alignment", "ceiling", "proximity", "center", "entropy", "mixture", "density"),
    *("thresholds", "guess-maps"),
}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_write_report_writes_the_page_captions_all_figures_as_png_and_svg_and_a_json_file_with_the_scores(
    written: Written,
) -> None:
    names = {f"figures/{name}.{ending}" for name in FIGURES for ending in ("png", "svg")}
    files = contents(written.out)
    assert files.keys() == {"report.html", "report.json", "figures/captions.md", *names}
    assert all(files[name].startswith(b"\x89PNG" if name.endswith("png") else b"<?xml") for name in names)
    assert PageReport.model_validate_json(files["report.json"]) == written.report
    # The page links to every figure.
    assert all(f'href="figures/{name}.png"' in written.page for name in FIGURES)
    captions = files["figures/captions.md"].decode()
    assert captions.count(written.report.signature) == len(FIGURES)
    assert all(f"- {name.removeprefix('figures/')}\n" in captions for name in names)
    assert [path.name for path in written.out.parent.iterdir()] == ["report"]
    # The scores equal those of `Scoring.report`.
    scores = {name: getattr(written.report, name) for name in ScoreReport.model_fields}
    assert ScoreReport(**{**scores, "ceilings": ()}) == scoring_of(written.study).report()


@pytest.mark.slow
def test_write_report_with_changed_matplotlib_settings_writes_identical_files_and_keeps_the_settings(
    written: Written, tmp_path: Path
) -> None:
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
def test_write_report_with_two_processes_and_write_page_of_report_json_write_identical_files(
    written: Written, tmp_path: Path
) -> None:
    with Workers(2) as workers:
        write_report(scoring_of(written.study), tmp_path / "again", image_folders=[written.study], workers=workers)
    assert contents(tmp_path / "again") == contents(written.out)
    read = PageReport.model_validate_json((written.out / "report.json").read_bytes())
    write_page(read, tmp_path / "page", image_folders=[written.study])
    assert contents(tmp_path / "page") == contents(written.out)


@pytest.mark.slow
def test_write_report_replaces_an_earlier_report_completely(written: Written, tmp_path: Path) -> None:
    out = shutil.copytree(written.out, tmp_path / "out")
    write_report(scoring_of(written.study, reference=None, bootstrap=0), out)
    # A report without a reference has neither of these figures, so the earlier files must be removed.
    assert not (out / "figures/alignment.png").exists()
    assert not (out / "figures/ceiling.png").exists()


@pytest.mark.parametrize("name", ["notes.txt", "report.html", "report.json", "figures/mine.txt"])
def test_write_report_to_a_folder_with_other_files_raises_option_error(tmp_path: Path, study: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with raises(OptionError, "output-exists:--out"):
        write_report(scoring_of(study, bootstrap=0), tmp_path)
    assert contents(tmp_path) == {name: b"mine"}


def test_check_report_with_an_additional_user_file_raises_option_error(written: Written, tmp_path: Path) -> None:
    out = shutil.copytree(written.out, tmp_path / "out")
    check_report(out)
    (out / "figures/notes.txt").write_text("mine")
    for path in (out, out / "report.html"):
        with raises(OptionError, "output-exists:--out"):
            check_report(path)


@pytest.mark.slow
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_interrupted_write_report_writes_no_files_and_keeps_an_earlier_report(
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


def test_write_report_of_scores_grouped_only_by_respondent_or_of_only_controls_raises_option_error(
    study: Path, tmp_path: Path
) -> None:
    with raises(OptionError, "invalid-option:by"):
        write_report(scoring_of(study, by=("respondent",)), tmp_path / "out")
    only_controls = [scene.model_copy(update={"control": True}) for scene in scenes()]
    with raises(OptionError, "no-data"):
        write_report(scored(known=only_controls, reference=None), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


# Images ------------------------------------------------------------------------------------------------------


def test_find_file_searches_only_the_given_folders(study: Path, tmp_path: Path) -> None:
    path = scenes()[0].path
    assert find_file([tmp_path, study], path) == (study / "images/soccer/1.jpg").resolve()
    assert find_file([tmp_path], path) is None
    assert find_file([study], None) is None


def shown(data: str | None) -> Image.Image:
    assert data
    kind, _, content = data.partition(",")
    assert kind == "data:image/webp;base64"
    return Image.open(io.BytesIO(base64.b64decode(content)))


def apart(one: Image.Image, other: Image.Image) -> float:
    """Return the mean absolute difference between the pixels of two images (0 to 255)."""
    first, second = (np.asarray(image.convert("RGB"), dtype=float) for image in (one, other))
    return float(np.abs(first - second).mean())


def test_as_data_returns_a_small_copy_of_the_image(study: Path) -> None:
    path = study / "images/soccer/1.jpg"
    small = shown(as_data(path))
    assert small.size == (WIDTH, WIDTH * GRID.height // GRID.width)
    with Image.open(path) as image:
        assert apart(small, image.convert("RGB").resize(small.size)) < 3.5


def test_as_data_applies_the_exif_orientation(tmp_path: Path) -> None:
    lying = Image.new("RGB", (360, 640), (200, 0, 0))
    lying.paste((0, 200, 0), (0, 320, 360, 640))
    exif = Image.Exif()
    exif[0x0112] = 6  # The left side of the stored pixels is the top of the image.
    lying.save(tmp_path / "a.jpg", exif=exif)
    small = np.asarray(shown(as_data(tmp_path / "a.jpg")).convert("RGB"), dtype=float)
    left, right = small[:, : WIDTH // 2].mean(axis=(0, 1)), small[:, WIDTH // 2 :].mean(axis=(0, 1))
    assert left[1] > 2 * left[0]
    assert right[0] > 2 * right[1]


def test_as_data_of_an_unreadable_image_returns_none(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"\xff\xd8\xff\xe0 no picture")
    assert as_data(broken) is None
