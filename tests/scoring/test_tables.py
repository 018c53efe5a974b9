"""Test score reports as text, CSV and Markdown: no number is lost, cut or changed."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from rich.console import Console

from spotball_core import METRICS, ScorePolicy, ScoreReport, score
from spotball_core.schema import GroupScore, MetricValue, Signature
from spotball_core.scoring import tables
from tests.builders import frame, scene


def report(groups: list[GroupScore] | None = None, *, warnings: tuple[str, ...] = (), **choices: Any) -> ScoreReport:
    policy = ScorePolicy.standard(**{"reference": "human", **choices})
    signature = Signature(
        version="1", data="a" * 64, grid="6x10@640x360", policy=policy, n_images=2, dropped={"controls": 0}
    )
    return ScoreReport(
        signature=str(signature),
        provenance=signature,
        policy=policy,
        warnings=warnings,
        groups=tuple(groups or [group("human"), group("gpt-4o", 1.5), group("a|b", 2.25)]),
    )


def group(respondent: str, factor: float = 1.0, **changed: MetricValue) -> GroupScore:
    """Return a group with a different value, a deviation and an interval for each metric."""
    metrics = {}
    for number, key in enumerate(METRICS, start=1):
        value = number * factor / (100 if METRICS[key].unit == "share" else 1) + 1 / 3000
        metrics[key] = MetricValue(value=value, sd=value / 3, ci95=(value / 2, value * 2))
    counts = {"n_images": 50, "n_responses": 7500, "n_unparsed": 14}
    name = {"sport": "soccer", "respondent": respondent, "kind": "model", "prompt": "base"}
    return GroupScore.model_validate({**name, **counts, "metrics": {**metrics, **changed}})


def printed(one: ScoreReport, width: int = 200) -> str:
    out = io.StringIO()
    tables.print_table(one, Console(file=out, width=width))
    return out.getvalue()


def said(number: float, unit: str) -> str:
    if unit == "share":
        return f"{number * 100:.1f}"
    return f"{number:.1f}" if unit == "px" else f"{number:.3f}"


def missing_numbers(text: str, one: ScoreReport) -> list[str]:
    """Return the numbers of a report that a text lacks, in the form that text and Markdown tables must show."""
    found = ["50", "7,500", "14"]
    for scored in one.groups:
        for key, value in scored.metrics.items():
            if value.value is not None and value.ci95:
                unit = METRICS[key].unit
                spread = "" if unit == "share" or value.sd is None else f" ± {said(value.sd, unit)}"
                found.append(said(value.value, unit) + spread)
                found.append(f"[{said(value.ci95[0], unit)}, {said(value.ci95[1], unit)}]")
    return [number for number in found if number not in text]


class TestText:
    @pytest.mark.parametrize("width", [60, 80, 100, 132, 200, 1000])
    def test_text_of_any_width_shows_every_number_in_full(self, width: int) -> None:
        text = printed(report(), width)
        assert missing_numbers(text, report()) == []
        assert "…" not in text
        tabular = text.split("\n- ")[0].split("The number after ± is the standard deviation")[0]
        assert max(map(len, tabular.splitlines())) <= width

    def test_text_has_one_title_per_metric_family_and_the_names_in_every_table(self) -> None:
        text = printed(report(), 80)
        lines = [line.strip() for line in text.splitlines()]
        families = ["Task performance", "Alignment with the reference", "Behavioral strategies", "Scoring rules"]
        titles = ["Scored", *families]
        assert [line for line in lines if line in titles] == titles
        assert text.count("gpt-4o") == text.count("sport") > 6

    @pytest.mark.parametrize("name", ["meta-llama/Llama-3.2-90B-Vision-Instruct-" + "x" * 60, "日本語" * 10])
    def test_text_wraps_a_long_name_and_does_not_cut_it(self, name: str) -> None:
        text = printed(report([group(name)]), 80)
        assert missing_numbers(text, report([group(name)])) == []
        assert "…" not in text
        letters = "".join(re.findall(r"[^\s]+", text))
        assert all(sign in letters for sign in set(name))

    def test_text_ends_with_warnings_legend_and_signature(self) -> None:
        one = report(warnings=("first", "second"))
        assert printed(one).splitlines()[-4:] == [
            "warning: first",
            "warning: second",
            (
                "The number after ± is the standard deviation over images. Brackets show 95% bootstrap intervals over "
                "images."
            ),
            one.signature,
        ]
        assert "No intervals" in printed(report(bootstrap=0))
        by_person = printed(report(cluster="participant"))
        assert "intervals over participants (over images if there are no participants)." in by_person

    def test_text_lists_each_reason_once_with_its_metrics_and_groups(self) -> None:
        lost = MetricValue(value=None, reason="no player boxes")
        some = MetricValue(value=1.0, n_images=3, reason="2 images without ground truth left out")
        groups = [
            group("a", near_player_rate=lost, overlap_rate=lost, accuracy=some),
            group("b", near_player_rate=lost),
        ]
        text = printed(report(groups))
        assert "- Near-player rate, Overlap rate of all groups: no player boxes\n" in text
        assert "- Accuracy of soccer/a/base: 2 images without ground truth left out\n" in text
        assert text.count("no player boxes") == 1

    def test_text_shows_a_dash_for_an_undefined_value_and_hides_metrics_undefined_for_all_groups(self) -> None:
        lost = MetricValue(value=None, reason="no reference")
        none = {"brier_score": lost, "brier_score_matched": lost}
        text = printed(report([group("a", accuracy=lost, **none), group("b", **none)]))
        row = next(line for line in text.split("Task performance")[1].splitlines() if "  a  " in line)
        assert re.split(r"\s{2,}", row.strip())[3] == "-"
        assert "Brier" not in text.split("\n- ")[0]

    def test_text_column_headings_state_units_and_policy_choices(self) -> None:
        text = printed(report(wasserstein_unit="cell", top_k=5))
        for head in ("Wasserstein distance (cell)", "Top-5 accuracy (%)", "Euclidean error (px)"):
            assert head in text
        assert "1D Wasserstein distance (px)" in text
        # Distances in diagonals have three digits.
        value = MetricValue(value=0.12345, sd=0.05, ci95=(0.1, 0.2))
        assert "0.123 ± 0.050" in printed(report([group("a", wasserstein=value)], wasserstein_unit="diagonal"))

    @pytest.mark.parametrize("by", [("sport",), ("prompt",), ()])
    def test_text_of_groups_without_respondents_shows_every_number(self, by: tuple[str, ...]) -> None:
        text = printed(report(by=by))
        assert "respondent" not in text.split("|")[0]
        assert missing_numbers(text, report()) == []

    def test_text_without_a_terminal_has_no_escape_codes_and_shows_markup_in_names_unchanged(self) -> None:
        assert "[bold]x[/bold]" in printed(report([group("[bold]x[/bold]")]))
        for to_terminal in (False, True):
            text = tables.to_text(report(), to_terminal=to_terminal)
            assert "\x1b" not in text
            assert all(line == line.rstrip() for line in text.splitlines())


def test_markdown_has_well_formed_tables_with_every_number_and_ends_with_the_signature() -> None:
    one = report(warnings=("careful",))
    text = tables.to_markdown(one)
    blocks = re.findall(r"\*\*(.+)\*\*\n\n((?:\|.*\n)+)\n", text)
    assert [title for title, _ in blocks][:2] == ["Scored", "Task performance"]
    for _, block in blocks:
        rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in block.splitlines()]
        assert len({len(row) for row in rows}) == 1
        assert [cell.strip() for cell in rows[1]][:3] == ["---", "---", "---"]
        assert {cell.strip() for cell in rows[1][3:]} == {"---:"}
        assert [row[1].strip() for row in rows[2:]] == ["human", "gpt-4o", "a\\|b"]
    assert missing_numbers(text, one) == []
    assert text.splitlines()[-1] == one.signature + "  "
    assert "warning: careful  " in text.splitlines()


def rows_of(one: ScoreReport) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(tables.to_csv(one))))


def test_csv_has_full_precision_for_every_group_and_metric() -> None:
    one = report()
    rows = rows_of(one)
    assert tuple(rows[0]) == tuple(tables.COLUMNS)
    for row, (scored, key) in zip(rows, [(g, key) for g in one.groups for key in METRICS], strict=True):
        value = scored.metrics[key]
        assert value.ci95 is not None
        assert (row["metric"], row["unit"], row["signature"]) == (key, METRICS[key].unit, one.signature)
        for name in ("sport", "respondent", "kind", "prompt", "n_images", "n_responses", "n_unparsed"):
            assert row[name] == str(getattr(scored, name))
        found = [float(row[name]) for name in ("value", "sd", "ci95_low", "ci95_high")]
        assert found == [value.value, value.sd, *value.ci95]


def test_csv_leaves_missing_values_empty_and_states_the_wasserstein_unit_of_the_policy() -> None:
    lost = MetricValue(value=None, reason='no "reference", none')
    (row,) = [row for row in rows_of(report([group("a", wasserstein=lost)])) if row["metric"] == "wasserstein"]
    assert [row[name] for name in ("value", "sd", "ci95_low", "ci95_high", "reference")] == [""] * 5
    assert row["reason"] == 'no "reference", none'
    units = {row["metric"]: row["unit"] for row in rows_of(report(wasserstein_unit="diagonal"))}
    assert (units["wasserstein"], units["wasserstein_1d"]) == ("diagonal", "px")


def test_every_format_of_a_scored_report_shows_the_signature_and_reasons_for_missing_values() -> None:
    known = [scene(str(i), players=[[0, 0, 60, 60]]) for i in range(4)]
    rows = [{"image": str(i), "respondent": name, "cell": "D5"} for i in range(4) for name in ("human", "me")]
    one = score(frame(rows), known, reference="human", bootstrap=10)
    for text in (tables.to_text(one), tables.to_markdown(one), tables.to_csv(one)):
        assert one.signature in text
        assert text.endswith("\n")
        assert "is the reference" in text
