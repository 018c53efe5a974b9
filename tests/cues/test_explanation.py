"""Test explanations of guesses by cues with simulated respondents that each follow one cue."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from spotball_core import (
    CUES,
    OptionError,
    Scene,
    ScorePolicy,
    cue_scores,
    read_counts,
    synthetic_poses,
    synthetic_scenes,
)
from spotball_core.cues.explanation import NO_BODY, TOO_FEW, explain_cues
from spotball_core.cues.explanation_record import CueReport
from spotball_core.cues.explanation_text import headline, to_text
from spotball_core.cues.group_fit import mirrored, mirrored_scores
from spotball_core.io.frames import write_responses
from spotball_core.io.scenes import write_scenes
from spotball_core.scoring.groups import Scoring
from spotball_core.synthetic.poses import PoseNoise
from spotball_core.synthetic.respondents import cue_responses
from tests.cli.process import spotball
from tests.failures import codes, raises
from tests.stats.build import scoring_of, varied_scenes

SPORT = "synthetic-soccer"
FOLLOWS = {
    "follows-location": {"location": 1.5},
    "follows-center": {"center": 1.2},
    "follows-players": {"players": 1.2},
    "follows-heads": {"head": 1.2},
    "follows-torsos": {"torso": 1.2},
    "follows-views": {"view": 1.2},
    "follows-limbs": {"limbs": 0.8},
    "follows-nothing": {},
}


def posed_scenes(n: int) -> tuple[Scene, ...]:
    """Return scenes of one sport in which heads and torsos independently turn towards the ball."""
    scenes = [scene for scene in synthetic_scenes(3 * n) if scene.sport == SPORT]
    return synthetic_poses(scenes, noise=PoseNoise(head=45, torso=45, elsewhere=0.2, missing=0.05))


@pytest.fixture(scope="module")
def chain() -> CueReport:
    """Return the report of all steps: scenes, poses, guesses that follow known cues, counts, and the explanation."""
    scenes = posed_scenes(60)
    responses = cue_responses(scenes, FOLLOWS, samples=60, seed=1)
    scoring = Scoring(read_counts(responses, scenes), scenes, ScorePolicy.standard(bootstrap=400))
    # With 19 mirrors, the smallest possible p is 0.05.
    return explain_cues(scoring, mirrors=19)


@pytest.mark.slow
@pytest.mark.parametrize("respondent", FOLLOWS)
def test_explain_cues_recognizes_the_cue_that_a_respondent_follows(chain: CueReport, respondent: str) -> None:
    (group,) = (one for one in chain.groups if one.respondent == respondent)
    given = FOLLOWS[respondent]
    for weight in group.weights:
        low, high = weight.ci95
        reach = 1.6 * (high - low) / 2
        assert weight.value == pytest.approx(given.get(weight.key, 0.0), abs=reach), weight.key
    shares = {name: share.value or 0.0 for name, share in group.shapley.items()}
    assert sum(shares.values()) == pytest.approx(group.gain.value)
    if not given:
        assert group.gain.value < 0.01
        return
    (key,) = given
    assert max(shares, key=lambda name: shares[name]) == CUES[key].group
    assert shares[CUES[key].group] > 0.5 * group.gain.value
    interval = group.shapley[CUES[key].group].ci95
    assert interval[0] > 0
    # The ceiling is a lower bound, so the explained share may exceed 1.
    assert 0.85 < group.explained.value < 1.5


@pytest.mark.slow
def test_explain_cues_finds_body_cues_only_for_respondents_that_follow_them(chain: CueReport) -> None:
    body = {"follows-heads", "follows-torsos", "follows-views", "follows-limbs"}
    gains = {group.respondent: group.body_gain.ci95 for group in chain.groups}
    assert {name for name, interval in gains.items() if interval is not None and interval[0] > 0} == body
    p = {group.respondent: group.mirror_p for group in chain.groups}
    assert {name for name, value in p.items() if value is not None and value <= 0.05} == body
    texts = {group.respondent: headline(group) for group in chain.groups}
    assert "Most of the gain comes from head" in texts["follows-heads"]
    assert "Body cues add" in texts["follows-heads"]
    assert "Most of the gain comes from place" in texts["follows-center"]
    assert "Body cues do not clearly add" in texts["follows-center"]


def test_cue_responses_follow_the_distribution_of_the_cue_model() -> None:
    scenes = posed_scenes(3)
    responses = cue_responses(scenes, {"follows-center": {"center": 2.0}}, samples=4000, seed=0)
    scores = cue_scores(scenes, ["center"]).standardized()[:, :, 0]
    for scene, row in zip(scenes, scores, strict=True):
        p = np.exp(2 * row) / np.exp(2 * row).sum()
        cells = responses.filter(pl.col("image") == scene.image)["cell"].to_list()
        found = np.bincount([scene.layout.index(cell) for cell in cells], minlength=60) / 4000
        assert found == pytest.approx(p, abs=0.035)


def random_mass(n: int, seed: int, people: int | None = None) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    shape = (n, 60) if people is None else (people, n, 60)
    return np.random.default_rng(seed).poisson(0.5 if people is None else 0.05, shape).astype(float)


def test_explain_cues_differences_equal_the_differences_between_groups() -> None:
    known = varied_scenes(20)
    scoring = scoring_of(known, {"human/base": random_mass(20, 0), "m/cot": random_mass(20, 1)}, reference="human")
    report = explain_cues(scoring, cues=["center", "players", "blocked"])
    groups = {group.respondent: group for group in report.groups}
    (difference,) = report.differences
    assert (difference.respondent, difference.prompt, difference.reference) == ("m", "cot", "human")
    mine, theirs = groups["m"], groups["human"]
    assert difference.gain.value == pytest.approx(mine.gain.value - theirs.gain.value)
    for key in ("place", "players", "blocked"):
        expected = (mine.shapley[key].value or 0) - (theirs.shapley[key].value or 0)
        assert difference.shapley[key].value == pytest.approx(expected)
    for own, other in zip(mine.weights, theirs.weights, strict=True):
        found = difference.weights[own.key]
        assert found.value == pytest.approx(own.value - other.value)
        assert found.ci95 is not None


def test_explain_cues_differences_of_equal_guesses_are_zero() -> None:
    known, mass = varied_scenes(12), random_mass(12, 0)
    report = explain_cues(scoring_of(known, {"human/base": mass, "m/base": mass}, reference="human"), cues=["center"])
    (difference,) = report.differences
    assert (difference.gain.value, difference.gain.ci95) == (0.0, (0.0, 0.0))
    assert difference.weights["center"].value == 0.0
    assert difference.weights["center"].ci95 == pytest.approx((0.0, 0.0), abs=1e-6)


def test_explain_cues_holds_out_all_guesses_of_a_participant_together() -> None:
    known = varied_scenes(10)
    mass = random_mass(10, 3, people=6)
    mass[0, :, 5] += 30  # One participant names the same cell on all images.
    apart, together = (
        explain_cues(scoring_of(known, {"human/base": given}), cues=["center"]).groups[0].explainable.value
        for given in (mass, mass.sum(axis=0))
    )
    assert together > apart + 1


def test_explain_cues_of_too_few_images_gives_a_reason_instead_of_values() -> None:
    report = explain_cues(scoring_of(varied_scenes(7), {"m/base": random_mass(7, 0)}))
    (group,) = report.groups
    assert (group.gain.value, group.gain.reason, group.weights) == (None, TOO_FEW, ())
    assert headline(group) == "the guesses were not explained, because fewer than 8 images have guesses."
    assert "m/base" in to_text(report)


def test_explain_cues_without_keypoints_excludes_body_cues_with_a_note() -> None:
    scoring = scoring_of(varied_scenes(12), {"m/base": random_mass(12, 0)})
    (group,) = explain_cues(scoring, cues=["center", "head"], mirrors=3).groups
    assert [weight.key for weight in group.weights] == ["center"]
    assert (group.body_gain.value, group.body_gain.reason) == (None, NO_BODY)
    assert (group.detectable, group.mirror_p) == (None, None)
    assert any(note.startswith("the cue head is excluded") for note in group.notes)


def test_explain_cues_with_several_processes_gives_the_same_report() -> None:
    masses = {f"m{number}/base": random_mass(9, number) for number in range(3)}
    scoring = scoring_of(varied_scenes(9), masses, bootstrap=50)
    steps: list[tuple[int, int]] = []
    alone = explain_cues(scoring, cues=["center", "players"], on_progress=lambda *step: steps.append(step))
    assert explain_cues(scoring, cues=["center", "players"], jobs=2) == alone
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_explain_cues_with_a_ridge_of_0_or_over_several_sports_is_an_error() -> None:
    answers = {"m/base": random_mass(9, 0)}
    with raises(OptionError, "invalid-option:ridge"):
        explain_cues(scoring_of(varied_scenes(9), answers), ridge=0.0)
    with raises(OptionError, "invalid-option"):
        explain_cues(scoring_of(varied_scenes(9), answers, by=("respondent",)))


def test_mirrored_flips_only_the_keypoints_of_the_selected_players() -> None:
    scene = next(one for one in posed_scenes(3) if len(one.players or ()) > 1)
    which = np.arange(len(scene.players or ())) == 1
    turned = mirrored(scene, which)
    assert np.array_equal(turned.keypoints[~which], scene.keypoints[~which])
    box, before, after = scene.boxes[1], scene.keypoints[1], turned.keypoints[1]
    assert before[5, 2] > 0
    assert after[6, 0] == pytest.approx(box[0] + box[2] - before[5, 0])
    assert after[6, 1:].tolist() == before[5, 1:].tolist()


def test_mirrored_scores_apply_to_the_same_scenes_and_differ_between_mirrors() -> None:
    scenes = posed_scenes(5)
    first, second = mirrored_scores(scenes, [CUES["head"], CUES["blocked"]], 2, seed=0)
    assert not np.array_equal(first.values[:, :, 0], second.values[:, :, 0], equal_nan=True)
    assert np.array_equal(first.applies, cue_scores(scenes, ["head", "blocked"]).applies)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenes, folder = posed_scenes(12), tmp_path_factory.mktemp("data")
    write_scenes(scenes, folder / "scenes.jsonl")
    write_responses(cue_responses(scenes, {"a": {"head": 1.0}, "b": {"center": 1.0}}), folder / "responses.jsonl")
    return folder


class TestCommand:
    def test_cues_explain_command_prints_text_and_writes_a_json_report(self, data: Path, tmp_path: Path) -> None:
        done = spotball("cues", "explain", data, "--reference", "a", "--cues", "center,players,head", "--quiet")
        assert done.returncode == 0, done.stderr
        assert f"{SPORT}/a/base: cues predict guesses" in done.stdout
        assert "Weight of each cue minus its weight for a" in done.stdout
        assert "cues:center,players,head" in done.stdout
        out = tmp_path / "cues.json"
        done = spotball("cues", "explain", data, "--bootstrap", "20", "--out", out)
        assert done.returncode == 0, done.stderr
        report = CueReport.model_validate_json(out.read_text())
        assert [group.respondent for group in report.groups] == ["a", "b"]
        assert len(report.cues) == len(CUES)

    def test_cues_explain_command_writes_maps_and_exits_with_status_2_if_the_folder_is_unwritable(
        self, data: Path, tmp_path: Path
    ) -> None:
        pytest.importorskip("matplotlib")
        out = tmp_path / "maps"
        done = spotball("cues", "explain", data, "--cues", "center,head", "--bootstrap", "0", "--maps", out)
        assert done.returncode == 0, done.stderr
        maps = sorted(out.iterdir())
        assert len(maps) == 11  # The control scene has no map.
        assert maps[0].name == f"{SPORT}-1.png"
        assert maps[0].read_bytes().startswith(b"\x89PNG")
        done = spotball("cues", "explain", data, "--maps", data / "scenes.jsonl" / "maps")
        assert (done.returncode, done.stdout, codes(done.stderr)) == (2, "", ["unwritable-output"])

    def test_cues_explain_command_with_invalid_options_exits_with_status_2(self, data: Path) -> None:
        done = spotball("cues", "explain", data, "--out", "cues.xlsx")
        assert (done.returncode, codes(done.stderr)) == (2, ["unsupported-format"])
        assert "--out" in done.stderr
        done = spotball("cues", "explain", data, "--reference", "nobody")
        assert (done.returncode, codes(done.stderr)) == (2, ["unknown-name"])
        assert "'nobody'" in done.stderr
