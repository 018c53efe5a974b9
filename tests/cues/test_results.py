"""Test the file of documented results and the script that creates it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.cue_results import PAGE_DATA, SIZES, STRENGTHS, results
from spotball_core import CUES, cue_responses, synthetic_poses, synthetic_scenes
from spotball_core.cues.explanation_record import CueReport
from spotball_core.io.frames import write_responses
from spotball_core.io.scenes import write_scenes


def test_documented_cue_report_has_the_current_schema_and_settings() -> None:
    found = json.loads(PAGE_DATA.read_text(encoding="utf-8"))
    report = CueReport.model_validate(found["report"])
    assert {cue.key for cue in report.cues} <= set(CUES)
    assert report.mirrors == 999
    assert [group.respondent for group in report.groups] == ["human", "gemini"]
    assert 0 < found["n_poses"] <= found["n_players"]


@pytest.mark.slow
def test_results_script_finds_the_simulated_body_effect(tmp_path: Path) -> None:
    scenes = synthetic_poses([scene for scene in synthetic_scenes(75) if scene.sport == "synthetic-soccer"])
    write_scenes(scenes, tmp_path / "scenes.jsonl")
    rows = cue_responses(scenes, {"human": {"center": 1.0, "head": 1.5}, "m": {"center": 1.0}}, samples=60)
    write_responses(rows, tmp_path / "responses.jsonl")
    found = results(tmp_path, mirrors=19, simulations=4)
    human, other = CueReport.model_validate(found["report"]).groups
    assert (human.mirror_p, human.respondent) == (0.05, "human")
    assert human.body_gain.value > 0.3
    assert other.body_gain.value < 0.02
    at_full = {(one["n_images"], one["strength"]): one for one in found["power"]}
    assert set(at_full) >= {(SIZES[0], strength) for strength in STRENGTHS}
    assert at_full[SIZES[0], 1.0]["gain"] > at_full[SIZES[0], 0.5]["gain"] > at_full[SIZES[0], 0.0]["gain"]
    assert at_full[SIZES[0], 1.0]["power"] == 1.0
    assert at_full[SIZES[0], 0.0]["power"] <= 0.25
