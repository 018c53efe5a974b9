"""Test the reading of figures from the release's own files, and the errors on broken files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from spotball_core.errors import InputError
from spotball_core.replication.published import Published, published
from spotball_core.replication.release_files import read_release_figures
from tests.failures import raises
from tests.release_layout import write_csv

ACCURACY = "processed/accuracy_by_condition.csv"


def figures_of(folder: Path, *rows: Iterable[object]) -> tuple[Published, ...]:
    """Write rows of the accuracy file, and return the figures of the folder."""
    columns = ("sport", "respondent_type", "model", "level", "n_responses", "n_correct", "accuracy")
    write_csv(folder / ACCURACY, columns, rows)
    return read_release_figures(folder, published())


def test_read_release_figures_keeps_all_printed_digits_and_the_condition_of_each_row(tmp_path: Path) -> None:
    assert read_release_figures(tmp_path, published()) == ()
    people, model = figures_of(
        tmp_path,
        ("soccer", "human", "", "", 7500, 1441, "0.1921"),
        ("bb", "model", "Gemini", "2.0", 1000, 81, "0.0810"),
    )
    assert (people.where, people.quantity, people.value, people.n) == ("figure 4", "accuracy", "0.1921", 7500)
    assert people.read_from == f"{ACCURACY}, column accuracy"
    assert (people.condition, model.condition) == (("soccer", "human", "base"), ("basketball", "gemini", "cot"))
    assert model.value == "0.0810"


def test_read_release_figures_accepts_human_and_humans_as_names_of_people(tmp_path: Path) -> None:
    columns = ("sport", "model", "level", "n", "near_dist_rate", "near_overlap_rate")
    rows = [("soccer", "humans", "", 12300, "0.7652", "0.5656"), ("vball", "human", "0", 8250, "0.896", "0.7523")]
    write_csv(tmp_path / "analysis/player_proximity/proximity_summary.csv", columns, rows)
    found = read_release_figures(tmp_path, published())
    assert {figure.condition for figure in found} == {("soccer", "human", "base"), ("volleyball", "human", "base")}
    assert {figure.quantity for figure in found} == {"near-player rate", "overlap rate"}


def test_read_release_figures_skips_figures_that_the_paper_prints(tmp_path: Path) -> None:
    columns = ("sport", "model", "level", "prior_central", "central_ratio", "normalized_entropy")
    rows = [("soccer", "human", 0, "0.36", "1.16426", "0.8172"), ("soccer", "gpt", 0, "0.36", "0.6231", "0.7702")]
    write_csv(tmp_path / "analysis/center_bias/center_bias_soccer.csv", columns, rows)
    found = read_release_figures(tmp_path, published())
    printed = {(figure.respondent, figure.quantity) for figure in found}
    assert ("human", "center ratio") not in printed
    assert {("gpt", "center ratio"), ("gpt", "normalized entropy")} <= printed


def test_read_release_figures_reports_all_problems_with_their_lines(tmp_path: Path) -> None:
    rows = (
        ("cricket", "human", "", "", 7500, 1441, "0.1921"),
        ("soccer", "model", "gpt", "3", 2500, 1, "0.5"),
        ("soccer", "model", "gpt", "1", "many", 1, "0.5"),
        ("soccer", "model", "gpt", "2", 2500, 1, "high"),
        ("soccer", "model", "qwen", "0", 2500, 1, ""),
    )
    write_csv(tmp_path / "analysis/center_bias/center_bias_bb.csv", ("sport", "model"), [("bb", "gpt")])
    with pytest.raises(InputError) as caught:
        figures_of(tmp_path, *rows)
    said = [(problem.line, problem.field) for problem in caught.value.problems]
    assert said[:4] == [(2, "sport"), (3, "level"), (4, "n_responses"), (5, "accuracy")]
    assert caught.value.problems[3].lines == (5, 6)
    assert {field for line, field in said[4:]} == {"level", "central_ratio", "normalized_entropy", "prior_central"}


def test_read_release_figures_with_a_duplicate_condition_raises_input_error(tmp_path: Path) -> None:
    row = ("soccer", "model", "gpt", "1", 2500, 1, "0.5")
    with raises(InputError, "duplicate:row:3"):
        figures_of(tmp_path, row, row)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"\xff\xfe\x00broken", "unreadable-file:file"),
        (b'sport,model\n"soccer', "missing-column:level:1"),
        (None, "unreadable-file:file"),
    ],
    ids=["not UTF-8", "no columns", "a folder"],
)
def test_read_release_figures_of_an_unreadable_csv_file_raises_input_error(
    tmp_path: Path, content: bytes | None, where: str
) -> None:
    path = tmp_path / ACCURACY
    path.parent.mkdir()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with raises(InputError, where) as caught:
        read_release_figures(tmp_path, published())
    assert caught.value.file == str(path)
