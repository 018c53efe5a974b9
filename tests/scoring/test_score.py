"""Test scoring against plain loops (tests/plain_scoring.py), and the contents of reports."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from spotball_core import METRICS, Counts, ScorePolicy, ScoreReport, load, read_counts, score
from spotball_core.errors import InputError, OptionError
from spotball_core.schema import GroupScore, MetricValue, PredictionDistribution, Response, Scene
from spotball_core.stats.bootstrap import bootstrap_interval, resample_weights
from tests.builders import dataset, frame, scene, scenes, write_csv, write_jsonl, write_parquet
from tests.failures import raises
from tests.plain_scoring import Answers, Cells, Key, Plain

PARTS = ("sport", "respondent", "prompt")
PUBLISHED = ("euclidean_error", "near_player_rate", "overlap_rate", "center_ratio", "normalized_entropy")
"""Metrics that the paper computed on all images, including controls and images that people did not see."""

LABELS = [f"{row}{col}" for row in "ABCDEF" for col in range(1, 11)]

Rows = Sequence[Mapping[str, Any]]

TWENTY = scenes(*map(str, range(20)))
FIRST: dict[str, Any] = {"ball_cells": ("C2", "C3"), "players": [[0, 0, 100, 100]]}
KNOWN = [
    scene("1", **FIRST),
    scene("2", ball_cells=("D5",)),
    scene("3", ball_cells=("A1",)),
    scene("1", "basketball", ball_cells=("F10",), players=[[300, 100, 350, 200]]),
]
ROWS = [
    {"sport": sport, "image": image, "respondent": respondent, "kind": kind, "prompt": prompt, "cell": cell}
    for respondent, kind, prompt in (("human", "human", "base"), ("gpt", "model", "base"), ("gpt", "model", "cot"))
    for sport, image, cell in (
        ("soccer", "1", "C2"),
        ("soccer", "1", "D4" if kind == "human" else None),
        ("soccer", "2", "D4"),
        ("soccer", "3", "B2" if prompt == "base" else "F9"),
        ("basketball", "1", "E9"),
    )
]


def small(rows: Rows = ROWS, known: Sequence[Scene] = KNOWN, **options: Any) -> ScoreReport:
    return score(frame(rows), list(known), **{"reference": "human", "bootstrap": 20, **options})


def intervals(report: ScoreReport) -> list[object]:
    return [value.ci95 for group in report.groups for value in group.metrics.values()]


def values(report: ScoreReport) -> list[object]:
    return [value.value for group in report.groups for value in group.metrics.values()]


def answers(sport: str = "soccer", /, **answered: Iterable[int]) -> list[dict[str, Any]]:
    """Return rows in which each respondent answers D5 on each of these images."""
    return [
        {"sport": sport, "image": str(i), "respondent": name, "cell": "D5"}
        for name, images in answered.items()
        for i in images
    ]


def made_scenes(rng: random.Random) -> list[Scene]:
    """Return scenes of two sports that share image ids, with controls and scenes without ground truth or players."""

    def box() -> list[float]:
        x, y = rng.uniform(0, 500), rng.uniform(0, 250)
        return [x, y, x + rng.uniform(5, 140), y + rng.uniform(5, 110)]

    made = []
    for sport, images in (("soccer", 7), ("basketball", 4)):
        for number in range(1, images + 1):
            cells = rng.sample(LABELS, rng.randint(1, 4))
            players = [box() for _ in range(rng.randint(1, 4))]
            given: dict[str, Any] = {"ball_cells": cells, "players": players}
            if sport == "soccer":
                given |= {3: {"ball_cells": None}, 4: {"players": None}, 5: {"players": []}}.get(number, {})
                given |= {"control": number == 7}
            size = (1280, 720) if (sport, number) == ("basketball", 2) else (640, 360)
            made.append(scene(str(number), sport, size=size, **given))
    rng.shuffle(made)
    return made


def made_rows(rng: random.Random, known: Sequence[Scene]) -> list[dict[str, Any]]:
    """Return answers of people, two models and a baseline, with missing and unparsed answers."""
    rows: list[dict[str, Any]] = []
    for respondent, kind, prompts in (
        ("gpt", "model", ["cot", "base"]),
        ("human", "human", ["base"]),
        ("uniform", "baseline", ["base"]),
        ("gemini", "model", ["cue"]),
    ):
        for prompt, one in itertools.product(prompts, known):
            if rng.random() < 0.12 or (respondent == "human" and one.control):
                continue
            near = rng.sample(LABELS, 4)
            keys = {"sport": one.sport, "image": one.image, "respondent": respondent, "kind": kind, "prompt": prompt}
            rows += [
                {
                    **keys,
                    "sample": sample,
                    "participant": f"p{rng.randint(1, 4)}" if kind == "human" else None,
                    "cell": None if rng.random() < 0.15 else rng.choice(near),
                }
                for sample in range(1, rng.randint(1, 6) + 1)
            ]
    return rows


class Expected:
    """Compute the expected groups, the images of each group, and their metrics with plain loops."""

    def __init__(
        self, known: Sequence[Scene], rows: Rows, *, reference: str | None, images: str, paper: bool, by: Sequence[str]
    ) -> None:
        self.known, self.paper, self.reference, self.by = known, paper, reference, by
        self.scenes = {one.key: one for one in known}
        self.rows: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
        for row in rows:
            self.rows[tuple(row[part] for part in by)].append(row)
        self.compared = {(row["sport"], row["image"]) for row in rows if row["respondent"] == reference}
        self.reference_answers = answers_of(row for row in rows if row["respondent"] == reference)
        self.answered = {name: {(row["sport"], row["image"]) for row in mine} for name, mine in self.rows.items()}
        self.images = {name: self._images(name, images) for name in self.rows}

    def _images(self, name: tuple[str, ...], images: str) -> list[Key]:
        kept = []
        for one in self.known:
            keep = one.key in self.answered[name] and (self.paper or not one.control)
            if images == "shared":
                keep = keep and (self.reference is None or one.key in self.compared)
                for other in self.answered.values():
                    in_sport = any(sport == one.sport for sport, _ in other)
                    keep = keep and (not in_sport or one.key in other)
            if keep:
                kept.append(one.key)
        return kept

    def plain(self, name: tuple[str, ...], answers: Answers | None = None) -> Plain:
        sports = {sport for sport, _ in self.images[name]}
        return Plain(
            self.scenes,
            answers_of(self.rows[name]) if answers is None else answers,
            self.reference_answers if self.reference else None,
            "respondent" in self.by and dict(zip(self.by, name, strict=True))["respondent"] == self.reference,
            [one for one in self.known if one.sport in sports] if self.paper else None,
        )

    def used(self, name: tuple[str, ...], metric: str) -> list[Key]:
        """Return the images of a group that the policy uses for a metric."""
        if not self.paper or metric in PUBLISHED:
            return self.images[name]
        return [
            key
            for key in self.images[name]
            if not self.scenes[key].control and (self.reference is None or key in self.compared)
        ]


def answers_of(rows: Iterable[Mapping[str, Any]]) -> dict[Key, Cells]:
    found: defaultdict[Key, Cells] = defaultdict(list)
    for row in rows:
        label = row["cell"]
        found[row["sport"], row["image"]].append(None if label is None else LABELS.index(label))
    return dict(found)


def name_of(group: GroupScore, by: Sequence[str]) -> tuple[str, ...]:
    return tuple(getattr(group, part) for part in by)


CASES = [
    pytest.param(
        {"policy": policy, "reference": reference, "images": images, "by": by},
        id=f"{policy}-{reference}-{images}-{by}",
        marks=[pytest.mark.slow] if policy == "paper" and images else [],
    )
    for policy in ("standard", "paper")
    for reference in (None, "human", "gpt")
    for images in (None, "all", "shared")
    for by in (PARTS, ("respondent",), ("sport", "prompt"), ())
    if by == PARTS or (images is None and reference != "gpt")
]


def plain_metrics(group: GroupScore) -> list[tuple[str, MetricValue]]:
    """Return the metrics that plain loops also compute: all but the matched ones, which have separate tests."""
    return [(key, found) for key, found in group.metrics.items() if not METRICS[key].is_matched]


class TestEveryMetric:
    @pytest.mark.parametrize("case", CASES)
    def test_score_matches_plain_loops_for_every_metric(self, case: dict[str, Any]) -> None:
        rng = random.Random(str(case))
        known = made_scenes(rng)
        rows = made_rows(rng, known)
        report = score(frame(rows), known, bootstrap=0, **case)
        paper, reference = case["policy"] == "paper", case["reference"]
        images = case["images"] or ("shared" if reference and not paper else "all")
        expected = Expected(known, rows, reference=reference, images=images, paper=paper, by=case["by"])
        assert {name_of(group, case["by"]) for group in report.groups} == set(expected.rows)
        assert set(intervals(report)) == {None}
        for group in report.groups:
            name = name_of(group, case["by"])
            chosen = set(expected.images[name])
            counted = [row for row in expected.rows[name] if (row["sport"], row["image"]) in chosen]
            assert group.n_images == len(chosen)
            assert group.n_responses == len(counted)
            assert group.n_unparsed == sum(row["cell"] is None for row in counted)
            kinds = {row["kind"] for row in expected.rows[name]}
            assert group.kind == (kinds.pop() if len(kinds) == 1 else None)
            assert list(group.metrics) == list(METRICS)
            plain = expected.plain(name)
            for key, found in plain_metrics(group):
                value, sd, n_images = plain.metric(key, expected.used(name, key))
                assert found.value == (None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)), key
                if value is None:
                    assert found.reason
                    assert (found.sd, found.n_images) == (None, None)
                else:
                    assert found.sd == (None if sd is None else pytest.approx(sd, rel=1e-9, abs=1e-9)), key
                    assert (found.n_images or group.n_images) == n_images, key
                    assert (found.reason is not None) == (n_images < group.n_images), key
                    assert found.reference == (reference if "reference" in METRICS[key].needs else None)

    @pytest.mark.parametrize(
        ("unit", "expected"), [("px", 156), ("cell", 2.5), ("diagonal", 156 / math.hypot(640, 360))]
    )
    def test_wasserstein_unit_scales_the_distance(self, unit: Any, expected: float) -> None:
        # The guesses are 3 columns (192 px) apart on image 1, and 2 rows (120 px) on image 2.
        rows = [
            {"image": image, "respondent": respondent, "cell": cell}
            for image, cells in (("1", {"human": "A1", "me": "A4"}), ("2", {"human": "B1", "me": "D1"}))
            for respondent, cell in cells.items()
        ]
        report = score(frame(rows), scenes("1", "2"), reference="human", wasserstein_unit=unit, bootstrap=0)
        assert report.group("me").metrics["wasserstein"].value == pytest.approx(expected)

    def test_score_pools_the_reference_over_its_prompts(self) -> None:
        rows = [
            {"image": "1", "respondent": "ref", "prompt": "base", "cell": "A1"},
            {"image": "1", "respondent": "ref", "prompt": "cue", "cell": "A3"},
            {"image": "1", "respondent": "me", "cell": "A1"},
        ]
        report = score(frame(rows), scenes("1"), reference="ref", bootstrap=0)
        assert report.group("me").metrics["wasserstein"].value == pytest.approx(64)
        reasons = {group.metrics["wasserstein"].reason for group in report.groups if group.respondent == "ref"}
        assert reasons == {"is the reference"}

    def test_score_applies_the_top_k_smoothing_thresholds_and_window_of_a_policy(self) -> None:
        known = scenes("1", players=[[0, 0, 10, 10]], grid={"rows": 2, "cols": 4}, ball_cells=("A1",))
        rows = [{"image": "1", "cell": cell} for cell in ("A2", "A2", "B4", "A1")]
        choices: Any = {"top_k": 1, "log_smoothing": 0.5, "tau": 0.4, "theta": 1.0, "window": ((1, 1), (1, 2))}
        metrics = score(frame(rows), known, policy=ScorePolicy.standard(bootstrap=0, **choices)).groups[0].metrics
        assert metrics["top_k_accuracy"].value == 0
        assert metrics["log_score"].value == pytest.approx(-math.log(0.5 * 0.25 + 0.5 / 8))
        # The centers of A1 and A2 are at (80, 90) and (240, 90) pixels from the corner with the player.
        assert metrics["near_player_rate"].value == 0.75
        assert metrics["overlap_rate"].value == 0
        assert metrics["center_ratio"].value == 0.75

    def test_center_ratio_without_a_window_for_the_grid_is_null_with_a_reason(self) -> None:
        known = scenes("1", grid={"rows": 2, "cols": 4}, ball_cells=("A1",))
        (group,) = score(frame([{"image": "1", "cell": "A1"}]), known, bootstrap=10).groups
        assert group.metrics["center_ratio"].value is None
        assert "2x4@640x360" in str(group.metrics["center_ratio"].reason)
        assert group.metrics["symmetric_center_bias"].value == 1

    def test_score_of_probabilities_equal_to_shares_of_answers_matches_score_of_the_answers(self) -> None:
        rng = random.Random(4)
        known = made_scenes(rng)
        rows = [row for row in made_rows(rng, known) if row["cell"] and row["respondent"] != "human"]
        people = [row for row in made_rows(rng, known) if row["respondent"] == "human"]
        keys = ("sport", "image", "respondent", "kind", "prompt")
        counted: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for row in rows:
            counted[tuple(row[key] for key in keys)].append(row["cell"])
        records: list[Response | PredictionDistribution] = [Response.model_validate(row) for row in people]
        for name, labels in counted.items():
            # One copy per answer keeps the weight of each image equal.
            probabilities = {label: labels.count(label) / len(labels) for label in set(labels)}
            record = {**dict(zip(keys, name, strict=True)), "probabilities": probabilities}
            records += [PredictionDistribution.model_validate(record)] * len(labels)
        one, other = (
            score(responses, known, reference="human", bootstrap=20) for responses in (frame(rows + people), records)
        )
        for group, same in zip(one.groups, other.groups, strict=True):
            assert (group.n_responses, group.n_unparsed) == (same.n_responses, same.n_unparsed)
            for key, value in plain_metrics(group):
                assert same.metrics[key].value == (
                    None if value.value is None else pytest.approx(value.value, rel=1e-9)
                )
                assert same.metrics[key].reason == value.reason
                if value.ci95:
                    assert same.metrics[key].ci95 == pytest.approx(value.ci95, rel=1e-9)


def drawn_images(images: Sequence[Key], weights: Sequence[float]) -> list[Key]:
    return [key for key, times in zip(images, weights, strict=True) for _ in range(int(times))]


def number(plain: Plain, key: str, images: Sequence[Key]) -> float:
    """Return the value of a metric on a resample; NaN if it is undefined."""
    value = plain.metric(key, images)[0] if images else None
    return math.nan if value is None else value


class TestIntervals:
    RESAMPLES = 25

    @pytest.mark.slow
    @pytest.mark.parametrize("policy", ["standard", "paper"])
    @pytest.mark.parametrize("seed", [0, 3])
    def test_interval_over_images_matches_scoring_each_resample_with_plain_loops(self, policy: str, seed: int) -> None:
        rng = random.Random(policy)
        known = made_scenes(rng)
        rows = made_rows(rng, known)
        options: Any = {"policy": policy, "reference": "human", "images": "all", "bootstrap": self.RESAMPLES}
        report = score(frame(rows), known, seed=seed, **options)
        expected = Expected(known, rows, reference="human", images="all", paper=policy == "paper", by=PARTS)
        for group in report.groups:
            name = name_of(group, PARTS)
            images, plain = expected.images[name], expected.plain(name)
            weights = resample_weights(len(images), self.RESAMPLES, seed)
            for key, found in plain_metrics(group):
                used = set(expected.used(name, key))
                drawn = [[one for one in drawn_images(images, row) if one in used] for row in weights]
                values = [number(plain, key, one) for one in drawn]
                if key == "symmetric_center_bias" and found.value is None:
                    # The metric is undefined if image sizes differ, even for resamples of images of one size.
                    continue
                if found.value is None:
                    assert found.ci95 is None
                    continue
                without_each = plain.without_each(key, [image for image in images if image in used])
                bounds = METRICS[key].lowest, METRICS[key].highest
                interval = bootstrap_interval(found.value, values, without_each, bounds=bounds)
                assert found.ci95 == pytest.approx(interval, rel=1e-6, abs=1e-6), key

    @pytest.mark.slow
    def test_interval_over_participants_matches_scoring_each_resample_with_plain_loops(self) -> None:
        rng = random.Random(8)
        known = made_scenes(rng)
        rows = made_rows(rng, known)
        options: Any = {"reference": "gpt", "images": "all", "by": ("respondent", "sport"), "seed": 5}
        report = score(frame(rows), known, cluster="participant", bootstrap=self.RESAMPLES, **options)
        expected = Expected(known, rows, reference="gpt", images="all", paper=False, by=("sport", "respondent"))
        by_image = score(frame(rows), known, bootstrap=self.RESAMPLES, **options)
        for group, other in zip(report.groups, by_image.groups, strict=True):
            name = name_of(group, ("sport", "respondent"))
            if group.respondent != "human":
                assert group == other
                continue
            people = sorted({row["participant"] for row in expected.rows[name]})
            weights = resample_weights(len(people), self.RESAMPLES, 5)

            def of_people(times: Iterable[float], name: Any = name, people: Any = people) -> Plain:
                drawn = [
                    row
                    for person, n in zip(people, times, strict=True)
                    for row in expected.rows[name] * int(n)
                    if row["participant"] == person
                ]
                return expected.plain(name, answers_of(drawn))

            drawn, without_each = list(map(of_people, weights)), list(map(of_people, 1.0 - np.eye(len(people))))
            for key, found in plain_metrics(group):
                assert found.value == other.metrics[key].value
                if found.value is not None:
                    values, left_out = (
                        [number(one, key, expected.images[name]) for one in some] for some in (drawn, without_each)
                    )
                    bounds = METRICS[key].lowest, METRICS[key].highest
                    interval = bootstrap_interval(found.value, values, left_out, bounds=bounds)
                    assert found.ci95 == pytest.approx(interval, rel=1e-6, abs=1e-6), key

    def test_seed_changes_the_intervals_and_not_the_values(self) -> None:
        assert small(seed=0) == small(seed=0) == small()
        one, other = small(seed=0), small(seed=1)
        assert intervals(one) != intervals(other)
        assert values(one) == values(other)

    def test_equal_answers_get_equal_intervals_with_and_without_other_respondents(self) -> None:
        # Each group is resampled with the same images, so equal answers must give equal intervals.
        rng = random.Random(2)
        rows = [{"image": str(i), "respondent": "a", "cell": rng.choice(LABELS)} for i in range(20)]
        together = score(frame(rows + [{**row, "respondent": "b"} for row in rows]), TWENTY, bootstrap=50)
        alone = score(frame(rows), TWENTY, bootstrap=50)
        assert together.groups[0].metrics == together.groups[1].metrics == alone.groups[0].metrics

    def test_interval_contains_the_value_except_for_entropies_and_needs_several_images(self) -> None:
        rng = random.Random(9)
        known = [scene(str(i), ball_cells=rng.sample(LABELS, 4)) for i in range(40)]
        rows = [{"image": str(i), "cell": rng.choice(LABELS)} for i in range(40) for _ in range(10)]
        (group,) = score(frame(rows), known, bootstrap=400).groups
        for key, found in group.metrics.items():
            if found.value is not None:
                assert found.ci95 is not None
                assert found.ci95[0] <= found.ci95[1]
                # Drawing with replacement biases entropy downward; the intervals of other metrics are nearly centered.
                if "entropy" not in key:
                    assert found.ci95[0] <= found.value <= found.ci95[1], key
        # One image has no interval and no deviation.
        (group,) = score(frame([{"image": "1", "cell": "D5"}]), scenes("1", "2"), bootstrap=10).groups
        error = group.metrics["euclidean_error"]
        assert error.value is not None
        assert (error.ci95, error.sd) == (None, None)


class TestScoredImages:
    def n_images(self, report: ScoreReport) -> dict[str | None, int]:
        return {group.respondent: group.n_images for group in report.groups}

    def test_score_uses_only_shared_images_by_default_if_there_is_a_reference(self) -> None:
        rows = frame(answers(human=range(20), a=range(15), b=range(5, 20)))
        assert self.n_images(score(rows, TWENTY, bootstrap=0)) == {"human": 20, "a": 15, "b": 15}
        for options in ({"reference": "human"}, {"images": "shared"}):
            report = score(rows, TWENTY, bootstrap=0, **options)  # type: ignore[arg-type]
            assert self.n_images(report) == {"human": 10, "a": 10, "b": 10}

    def test_shared_images_are_determined_within_each_sport(self) -> None:
        known = [*TWENTY, *scenes("1", "2", sport="basketball")]
        rows = answers(human=range(20), a=range(20)) + answers("basketball", human=(1, 2), b=(1,))
        report = score(frame(rows), known, reference="human", bootstrap=0)
        assert {(group.sport, group.respondent): group.n_images for group in report.groups} == {
            ("soccer", "human"): 20,
            ("soccer", "a"): 20,
            ("basketball", "human"): 1,
            ("basketball", "b"): 1,
        }
        assert report.provenance.n_images == 21
        assert report.provenance.dropped["images not shared"] == 1

    def test_standard_policy_excludes_controls_and_counts_them(self) -> None:
        known = [scene("1"), scene("2", control=True), scene("3", control=True)]
        rows = frame(answers(a=[1, 2], b=[1, 2]))
        report = score(rows, known, bootstrap=0)
        assert self.n_images(report) == {"a": 1, "b": 1}
        assert report.provenance.dropped["controls"] == 1
        assert self.n_images(score(rows, known, policy="paper", bootstrap=0)) == {"a": 2, "b": 2}

    def test_provenance_counts_excluded_images_by_reason(self) -> None:
        known = [scene("1", players=[[0, 0, 9, 9]]), scene("2", players=[]), scene("3", ball_cells=None)]
        report = score(frame(answers(a=[1, 2, 3])), known, bootstrap=0)
        assert report.provenance.dropped == {
            "controls": 0,
            "images not shared": 0,
            "images without player boxes": 2,
            "images without ground truth": 1,
        }

    def test_score_without_any_image_to_score_gives_null_metrics_with_a_reason(self) -> None:
        report = score(frame(answers(a=range(5), b=range(5, 10))), TWENTY, images="shared", bootstrap=10)
        for group in report.groups:
            assert (group.n_images, group.n_responses, group.n_unparsed) == (0, 0, 0)
            assert {value.reason for value in group.metrics.values()} == {"no shared images"}
        (group,) = score(frame(answers(a=[1])), scenes("1", control=True), bootstrap=0).groups
        assert {value.reason for value in group.metrics.values()} == {"no images"}


@pytest.mark.parametrize(
    ("answered", "first_control", "expected"),
    [
        pytest.param(
            {"human": 20, "a": 17, "b": 20},
            20,
            "soccer/a/base did not answer 3 of the 20 soccer images that all others answered, so all groups are scored "
            "on 17 soccer images. To change this, exclude soccer/a/base, or use --images all",
            id="a respondent",
        ),
        pytest.param(
            {"human": 5, "a": 20},
            20,
            "the reference human did not answer 15 of the 20 soccer images that all others answered, so all groups are "
            "scored on 5 soccer images. To change this, use --images all",
            id="the reference",
        ),
        pytest.param({"human": 20, "a": 18, "b": 20}, 20, None, id="exactly a tenth"),
        pytest.param({"human": 20, "a": 10, "b": 10}, 20, None, id="the same images"),
        pytest.param({"human": 10, "a": 20}, 10, None, id="controls"),
    ],
)
def test_score_warns_if_missing_answers_exclude_more_than_a_tenth_of_the_shared_images(
    answered: dict[str, int], first_control: int, expected: str | None
) -> None:
    known = [scene(str(i), control=i >= first_control) for i in range(20)]
    rows = frame(answers(**{name: range(n) for name, n in answered.items()}))
    assert score(rows, known, reference="human", bootstrap=0).warnings == (() if expected is None else (expected,))


def test_score_warns_about_missing_answers_of_several_respondents_only_for_shared_images() -> None:
    rows = frame(answers(a=[1], b=[2]))
    assert score(rows, TWENTY, images="all", bootstrap=0).warnings == ()
    assert len(score(rows, TWENTY, images="shared", bootstrap=0).warnings) == 2
    assert score(frame(answers(a=[1])), TWENTY, images="shared", bootstrap=0).warnings == ()


class TestUndefinedMetrics:
    @pytest.mark.parametrize(
        ("metric", "reason", "fields", "cell"),
        [
            ("accuracy", "no ground truth", {"ball_cells": None}, "D5"),
            ("center_ratio", "no ground truth", {"ball_cells": None}, "D5"),
            ("near_player_rate", "no player boxes", {"players": []}, "D5"),
            ("overlap_rate", "no player boxes", {}, "D5"),
            ("euclidean_error", "no parsed responses", {}, "?"),
            ("normalized_entropy", "no parsed responses", {}, None),
            ("near_player_rate", "no parsed responses", {"players": [[0, 0, 1, 1]]}, None),
            ("wasserstein", "no reference", {}, "D5"),
            (
                "center_ratio",
                "no parsed responses, or no ground truth in the center window",
                {"ball_cells": ["A1"]},
                "D5",
            ),
        ],
    )
    def test_undefined_metric_is_null_with_a_reason(
        self, metric: str, reason: str, fields: dict[str, Any], cell: str | None
    ) -> None:
        (group,) = score(frame([{"image": "1", "cell": cell}]), scenes("1", **fields), bootstrap=10).groups
        assert group.metrics[metric].model_dump() == {"value": None, "reason": reason}

    def test_metrics_that_exclude_some_images_state_the_number_of_scored_images_and_the_reason(self) -> None:
        rows = frame(answers(a=[1], human=[2]))
        report = score(rows, scenes("1", "2"), reference="human", images="all", bootstrap=0)
        assert report.group("a").metrics["wasserstein"].reason == "the reference answered none of the images"
        known = [scene("1", players=[[0, 0, 9, 9]]), scene("2"), scene("3", ball_cells=None), scene("4", players=[])]
        some = [*answers(a=[1, 2, 3], human=[1]), {**answers(a=[4])[0], "cell": None}]
        metrics = score(frame(some), known, reference="human", images="all", bootstrap=0).group("a").metrics
        said = {key: (found.n_images, found.reason) for key, found in metrics.items()}
        assert said["near_player_rate"] == (1, "3 images without player boxes are excluded")
        assert said["accuracy"] == (3, "1 image without ground truth is excluded")
        assert said["euclidean_error"] == (
            2,
            "1 image without ground truth is excluded; 1 image without parsed responses is excluded",
        )
        assert said["wasserstein"] == (1, "3 images that the reference did not answer are excluded")
        assert said["image_entropy"] == (3, "1 image without parsed responses is excluded")
        assert said["normalized_entropy"] == (None, None)


class TestChosenMetrics:
    def test_score_with_some_metrics_gives_their_values_and_intervals_of_the_full_report(self) -> None:
        full, some = small(), small(metrics=["log_score", "accuracy"])
        assert [list(group.metrics) for group in some.groups] == [["accuracy", "log_score"]] * len(full.groups)
        for group, of_all in zip(some.groups, full.groups, strict=True):
            for key, value in group.metrics.items():
                other = of_all.metrics[key]
                assert (value.value, value.ci95 is None) == (other.value, other.ci95 is None)
                assert value.ci95 is None or value.ci95 == pytest.approx(other.ci95, abs=1e-12)
        assert (some.signature, some.warnings) == (full.signature, full.warnings)
        # Uniform guessing has no log score, because it has no number of responses.
        assert [set(images.uniform) for images in some.image_sets] == [{"accuracy"}] * len(full.image_sets)
        assert load(frame(ROWS), KNOWN).score(metrics="accuracy", bootstrap=0).groups[0].metrics.keys() == {"accuracy"}

    @pytest.mark.parametrize("metrics", [["acuracy"], [], "acuracy", [3]])
    def test_score_with_an_unknown_metric_or_none_raises_option_error(self, metrics: Any) -> None:
        with raises(OptionError, "unknown-name:metrics"):
            small(metrics=metrics)


class TestReport:
    def test_groups_are_sorted_by_sport_kind_name_and_prompt(self) -> None:
        kinds = [("zoe", "human"), ("b", "model"), ("a", "model"), ("uniform", "baseline")]
        prompts = ["other", "cot", "cue", "base", "also"]
        rows = [
            {"sport": sport, "image": "1", "respondent": name, "kind": kind, "prompt": prompt, "cell": "D5"}
            for sport, (name, kind), prompt in itertools.product(("soccer", "basketball"), kinds, prompts)
        ]
        random.Random(0).shuffle(rows)
        report = score(frame(rows), [scene("1"), scene("1", "basketball")], bootstrap=0)
        assert [(group.sport, group.respondent, group.prompt) for group in report.groups] == list(
            itertools.product(
                ("basketball", "soccer"), ("zoe", "a", "b", "uniform"), ("base", "cue", "cot", "also", "other")
            )
        )

    @pytest.mark.parametrize("by", [PARTS, ("respondent",), ("sport", "prompt"), ("prompt", "sport"), (), "sport"])
    def test_score_groups_responses_by_the_parts_in_the_by_argument(self, by: Any) -> None:
        report = small(by=by)
        parts = [by] if isinstance(by, str) else by
        names = {tuple(row[part] for part in PARTS if part in parts) for row in ROWS}
        assert {name_of(group, [part for part in PARTS if part in parts]) for group in report.groups} == names
        for group, part in itertools.product(report.groups, set(PARTS) - set(parts)):
            assert getattr(group, part) is None
        assert sum(group.n_responses for group in report.groups) == len(ROWS)

    def test_report_json_has_the_documented_keys_and_is_read_back_as_an_equal_report(self) -> None:
        report = small()
        assert ScoreReport.model_validate_json(report.model_dump_json()) == report
        told = json.loads(report.model_dump_json())
        promised = ["schema_version", "signature", "provenance", "policy", "warnings", "groups"]
        assert [key for key in told if key in promised] == promised
        assert told["schema_version"] == 1
        assert told["policy"] == told["provenance"]["policy"]
        assert list(told["policy"]) == list(ScorePolicy.model_fields)
        described = ["version", "data", "grid", "policy", "n_images", "dropped", "parse_policies"]
        assert list(told["provenance"]) == described
        group = told["groups"][-1]
        assert list(group) == [*PARTS[:2], "kind", "prompt", "n_images", "n_responses", "n_unparsed", "metrics"]
        assert [group[part] for part in (*PARTS, "kind")] == ["soccer", "gpt", "cot", "model"]
        assert list(group["metrics"]) == list(METRICS)
        assert list(METRICS)[:9] == [
            *["accuracy", "euclidean_error", "wasserstein", "wasserstein_matched", "near_player_rate", "overlap_rate"],
            *["center_ratio", "normalized_entropy", "image_entropy"],
        ]
        keys = {name: set(metric) for name, metric in group["metrics"].items()}
        assert keys["accuracy"] == {"value", "ci95"}
        assert keys["euclidean_error"] == {"value", "sd", "ci95"}
        assert keys["wasserstein"] == {"value", "sd", "ci95", "reference", "samples", "reference_samples"}
        assert group["metrics"]["wasserstein"]["reference"] == "human"
        assert keys["near_player_rate"] == {"value", "ci95", "n_images", "reason"}
        assert len(group["metrics"]["accuracy"]["ci95"]) == 2
        human = next(group for group in told["groups"] if group["respondent"] == "human")
        assert human["metrics"]["wasserstein"] == {"value": None, "reason": "is the reference"}
        # Reports of earlier versions have no image sets.
        del told["image_sets"]
        assert ScoreReport.model_validate_json(json.dumps(told)).image_sets == ()

    def test_group_returns_the_single_match_or_raises_key_error(self) -> None:
        report = small()
        assert report.group("gpt", sport="soccer", prompt="cot").n_unparsed == 1
        with pytest.raises(KeyError, match=r"4 groups match .*, expected one. Pass sport and prompt"):
            report.group("gpt")
        with pytest.raises(KeyError, match="0 groups match"):
            report.group("nobody")


class TestImageSets:
    """Test the image sets, which show whether groups of different reports are scored on the same task."""

    def of(self, report: ScoreReport, respondent: str) -> set[tuple[str, str | None]]:
        positions = {place for place, group in enumerate(report.groups) if group.respondent == respondent}
        return {(one.scenes, one.reference) for one in report.image_sets if positions & set(one.groups)}

    def test_image_set_is_independent_of_other_respondents_and_scene_order(self) -> None:
        rows = [{**row, "respondent": "other"} if row["respondent"] == "gpt" else row for row in ROWS]
        report = small(rows, KNOWN[::-1])
        assert report.provenance.data != small().provenance.data
        assert self.of(report, "other") == self.of(small(), "gpt")
        assert self.of(report, "human") == self.of(small(), "human")
        # Each group is in exactly one image set.
        positions = sorted(place for one in report.image_sets for place in one.groups)
        assert positions == list(range(len(report.groups)))

    def test_image_set_changes_with_images_ground_truth_and_answers_of_the_reference(self) -> None:
        before = self.of(small(), "gpt")
        moved = [one.model_copy(update={"ball_cells": ("F9",)}) for one in KNOWN]
        assert not self.of(small(known=moved), "gpt") & before
        first = ROWS[0]["image"]
        fewer = [row for row in ROWS if row["respondent"] != "gpt" or row["image"] != first]
        assert not self.of(small(fewer), "gpt") >= before
        place = next(place for place, row in enumerate(ROWS) if row["respondent"] == "human" and row["cell"])
        rows = [*ROWS[:place], {**ROWS[place], "cell": "F10"}, *ROWS[place + 1 :]]
        assert not self.of(small(rows), "gpt") >= before
        without = small(rows, reference=None, images="shared")
        assert {reference for _, reference in self.of(without, "gpt")} == {None}
        assert self.of(without, "gpt") == self.of(small(reference=None, images="shared"), "gpt")

    def test_uniform_scores_match_a_respondent_that_guesses_uniformly(self) -> None:
        even = {"respondent": "even", "kind": "model", "probabilities": dict.fromkeys(LABELS, 1 / 60)}
        uniform = [{"sport": one.sport, "image": one.image, **even} for one in KNOWN]
        # Matching needs several answers of the reference per image.
        report = small([*ROWS, *[row for row in ROWS if row["kind"] == "human"] * 9, *uniform])
        for images in report.image_sets:
            (group,) = (report.groups[place] for place in images.groups if report.groups[place].respondent == "even")
            for key, value in images.uniform.items():
                assert value == pytest.approx(group.metrics[key].value), key
            assert {"accuracy", "euclidean_error", "wasserstein_matched"} <= images.uniform.keys()
            assert not [key for key in images.uniform if METRICS[key].by_size]


def parts_of(signature: str) -> dict[str, str]:
    name, *fields = signature.split("|")
    assert name == "spotball"
    return dict(field.split(":", 1) for field in fields)


class TestSignature:
    def test_signature_has_the_documented_form_and_does_not_depend_on_image_paths(self) -> None:
        report = small()
        version, data = report.provenance.version, report.provenance.data
        assert report.signature == (
            f"spotball|v:{version}|data:{data[:8]}|grid:6x10@640x360|policy:standard|images:shared4|ref:human|"
            "w:exact-px|boot:20|seed:0"
        )
        assert len(data) == 64
        assert str(report.provenance) == report.signature
        moved = [one.model_copy(update={"path": f"elsewhere/{one.image}.png"}) for one in KNOWN]
        assert small(known=moved).signature == report.signature

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("options", "part", "text"),
        [
            ({"reference": None}, "ref", "none"),
            ({"reference": None}, "images", "all4"),
            ({"images": "all"}, "images", "all4"),
            ({"seed": 7}, "seed", "7"),
            ({"bootstrap": 0}, "boot", "0"),
            ({"wasserstein_unit": "diagonal"}, "w", "exact-diagonal"),
            ({"policy": "paper"}, "policy", "paper"),
            ({"policy": "paper"}, "images", "all4"),
            ({"cluster": "participant"}, "policy", "standard+cluster=participant"),
            ({"by": ("respondent", "sport")}, "policy", "standard+by=sport,respondent"),
        ],
    )
    def test_signature_shows_changed_options(self, options: dict[str, Any], part: str, text: str) -> None:
        assert parts_of(small(**options).signature)[part] == text

    @pytest.mark.parametrize(
        ("choice", "text"),
        [
            ({"tau": 0.1}, "standard+tau=0.1"),
            ({"theta": 0.5, "top_k": 5}, "standard+theta=0.5+top_k=5"),
            ({"log_smoothing": 0.05}, "standard+log_smoothing=0.05"),
            ({"prior": "all", "controls": "paper"}, "standard+controls=paper+prior=all"),
            ({"window": ((1, 2), (3, 4))}, "standard+window=1,2,3,4"),
        ],
    )
    def test_signature_shows_changed_policy_choices(self, choice: dict[str, Any], text: str) -> None:
        report = score(frame(ROWS), KNOWN, policy=ScorePolicy.standard(bootstrap=0, **choice))
        assert parts_of(report.signature)["policy"] == text

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "changed",
        [
            {"known": [scene("1", **{**FIRST, "players": None}), *KNOWN[1:]]},
            {"known": [scene("1", **{**FIRST, "players": [[0, 0, 100, 101]]}), *KNOWN[1:]]},
            {"known": [scene("1", **{**FIRST, "ball_cells": ("C2",)}), *KNOWN[1:]]},
            {"known": [scene("1", **FIRST, control=True), *KNOWN[1:]]},
            {"known": [scene("1", **FIRST, size=(1280, 720)), *KNOWN[1:]]},
            {"rows": ROWS[:-1]},
            {"rows": [*ROWS, ROWS[0]]},
            {"rows": [{**ROWS[0], "cell": None}, *ROWS[1:]]},
            {"rows": [{**ROWS[0], "cell": "C3"}, *ROWS[1:]]},
            {"rows": [{**ROWS[0], "prompt": "cue"}, *ROWS[1:]]},
            {"rows": [{**row, "respondent": row["respondent"].replace("gpt", "gpt2")} for row in ROWS]},
        ],
    )
    def test_data_hash_changes_with_a_scene_or_a_response(self, changed: dict[str, Any]) -> None:
        assert small(**changed).provenance.data != small().provenance.data

    @pytest.mark.slow
    def test_signature_and_values_do_not_depend_on_file_format_or_order(self, tmp_path: Path) -> None:
        shuffled = random.Random(1).sample(ROWS, len(ROWS))
        folder = dataset(tmp_path / "set", KNOWN[::-1], a=shuffled[:4])
        write_csv(folder / "responses-b.csv", shuffled[4:9])
        write_parquet(folder / "responses.parquet", shuffled[9:])
        options: Any = {"reference": "human", "bootstrap": 20}
        reports = [
            score(folder, **options),
            score([folder], **options),
            score(str(write_jsonl(tmp_path / "all.jsonl", ROWS)), folder / "scenes.jsonl", **options),
            score([write_csv(tmp_path / "all.csv", shuffled)], KNOWN[::-1], **options),
            score(frame(shuffled), folder / "scenes.jsonl", **options),
            score(read_counts(frame(ROWS), KNOWN), KNOWN, **options),
            score([Response.model_validate(row) for row in ROWS], KNOWN, **options),
        ]
        assert {report.signature for report in reports} == {small().signature}
        for report in reports:
            assert values(report) == values(small())

    def test_score_of_mixed_image_sizes_has_a_mixed_grid_signature_and_no_symmetric_center_bias(self) -> None:
        known = [scene("1"), scene("2", size=(1280, 720))]
        rows = [{"image": image, "cell": cell} for image, cell in (("1", "C2"), ("2", "C3"))]
        report = score(frame(rows), known, bootstrap=20)
        assert parts_of(report.signature)["grid"] == "6x10@mixed"
        metrics = report.groups[0].metrics
        assert metrics["euclidean_error"].value == pytest.approx((0 + 128) / 2)
        assert metrics["symmetric_center_bias"].value is None
        assert metrics["symmetric_center_bias"].reason
        assert metrics["center_ratio"].value is None or metrics["center_ratio"].value >= 0


class TestArguments:
    def test_score_ignores_scenes_in_the_folder_if_scenes_are_given_and_ignores_participants_of_counts(
        self, tmp_path: Path
    ) -> None:
        folder = dataset(tmp_path / "set", scenes("9"), a=ROWS)
        rows = [{**row, "participant": "p" if row["respondent"] == "human" else None} for row in ROWS]
        for responses in (folder, read_counts(frame(rows), KNOWN, participants=True)):
            assert score(responses, KNOWN, reference="human", bootstrap=20) == small()

    @pytest.mark.parametrize(
        ("options", "where"),
        [
            ({"reference": "nobody"}, "unknown-name:reference"),
            ({"reference": ""}, "invalid-option"),
            ({"bootstrap": -1}, "invalid-option"),
            ({"seed": -1}, "invalid-option"),
            ({"images": "some"}, "invalid-option"),
            ({"policy": "mine"}, "unknown-name:policy"),
            ({"wasserstein_unit": "m"}, "invalid-option"),
            ({"cluster": "sport"}, "invalid-option"),
            ({"by": ["sports"]}, "unknown-name:by"),
            ({"by": "kind"}, "unknown-name:by"),
            ({"policy": ScorePolicy.standard(), "seed": 1}, "conflicting-options"),
            ({"policy": ScorePolicy.paper(reference="nobody"), "reference": None}, "conflicting-options"),
        ],
    )
    def test_score_with_an_invalid_option_raises_option_error(self, options: dict[str, Any], where: str) -> None:
        with raises(OptionError, where) as caught:
            small(**options)
        assert any(name in str(caught.value) for name in options)

    @pytest.mark.parametrize(
        ("name", "value", "other"),
        [
            ("reference", "human", "gpt"),
            ("images", "all", "shared"),
            ("by", ("respondent",), ("sport", "respondent", "prompt")),
            ("wasserstein_unit", "cell", "px"),
            ("cluster", "participant", "image"),
            ("bootstrap", 20, 1000),
            ("seed", 7, 0),
        ],
    )
    def test_argument_that_contradicts_a_policy_object_raises_option_error(
        self, name: str, value: Any, other: Any
    ) -> None:
        # For most options, the other value is the default.
        whole = ScorePolicy(**{"bootstrap": 20, name: value})
        assert score(frame(ROWS), KNOWN, policy=whole, **{name: value}) == score(frame(ROWS), KNOWN, policy=whole)
        with raises(OptionError, "conflicting-options"):
            score(frame(ROWS), KNOWN, policy=whole, **{name: other})

    def test_score_arguments_replace_choices_of_a_named_policy(self) -> None:
        refined = score(frame(ROWS), KNOWN, policy="paper", bootstrap=20, seed=3, by="respondent").policy
        assert refined == ScorePolicy.paper(bootstrap=20, seed=3, by=("respondent",))
        assert score(frame(ROWS), KNOWN).policy == ScorePolicy.standard()

    def test_score_without_scenes_raises_an_error(self, tmp_path: Path) -> None:
        for responses in (frame(ROWS), [Response.model_validate(ROWS[0])], read_counts(frame(ROWS), KNOWN)):
            with raises(OptionError, "missing-truth:scenes"):
                score(responses)
        with pytest.raises(InputError) as error:
            score(write_jsonl(tmp_path / "a.jsonl", ROWS))
        assert [problem.field for problem in error.value.problems] == ["scenes"]

    def test_score_with_unusable_scenes_or_counts_raises_an_error(self) -> None:
        counts = read_counts(frame(ROWS), KNOWN)
        empty = Counts.of(counts.table.clear(), rows=6, cols=10)
        other_grid = [scene("1", grid={"rows": 2, "cols": 2}, ball_cells=None)]
        for responses, known, kind, code in (
            (frame(ROWS), [*KNOWN, 9], OptionError, "wrong-type:truth"),
            (frame(ROWS), [*KNOWN, KNOWN[0]], InputError, "duplicate:image:5"),
            (counts, [*KNOWN, KNOWN[0]], InputError, "duplicate:image:5"),
            (counts, [KNOWN[0], *KNOWN[2:]], OptionError, "unknown-image"),
            (counts, other_grid, OptionError, "different-grids"),
            (empty, KNOWN, OptionError, "no-data"),
        ):
            with raises(kind, code):
                score(responses, known)  # type: ignore[arg-type]

    def test_score_changes_neither_the_global_random_state_nor_the_given_frame(self) -> None:
        state = np.random.get_state()[1].copy()  # noqa: NPY002
        given = frame(ROWS)
        before = given.clone()
        score(given, KNOWN, reference="human", bootstrap=20)
        np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
        assert given.equals(before)
        assert isinstance(given, pl.DataFrame)
