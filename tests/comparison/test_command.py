"""Test `spotball compare`: its output, its files and its errors."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from spotball_core.comparison import tables as comparisons
from spotball_core.comparison.compare import compare
from spotball_core.comparison.record import Comparison
from spotball_core.comparison.summary import to_summary
from spotball_core.metrics.registry import METRICS
from spotball_core.scoring.groups import Scoring
from tests.builders import dataset as write_dataset
from tests.cli import process
from tests.failures import codes
from tests.stats.build import GRID, drawn, scoring_of, varied_scenes

Done = subprocess.CompletedProcess[str]
FAST = ("--permutations", "999", "--bootstrap", "100")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset with two sports, people identified by participant, and a model with two prompts."""
    rng, rows = np.random.default_rng(0), []
    known = [*varied_scenes(9), *varied_scenes(7, "golf", seed=1)]
    for scene in known:
        favorite = rng.dirichlet(np.full(60, 0.2))
        for respondent, prompt, n in (("human", "base", 12), ("gemini", "base", 12), ("gemini", "cot", 6)):
            for number, cell in enumerate(rng.choice(60, n, p=favorite).tolist()):
                row = {"sport": scene.sport, "image": scene.image, "respondent": respondent, "prompt": prompt}
                person = {"participant": f"p{number // 3}", "sample": number % 3 + 1}
                who = person if respondent == "human" else {"sample": number + 1}
                rows.append({**row, **who, "cell": GRID.label(cell)})
    return write_dataset(tmp_path_factory.mktemp("dataset"), known, all=rows)


@pytest.fixture(scope="module")
def run(dataset: Path) -> Callable[..., Done]:
    def spotball(*words: str, status: int = 0) -> Done:
        done = process.spotball("compare", *words, env={"COLUMNS": "200"}, cwd=dataset)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return spotball


@pytest.mark.slow
def test_compare_full_prints_a_table_per_sport_and_one_for_all_sports(run: Callable[..., Done]) -> None:
    out = run(".", "--a", "human", "--b", "gemini/cot", "--reference", "human", "--full", *FAST).stdout
    for title in ("soccer: human against gemini/cot on the same 9 images", "all sports: human against gemini/cot"):
        assert title in out
    lines = out.splitlines()
    assert lines[-1].startswith("spotball|v:")
    assert lines[-1].endswith("|ref:human|w:exact-px|boot:100|seed:0|perm:999")
    of_reference = ("Wasserstein distance", "Wasserstein distance, matched", "1D Wasserstein distance")
    assert f"* {', '.join(of_reference)}, 1D Wasserstein distance, matched: human is the reference" in lines
    assert "depends on the number of responses; its matched version is compared instead" in out
    assert "images and, independently, participants" in out
    # Each of the three tables is too wide for 80 columns, so it is printed in two parts.
    assert sum(line.lstrip().startswith("Accuracy (%)") for line in lines) == 6


@pytest.mark.slow
def test_compare_json_output_is_a_valid_comparison(run: Callable[..., Done]) -> None:
    done = run(".", "--a", "gemini/base", "--b", "gemini/cot", "--reference", "human", "--format", "json", *FAST)
    found = Comparison.model_validate_json(done.stdout)
    assert (found.a, found.b) == ("gemini/base", "gemini/cot")
    assert [one.sport for one in found.contrasts] == ["soccer", "golf", None]
    one = json.loads(done.stdout)["contrasts"][2]["metrics"]["wasserstein_matched"]
    assert set(one) == {
        *("a", "b", "difference", "ci95", "p", "p_holm", "n_images", "effect_size", "direction", "verdict"),
        *("detectable", "margin", "margin_ci", "conclusion", "sentence", "reason"),
    }
    assert one["n_images"] == 16


def test_compare_default_output_fits_80_columns(run: Callable[..., Done]) -> None:
    out = run(".", "--a", "human", "--b", "gemini/cot", "--reference", "human", *FAST).stdout
    lines = out.splitlines()
    assert out.startswith("Accuracy: human ")
    assert max(len(line) for line in lines[:-1] if not line.startswith("warning: ")) <= 80
    assert "a: human. b: gemini/cot. all sports, the same 16 images." in lines
    assert sum(line.startswith("Accuracy (%)") for line in lines) == 1
    assert "--full" in out
    assert lines[-1].endswith("|ref:human|w:exact-px|boot:100|seed:0|perm:999")


def test_compare_latex_output_has_a_table_per_sport_and_one_for_all_sports(run: Callable[..., Done]) -> None:
    out = run(".", "--a", "human", "--b", "gemini/cot", "--format", "latex", *FAST).stdout
    assert out.count(r"\begin{tabular}{lrrrrrrrr}") == 3
    assert r"Accuracy (\%)" in out


def test_compare_csv_output_has_a_row_per_sport_and_metric(run: Callable[..., Done]) -> None:
    out = run(".", "--a", "gemini/base", "--b", "gemini/cot", "--format", "csv", *FAST).stdout
    rows = list(csv.DictReader(out.splitlines()))
    assert tuple(rows[0]) == tuple(comparisons.COLUMNS)
    assert len(rows) == 3 * len(METRICS)
    row = next(row for row in rows if row["sport"] == "" and row["metric"] == "accuracy")
    assert float(row["difference"]) == pytest.approx(float(row["value_a"]) - float(row["value_b"]))
    assert row["signature"].startswith("spotball|v:")
    assert next(row for row in rows if row["metric"] == "wasserstein")["reason"] == "no reference"


@pytest.mark.slow
def test_compare_out_file_extension_selects_the_format(run: Callable[..., Done], tmp_path: Path) -> None:
    out = tmp_path / "new" / "found.md"
    done = run(".", "--a", "human", "--b", "gemini/base", "--out", str(out), *FAST)
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == f"wrote {out}"
    text = out.read_text(encoding="utf-8")
    assert "| Metric | human | gemini/base | Difference | 95% interval |" in text
    assert "- Accuracy: human" in text
    quiet = run(".", "--a", "human", "--b", "gemini/base", "--out", str(out), "--quiet", *FAST)
    assert (quiet.stdout, quiet.stderr) == ("", "")
    assert out.read_text(encoding="utf-8") == text


@pytest.mark.slow
def test_compare_output_is_the_same_for_equal_arguments_and_seed(run: Callable[..., Done]) -> None:
    words = (".", "--a", "human", "--b", "gemini/cot", *FAST)
    assert run(*words).stdout == run(*words).stdout
    assert run(*words).stdout != run(*words, "--seed", "1").stdout


@pytest.mark.parametrize(
    ("words", "code", "values"),
    [
        (". --a human --b gpt", "unknown-name", ("'gpt'", "gemini, gemini/base, gemini/cot, human, human/base")),
        (". --a human --b human", "invalid-option", ("human",)),
        (". --a human --b gemini --reference gpt", "unknown-name", ("reference: ", "'gpt'")),
        ("nowhere --a human --b gemini", "missing-file", ("nowhere",)),
        (". --a human --b gemini --permutations 0", None, ("'--permutations'",)),
        (". --a human", None, ("'--b'",)),
    ],
)
def test_compare_with_invalid_arguments_exits_with_status_2(
    run: Callable[..., Done], words: str, code: str | None, values: tuple[str, ...]
) -> None:
    done = run(*words.split(), status=2)
    # Errors of the command-line parser have no codes.
    assert codes(done.stderr) == ([code] if code else [])
    assert all(value in done.stderr for value in values)
    assert done.stdout == ""


def test_compare_help_has_an_example(run: Callable[..., Done]) -> None:
    out = run("--help").stdout
    assert "Example:\n  spotball compare data --a human --b gemini/cot --reference human" in out


@pytest.fixture(scope="module")
def found() -> Comparison:
    rng, known = np.random.default_rng(0), varied_scenes(12)
    answers = {"a|b/base": drawn(rng, 12, 20), "gemini/cot": drawn(rng, 12, 20), "human/base": drawn(rng, 12, 20)}
    scoring: Scoring = scoring_of(known, answers, reference="human")
    return compare(scoring, "a|b", "gemini/cot", permutations=999)


@pytest.mark.parametrize("width", [80, 100, 150])
def test_print_table_does_not_truncate_numbers_at_any_width(found: Comparison, width: int) -> None:
    from rich.console import Console

    console = Console(width=width, record=True, file=io.StringIO())
    comparisons.print_table(found, console)
    text = console.export_text()
    assert "…" not in text
    tables = text.split("The paper's metrics in words")[0]
    assert max(len(line.rstrip()) for line in tables.splitlines()) <= width
    compared = [key for key, one in found.contrasts[0].metrics.items() if one.ci95 is not None]
    assert compared == [key for key, metric in METRICS.items() if not metric.by_size]
    assert tables.count("[") == tables.count("]") == len(compared)
    for word in ("Reading", "corrected", "interval"):
        assert word in tables


def test_to_markdown_escapes_pipes_in_names(found: Comparison) -> None:
    text = comparisons.to_markdown(found)
    assert "| Metric | a\\|b | gemini/cot |" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1


def test_to_summary_and_to_text_contain_the_numbers_of_the_comparison(found: Comparison) -> None:
    error = found.contrasts[0].metrics["euclidean_error"]
    summary, text = to_summary(found), comparisons.to_text(found)
    (row,) = (line for line in summary.splitlines() if line.startswith("Euclidean error (px)"))
    assert f" {error.a:.1f} " in row
    assert f"{error.difference:+.1f}" in row
    assert f"[{error.ci95[0]:.1f}, {error.ci95[1]:.1f}]" in row
    assert row.endswith("*") == (error.verdict == "clear")
    assert summary.rstrip().endswith(found.signature)
    row, *_ = (line for line in text.splitlines() if line.lstrip().startswith("Euclidean error (px)"))
    assert f"{error.a:.1f}" in row
    assert f"{error.difference:+.1f}" in row
    assert found.signature in text
    assert error.sentence in text


@pytest.mark.parametrize(("difference", "shown"), [(-1e-9, "0.0"), (1e-9, "0.0"), (0.02, "+2.0"), (-0.02, "-2.0")])
def test_to_markdown_shows_differences_with_a_sign_unless_they_round_to_zero(
    found: Comparison, difference: float, shown: str
) -> None:
    contrast = found.contrasts[0]
    one = contrast.metrics["accuracy"].model_copy(update={"difference": difference, "effect_size": difference})
    changed = contrast.model_copy(update={"metrics": {"accuracy": one}})
    text = comparisons.to_markdown(found.model_copy(update={"contrasts": (changed,)}))
    (row,) = (line for line in text.splitlines() if line.startswith("| Accuracy"))
    assert row.split(" | ")[3] == shown


def test_compare_margin_option_names_metrics(run: Callable[..., Done]) -> None:
    words = (".", "--a", "human", "--b", "gemini/cot", "--format", "json", *FAST)
    done = run(*words, "--margin", "accuracy=90,brier_score_matched=0.001")
    metrics = json.loads(done.stdout)["contrasts"][-1]["metrics"]
    assert {key: one["conclusion"] for key, one in metrics.items() if one["conclusion"]} == {
        "accuracy": "equivalent",
        "brier_score_matched": "undecided",
    }
    assert codes(run(*words, "--margin", "3", status=2).stderr) == ["invalid-option"]
