"""Test `load`: methods match their commands, all kinds of input give the same report, and mistakes are errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import spotball_core as sb
from spotball_core import Counts, Dataset, Grid, OptionError, Response, ScorePolicy, SpotballError, load, score
from spotball_core.counting import read as counting
from spotball_core.cues.thresholds import threshold_surface
from spotball_core.io.scenes import write_scenes
from spotball_core.scoring.groups import Scoring
from spotball_core.scoring.score import load_counts
from tests.builders import Row, dataset, write_csv, write_jsonl
from tests.cli.process import spotball
from tests.failures import raises

KNOWN = [one for one in sb.synthetic_scenes(15, seed=1) if not one.control]
FEW = ("--bootstrap", "20", "--seed", "3")
CHOICES: dict[str, Any] = {"bootstrap": 20, "seed": 3}


def answers(seed: int, n: int, **fields: object) -> list[Row]:
    rng, labels = np.random.default_rng(seed), Grid.standard().labels
    return [
        {"sport": one.sport, "image": one.image, **fields, "sample": sample, "cell": labels[int(rng.integers(60))]}
        for one in KNOWN
        for sample in range(1, n + 1)
    ]


PEOPLE = [row for p in "abcd" for row in answers(ord(p), 2, respondent="people", kind="human", participant=p)]
MODELS = [
    *answers(1, 3, respondent="gpt", prompt="cot"),
    *answers(2, 3, respondent="gpt", prompt="base"),
    *answers(3, 2, respondent="llama", prompt="base", reasoning="They all look to the left."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("load") / "set", KNOWN, people=PEOPLE, models=MODELS)


@pytest.fixture(scope="module")
def data(folder: Path) -> Dataset:
    return load(folder, reference="people")


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder, and return it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*words: str | Path) -> Any:
    done = spotball(*words, "--quiet")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class TestMethods:
    @pytest.mark.parametrize(
        ("choices", "words"),
        [
            ({}, ()),
            ({"cluster": "participant", "ceiling": True}, ("--cluster", "participant", "--ceiling")),
            (
                {"policy": "paper", "by": ["respondent"], "images": "all", "wasserstein_unit": "cell"},
                ("--policy", "paper", "--by", "respondent", "--images", "all", "--wasserstein-unit", "cell"),
            ),
        ],
    )
    def test_dataset_score_equals_the_score_command_and_the_score_function(
        self, data: Dataset, folder: Path, choices: dict[str, Any], words: tuple[str, ...]
    ) -> None:
        report = data.score(**choices, **CHOICES)
        assert report == score(folder, reference="people", **choices, **CHOICES)
        printed = command("score", folder, "--reference", "people", "--format", "json", *words, *FEW)
        assert json.loads(report.model_dump_json()) == printed

    def test_dataset_compare_and_cues_equal_their_commands_and_ceiling_equals_score_with_ceiling(
        self, data: Dataset, folder: Path
    ) -> None:
        comparison = data.compare("gpt/cot", "llama", permutations=200, **CHOICES)
        words = ("--a", "gpt/cot", "--b", "llama", "--reference", "people", "--permutations", "200")
        assert json.loads(comparison.model_dump_json()) == command("compare", folder, *words, "--format", "json", *FEW)
        assert {contrast.resampled for contrast in comparison.contrasts} == {"images"}
        people = data.compare("people", "llama", permutations=200, **CHOICES)
        assert {contrast.resampled for contrast in people.contrasts} == {"images and participants"}
        report = data.cues(["center", "players"], **CHOICES)
        words = ("--reference", "people", "--cues", "center,players", "--format", "json")
        assert json.loads(report.model_dump_json()) == command("cues", "explain", folder, *words, *FEW)
        assert data.cues("center", **CHOICES) == data.cues(["center"], **CHOICES)
        ceilings = data.ceiling(**CHOICES).ceilings
        assert ceilings == data.score(ceiling=True, **CHOICES).ceilings
        assert len(ceilings) == 3
        assert data.ceiling(splits=3, **CHOICES).ceilings[0].splits == 3

    @pytest.mark.slow
    def test_dataset_report_equals_the_report_command_and_thresholds_and_mixture_equal_the_report(
        self, data: Dataset, folder: Path, tmp_path: Path
    ) -> None:
        earlier = write_jsonl(tmp_path / "earlier.jsonl", [{**row, "cell": "A1"} for row in MODELS])
        out, printed = tmp_path / "report", tmp_path / "printed"
        report = data.report(out, before=load(earlier, folder / "scenes.jsonl"), **CHOICES)
        words = ("--reference", "people", "--before", earlier, "--out", printed, "--jobs", "1")
        assert spotball("report", folder, *words, *FEW).returncode == 0
        written = json.loads((out / "report.json").read_text())
        assert json.loads(report.model_dump_json()) == written
        assert json.loads((printed / "report.json").read_text()) == written
        assert (printed / "report.html").read_bytes() == (out / "report.html").read_bytes()
        assert "look to the left" in (out / "report.html").read_text()
        assert written["page"]["changes"]["changes"]
        mixtures = {mixture.group: mixture for mixture in report.page.mixtures}
        name = "synthetic-soccer/gpt/cot"
        assert data.mixture(name, bootstrap=20, seed=3).weights == mixtures[name].weights
        surface = data.thresholds()
        assert report.page.thresholds
        assert surface.best == report.page.thresholds.best
        counts, scenes = load_counts(folder, None, participants=True)
        scoring = Scoring(counts, scenes, ScorePolicy.standard(reference="people"))
        assert (surface.objective == threshold_surface(scoring).objective).all()
        assert data.thresholds(taus=[0.1, 0.2], thetas=[0.1]).objective.shape == (2, 1)

    def test_dataset_mixture_accepts_a_group_name_without_sport_if_only_one_group_matches(self) -> None:
        soccer = [one for one in KNOWN if one.sport == "synthetic-soccer"]
        rows = [row for row in MODELS if row["sport"] == "synthetic-soccer"]
        data = load(rows, soccer)
        assert data.mixture("gpt/cot", bootstrap=0) == data.mixture("synthetic-soccer/gpt/cot", bootstrap=0)

    def test_dataset_score_with_reference_or_policy_overrides_the_reference_given_to_load(
        self, data: Dataset, folder: Path
    ) -> None:
        assert data.score(reference="gpt", **CHOICES) == score(folder, reference="gpt", **CHOICES)
        assert load(folder).score(**CHOICES) == score(folder, **CHOICES)
        policy = ScorePolicy.standard(reference="people", **CHOICES)
        assert data.score(policy=policy) == score(folder, policy=policy)
        with raises(OptionError, "conflicting-options:reference"):
            data.score(policy=ScorePolicy.standard(**CHOICES))

    def test_dataset_has_the_documented_attributes(self, data: Dataset, folder: Path) -> None:
        assert data.reference == "people"
        assert data.scenes == tuple(KNOWN)
        assert data.warnings == ()
        assert data.counts.has_participants
        assert "gpt, llama, people" in repr(data)


@pytest.mark.parametrize(
    ("choices", "participants"), [({}, False), ({"ceiling": True}, True), ({"cluster": "participant"}, True)]
)
def test_score_reads_participants_only_for_a_noise_ceiling_or_participant_clusters(
    folder: Path, monkeypatch: pytest.MonkeyPatch, choices: dict[str, Any], participants: bool
) -> None:
    read, asked = counting.read_counts, []

    def noted(*arguments: Any, **options: Any) -> Counts:
        asked.append(options["participants"])
        return read(*arguments, **options)

    monkeypatch.setattr(counting, "read_counts", noted)
    score(folder, reference="people", bootstrap=0, **choices)
    assert asked == [participants]


BALLS = {"1": "D5", "2": "A1", "3": "F10"}
GUESSES = {"1": "D5", "2": "B7", "3": "C3"}
TRUTH_ROWS = [{"image": image, "cell": cell} for image, cell in BALLS.items()]
GUESS_ROWS = [{"image": image, "cell": cell} for image, cell in GUESSES.items()]


DATA = {
    "mapping": GUESSES,
    "dictionaries": GUESS_ROWS,
    "pandas": pd.DataFrame(GUESS_ROWS),
    "records": [Response(image=i, respondent="records", kind="model", cell=c) for i, c in GUESSES.items()],
}
RECORDS = [sb.Scene(image=image, grid=Grid.standard(), ball_cells=[cell]) for image, cell in BALLS.items()]


class TestInputs:
    @pytest.mark.parametrize("kind", DATA)
    def test_score_is_the_same_for_a_mapping_dictionaries_a_pandas_frame_and_records(self, kind: str) -> None:
        report, expected = score(DATA[kind], truth=BALLS, bootstrap=0), score(GUESSES, truth=BALLS, bootstrap=0)
        assert [group.metrics for group in report.groups] == [group.metrics for group in expected.groups]
        assert report.groups[0].metrics["accuracy"].value == pytest.approx(1 / 3)
        assert report == load(DATA[kind], truth=BALLS).score(bootstrap=0)

    @pytest.mark.parametrize("truth", [TRUTH_ROWS, pd.DataFrame(TRUTH_ROWS), RECORDS], ids=["rows", "frame", "records"])
    def test_score_is_the_same_for_truth_as_rows_frame_or_records_and_for_the_arguments_truth_and_scenes(
        self, truth: Any
    ) -> None:
        expected = score(GUESSES, truth=BALLS, bootstrap=0)
        assert score(GUESSES, truth=truth, bootstrap=0) == score(GUESSES, truth, bootstrap=0) == expected

    def test_load_accepts_counts_and_score_accepts_a_scenes_file_as_truth(self, folder: Path) -> None:
        known = folder / "scenes.jsonl"
        assert score(MODELS, truth=known, bootstrap=0) == score(MODELS, known, bootstrap=0)
        counts, scenes = load_counts(folder, None, participants=False)
        assert load(counts, scenes).score(bootstrap=0) == score(folder, bootstrap=0)

    @pytest.mark.slow
    def test_dataset_report_shows_rationales_from_a_file_with_renamed_columns(self, tmp_path: Path) -> None:
        rows = [*answers(0, 2, respondent="people", kind="human"), *answers(1, 2, reasoning="It is on the left.")]
        renamed = [{"id" if key == "image" else key: value for key, value in row.items()} for row in rows]
        path = write_csv(tmp_path / "guesses.csv", renamed)
        data = load(path, KNOWN, columns={"image": "id"}, reference="people")
        data.report(tmp_path / "report", bootstrap=0)
        assert "It is on the left" in (tmp_path / "report" / "report.html").read_text()


ROW = {"image": "1", "cell": "D5"}


class TestMistakes:
    @pytest.mark.parametrize(
        ("call", "where"),
        [
            (lambda: load(3), "missing-truth:scenes"),  # type: ignore[arg-type]
            (lambda: load(None), "missing-truth:scenes"),  # type: ignore[arg-type]
            (lambda: load([]), "missing-truth:scenes"),
            (lambda: load([], truth=BALLS), "no-data:responses"),
            (lambda: load(GUESSES), "missing-truth:scenes"),
            (lambda: load([ROW]), "missing-truth:scenes"),
            (lambda: load([ROW], 3), "wrong-type:truth"),  # type: ignore[arg-type]
            (lambda: load([ROW], b"1"), "wrong-type:truth"),  # type: ignore[arg-type]
            (lambda: load([ROW], truth=3), "wrong-type:truth"),  # type: ignore[arg-type]
            (lambda: load([ROW], [3]), "wrong-type:truth"),  # type: ignore[list-item]
            (lambda: load([ROW], []), "no-data:truth"),
            (lambda: load([ROW], RECORDS, truth=BALLS), "conflicting-options:truth"),
            (lambda: load([ROW], truth=BALLS, grid="8x8"), "wrong-type:grid"),  # type: ignore[arg-type]
            (lambda: load([ROW], truth=BALLS, columns=3), "wrong-type:columns"),  # type: ignore[arg-type]
            (lambda: load([ROW], truth=BALLS, columns={"imag": "image"}), "unknown-name:columns"),
            (lambda: load("nowhere"), "missing-file:file"),
            (lambda: load("nowhere", "scenes.jsonl"), "missing-file:file"),
            (lambda: load(KNOWN, KNOWN), "wrong-type:responses"),  # type: ignore[arg-type]
            (lambda: load([ROW], truth=BALLS, reference="frames"), "unknown-name:reference"),
            (lambda: load([ROW], truth=BALLS, reference=3), "unknown-name:reference"),  # type: ignore[arg-type]
            (lambda: load([ROW], truth=BALLS, engine=len), "missing-option:engine"),  # type: ignore[arg-type]
        ],
    )
    @pytest.mark.usefixtures("empty")
    def test_load_with_invalid_arguments_raises_an_error(self, call: Callable[[], object], where: str) -> None:
        with raises(SpotballError, where):
            call()

    def test_load_of_a_folder_with_a_second_grid_and_ceiling_without_a_reference_raise_option_error(
        self, folder: Path
    ) -> None:
        with raises(OptionError, "conflicting-options:grid"):
            load(folder, grid=Grid(8, 8, 800, 600))
        with raises(OptionError, "missing-option"):
            load(folder).ceiling()

    @pytest.mark.parametrize(
        ("method", "arguments", "choices", "where", "value"),
        [
            ("score", (), {"policy": 3}, "unknown-name:policy", "3"),
            ("score", (), {"by": 3}, "unknown-name:by", "3"),
            ("score", (), {"by": [["sport"]]}, "unknown-name:by", "sport"),
            ("score", (), {"bootstrap": -1}, "invalid-option", "bootstrap"),
            ("score", (), {"seed": "one"}, "invalid-option", "seed"),
            ("score", (), {"reference": "peeple"}, "unknown-name:reference", "peeple"),
            ("compare", ("gtp", "people"), {}, "unknown-name", "gtp"),
            ("compare", ("gpt", "gpt"), {}, "invalid-option", "gpt"),
            ("compare", ("gpt", 3), {}, "invalid-option:b", "3"),
            ("compare", ("gpt", "llama"), {"permutations": 0}, "invalid-option:permutations", "0"),
            ("compare", ("gpt", "llama"), {"permutations": "many"}, "invalid-option:permutations", "many"),
            ("compare", ("gpt", "llama"), {"policy": "papers"}, "unknown-name:policy", "papers"),
            ("compare", ("gpt", "llama"), {"seed": -1}, "invalid-option", "seed"),
            ("ceiling", (), {"splits": 0}, "invalid-option:splits", "0"),
            ("ceiling", (), {"reference": "gpt"}, "invalid-option", "gpt"),
            ("cues", (["centre"],), {}, "unknown-name", "centre"),
            ("cues", ([3],), {}, "unknown-name", "3"),
            ("cues", (), {"mirrors": -1}, "invalid-option:mirrors", "-1"),
            ("cues", (), {"jobs": 0}, "invalid-option:jobs", "0"),
            ("thresholds", (), {"taus": [2.0]}, "invalid-option:taus", "2.0"),
            ("thresholds", (), {"taus": "low"}, "invalid-option:taus", "low"),
            ("mixture", ("gpt",), {}, "ambiguous-name", "gpt"),
            ("mixture", ("gtp",), {}, "unknown-name", "gtp"),
            ("mixture", (3,), {}, "invalid-option:respondent", "3"),
            ("mixture", ("synthetic-soccer/gpt/cot",), {"bootstrap": -1}, "invalid-option:bootstrap", "-1"),
            ("report", (3,), {}, "wrong-type:out", ""),
            ("report", ("out",), {"figures": ["papers"]}, "unknown-name:figures", "papers"),
            ("report", ("out",), {"before": "earlier"}, "wrong-type:before", ""),
            ("report", ("out",), {"reasoning": "nowhere.json"}, "missing-file:file", "nowhere.json"),
        ],
    )
    def test_dataset_methods_with_invalid_arguments_raise_an_error_and_write_nothing(
        self, data: Dataset, method: str, arguments: Any, choices: dict[str, Any], where: str, value: str, empty: Path
    ) -> None:
        with raises(SpotballError, where) as caught:
            getattr(data, method)(*arguments, **choices)
        assert value in str(caught.value)
        assert list(empty.iterdir()) == []

    @pytest.mark.parametrize(
        "call",
        [
            lambda: sb.read_counts([ROW], "scenes.jsonl"),  # type: ignore[arg-type]
            lambda: sb.Accumulator("scenes.jsonl"),  # type: ignore[arg-type]
            lambda: sb.baseline_distributions("uniform", "scenes.jsonl"),  # type: ignore[arg-type]
            lambda: sb.baseline_responses("scenes.jsonl"),  # type: ignore[arg-type]
            lambda: sb.cue_scores("scenes.jsonl"),  # type: ignore[arg-type]
            lambda: sb.cue_responses("scenes.jsonl", {"a": {"center": 1.0}}),  # type: ignore[arg-type]
            lambda: sb.synthetic_poses("scenes.jsonl"),  # type: ignore[arg-type]
            lambda: sb.synthetic_poses(KNOWN[0]),  # type: ignore[arg-type]
            lambda: sb.synthetic_scenes("many"),  # type: ignore[arg-type]
            lambda: sb.baseline_responses(KNOWN, samples="many"),  # type: ignore[arg-type]
            lambda: sb.read_scenes(3),  # type: ignore[arg-type]
            lambda: sb.replicate(3),  # type: ignore[arg-type]
            lambda: sb.import_release(3),  # type: ignore[arg-type]
            lambda: Counts.of("counts", rows=6, cols=10),  # type: ignore[arg-type]
            lambda: Counts.merge("counts"),  # type: ignore[arg-type]
        ],
    )
    def test_public_functions_with_arguments_of_wrong_types_raise_spotball_error(
        self, call: Callable[[], object]
    ) -> None:
        with pytest.raises(SpotballError):
            call()


class TestTruthOfCommands:
    def test_score_command_with_truth_equals_score_and_prints_the_assumed_grid_and_size(self, tmp_path: Path) -> None:
        guesses, truth = write_csv(tmp_path / "p.csv", GUESS_ROWS), write_csv(tmp_path / "t.csv", TRUTH_ROWS)
        done = spotball("score", guesses, "--truth", truth, "--bootstrap", "0", "--format", "json")
        assert json.loads(done.stdout) == json.loads(score(guesses, truth=BALLS, bootstrap=0).model_dump_json())
        (line,) = [line for line in done.stderr.splitlines() if "t.csv" in line]
        assert "6 x 10" in line
        assert "640 x 360" in line
        assert "--grid" in line
        assert "--size" in line

    def test_score_command_with_grid_size_and_columns_equals_the_score_function(self, tmp_path: Path) -> None:
        guesses = write_csv(tmp_path / "p.csv", [{"id": "1", "prediction": "H8"}])
        truth = write_csv(tmp_path / "t.csv", [{"id": "1", "cell": "H7"}])
        columns = {"image": "id", "cell": "prediction"}
        report = score(guesses, truth=truth, grid=Grid(8, 8, 800, 600), columns=columns, bootstrap=0)
        assert report.provenance.grid == "8x8@800x600"
        assert report.groups[0].metrics["euclidean_error"].value == 100
        words = ("--truth", truth, "--grid", "8 x 8", "--size", "800X600", "--columns", "image=id,cell=prediction")
        done = spotball("score", guesses, *words, "--bootstrap", "0", "--format", "json")
        assert done.stderr == ""
        assert json.loads(done.stdout) == json.loads(report.model_dump_json())

    @pytest.mark.parametrize(("given", "assumed"), [("--grid", "640 x 360"), ("--size", "6 x 10")])
    def test_score_command_with_only_grid_or_size_prints_only_the_other_as_assumed(
        self, tmp_path: Path, given: str, assumed: str
    ) -> None:
        guesses, truth = write_csv(tmp_path / "p.csv", GUESS_ROWS), write_csv(tmp_path / "t.csv", TRUTH_ROWS)
        words = ("--truth", truth, given, {"--grid": "6x12", "--size": "800x600"}[given], "--bootstrap", "0")
        done = spotball("score", guesses, *words)
        (line,) = [line for line in done.stderr.splitlines() if "t.csv" in line]
        assert assumed in line
        assert given not in line
        assert "t.csv" not in spotball("score", guesses, *words, "--quiet").stderr

    def test_every_command_accepts_truth_grid_size_and_columns(self, tmp_path: Path) -> None:
        rows = [{"id": str(i), "respondent": r, "guess": c} for r in "ab" for i, c in enumerate(["D5", "C4", "A1"] * 3)]
        guesses = write_csv(tmp_path / "p.csv", rows)
        truth = write_csv(tmp_path / "t.csv", [{"id": str(i), "cell": "D5"} for i in range(9)])
        words = (guesses, "--truth", truth, "--grid", "6x10", "--size", "640x360", "--columns", "image=id,cell=guess")
        few = ("--bootstrap", "0", "--quiet")
        for done in (
            spotball("score", *words, *few),
            spotball("compare", *words, "--a", "a", "--b", "b", *few),
            spotball("report", *words, "--out", tmp_path / "report", "--reference", "a", "--before", guesses, *few),
            spotball("cues", "explain", *words, "--cues", "center", *few),
            spotball("count", *words, "--out", tmp_path / "all.counts", "--quiet"),
        ):
            assert (done.returncode, done.stderr) == (0, "")
        of_counts = (*words[1:-1], "image=id")
        counted = spotball("score", tmp_path / "all.counts", *of_counts, *few, "--format", "json")
        assert counted.stdout == spotball("score", *words, *few, "--format", "json").stdout

    @pytest.mark.parametrize(
        ("words", "option"),
        [
            (("--truth", "t.csv", "--grid", "8"), "--grid"),
            (("--truth", "t.csv", "--grid", "0x8"), "--grid"),
            (("--truth", "t.csv", "--grid", "8x8x8"), "--grid"),
            (("--truth", "t.csv", "--grid", "640x360"), "--grid"),
            (("--truth", "t.csv", "--grid", "10x10", "--size", "9x9"), "--size"),
            (("--truth", "t.csv", "--size", "800"), "--size"),
            (("--truth", "t.csv", "--size", "800x-1"), "--size"),
            (("--truth", "t.csv", "--columns", "image"), "--columns"),
            (("--truth", "t.csv", "--columns", "image="), "--columns"),
            (("--truth", "t.csv", "--columns", ""), "--columns"),
            (("--truth", "t.csv", "--columns", "image=a,image=b"), "--columns"),
            (("--truth", "t.csv", "--columns", "imag=a"), "image"),
            (("--truth", "t.csv", "--scenes", "s.jsonl"), "--scenes"),
            (("--scenes", "s.jsonl", "--grid", "8x8"), "--grid"),
            (("--scenes", "s.jsonl", "--size", "8x8"), "--size"),
            ((), "--truth"),
        ],
    )
    @pytest.mark.usefixtures("empty")
    def test_score_command_with_invalid_truth_options_fails(self, words: tuple[str, ...], option: str) -> None:
        write_csv(Path("p.csv"), GUESS_ROWS)
        write_csv(Path("t.csv"), TRUTH_ROWS)
        write_scenes([sb.Scene(sport="a", image="1", grid=Grid.standard(), ball_cells=["D5"])], "s.jsonl")
        done = spotball("score", "p.csv", *words)
        assert done.returncode == 2
        assert option in done.stderr
        assert done.stdout == ""
