"""The report as files: all of them or none, the same each time, nobody else's lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from matplotlib import rcParams

from spotball_core.errors import OptionError
from spotball_core.groups import Scoring
from spotball_core.report import build
from spotball_core.report.build import check_replaceable, write_report
from spotball_core.report.pictures import WIDTH, as_data, found
from spotball_core.schema import ScorePolicy, ScoreReport
from spotball_core.scoring import load
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
    assert files.keys() == {"report.html", "report.json", *names}
    assert all(files[name].startswith(b"\x89PNG" if name.endswith("png") else b"<?xml") for name in names)
    assert ScoreReport.model_validate_json(files["report.json"]) == written.report
    # Every figure is named on the page, where it is shown.
    assert all(f"figures/{name}.png" in written.page for name in FIGURES - {"guess-maps"})
    assert [path.name for path in written.out.parent.iterdir()] == ["report"]


def test_the_scores_are_those_of_score(written: Written, study: Path) -> None:
    scoring, _ = scoring_of(study)
    assert written.report.model_copy(update={"ceilings": ()}) == scoring.report()


def test_again_it_gives_the_same_bytes_whatever_matplotlib_is_set_to(written: Written, tmp_path: Path) -> None:
    scoring, known = scoring_of(written.study)
    before = dict(rcParams)
    rcParams.update({"font.size": 20, "axes.facecolor": "pink", "svg.fonttype": "path"})
    try:
        write_report(scoring, known, tmp_path / "again", image_folders=[written.study])
        assert rcParams["font.size"] == 20
    finally:
        rcParams.update(before)
    assert contents(tmp_path / "again") == contents(written.out)


def test_an_earlier_report_is_replaced_as_a_whole(written: Written, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(written.out, out)
    write_report(*scoring_of(written.study, reference=None, bootstrap=0), out)
    # Nothing of the first is left: without a reference there is neither of these.
    assert not (out / "figures/alignment.png").exists()
    assert not (out / "figures/ceiling.png").exists()


@pytest.mark.parametrize("name", ["notes.txt", "report.html", "report.json", "figures/mine.txt"])
def test_a_folder_that_is_no_report_is_refused(tmp_path: Path, study: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(OptionError, match="neither empty nor an earlier report"):
        write_report(*scoring_of(study, bootstrap=0), tmp_path)
    assert contents(tmp_path) == {name: b"mine"}


def test_a_report_with_something_of_the_users_is_refused(written: Written, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(written.out, out)
    check_replaceable(out)
    (out / "figures/notes.txt").write_text("mine")
    with pytest.raises(OptionError, match=r"it holds figures/notes\.txt"):
        check_replaceable(out)
    with pytest.raises(OptionError, match="is a file"):
        check_replaceable(out / "report.html")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_interrupted_it_leaves_what_was_there(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    drawn = []

    def broken(figure: object, path: Path) -> None:
        if len(drawn) == 2:
            raise error
        path.write_bytes(b"half a report")
        drawn.append(path)

    monkeypatch.setattr(build, "save_figure", broken)
    scoring, known = scoring_of(written.study, reference=None, bootstrap=0)
    out = tmp_path / "out"
    with pytest.raises(error):
        write_report(scoring, known, out)
    assert len(drawn) == 2
    assert list(tmp_path.iterdir()) == []
    shutil.copytree(written.out, out)
    with pytest.raises(error):
        write_report(scoring, known, out)
    assert contents(out) == contents(written.out)
    assert list(tmp_path.iterdir()) == [out]


def test_other_groups_and_nothing_to_score_are_refused(study: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="groups are by sport, respondent, prompt"):
        write_report(*scoring_of(study, by=("respondent",)), tmp_path / "out")
    only_controls = [scene.model_copy(update={"control": True}) for scene in scenes()]
    counts, known = load(responses(), only_controls, participants=True)
    with pytest.raises(OptionError, match="no images are left to score"):
        write_report(Scoring(counts, known, ScorePolicy.standard(bootstrap=0)), known, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


# Pictures ----------------------------------------------------------------------------------------------------


def test_pictures_are_found_in_their_folder_and_nowhere_else(study: Path, tmp_path: Path) -> None:
    scene = scenes()[0]
    assert found(scene, [tmp_path, study]) == (study / "images/soccer/1.jpg").resolve()
    assert found(scene, [tmp_path]) is None
    assert found(scene.model_copy(update={"path": None}), [study]) is None
    inner = tmp_path / "dataset"
    inner.mkdir()
    (tmp_path / "secret.jpg").write_bytes((study / "images/soccer/1.jpg").read_bytes())
    for path in ("../secret.jpg", str(tmp_path / "secret.jpg")):
        assert found(scene.model_copy(update={"path": path}), [inner]) is None
    (inner / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    assert found(scene.model_copy(update={"path": "link.jpg"}), [inner]) is None


def test_pictures_are_made_small_and_broken_ones_are_none(study: Path, tmp_path: Path) -> None:
    import base64
    import io

    from PIL import Image

    data = as_data(study / "images/soccer/1.jpg")
    assert data is not None
    kind, _, content = data.partition(",")
    assert kind == "data:image/jpeg;base64"
    with Image.open(io.BytesIO(base64.b64decode(content))) as small:
        assert small.size == (WIDTH, WIDTH * GRID.height // GRID.width)
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
    assert as_data(tmp_path / "broken.jpg") is None
