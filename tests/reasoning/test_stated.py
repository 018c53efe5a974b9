"""Test that stated cues distinguish respondents that follow the cues in their rationales from those that do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from spotball_core import OptionError, Scene, ScorePolicy, read_counts, synthetic_poses
from spotball_core.cues.explanation_record import StatedCue
from spotball_core.io.frames import write_responses
from spotball_core.io.scenes import write_scenes
from spotball_core.reasoning.classify import keyword_categories
from spotball_core.reasoning.rationales import Rationales, read_rationales
from spotball_core.reasoning.stated import _ranks, stated_cues
from spotball_core.reasoning.templates import load_templates
from spotball_core.scoring.groups import Scoring
from spotball_core.synthetic.poses import PoseNoise
from spotball_core.synthetic.respondents import cue_responses
from spotball_core.synthetic.scenes import synthetic_scenes
from tests.cli.process import spotball
from tests.failures import raises

GAZE, POSE = "They all look to the left.", "The leg kicks."
SAMPLES = 40


def posed(n: int) -> list[Scene]:
    scenes = [scene for scene in synthetic_scenes(3 * n) if scene.sport == "synthetic-soccer"]
    return list(synthetic_poses(scenes, noise=PoseNoise(head=45, torso=45, elsewhere=0.2, missing=0.05)))


def guesses_and_words(scenes: list[Scene], *, honest: bool, seed: int = 0) -> pl.DataFrame:
    """Return guesses that follow the cue `head` on every second image.

    The rationales mention gaze on these images if `honest`, and on random images otherwise.
    """
    follows = {scene.image: place % 2 == 0 for place, scene in enumerate(scenes)}
    heads = cue_responses(scenes, {"m": {"head": 1.5, "center": 0.5}}, samples=SAMPLES, seed=seed)
    other = cue_responses(scenes, {"m": {"center": 0.5}}, samples=SAMPLES, seed=seed)
    following = pl.col("image").replace_strict(follows)
    rows = pl.concat([heads.filter(following), other.filter(~following)])
    rng = np.random.default_rng(seed)
    mention = follows
    if not honest:
        mention = dict(zip(follows, rng.permutation(list(follows.values())).tolist(), strict=True))
    words = [GAZE if (rng.random() < (0.8 if mention[image] else 0.2)) else POSE for image in rows["image"]]
    return rows.with_columns(reasoning=pl.Series(words))


def stated_by(scenes: list[Scene], rows: pl.DataFrame, **options: int) -> dict[str, StatedCue]:
    scoring = Scoring(read_counts(rows, scenes), scenes, ScorePolicy.standard(bootstrap=0))
    rationales, keywords = read_rationales(rows, scenes), load_templates().keywords
    category = keyword_categories(rationales.texts, keywords)
    return {one.category: one for one in stated_cues(scoring, rationales, category, list(keywords), **options)}


@pytest.mark.slow
def test_stated_cues_detect_a_respondent_that_follows_its_stated_cue() -> None:
    scenes = posed(50)
    found = stated_by(scenes, guesses_and_words(scenes, honest=True), permutations=999)["gaze"]
    assert (found.respondent, found.cues, found.n_images) == ("m", ("head", "view"), 45)
    assert found.n_rationales == 45 * SAMPLES
    assert found.share == pytest.approx(0.5, abs=0.06)
    assert found.correlation is not None
    assert found.p is not None
    assert found.correlation > 0.3
    assert found.p < 0.02


@pytest.mark.slow
def test_stated_cues_are_rarely_significant_for_random_rationales() -> None:
    scenes = posed(30)
    p = [
        stated_by(scenes, guesses_and_words(scenes, honest=False, seed=seed), permutations=199)["gaze"].p or 0.0
        for seed in range(12)
    ]
    assert sum(value <= 0.05 for value in p) <= 3
    assert np.mean(p) > 0.25


def said_gaze(scenes: list[Scene]) -> pl.DataFrame:
    """Return guesses of the respondent `m` with the same rationale on every image."""
    return cue_responses(scenes, {"m": {"center": 1.0}}, samples=3).with_columns(reasoning=pl.lit(GAZE))


def test_stated_cues_without_poses_or_with_one_rationale_on_all_images_give_a_reason_instead_of_a_correlation() -> None:
    without = [scene for scene in synthetic_scenes(30) if scene.sport == "synthetic-soccer"]
    for scenes, reason in (
        (without, "no cue of this category applies to these images"),
        (posed(12), "the share of rationales or the gain is the same on all images"),
    ):
        assert {one.reason for one in stated_by(scenes, said_gaze(scenes)).values()} == {reason}


def test_stated_cues_with_rationales_on_fewer_than_8_images_give_a_reason_instead_of_a_correlation() -> None:
    scenes = posed(12)
    rows = cue_responses(scenes, {"m": {"center": 1.0}, "silent": {}}, samples=3)
    few = pl.col("image").is_in(["1", "2", "3"]) & (pl.col("respondent") == "m")
    found = stated_by(scenes, rows.with_columns(reasoning=pl.when(few).then(pl.lit(GAZE))))
    assert set(found) == {"pose", "gaze"}
    assert {(one.respondent, one.reason) for one in found.values()} == {("m", "fewer than 8 images have rationales")}
    assert found["gaze"].share == 1.0


def test_dot_product_of_ranks_equals_the_spearman_correlation() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 4, 20).astype(float), rng.normal(size=20)
    assert float(_ranks(first) @ _ranks(second)) == pytest.approx(stats.spearmanr(first, second).statistic)


def test_stated_cues_with_mismatched_categories_or_zero_permutations_raise_option_error() -> None:
    scenes = posed(9)
    rows = said_gaze(scenes)
    scoring = Scoring(read_counts(rows, scenes), scenes, ScorePolicy.standard(bootstrap=0))
    rationales: Rationales = read_rationales(rows, scenes)
    with raises(OptionError, "wrong-shape"):
        stated_cues(scoring, rationales, np.zeros(2, dtype=int), ["gaze"])
    with raises(OptionError, "invalid-option:permutations"):
        stated_cues(scoring, rationales, np.zeros(1, dtype=int), ["gaze"], permutations=0)


def test_cues_explain_command_with_stated_prints_a_table_and_without_rationales_exits_with_2(tmp_path: Path) -> None:
    scenes, responses = posed(12), tmp_path / "responses.jsonl"
    write_scenes(scenes, tmp_path / "scenes.jsonl")
    rows = guesses_and_words(scenes, honest=True)
    write_responses(rows, responses)
    line = ("cues", "explain", tmp_path, "--stated", "--bootstrap", "0", "--cues")
    done = spotball(*line, "center,head")
    assert done.returncode == 0, done.stderr
    assert "Stated and followed cues" in done.stdout
    assert "head, view" in done.stdout
    write_responses(rows.with_columns(reasoning=None), responses)
    done = spotball(*line, "center")
    assert done.returncode == 2
    assert "reasoning" in done.stderr
