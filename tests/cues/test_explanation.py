"""Test explanations of guesses by cues with simulated respondents that each follow one cue."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from spotball_core import (
    CUES,
    CueReport,
    OptionError,
    PoseNoise,
    Scene,
    ScorePolicy,
    cue_scores,
    read_counts,
    synthetic_poses,
    synthetic_scenes,
)
from spotball_core.cues.explanation import NO_BODY, TOO_FEW, explain_cues
from spotball_core.cues.explanation_text import headline, to_text
from spotball_core.cues.mirror import mirrored, mirrored_scores
from spotball_core.scoring.groups import Scoring
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
    """Return the report of the whole chain: scenes, poses, guesses that follow known cues, counts, and explanation."""
    scenes = posed_scenes(60)
    responses = cue_responses(scenes, FOLLOWS, samples=60, seed=1)
    scoring = Scoring(read_counts(responses, scenes), scenes, ScorePolicy.standard(bootstrap=400))
    return explain_cues(scoring, mirrors=39)


@pytest.mark.slow
class TestChain:
    @pytest.mark.parametrize("respondent", FOLLOWS)
    def test_explain_cues_recognizes_the_cue_that_a_respondent_follows(self, chain: CueReport, respondent: str) -> None:
        (group,) = (one for one in chain.groups if one.respondent == respondent)
        given = FOLLOWS[respondent]
        for weight in group.weights:
            low, high = weight.ci95
            reach = 1.6 * (high - low) / 2
            assert weight.value == pytest.approx(given.get(weight.key, 0.0), abs=reach), weight.key
        assert group.gain.value is not None
        if not given:
            assert group.gain.value < 0.01
            return
        (key,) = given
        shares = {name: share.value or 0.0 for name, share in group.shapley.items()}
        assert max(shares, key=lambda name: shares[name]) == CUES[key].group
        assert shares[CUES[key].group] > 0.5 * group.gain.value
        interval = group.shapley[CUES[key].group].ci95
        assert interval is not None
        assert interval[0] > 0

    def test_explain_cues_body_gain_is_clear_only_for_followers_of_body_cues(self, chain: CueReport) -> None:
        clear = {
            group.respondent
            for group in chain.groups
            if group.body_gain.ci95 is not None and group.body_gain.ci95[0] > 0
        }
        assert clear == {"follows-heads", "follows-torsos", "follows-views", "follows-limbs"}

    def test_explain_cues_mirror_test_is_significant_only_for_followers_of_body_cues(self, chain: CueReport) -> None:
        p = {group.respondent: group.mirror_p for group in chain.groups}
        assert {name for name, value in p.items() if value is not None and value <= 0.05} == {
            *("follows-heads", "follows-torsos", "follows-views", "follows-limbs"),
        }

    def test_explain_cues_shapley_values_sum_to_the_gain(self, chain: CueReport) -> None:
        for group in chain.groups:
            assert sum(share.value or 0.0 for share in group.shapley.values()) == pytest.approx(group.gain.value)

    def test_explain_cues_explains_nearly_all_of_the_explainable_gain(self, chain: CueReport) -> None:
        for group in chain.groups:
            if FOLLOWS[str(group.respondent)]:
                assert group.explained.value is not None
                # The ceiling is a lower bound, so the explained share may exceed 1.
                assert 0.85 < group.explained.value < 1.5, group.name

    def test_headline_names_the_cue_group_and_the_body_gain(self, chain: CueReport) -> None:
        (heads,) = (group for group in chain.groups if group.respondent == "follows-heads")
        (center,) = (group for group in chain.groups if group.respondent == "follows-center")
        assert "Most of the gain comes from head" in headline(heads)
        assert "Body cues add" in headline(heads)
        assert "Most of the gain comes from place" in headline(center)
        assert "Body cues do not clearly add" in headline(center)


def test_cue_responses_follow_the_distribution_of_the_model() -> None:
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
    assert mine.gain.value is not None
    assert theirs.gain.value is not None
    assert difference.gain.value == pytest.approx(mine.gain.value - theirs.gain.value)
    for key in ("place", "players", "blocked"):
        assert difference.shapley[key].value == pytest.approx(
            (mine.shapley[key].value or 0) - (theirs.shapley[key].value or 0)
        )
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
    apart = explain_cues(scoring_of(known, {"human/base": mass}), cues=["center"]).groups[0].explainable.value
    together = explain_cues(scoring_of(known, {"human/base": mass.sum(axis=0)}), cues=["center"]).groups[0].explainable
    assert apart is not None
    assert together.value is not None
    assert together.value > apart + 1


def test_explain_cues_of_too_few_images_gives_a_reason_instead_of_values() -> None:
    report = explain_cues(scoring_of(varied_scenes(7), {"m/base": random_mass(7, 0)}))
    (group,) = report.groups
    assert (group.gain.value, group.gain.reason, group.weights) == (None, TOO_FEW, ())
    assert headline(group) == "the guesses were not explained, because fewer than 8 images have guesses."
    assert "m/base" in to_text(report)


def test_explain_cues_without_keypoints_excludes_body_cues_with_a_note() -> None:
    report = explain_cues(
        scoring_of(varied_scenes(12), {"m/base": random_mass(12, 0)}), cues=["center", "head"], mirrors=3
    )
    (group,) = report.groups
    assert [weight.key for weight in group.weights] == ["center"]
    assert group.body_gain.value is None
    assert group.detectable is None
    assert group.mirror_p is None
    assert any(note.startswith("the cue head is excluded") for note in group.notes)
    assert group.body_gain.reason == NO_BODY


def test_explain_cues_with_several_processes_gives_the_same_report() -> None:
    masses = {f"m{number}/base": random_mass(9, number) for number in range(3)}
    scoring = scoring_of(varied_scenes(9), masses, bootstrap=50)
    steps: list[tuple[int, int]] = []
    alone = explain_cues(scoring, cues=["center", "players"], on_progress=lambda *step: steps.append(step))
    assert explain_cues(scoring, cues=["center", "players"], jobs=2) == alone
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"cues": ["gaze"]}, "unknown-name"),
        ({"ridge": 0.0}, "invalid-option:ridge"),
        ({"mirrors": -1}, "invalid-option:mirrors"),
    ],
)
def test_explain_cues_with_invalid_options_is_an_error(options: dict[str, object], where: str) -> None:
    scoring = scoring_of(varied_scenes(9), {"m/base": random_mass(9, 0)})
    with raises(OptionError, where):
        explain_cues(scoring, **options)  # type: ignore[arg-type]


def test_explain_cues_of_groups_over_several_sports_is_an_error() -> None:
    scoring = scoring_of(varied_scenes(9), {"m/base": random_mass(9, 0)}, by=("respondent",))
    with raises(OptionError, "invalid-option"):
        explain_cues(scoring)


class TestMirror:
    def test_mirrored_changes_only_the_selected_players(self) -> None:
        scene = next(one for one in posed_scenes(3) if len(one.players or ()) > 1)
        which = np.arange(len(scene.players or ())) == 1
        turned = mirrored(scene, which)
        assert np.array_equal(turned.keypoints[~which], scene.keypoints[~which])
        box, before, after = scene.boxes[1], scene.keypoints[1], turned.keypoints[1]
        seen = before[5, 2] > 0
        assert seen
        assert after[6, 0] == pytest.approx(box[0] + box[2] - before[5, 0])
        assert after[6, 1:].tolist() == before[5, 1:].tolist()

    def test_mirrored_scores_apply_to_the_same_scenes_and_differ_between_mirrors(self) -> None:
        scenes = posed_scenes(5)
        cues = [CUES["head"], CUES["blocked"]]
        first, second = mirrored_scores(scenes, cues, 2, seed=0)
        assert not np.array_equal(first.values[:, :, 0], second.values[:, :, 0], equal_nan=True)
        assert np.array_equal(first.applies, cue_scores(scenes, ["head", "blocked"]).applies)


class TestCommand:
    @pytest.fixture
    def data(self, tmp_path: Path) -> Path:
        from spotball_core.io.frames import write_responses
        from spotball_core.io.scenes import write_scenes

        scenes = posed_scenes(12)
        folder = tmp_path / "data"
        folder.mkdir()
        write_scenes(scenes, folder / "scenes.jsonl")
        write_responses(cue_responses(scenes, {"a": {"head": 1.0}, "b": {"center": 1.0}}), folder / "responses.jsonl")
        return folder

    def test_cues_explain_command_prints_text(self, data: Path) -> None:
        done = spotball("cues", "explain", data, "--reference", "a", "--cues", "center,players,head", "--quiet")
        assert done.returncode == 0, done.stderr
        assert f"{SPORT}/a/base: cues predict guesses" in done.stdout
        assert "Weight of each cue minus its weight for a" in done.stdout
        assert "cues:center,players,head" in done.stdout

    def test_cues_explain_command_writes_a_json_report(self, data: Path, tmp_path: Path) -> None:
        out = tmp_path / "cues.json"
        done = spotball("cues", "explain", data, "--bootstrap", "20", "--out", out)
        assert done.returncode == 0, done.stderr
        report = CueReport.model_validate(json.loads(out.read_text()))
        assert [group.respondent for group in report.groups] == ["a", "b"]
        assert len(report.cues) == len(CUES)

    def test_cues_explain_command_writes_maps_and_reports_an_unwritable_folder(
        self, data: Path, tmp_path: Path
    ) -> None:
        pytest.importorskip("matplotlib")
        done = spotball(
            "cues", "explain", data, "--cues", "center,head", "--bootstrap", "0", "--maps", tmp_path / "maps"
        )
        assert done.returncode == 0, done.stderr
        names = sorted(file.name for file in (tmp_path / "maps").iterdir())
        assert len(names) == 11  # The control scene has no map.
        assert names[0] == f"{SPORT}-1.png"
        done = spotball("cues", "explain", data, "--maps", data / "scenes.jsonl" / "maps")
        assert (done.returncode, done.stdout) == (2, "")
        assert codes(done.stderr) == ["unwritable-output"]
        assert (tmp_path / "maps" / names[0]).read_bytes().startswith(b"\x89PNG")

    @pytest.mark.parametrize(
        ("options", "code", "value"),
        [
            (["--cues", "gaze"], "unknown-name", "'gaze'"),
            (["--out", "cues.xlsx"], "unsupported-format", "--out"),
            (["--reference", "nobody"], "unknown-name", "'nobody'"),
        ],
    )
    def test_cues_explain_command_with_invalid_options_exits_with_status_2(
        self, data: Path, options: list[str], code: str, value: str
    ) -> None:
        done = spotball("cues", "explain", data, *options)
        assert done.returncode == 2
        assert codes(done.stderr) == [code]
        assert value in done.stderr
