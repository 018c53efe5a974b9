"""Test that names with formulas, markup or terminal codes are shown as text, and are unchanged after reading."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from markdown_it import MarkdownIt

from spotball_core.counting.read import read_counts
from spotball_core.gaze.data.stimuli import read_stimuli, write_stimuli
from spotball_core.gaze.data.trials import Trial, make_trials, read_trials, write_trials
from spotball_core.io.frames import write_responses
from spotball_core.io.scenes import write_scenes
from spotball_core.reasoning.rationales import read_rationales
from spotball_core.release.tables import read_table
from tests.adapters.gaze.made import stimulus
from tests.adapters.run_process import here, said
from tests.builders import scene
from tests.cli.process import on_terminal

FORMULAS = ["=1+1", "-5", "+a", "@SUM(A1)", "'=1", "''-1", "it's"]
NAMES = [*FORMULAS, "[red]x[/red]", "[/x]", "a|b", "<b>x</b>", "&lt;b", "a](b)"]
IMAGES = ["-1", "+2", "=3", "'-1", "4"]
SCENES = [scene(image, "=soccer") for image in IMAGES]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a CSV dataset whose images and respondents have names with formulas or markup."""
    folder = tmp_path_factory.mktemp("dataset")
    write_scenes(SCENES, folder / "scenes.jsonl")
    write_responses(answers(), folder / "responses.csv")
    return folder


def answers() -> pl.DataFrame:
    same = {"sport": "=soccer", "kind": "model", "prompt": "-p", "sample": 1, "participant": "+me"}
    about = [(name, image, "C2" if image == "4" else "D5") for name in NAMES for image in IMAGES]
    return pl.DataFrame(
        [{**same, "respondent": n, "image": i, "cell": cell, "reasoning": "=because"} for n, i, cell in about]
    )


def test_responses_with_formulas_or_markup_in_names_are_equal_after_writing_and_reading(
    dataset: Path, tmp_path: Path
) -> None:
    expected = read_counts(answers(), SCENES, participants=True)
    assert read_counts(dataset / "responses.csv", SCENES, participants=True).table.equals(expected.table)
    # A different code path reads CSV files without quotes, and must give the same result.
    plain = answers().drop("reasoning").filter(pl.col("respondent") != "a|b")
    write_responses(plain, tmp_path / "plain.csv")
    assert '"' not in (tmp_path / "plain.csv").read_text()
    found = read_counts(tmp_path / "plain.csv", SCENES, participants=True)
    assert found.table.equals(read_counts(plain, SCENES, participants=True).table)
    rationales = read_rationales(dataset / "responses.csv", SCENES)
    assert list(rationales.texts) == list(read_rationales(answers(), SCENES).texts)


def test_csv_output_of_score_and_responses_csv_contain_no_formulas_and_values_stay_numbers(dataset: Path) -> None:
    done = here("score", str(dataset), "--format", "csv", "--bootstrap", "0")
    assert done.returncode == 0, said(done)
    for text in (done.stdout, (dataset / "responses.csv").read_text()):
        for row in csv.DictReader(io.StringIO(text)):
            assert not any((value or "").startswith(("=", "+", "@", "\t")) for value in row.values())
            assert {name for name, value in row.items() if value.startswith("-")} <= {"value", "ci95_low"}
    values = [row["value"] for row in csv.DictReader(io.StringIO(done.stdout)) if row["value"]]
    assert values
    assert all(isinstance(float(value), float) for value in values)


@pytest.mark.parametrize("command", ["score", "compare"])
def test_text_output_of_score_and_compare_shows_names_with_markup_unchanged(dataset: Path, command: str) -> None:
    pair = ("--a", "[red]x[/red]", "--b", "[/x]") if command == "compare" else ()
    done = here(command, str(dataset), *pair, "--bootstrap", "10")
    assert done.returncode == 0, said(done)
    for name in ("[red]x[/red]", "[/x]"):
        assert name in done.stdout


@pytest.mark.parametrize("command", ["score", "compare"])
def test_markdown_output_of_score_and_compare_shows_names_with_markup_as_text(dataset: Path, command: str) -> None:
    pair = ("--a", "<b>x</b>", "--b", "a|b") if command == "compare" else ()
    done = here(command, str(dataset), *pair, "--bootstrap", "10", "--format", "markdown")
    assert done.returncode == 0, said(done)
    page = MarkdownIt("commonmark").enable("table").render(done.stdout)
    assert "<b>" not in page
    assert "<a " not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "a|b" in page


@pytest.mark.slow
def test_score_on_a_terminal_prints_colors_but_escapes_control_codes_in_file_names(
    dataset: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a\x1b]0;title\x07.csv"
    path.write_text("image,cell\n4,D5\n")
    status, shown = on_terminal("score", path, "--scenes", dataset / "scenes.jsonl", "--bootstrap", "0")
    assert status == 2
    assert "\x1b]" not in shown
    assert "a\\u001b]0;title\\u0007" in shown
    status, shown = on_terminal("score", dataset, "--bootstrap", "0")
    assert status == 0
    assert "\x1b[1m" in shown


def test_stimuli_and_trials_with_formulas_are_equal_after_writing_and_reading(tmp_path: Path) -> None:
    made = [
        stimulus(0, stimulus_id="=0", actor="-me", scene="@here"),
        stimulus(1, stimulus_id="'=0", objects=("=a", "-b"), gaze_target="=a", head_target="-b", actor="'", scene="x"),
    ]
    write_stimuli(made, tmp_path / "stimuli.csv")
    assert read_stimuli(tmp_path / "stimuli.csv") == tuple(made)
    chosen = Trial(respondent="=r", stimulus_id="=0", prompt_id="+p", choice=made[0].objects[0], participant="-1")
    other = Trial(respondent="'-r", stimulus_id="'=0", prompt_id="@p", choice="-b", participant="x")
    trials = make_trials([chosen, other], made)
    write_trials(trials, tmp_path / "trials.csv")
    assert read_trials(tmp_path / "trials.csv", made).digest() == trials.digest()
    # The tables of a release may contain escaped formulas as well.
    (tmp_path / "a.csv").write_text("id,image,response\n1,163,'=I think\n2,163,it's there\n")
    rows = read_table(tmp_path / "a.csv", ("id", "image", "response"), sport="soccer")
    assert rows["response"].to_list() == ["=I think", "it's there"]
