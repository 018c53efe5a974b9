"""Test that exports in every format contain what the stored events contain."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given as over, settings, strategies as st

from spotball_adapters.study.events import Event
from spotball_adapters.study.results.exclusion import Exclusion
from spotball_adapters.study.results.export import FORMS, RESPONDENT, Form, write_folder
from spotball_adapters.study.results.participations import Participation, participations
from spotball_adapters.study.setup.design import StudyDesign, load
from spotball_adapters.study.simulation.behavior import Population
from spotball_adapters.study.store import StudyStore, reading
from spotball_core.counting.read import read_counts
from spotball_core.errors import OptionError
from spotball_core.io.frames import COLUMNS
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.random import generator_for
from spotball_core.service.sqlite_file import StoreError
from tests.adapters.study import made
from tests.adapters.study.stored import Clock, command, confirmed, label, simulate, store_participant
from tests.cli.process import spotball
from tests.conftest import examples
from tests.failures import raises

N = 20
READERS = {"jsonl": pl.read_ndjson, "csv": pl.read_csv, "parquet": pl.read_parquet}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a study of two sports and 20 simulated participants; some fail the checks, some do not finish."""
    folder = made.study(tmp_path_factory.mktemp("export"), sports=("soccer", "volleyball"))
    simulate(folder, N, population=Population(guesses="uniform", unfinished=0.2, careless=0.3))
    return folder


@pytest.fixture(scope="module")
def people(study: Path) -> list[Participation]:
    with reading(study) as reader:
        return participations(reader, load(study))


def exported(study: Path, out: Path, *options: str) -> str:
    return command("export", study, "--out", out, *options)


def rows_of(path: Path) -> list[tuple[object, ...]]:
    frame = READERS[path.suffix[1:]](path)
    assert frame.columns == list(COLUMNS)
    return frame.with_columns(pl.col("image", "participant").cast(pl.String)).rows()


def expected(study: Path, labels: set[str]) -> list[tuple[object, ...]]:
    """Compute the expected rows of responses, without explanations, from the stored events in a plain loop."""
    return [
        (trial["sport"], trial["image"], RESPONDENT, "human", "base", number, who, label(row, col))
        for who, trial, cells in confirmed(study)
        if who in labels
        for number, (row, col) in enumerate(cells, start=1)
    ]


def failing(study: Path) -> set[str]:
    """Return the participants who clicked outside C2 on a check, from the stored events."""
    return {who for who, trial, cells in confirmed(study) if trial["check"] and any(cell != [3, 2] for cell in cells)}


def finished(study: Path) -> set[str]:
    """Return the participants who answered all 8 images."""
    return {who for who, n in Counter(who for who, _, _ in confirmed(study)).items() if n == 8}


@pytest.mark.parametrize("form", list(READERS))
def test_export_keeps_participants_who_finished_and_passed_all_checks(study: Path, tmp_path: Path, form: str) -> None:
    said = exported(study, tmp_path / f"human.{form}")
    kept = finished(study) - failing(study)
    assert 0 < len(kept) < len(finished(study)) < N
    rows = rows_of(tmp_path / f"human.{form}")
    assert [row[:8] for row in rows] == expected(study, kept)
    assert f"{N} participants took part, {len(finished(study))} finished, {len(kept)} exported" in said
    assert f"{N - len(finished(study))} unfinished participants excluded" in said
    assert f"{len(finished(study) & failing(study))} participants excluded by the rule checks" in said
    # An explanation is the reasoning of the first click. `init` asks for one per image, so there are 6.
    explained = Counter((row[5], row[6]) for row in rows if row[8] is not None)
    assert {sample for sample, _ in explained} == {1}
    assert set(explained.values()) == {6}


def test_export_respondent_option_names_the_respondent(study: Path, tmp_path: Path) -> None:
    exported(study, tmp_path / "a.csv", "--keep-all")
    exported(study, tmp_path / "b.csv", "--keep-all", "--respondent", " our-team ")
    a, b = rows_of(tmp_path / "a.csv"), rows_of(tmp_path / "b.csv")
    assert ({row[2] for row in a}, {row[2] for row in b}) == ({"our-people"}, {"our-team"})
    assert [(*row[:2], RESPONDENT, *row[3:]) for row in b] == a


def test_export_without_a_participant_left_is_an_error(study: Path, tmp_path: Path) -> None:
    strict = shutil.copytree(study, study.with_name("strict"))
    text = (strict / "study.toml").read_text(encoding="utf-8").replace("per_image = 0", "per_image = 9999")
    (strict / "study.toml").write_text(text, encoding="utf-8")
    with raises(OptionError, "no-data"):
        exported(strict, tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("name", "options", "where"),
    [
        ("x.csv", ("--respondent", " "), "invalid-option:--respondent"),
        ("x", ("--respondent", "us", "--format", "release"), "conflicting-options:--respondent"),
        ("x.xlsx", (), "unsupported-format"),
    ],
)
def test_export_with_wrong_options_is_an_error(
    study: Path, tmp_path: Path, name: str, options: Sequence[str], where: str
) -> None:
    with raises(OptionError, where):
        exported(study, tmp_path / name, *options)
    assert not (tmp_path / name).exists()


def test_export_options_keep_all_unfinished_and_exclude_select_participants(study: Path, tmp_path: Path) -> None:
    exported(study, tmp_path / "a.csv", "--keep-all")
    assert {str(row[6]) for row in rows_of(tmp_path / "a.csv")} == finished(study)
    exported(study, tmp_path / "b.csv", "--keep-all", "--unfinished")
    everybody = {who for who, _, _ in confirmed(study)}
    assert [row[:8] for row in rows_of(tmp_path / "b.csv")] == expected(study, everybody)
    exported(study, tmp_path / "c.csv", "--exclude", "checks-all")
    assert finished(study) >= {str(row[6]) for row in rows_of(tmp_path / "c.csv")} >= finished(study) - failing(study)


def test_export_to_a_folder_writes_a_dataset_and_the_exclusions(study: Path, tmp_path: Path) -> None:
    human = tmp_path / "human"
    exported(study, human, "--keep-all")
    names = ["clicks.csv", "participants.csv", "responses-people.jsonl", "scenes.jsonl"]
    assert sorted(path.name for path in human.iterdir()) == names
    excluded = dict(pl.read_csv(human / "participants.csv").select("participant", "excluded").rows())
    assert len(excluded) == N
    assert {who for who, rule in excluded.items() if rule == "unfinished"} == excluded.keys() - finished(study)
    assert {who for who, rule in excluded.items() if rule == "checks"} == failing(study) & finished(study)
    clicked = pl.read_csv(human / "clicks.csv", schema_overrides={"image": pl.String})
    assert clicked.select("participant", "image", "row", "col").rows() == [
        (who, trial["image"], row, col)
        for who, trial, cells in confirmed(study)
        if who in finished(study)
        for row, col in cells
    ]
    groups = json.loads(spotball("score", human, "--format", "json", "--bootstrap", "0").stdout)["groups"]
    right, n = Counter[str](), Counter[str]()
    for who, trial, cells in confirmed(study):
        if who in finished(study) and not trial["check"]:
            n[trial["sport"]] += len(cells)
            right[trial["sport"]] += cells.count([3, 2])
    assert {group["sport"]: group["n_responses"] for group in groups} == dict(n)
    for group in groups:
        assert group["metrics"]["accuracy"]["value"] == pytest.approx(right[group["sport"]] / n[group["sport"]])


def test_export_in_another_format_replaces_the_responses_file_of_the_first_format(study: Path, tmp_path: Path) -> None:
    exported(study, tmp_path / "human")
    exported(study, tmp_path / "human", "--format", "parquet")
    assert sorted(path.name for path in (tmp_path / "human").glob("responses*")) == ["responses-people.parquet"]


def test_export_into_a_dataset_with_other_scenes_is_an_error(study: Path, tmp_path: Path) -> None:
    write_scenes(read_scenes(study.parent / "data/scenes.jsonl")[:3], tmp_path / "other/scenes.jsonl")
    with raises(OptionError, "output-exists:--out"):
        exported(study, tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["scenes.jsonl"]


def test_platform_ids_are_only_in_the_identities_file(study: Path, tmp_path: Path) -> None:
    with reading(study) as reader:
        persons = [identity.person.encode() for identity in reader.identities()]
    assert len(persons) == N
    exported(study, tmp_path / "human", "--keep-all", "--unfinished")
    files = list((tmp_path / "human").iterdir())
    files += [path for path in study.iterdir() if not path.name.startswith("identities")]
    for path in files:
        content = path.read_bytes()
        assert not any(person in content for person in persons), path
    assert all(person in (study / "identities.sqlite").read_bytes() for person in persons)


def test_export_excludes_answers_to_checks_that_are_not_controls_in_the_dataset(tmp_path: Path) -> None:
    # Soccer 6 is a check in this study, although it is not a control.
    lists = {'checks = ["7", "8"]': 'checks = ["6", "7"]', '"5", "6"]': '"5"]'}
    study = made.study(tmp_path, changes={**lists, "explanations = 6": "explanations = 0"})
    simulate(study, 2, population=Population(unfinished=0, careless=0))
    said = exported(study, tmp_path / "human.csv")
    assert {str(row[1]) for row in rows_of(tmp_path / "human.csv")} == {"1", "2", "3", "4", "5", "7"}
    assert "excluded: 2 answers to checks" in said


def test_export_of_a_study_whose_settings_changed_after_the_answers_is_an_error(study: Path, tmp_path: Path) -> None:
    other = made.study(tmp_path, sports=("soccer", "volleyball"))
    for name in ("study.sqlite", "identities.sqlite"):
        (other / name).write_bytes((study / name).read_bytes())
    made.change(other, {"per_image = 3": "per_image = 2"})
    with raises(StoreError, "unusable-store"):
        exported(other, tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()


cells = st.tuples(st.integers(1, 6), st.integers(1, 10))
one_answer = st.tuples(st.tuples(cells, cells, cells), st.integers(0, 3))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> StudyDesign:
    return load(made.study(tmp_path_factory.mktemp("plain"), changes={"explanations = 6": "explanations = 0"}))


def doing(design: StudyDesign, number: int, answers: list[tuple[tuple[tuple[int, int], ...], int]]) -> Iterator[Event]:
    """Yield events of a participant who clicks, undoes some clicks, repeats them and confirms."""
    clock = Clock(generator_for(0, str(number)))
    given = iter(answers)
    for stage in ("consent", "instructions"):
        yield clock.event("stage", None, {"stage": stage})
    for trial in design.trials("soccer", number):
        if trial.trial == 0:
            yield clock.event("stage", None, {"stage": "practice"})
        chosen, undone = next(given) if trial.trial >= 0 else (((1, 1),) * 3, 0)
        clicks = [made.middle(*cell) for cell in chosen]
        yield clock.event("shown", trial.trial, {})
        for click in clicks:
            yield clock.event("click", trial.trial, click, after=1.0)
        for _ in range(undone):
            yield clock.event("undo", trial.trial, {}, after=0.5)
        for click in clicks[len(clicks) - undone :]:
            yield clock.event("click", trial.trial, click, after=1.0)
        yield clock.event("answer", trial.trial, {"cells": [list(cell) for cell in chosen]})


@settings(max_examples=examples(25))
@over(st.lists(st.lists(one_answer, min_size=8, max_size=8), min_size=1, max_size=3), st.sampled_from(FORMS))
def test_export_contains_the_confirmed_cells_after_any_clicks_and_undos(
    plain: StudyDesign, clicked: list[list[tuple[tuple[tuple[int, int], ...], int]]], form: Form
) -> None:
    wanted: Counter[tuple[str, str, str]] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with StudyStore(folder) as store:
            for number, answers in enumerate(clicked):
                trials = plain.trials("soccer", number)
                events = list(doing(plain, number, answers))
                store_participant(store, plain, f"p{number}", "soccer", number, trials, events)
                shown = [trial for trial in trials if trial.trial >= 0]
                for trial, (chosen, _) in zip(shown, answers, strict=True):
                    wanted.update((trial.image, f"p{number}", label(*cell)) for cell in chosen)
        with reading(folder) as reader:
            people = participations(reader, plain)
        write_folder(people, people, plain, Exclusion(()), folder / "out", form)
        path = folder / f"out/responses-people.{form}"
        assert Counter((row[1], row[6], row[7]) for row in rows_of(path)) == wanted
        counts = read_counts([path], read_scenes(folder / "out/scenes.jsonl"), participants=True)
    labels = dict(enumerate(label(row, col) for row in range(1, 7) for col in range(1, 11)))
    counted = counts.table.with_columns(pl.col("cell").replace_strict(labels))
    assert {tuple(row[:3]): row[3] for row in counted.select("image", "participant", "cell", "n").rows()} == wanted


def test_bonus_equals_the_exported_accuracy_times_the_maximum_rounded_down_to_cents(
    people: list[Participation], study: Path, tmp_path: Path
) -> None:
    exported(study, tmp_path / "human", "--keep-all")
    shares = dict(pl.read_csv(tmp_path / "human/participants.csv").select("participant", "accuracy").rows())
    command("bonus", study, "--out", tmp_path / "bonus.csv")
    paid = dict(line.split(",") for line in (tmp_path / "bonus.csv").read_text().splitlines()[1:])
    with reading(study) as reader:
        person_of = {identity.participant: identity.person for identity in reader.identities()}
    earned = {
        person_of[person.participant]: Decimal(int(shares[person.participant] * 100 + 1e-9)) / 100
        for person in people
        if person.finished
    }
    assert {who: Decimal(text) for who, text in paid.items()} == {who: sum_ for who, sum_ in earned.items() if sum_}
