"""Test the command `spotball report`."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from spotball_core.report.numbers.records import PageReport
from spotball_core.version import install_command
from tests.cli.process import Done, spotball, spotball_process
from tests.failures import codes
from tests.report.conftest import Written
from tests.report.markup import parsed

BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {name!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
from spotball_core.cli.app import main
sys.argv[0] = "spotball"
main()
"""


QUICK = ["--reference", "human", "--bootstrap", "0", "--quiet"]


def report(*arguments: str | Path) -> Done:
    """Run the command, which must succeed."""
    done = spotball("report", *arguments)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_report_command_writes_the_page_and_prints_its_path(written: Written, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = report(written.study, "--reference", "human", "--bootstrap", "40", "--out", out)
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == f"wrote {out}/report.html"
    assert (out / "report.html").read_text() == written.page


@pytest.mark.slow
def test_report_of_response_files_embeds_images_next_to_the_scenes_file_unless_image_folder_is_given(
    written: Written, tmp_path: Path
) -> None:
    files = [written.study / "responses-all.jsonl", "--scenes", written.study / "scenes.jsonl", *QUICK]
    report(*files, "--seed", "3", "--policy", "paper", "--out", tmp_path / "a")
    assert (tmp_path / "a/report.html").read_text().count("data:image/webp") == 5 + 3
    policy = PageReport.model_validate_json((tmp_path / "a/report.json").read_text()).policy
    assert (policy.name, policy.seed, policy.bootstrap) == ("paper", 3, 0)
    (tmp_path / "empty").mkdir()
    done = report(*files, "--image-folder", tmp_path / "empty", "--out", tmp_path / "b")
    assert (done.stdout, done.stderr) == ("", "")
    assert "data:image/webp" not in (tmp_path / "b/report.html").read_text()


@pytest.mark.slow
def test_report_shows_rationales_with_html_as_plain_text_in_gallery_cards(written: Written, tmp_path: Path) -> None:
    rows = pl.read_ndjson(written.study / "responses-all.jsonl")
    why = pl.when(pl.col("respondent") == "alpha").then(pl.lit("<b>They</b> look up."))
    rows.with_columns(reasoning=why).write_ndjson(tmp_path / "a.jsonl")
    report(tmp_path / "a.jsonl", "--scenes", written.study / "scenes.jsonl", *QUICK, "--out", tmp_path / "out")
    page = parsed((tmp_path / "out/report.html").read_text())
    (card,) = page.all("article", id="soccer-1-alpha-cot")
    assert [quote.text for quote in card.all("blockquote")] == ["<b>They</b> look up."]
    (other,) = page.all("article", id="soccer-1-beta-base")
    assert not other.all("blockquote")


@pytest.mark.slow
def test_report_with_the_pages_option_writes_one_gallery_page_per_sport_with_working_links(
    written: Written, tmp_path: Path
) -> None:
    for _ in range(2):  # The second run replaces the files of the first.
        report(written.study, *QUICK, "--pages", "--out", tmp_path / "out")
    pages = sorted(path.name for path in (tmp_path / "out/images").iterdir())
    assert pages == ["1-soccer.html", "2-volleyball.html"]
    main = parsed((tmp_path / "out/report.html").read_text())
    assert not main.all("dialog", class_="image")
    (gallery,) = main.all("section", id="gallery")
    links = {link.attributes["href"] for link in gallery.all("a")}
    assert {"images/1-soccer.html", "images/1-soccer.html#soccer-2-alpha-cot"} <= links
    for link in links - {"#gallery"}:
        file, _, name = link.partition("#")
        page = parsed((tmp_path / "out" / file).read_text())
        assert not name or any(one.attributes.get("id") == name for one in page.walk())
    (back,) = [a for a in page.all("a") if a.text == "Back to the report"]
    assert back.attributes["href"] == "../report.html"


@pytest.mark.slow
def test_report_with_the_figures_option_writes_figures_of_the_paper_and_slides_presets(
    written: Written, tmp_path: Path
) -> None:
    # One sport and two respondents need half of the time of the whole study.
    rows = pl.read_ndjson(written.study / "responses-all.jsonl")
    rows.filter(sport="soccer").filter(pl.col("respondent") != "beta").write_ndjson(tmp_path / "a.jsonl")
    command = [tmp_path / "a.jsonl", "--scenes", written.study / "scenes.jsonl", *QUICK, "--out", tmp_path / "out"]
    report(*command, "--figures", "paper", "--figures", "slides")
    figures = tmp_path / "out/figures"
    assert (figures / "single-column/accuracy.pdf").read_bytes().startswith(b"%PDF")
    for folder in ("single-column", "double-column", "slides"):
        assert {path.suffix for path in (figures / folder).iterdir()} == {".pdf", ".png", ".svg"}
    assert "- double-column/guess-maps.pdf\n" in (figures / "captions.md").read_text()
    report(*command)
    assert not (figures / "slides").exists()
    done = spotball("report", *command, "--figures", "poster")
    assert done.returncode == 2
    assert "poster" in done.stderr


def test_report_with_unusable_arguments_exits_with_status_2_and_writes_nothing(study: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for arguments, code, named in (
        ([study, "--out", tmp_path], "output-exists", "--out: "),
        ([study, "--out", tmp_path / "out", "--reference", "nobody"], "unknown-name", "'nobody'"),
        ([tmp_path / "nothing", "--out", tmp_path / "out"], "missing-file", f"{tmp_path / 'nothing'}: "),
    ):
        done = spotball("report", *arguments)
        assert (done.returncode, codes(done.stderr)) == (2, [code]), arguments
        assert named in done.stderr
        assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["matplotlib", "jinja2"])
def test_report_without_matplotlib_or_jinja2_exits_with_status_2_and_names_the_missing_extra(
    written: Written, tmp_path: Path, name: str
) -> None:
    start = [sys.executable, "-c", BLOCKED.format(name=name)]
    done = spotball_process("report", written.study, "--out", tmp_path / "out", start=start)
    assert (done.returncode, codes(done.stderr)) == (2, ["missing-extra"])
    assert install_command("report") in done.stderr
    assert list(tmp_path.iterdir()) == []
