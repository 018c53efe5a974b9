"""Test that the tables, the figure and the section show the numbers of the report. All embeddings are synthetic."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from spotball_core.errors import InputError, OptionError
from spotball_core.plots.dots import DotChart
from spotball_core.reasoning import tables
from spotball_core.reasoning.figure import picture
from spotball_core.reasoning.records import ReasoningReport, read_reasoning
from spotball_core.reasoning.templates import Templates
from spotball_core.report.sections.reasoning import words
from tests.failures import raises
from tests.reasoning.made import ROWS
from tests.reasoning.test_analysis import analyzed
from tests.report.test_charts import touching


@pytest.fixture(scope="module")
def report() -> ReasoningReport:
    return analyzed()


def test_to_csv_has_every_number_at_full_precision(report: ReasoningReport) -> None:
    lines = list(csv.DictReader(io.StringIO(tables.to_csv(report))))
    assert {line["signature"] for line in lines} == {report.signature}
    wanted = {"respondent": "gemini", "prompt": "base", "panel": "", "statistic": "published"}
    mine = [line for line in lines if all(line[key] == value for key, value in wanted.items())]
    shares = {line["category"]: float(line["value"]) for line in mine if line["quantity"] == "share"}
    (group,) = (g for g in report.groups if (g.respondent, g.prompt) == ("gemini", "base"))
    assert shares == {name: value.value for name, value in group.published.shares.items()}
    (test,) = (line for line in mine if line["quantity"] == "margin_test")
    found = group.published.margin_test
    numbers = [float(test[key]) for key in ("value", "expected", "p")]
    assert numbers == [found.observed, found.expected, found.p]
    (kappa,) = (line for line in mine if line["quantity"] == "keywords.kappa")
    assert kappa["value"] == "1.0"
    assert {line["panel"] for line in lines} == {"", "people by sport", "models by sport", "models by prompt"}
    contrasts = [line for line in lines if line["quantity"] == "contrast.distance_to_people"]
    assert [(line["category"], line["value"]) for line in contrasts] == [("pose - gaze", "-64.0")] * 2


def test_to_text_and_to_markdown_contain_the_same_statements(report: ReasoningReport) -> None:
    text, markdown = tables.to_text(report), tables.to_markdown(report)
    for said in (
        *("Published", "Centered", "Reliability", "Figure 7", "Accuracy and distances by category"),
        *("33.3", "66.7", "eyes up", "4 different texts", report.signature),
        "warning: qwen: none of the 1 responses has a rationale",
        "1 to control images (excluded)",
        "Mean cosine (offset) over 1 neutral sentence: pose 0.588, gaze 0.784. Difference of the offsets: 0.196.",
    ):
        assert said in text, said
        assert said in markdown, said
    assert all(line.startswith("|") for line in markdown.splitlines() if "gemini |" in line)


def test_to_text_gives_a_reason_for_missing_values_and_omits_kappa_without_keywords() -> None:
    text = tables.to_text(analyzed([row for row in ROWS if row[0] == "volleyball"], bootstrap=0))
    assert "- Accuracy of gemini: the scenes do not contain the ball's position" in text
    assert "bootstrap interval" not in text
    three = analyzed(templates=Templates("three", "1", {"pose": ("p", "q"), "gaze": ("g", "h"), "net": ("n",)}))
    text = tables.to_text(three)
    assert "net (%)" in text
    assert "kappa" not in text
    assert "others" in text
    assert len(words(three).tables[1].heads) == 6


def test_figure_dots_show_published_shares_and_ticks_show_centered_shares(report: ReasoningReport) -> None:
    shown = picture(report)
    chart = shown.chart
    assert isinstance(chart, DotChart)
    for panel, groups in zip(chart.panels, report.panels, strict=True):
        assert panel.title == groups.name
        expected = [
            (g.sport or g.prompt, name, share.value, share.ci95, g.centered.shares[name].value)
            for g in groups.groups
            for name, share in g.published.shares.items()
        ]
        assert [(d.respondent, d.prompt, d.value, d.ends, d.tick) for d in panel.dots] == expected
        assert [rule.value for rule in panel.rules] == [0.5]
    assert shown.alts[2].startswith("models by prompt: base pose 33.3% [")
    for place in range(len(chart.names)):
        assert touching(chart.draw([place])) == []


def test_figure_of_an_empty_report_is_an_error(report: ReasoningReport) -> None:
    nobody = report.model_copy(update={"panels": ()})
    with raises(OptionError, "no-data"):
        picture(nobody)
    assert words(nobody).pictures == ()


def test_report_section_states_the_numbers_of_the_report(report: ReasoningReport) -> None:
    section = words(report)
    assert section.signature == report.signature
    assert any(" gaze; " in text and " 0.196" in text for text in section.lead)
    assert any(text.startswith("models by sport: soccer pose 50.0% [") for text in section.details)
    kept = "If any one template is removed, at least 100.0% of the rationales keep their category."
    assert kept in section.details
    shares, trust, contrasts = section.tables
    assert [rows.title for rows in shares.groups] == ["soccer", "volleyball"]
    assert [cell.text for cell in shares.groups[0].rows[1]][:7] == ["gemini", "base", "2", "3", "0", "33.3", "66.7"]
    assert len(trust.heads) == 9
    assert [rows.title for rows in contrasts.groups] == list(tables.OUTCOMES.values())


def test_read_reasoning_reads_a_written_report_and_rejects_other_files(report: ReasoningReport, tmp_path: Path) -> None:
    path = tmp_path / "reasoning.json"
    path.write_text(report.model_dump_json(), encoding="utf-8")
    assert read_reasoning(path) == report
    for content, code in (("{", "invalid-json"), ('{"schema_version": 1}', "missing-value"), ("3", "invalid-value")):
        path.write_text(content, encoding="utf-8")
        with raises(InputError, code):
            read_reasoning(path)
    with raises(InputError, "missing-file:file"):
        read_reasoning(tmp_path / "nothing.json")
