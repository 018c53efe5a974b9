"""Test that runs, batches and studies can resume after poses were added, because keypoints are never shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from spotball_adapters.batch.folder import identity
from spotball_adapters.prompts.prompt import load_prompt
from spotball_adapters.providers.openai import OpenAI
from spotball_adapters.providers.protocol import Access, Settings
from spotball_adapters.runs.job import SceneJob
from spotball_adapters.runs.plan import SamplePlan
from spotball_adapters.study.setup.design import load
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.schema.scene import Scene
from tests.adapters.study import made
from tests.builders import scenes

PLAIN = tuple(scenes("1", "2", players=[[10, 20, 30, 60]]))
PROMPTS = ((load_prompt("base"), 1),)


def posed(one: Scene) -> Scene:
    return one.with_keypoints([np.tile([*box[:2], 0.5], (17, 1)) for box in one.boxes])


def test_run_identity_ignores_player_keypoints() -> None:
    provider = OpenAI(Access("m", base_url="http://127.0.0.1:9/v1"))
    job = SceneJob(PLAIN, PROMPTS, provider, None, Settings(), "m", dataset=Path(), scenes=PLAIN)
    after = tuple(map(posed, PLAIN))
    assert after != PLAIN
    assert replace(job, items=after, scenes=after).identity() == job.identity()
    other = (PLAIN[0], PLAIN[1].model_copy(update={"control": True}))
    assert replace(job, items=other, scenes=other).identity() != job.identity()


def test_batch_identity_ignores_player_keypoints() -> None:
    plan = SamplePlan(PLAIN, PROMPTS, {})
    before, after = (identity(of, plan, Settings(), "m") for of in (PLAIN, tuple(map(posed, PLAIN))))
    assert before == after


def test_study_parts_are_unchanged_after_keypoints_are_added(tmp_path: Path) -> None:
    folder = made.study(tmp_path)
    file = folder.parent / "data/scenes.jsonl"
    with_players = [one.model_copy(update={"players": PLAIN[0].players}) for one in read_scenes(file)]
    before = load(folder).parts
    write_scenes(map(posed, with_players), file)
    assert all(one.player_keypoints for one in read_scenes(file))
    assert load(folder).parts == before
