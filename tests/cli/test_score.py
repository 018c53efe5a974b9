"""Test `spotball score`: its formats, files, messages and terminal output."""

from __future__ import annotations

import functools
import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from spotball_core import ScoreReport, score
from spotball_core.metrics.registry import METRICS
from tests.builders import dataset, scene, write_csv
from tests.cli.process import MODULE, Done, on_terminal, spotball, spotball_process
from tests.failures import codes

KNOWN = [scene(str(i), players=[[0, 0, 100, 100]], ball_cells=["D5", "E6"]) for i in range(6)]
HUMAN = [
    {"image": str(i), "respondent": "human", "participant": p, "sample": 1, "cell": cell}
    for i in range(6)
    for p, cell in (("a", "D5"), ("b", "C4"), ("c", "D6"))
]
MODEL = [{"image": str(i), "respondent": "gpt", "prompt": "cot", "cell": "B2" if i else None} for i in range(6)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("score") / "set", KNOWN, human=HUMAN, gpt=MODEL)


@pytest.fixture(scope="module")
def report(data: Path) -> ScoreReport:
    return score(data, reference="human", bootstrap=20, seed=3)


UNEVEN = (
    "warning: soccer: the number of responses per image ranges from 1 to 3, which affects some metrics. Compare groups "
    "by their matched versions, such as `wasserstein_matched`\n"
)
OPTIONS = ("--reference", "human", "--bootstrap", "20", "--seed", "3")


@functools.cache
def scored(data: Path, *options: str) -> Done:
    """Return the result of `spotball score` for the data, cached by options."""
    return spotball("score", data, *OPTIONS, *options)


class TestFormats:
    def test_json_and_csv_output_equal_the_report(self, data: Path, report: ScoreReport) -> None:
        done = scored(data, "--format", "json")
        assert (done.returncode, done.stderr) == (0, UNEVEN)
        assert ScoreReport.model_validate_json(done.stdout) == report
        told = json.loads(done.stdout)
        assert told["schema_version"] == 1
        assert [group["respondent"] for group in told["groups"]] == ["human", "gpt"]
        assert told["groups"][1]["metrics"]["wasserstein"]["reference"] == "human"
        done = scored(data, "--format", "csv")
        assert (done.returncode, done.stderr) == (0, UNEVEN)
        frame = report.to_frame()
        assert len(frame) == 2 * len(METRICS)
        assert pl.read_csv(done.stdout.encode(), schema=frame.schema).equals(frame)

    @pytest.mark.parametrize("form", ["table", "markdown", "latex"])
    def test_tables_contain_the_values_and_intervals_of_the_report(
        self, data: Path, report: ScoreReport, form: str
    ) -> None:
        done = scored(data, *(["--full"] if form == "table" else ["--format", form]))
        assert (done.returncode, done.stderr) == (0, "")
        error = report.group("gpt").metrics["euclidean_error"]
        assert error.value is not None
        assert error.ci95 is not None
        assert f"{error.value:.1f}" in done.stdout
        assert f"[{error.ci95[0]:.1f}, {error.ci95[1]:.1f}]" in done.stdout
        assert done.stdout.rstrip().endswith(report.signature)
        assert "\x1b" not in done.stdout
        assert ("|" in done.stdout.splitlines()[2]) == (form == "markdown")
        assert (r"\toprule" in done.stdout) == (form == "latex")

    def test_default_output_states_the_accuracy_and_the_metrics_and_sport_options_filter_the_output(
        self, data: Path, report: ScoreReport
    ) -> None:
        done = scored(data)
        accuracy = report.group("gpt").metrics["accuracy"]
        assert accuracy.value is not None
        assert f"gpt finds it in {100 * accuracy.value:.1f}%" in " ".join(done.stdout.split())
        assert "--full" in done.stdout
        assert done.stdout.rstrip().endswith(report.signature)
        assert "Euclidean" not in scored(data, "--metrics", "accuracy").stdout
        done = scored(data, "--metrics", "accuracy, wasserstein", "--sport", "soccer", "--format", "json")
        (_, gpt) = json.loads(done.stdout)["groups"]
        assert set(gpt["metrics"]) == {"accuracy", "wasserstein"}
        assert gpt["metrics"]["accuracy"]["value"] == accuracy.value


class TestOutOption:
    @pytest.mark.parametrize(
        ("name", "start"), [("a.csv", "sport,respondent,"), ("a.md", "**Scored**"), ("a.txt", "Scored")]
    )
    def test_out_file_extension_selects_the_format(self, data: Path, tmp_path: Path, name: str, start: str) -> None:
        path = tmp_path / "new" / name
        done = spotball("score", data, *OPTIONS, "--out", path)
        assert (done.returncode, done.stdout) == (0, "")
        *warnings, last = done.stderr.splitlines()
        assert last == f"wrote {path}"
        assert all(line.startswith("warning: ") for line in warnings)
        assert path.read_text(encoding="utf-8").startswith(start)
        assert [each.name for each in path.parent.iterdir()] == [name]

    def test_format_option_overrides_the_out_file_extension(self, data: Path, tmp_path: Path) -> None:
        done = spotball("score", data, *OPTIONS, "--out", tmp_path / "a.csv", "--format", "json", "--quiet")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert (tmp_path / "a.csv").read_text() == scored(data, "--format", "json").stdout

    def test_out_file_is_unchanged_after_a_failed_run_and_an_unwritable_path_is_an_error(
        self, data: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "a.json"
        path.write_text("old")
        done = spotball("score", data, "--bootstrap", "0", "--out", path, "--reference", "nobody")
        assert done.returncode == 2
        for out in (tmp_path, path / "a.json"):
            done = spotball("score", data, "--bootstrap", "0", "--out", out)
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.startswith(f"{UNEVEN}error: ")
            assert "unexpected" not in done.stderr
        assert path.read_text() == "old"
        assert [each.name for each in tmp_path.iterdir()] == ["a.json"]

    @pytest.mark.slow
    def test_out_to_dev_stdout_prints_the_report(self, data: Path) -> None:
        done = spotball_process("score", data, *OPTIONS, "--out", "/dev/stdout", "--format", "csv")
        assert done.returncode == 0
        assert done.stdout == scored(data, "--format", "csv").stdout
        assert Path("/dev/stdout").is_symlink()


class TestMessages:
    def test_warnings_are_printed_to_stderr_with_json_and_as_part_of_the_output_with_a_table(
        self, tmp_path: Path
    ) -> None:
        folder = dataset(tmp_path / "set", KNOWN, human=HUMAN, gpt=MODEL[:2])
        arguments = ["score", folder, "--reference", "human", "--bootstrap", "0"]
        done = spotball(*arguments, "--format", "json")
        said = json.loads(done.stdout)["warnings"]
        assert len(said) == 2
        assert done.stderr == "".join(f"warning: {warning}\n" for warning in said)
        assert spotball(*arguments, "--format", "csv", "-q").stderr == ""
        table = spotball(*arguments)
        assert (table.stderr, f"warning: {said[0]}" in table.stdout) == ("", True)

    def test_repeated_input_error_is_reported_once_with_its_line_numbers(self, data: Path, tmp_path: Path) -> None:
        path = write_csv(tmp_path / "a.csv", [{"image": "no", "cell": "D5"}] * 25 + [{"image": "", "cell": "D5"}])
        done = spotball("score", path, "--scenes", data / "scenes.jsonl")
        first, second = done.stderr.splitlines()
        assert (done.returncode, done.stdout) == (2, "")
        assert codes(done.stderr) == ["unknown-image", "missing-value"]
        assert first.startswith(f"error: {path}:2: image: ")
        assert all(value in first for value in ("'no'", "25", "2, 3, 4, 5, 6, ..."))
        assert second.startswith(f"{path}:27: image: ")


class TestOptions:
    def test_score_of_response_files_with_scenes_equals_score_of_the_dataset(
        self, data: Path, report: ScoreReport
    ) -> None:
        files = [data / "responses-human.jsonl", data / "responses-gpt.jsonl"]
        done = spotball("score", *files, "--scenes", data / "scenes.jsonl", *OPTIONS, "--format", "json")
        assert ScoreReport.model_validate_json(done.stdout) == report

    def test_score_options_are_applied_to_the_report(self, data: Path) -> None:
        choices: dict[str, Any] = {"reference": "human", "images": "all", "policy": "paper", "wasserstein_unit": "cell"}
        choices |= {"cluster": "participant", "bootstrap": 7, "seed": 0}
        words = [word for key, value in choices.items() for word in (f"--{key.replace('_', '-')}", str(value))]
        done = spotball("score", data, *words, "--by", "prompt, respondent", "--format", "json")
        expected = score(data, by=("respondent", "prompt"), **choices)
        assert ScoreReport.model_validate_json(done.stdout) == expected
        assert expected.policy.bootstrap == 7

    @pytest.mark.parametrize(
        ("option", "value", "code", "field"),
        [("--metrics", ",", "unknown-name", "--metrics"), ("--reference", "", "invalid-option", "reference")],
    )
    def test_score_with_an_invalid_option_value_exits_with_status_2(
        self, data: Path, option: str, value: str, code: str, field: str
    ) -> None:
        done = scored(data, option, value)
        assert (done.returncode, done.stdout, codes(done.stderr)) == (2, "", [code])
        assert all(part in done.stderr for part in (f"{field}: ", repr(value)))


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 60])
def test_full_tables_fit_a_narrow_terminal_without_truncated_numbers(
    data: Path, report: ScoreReport, columns: int
) -> None:
    status, text = on_terminal("score", data, *OPTIONS, "--full", columns=columns)
    assert status == 0
    assert "\x1b[" in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    tabular = plain.split("\nwarning: ")[0]
    assert max(len(line.rstrip()) for line in tabular.splitlines()) <= columns
    assert "…" not in plain
    error = report.group("gpt").metrics["euclidean_error"]
    assert error.ci95 is not None
    assert f"[{error.ci95[0]:.1f}, {error.ci95[1]:.1f}]" in tabular
    assert report.signature in plain


@pytest.mark.slow
def test_interrupted_score_keeps_the_old_file_and_prints_no_traceback(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    out.write_text("old")
    command = [*MODULE, "score", "-", "--scenes", str(data / "scenes.jsonl"), "--out", str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        # This is more than a pipe holds, so the command is reading when the interrupt arrives, and waits for the rest.
        process.stdin.write(b"image,cell\n" + b"0,D5\n" * 100_000)
        process.send_signal(signal.SIGINT)
        said, complaint = process.communicate(timeout=60)
    assert process.returncode not in (0, 2)
    assert said == b""
    assert b"Traceback" not in complaint
    assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
