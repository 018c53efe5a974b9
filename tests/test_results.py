"""Test that results match the output of their commands, and have the same numbers in HTML, data frames and JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

from spotball_core import (
    Comparison,
    Dataset,
    ScorePolicy,
    ScoreReport,
    cue_responses,
    load,
    replicate,
    score,
    synthetic_scenes,
)
from spotball_core.cues.explanation_record import CueReport
from spotball_core.cues.thresholds import ThresholdSurface
from spotball_core.io.frames import write_responses
from spotball_core.io.scenes import write_scenes
from spotball_core.planning.record import Plan
from spotball_core.replication.record import Replication
from spotball_core.report.numbers.analyze import analyze
from spotball_core.report.numbers.records import PageReport
from spotball_core.schema import CeilingReport
from spotball_core.schema.record import UNNAMED
from spotball_core.schema.report import Mixture
from spotball_core.schema.result import Result
from spotball_core.scoring.groups import Scoring
from spotball_core.text.first_screen import WIDTH
from tests.cli.process import spotball
from tests.release_layout import write_release
from tests.report.markup import parsed

MODEL = '<script>alert("x")</script> & m'
"""A respondent with HTML in its name."""

HINTS = re.compile(
    r"^(Add --|Call to_frame).*?\n(?=spotball\||standard:|unexplained:)|^warning: [^\n]*\n", re.MULTILINE | re.DOTALL
)
"""Pattern of the hint above the signature, which differs between the command line and Python, and of warnings, which
the commands print to stderr.
"""

CLASSES = (ScoreReport, PageReport, CeilingReport, Comparison, CueReport, Mixture, Plan, Replication, ThresholdSurface)
SUMMARIES = (ScoreReport, Comparison, Mixture, Replication, ThresholdSurface)
WITH_SPORTS = (ScoreReport, PageReport, CeilingReport, Comparison, CueReport, Mixture)
"""Results of responses, which show sports and respondents."""


def write_dataset(folder: Path, sports: Iterable[str]) -> Path:
    """Write ten images per sport, with answers of five participants and of a model."""
    # Poses would add cues, and explanations are fitted with every subset of cues.
    made = [scene for scene in synthetic_scenes(30) if scene.sport == "synthetic-soccer"]
    known = [scene.model_copy(update={"sport": sport}) for sport in sports for scene in made]
    people = pl.col("respondent") == "human"
    rows = cue_responses(known, {"human": {"center": 1.0, "players": 1.5}, MODEL: {"center": 1.0}}, samples=10)
    rows = rows.with_columns(
        kind=pl.when(people).then(pl.lit("human")).otherwise(pl.lit("model")),
        participant=pl.when(people).then(pl.lit("p") + (pl.col("sample") % 5).cast(pl.String)),
    )
    write_scenes(known, folder / "scenes.jsonl")
    write_responses(rows, folder / "responses.jsonl")
    return folder


def results_of(folder: Path) -> dict[type, Any]:
    data = load(str(folder), reference="human")
    return {
        ScoreReport: data.score(bootstrap=20),
        PageReport: analyze(scoring_of(data)),
        CeilingReport: data.ceiling(bootstrap=20),
        Comparison: data.compare(MODEL, "human", bootstrap=20, permutations=99),
        CueReport: data.cues(bootstrap=20),
        Plan: data.plan(MODEL, metrics=["accuracy", "wasserstein_matched"]),
        Mixture: data.mixture(scoring_of(data).groups[-1].name, bootstrap=20),
        ThresholdSurface: data.thresholds(),
    }


def scoring_of(data: Dataset) -> Scoring:
    return Scoring(data.counts, data.scenes, ScorePolicy.standard(reference="human", bootstrap=20))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dataset(tmp_path_factory.mktemp("dataset"), ("golf", "soccer"))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def results(dataset: Path, release: Path) -> dict[type, Any]:
    return {**results_of(dataset), Replication: replicate(release)}


@pytest.fixture(scope="module")
def without_sports(tmp_path_factory: pytest.TempPathFactory) -> dict[type, Any]:
    """Return results for images whose sport is not given."""
    return results_of(write_dataset(tmp_path_factory.mktemp("unnamed"), (UNNAMED,)))


def printed(*arguments: str | Path) -> str:
    return spotball(*arguments, "--quiet").stdout


class TestText:
    def test_str_of_a_result_equals_the_output_of_its_command(
        self, results: dict[type, Any], dataset: Path, release: Path
    ) -> None:
        choices = ("--reference", "human", "--bootstrap", "20")
        outputs = {
            ScoreReport: printed("score", dataset, *choices),
            Comparison: printed("compare", dataset, "--a", MODEL, "--b", "human", "--permutations", "99", *choices),
            CueReport: printed("cues", "explain", dataset, *choices),
            Plan: printed("plan", dataset, "--a", MODEL, *choices[:2], "--metrics", "accuracy,wasserstein_matched"),
            Replication: printed("replicate", release),
        }
        for class_, output in outputs.items():
            assert HINTS.sub("", f"{results[class_]}\n") == HINTS.sub("", output)
            assert "--" not in str(results[class_])

    def test_str_of_scores_with_a_noise_ceiling_equals_the_output_of_the_score_command(self, dataset: Path) -> None:
        report = score(str(dataset), reference="human", bootstrap=20, ceiling=True)
        output = printed("score", dataset, "--reference", "human", "--bootstrap", "20", "--ceiling")
        assert f"{report}\n" == output
        tables = str(load(str(dataset), reference="human").ceiling(bootstrap=20)).split("\n\nBrackets")[0]
        assert tables in output
        assert "Closeness to the reference" in tables

    @pytest.mark.parametrize("class_", CLASSES)
    def test_str_of_a_result_is_plain_text_that_ends_with_the_signature_and_repr_is_a_short_summary(
        self, results: dict[type, Any], class_: type, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        result = results[class_]
        expected = str(result)
        assert expected.endswith(result.signature_reproduced if class_ is Replication else result.signature)
        text = repr(result)
        assert text.startswith(f"<{class_.__name__} ")
        assert result.signature in text
        assert len(text) < 300
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "40")
        monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
        with mock.patch.object(sys.stdout, "isatty", return_value=True, create=True):
            assert str(result) == expected
        assert "\x1b" not in expected

    @pytest.mark.parametrize("class_", SUMMARIES)
    def test_str_of_a_result_fits_80_columns_and_contains_the_numbers_of_its_html_table(
        self, results: dict[type, Any], class_: type
    ) -> None:
        text = str(results[class_])
        long = [line for line in text.splitlines() if len(line) > WIDTH]
        assert all("spotball|" in line or line.startswith(("warning:", "unexplained:")) for line in long)
        (table,) = parsed(results[class_]._repr_html_()).all("table")
        cells = [cell.text for cell in table.all("td")]
        assert cells
        assert all(cell in " ".join(text.split()) for cell in cells)


class TestHtml:
    @pytest.mark.parametrize("class_", CLASSES)
    def test_html_of_a_result_has_tables_with_captions_and_headings_and_escapes_names(
        self, results: dict[type, Any], class_: type
    ) -> None:
        page = parsed(results[class_]._repr_html_())
        tables = page.all("table")
        assert tables
        for table in tables:
            assert table.children[0].tag == "caption"
            assert table.children[0].text
            heads = table.all("thead")[0].all("th", scope="col")
            for row in table.all("tbody")[0].all("tr"):
                assert len(row.children) == len(heads)
                assert row.children[0].attributes["scope"] == "row"
        assert results[class_].signature in page.text
        assert not page.all("script")
        if class_ in WITH_SPORTS:
            assert MODEL in page.text


class TestFrames:
    @pytest.mark.parametrize("class_", CLASSES)
    def test_to_frame_of_a_result_has_the_signature_in_each_row(self, results: dict[type, Any], class_: type) -> None:
        frame = results[class_].to_frame()
        assert len(frame) > 0
        assert set(frame["signature"]) == {results[class_].signature} or class_ is PageReport

    @pytest.mark.parametrize("class_", [ScoreReport, PageReport])
    def test_to_frame_of_scores_equals_the_json(self, results: dict[type, Any], class_: type) -> None:
        report = json.loads(results[class_].to_json())
        rows = [row for row in results[class_].to_frame().to_dicts() if not row["metric"].startswith("ceiling.")]
        expected = [(group, key, value) for group in report["groups"] for key, value in group["metrics"].items()]
        for row, (group, key, value) in zip(rows, expected, strict=True):
            low, high = value.get("ci95", (None, None))
            assert row["metric"] == key
            for name in ("sport", "respondent", "kind", "prompt", "n_images", "n_responses", "n_unparsed"):
                assert row[name] == group[name]
            assert (row["ci95_low"], row["ci95_high"]) == (low, high)
            assert all(row[name] == value.get(name) for name in ("value", "sd", "reference", "reason"))

    def test_to_frame_and_to_json_of_scores_equal_the_output_of_the_command(
        self, results: dict[type, Any], dataset: Path
    ) -> None:
        words = ("score", dataset, "--reference", "human", "--bootstrap", "20", "--format")
        frame = results[ScoreReport].to_frame()
        assert pl.read_csv(printed(*words, "csv").encode(), schema=frame.schema).equals(frame)
        assert f"{results[ScoreReport].to_json()}\n" == printed(*words, "json")
        assert results[ScoreReport].model_copy(update={"groups": ()}).to_frame().schema == frame.schema

    def test_to_frame_of_a_comparison_equals_the_csv_and_the_json(
        self, results: dict[type, Any], dataset: Path
    ) -> None:
        choices = ("--reference", "human", "--bootstrap", "20", "--permutations", "99", "--format", "csv")
        frame = results[Comparison].to_frame()
        output = printed("compare", dataset, "--a", MODEL, "--b", "human", *choices)
        assert pl.read_csv(output.encode(), schema=frame.schema).equals(frame)
        comparison = json.loads(results[Comparison].to_json())
        expected = [(one["sport"], key, d) for one in comparison["contrasts"] for key, d in one["metrics"].items()]
        for row, (sport, key, difference) in zip(frame.to_dicts(), expected, strict=True):
            assert (row["sport"], row["metric"], row["value_a"]) == (sport, key, difference["a"])
            assert (row["p"], row["verdict"]) == (difference["p"], difference["verdict"])

    def test_to_frame_of_a_noise_ceiling_equals_the_json(self, results: dict[type, Any]) -> None:
        report = json.loads(results[CeilingReport].to_json())
        frame = results[CeilingReport].to_frame()
        for ceiling in report["ceilings"]:
            rows = {
                (row["quantity"], row["group"]): row for row in frame.to_dicts() if row["sport"] == ceiling["sport"]
            }
            assert rows["uniform", None]["value"] == ceiling["uniform"]
            assert rows["split_half", None]["value"] == ceiling["split_half"]["value"]
            assert rows["split_half", None]["ci95_low"] == ceiling["split_half"]["ci95"][0]
            for group, value in ceiling["score"].items():
                assert rows["score", group]["value"] == value["value"]
                assert rows["sampling_floor", group]["value"] == ceiling["sampling_floor"][group]

    def test_to_frame_of_cues_equals_the_json(self, results: dict[type, Any]) -> None:
        report = json.loads(results[CueReport].to_json())
        frame = results[CueReport].to_frame()
        for group in report["groups"]:
            of_group = frame.filter(pl.col("sport") == group["sport"], pl.col("respondent") == group["respondent"])
            rows = {(row["quantity"], row["cue"]): row for row in of_group.to_dicts()}
            assert rows["gain", None]["value"] == group["gain"]["value"]
            assert rows["explained", None]["reason"] == group["explained"].get("reason")
            assert {cue for quantity, cue in rows if quantity == "weight"} == {one["key"] for one in group["weights"]}
            for weight in group["weights"]:
                row = rows["weight", weight["key"]]
                assert [row["value"], row["ci95_low"], row["ci95_high"]] == [weight["value"], *weight["ci95"]]
            assert all(rows["shapley", cue]["value"] == value["value"] for cue, value in group["shapley"].items())

    def test_to_frame_of_a_mixture_equals_the_json(self, results: dict[type, Any]) -> None:
        mixture = json.loads(results[Mixture].to_json())
        rows = results[Mixture].to_frame().to_dicts()
        assert [row["part"] for row in rows] == list(mixture["weights"])
        for row in rows:
            weight = mixture["weights"][row["part"]]
            assert [row["weight"], row["ci95_low"], row["ci95_high"]] == [weight["value"], *weight["ci95"]]
            assert row["explained"] == mixture["explained"].get(row["part"])

    def test_to_frame_of_a_replication_equals_the_json(self, results: dict[type, Any]) -> None:
        rows = results[Replication].to_frame().drop("signature", "signature_reproduced").to_dicts()
        assert rows == json.loads(results[Replication].to_json())["items"]

    def test_to_frame_and_to_json_of_thresholds_equal_the_attributes(self, results: dict[type, Any]) -> None:
        surface: ThresholdSurface = results[ThresholdSurface]
        frame = surface.to_frame()
        assert frame["objective"].to_numpy().reshape(surface.objective.shape).tolist() == surface.objective.tolist()
        assert frame["plateau"].to_list() == surface.plateau.ravel().tolist()
        at_best = frame.filter(pl.col("tau") == surface.best[0], pl.col("theta") == surface.best[1])
        assert at_best["objective"].item() == surface.objective.max()
        assert at_best["near"].item() == surface.near[surface.taus.tolist().index(surface.best[0])]
        read = json.loads(surface.to_json())
        assert set(read) == set(vars(surface))
        assert np.array_equal(read["objective"], surface.objective)
        assert tuple(read["best"]) == surface.best


class TestJson:
    @pytest.mark.parametrize("class_", [one for one in CLASSES if one is not ThresholdSurface])
    def test_result_read_from_its_json_is_equal(self, results: dict[type, Any], class_: Any) -> None:
        result = results[class_]
        read = class_.model_validate_json(result.to_json())
        assert read == result
        assert str(read) == str(result)


class TestSports:
    @pytest.mark.parametrize("class_", WITH_SPORTS)
    def test_str_and_html_hide_the_default_name_of_a_sport_that_is_not_given_and_to_frame_keeps_it(
        self, without_sports: dict[type, Any], class_: type
    ) -> None:
        result = without_sports[class_]
        page = parsed(result._repr_html_())
        assert "sport" not in {head.text.lower() for head in page.all("th", scope="col")}
        assert UNNAMED not in {cell.text for cell in page.all("th", scope="row")}
        for line in str(result).splitlines():
            assert not line.startswith((f"{UNNAMED}:", f"{UNNAMED}/", f"  {UNNAMED} ", f"warning: {UNNAMED}:"))
        assert "sports" not in str(result)
        if class_ is not PageReport:
            assert set(result.to_frame()["sport"]) == {UNNAMED}

    def test_repr_shows_the_numbers_of_groups_and_thresholds_and_str_and_html_show_the_sports(
        self, results: dict[type, Any]
    ) -> None:
        assert " groups=4 " in repr(results[ScoreReport])
        assert " taus=17 thetas=20 " in repr(results[ThresholdSurface])
        assert "mean over 2 sports" in " ".join(str(results[ScoreReport]).split())
        assert "all sports, the same" in str(results[Comparison])
        page = parsed(results[CeilingReport]._repr_html_())
        assert {"golf", "soccer"} <= {cell.text for cell in page.all("th", scope="row")}

    def test_classes_lists_every_subclass_of_result(self) -> None:
        def derived(base: type) -> Iterable[type]:
            for class_ in base.__subclasses__():
                yield class_
                yield from derived(class_)

        named = {class_ for class_ in derived(Result) if class_.__name__ != "ResultRecord"}
        assert named == set(CLASSES)
