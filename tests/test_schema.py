"""Test the records: validation, derived values, and conversion to and from JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from spotball_core.errors import DistributionError, GridError, SpotballError
from spotball_core.grid import Grid
from spotball_core.schema import (
    GridShape,
    GroundTruth,
    GroupScore,
    MetricValue,
    PlayerBox,
    PredictionDistribution,
    Response,
    Scene,
    ScorePolicy,
    ScoreReport,
    Signature,
)
from spotball_core.schema.record import UNNAMED, Record
from tests.failures import raises

KEY = {"sport": "soccer", "image": "163"}
ANSWER: dict[str, Any] = {**KEY, "respondent": "gemini", "kind": "model"}
SCENE: dict[str, Any] = {**KEY, "width": 640, "height": 360, "grid": {"rows": 6, "cols": 10}}
VALID: dict[type[Record], dict[str, Any]] = {
    Scene: SCENE,
    PlayerBox: {"x1": 0, "y1": 0, "x2": 1, "y2": 1},
    Response: ANSWER,
    PredictionDistribution: {**ANSWER, "probabilities": [1.0]},
    ScorePolicy: {},
    MetricValue: {"value": 1.0},
}
"""Values of a valid record of each class."""

NOT_FINITE = (math.nan, math.inf, -math.inf)
INVALID_ANSWERS: dict[str, list[Any]] = {
    "kind": ["robot", None],
    "sample": [0, -1, 1.5],
    "respondent": [" "],
    "prompt": [""],
    "participant": [""],
}
INVALID_CHOICES: dict[str, list[Any]] = {
    "name": ["mine"],
    "reference": [" "],
    "images": ["most"],
    "controls": ["in"],
    "tau": [0, 1.01, *NOT_FINITE],
    "theta": [-0.02],
    "window": [((0, 4), (3, 7)), (2, 4)],
    "wasserstein_unit": ["m"],
    "top_k": [0],
    "log_smoothing": [0],
    "by": [("image",)],
    "cluster": ["sport"],
    "bootstrap": [-1],
    "seed": [-1, 0.5],
}
INVALID: list[tuple[type[Record], str, Sequence[Any]]] = [
    (PlayerBox, "x1", NOT_FINITE),
    (Scene, "width", NOT_FINITE),
    (Scene, "grid", [{"rows": 0, "cols": 10}, {"rows": 6}, {"rows": 2.5, "cols": 10}, [6, 10], "6x10"]),
    (Scene, "ball_box", [*([0, 0, n, 10] for n in NOT_FINITE), [1, 2, 3], [3, 0, 1, 1], [0, 3, 1, 1], 5]),
    (Scene, "players", [[[0, n, 1, 1]] for n in NOT_FINITE]),
    (Scene, "control", ["false", 0, "no", None]),
    (Response, "cell", ["D0", "left", "A" + "9" * 5000]),
    (PredictionDistribution, "probabilities", [*({"D5": n} for n in NOT_FINITE), *([n] for n in NOT_FINITE)]),
    (MetricValue, "value", NOT_FINITE),
    (MetricValue, "ci95", [[0.0, n] for n in NOT_FINITE]),
    *((record, *one) for record in (Response, PredictionDistribution) for one in INVALID_ANSWERS.items()),
    *((ScorePolicy, *one) for one in INVALID_CHOICES.items()),
]
"""Invalid values, by record class and field."""


def scene(**values: Any) -> Scene:
    return Scene(**{**SCENE, **values})


SIGNATURE = Signature(
    version="0.1.0",
    data="3f9a1c2e" + "0" * 56,
    grid="6x10@640x360",
    policy=ScorePolicy.standard(reference="human"),
    n_images=50,
    dropped={"control": 2},
)
GROUP = GroupScore(
    sport="soccer",
    respondent="gemini",
    kind="model",
    prompt="cot",
    n_images=50,
    n_responses=1000,
    n_unparsed=14,
    metrics={
        "accuracy": MetricValue(value=0.081, ci95=(0.05, 0.11)),
        "overlap_rate": MetricValue(value=None, reason="no player boxes"),
    },
)
REPORT = ScoreReport(signature=str(SIGNATURE), provenance=SIGNATURE, policy=SIGNATURE.policy, groups=(GROUP,))
BALL = (90.5, 140.625, 117.5, 165.375)
RECORDS: tuple[Record, ...] = (
    scene(),
    scene(
        ball_cells=["C2", "C3"], ball_box=BALL, players=[[1, 2, 3.5, 4], [5, 6, 5, 6]], control=True, path="a/163.jpg"
    ),
    scene(ball_box=BALL, players=[]),
    GridShape(rows=6, cols=10),
    PlayerBox(x1=1, y1=2, x2=3, y2=4),
    GroundTruth.from_labels(["D2", "C2"], Grid.standard()),
    Response(**ANSWER, prompt="cot", sample=1, cell="D5", reasoning="They look there.\u2028"),
    Response(**{**ANSWER, "participant": 7}),
    PredictionDistribution(**ANSWER, probabilities={"D5": 0.75, "D6": 0.25}),
    PredictionDistribution(**ANSWER, probabilities=(0.5, 0.5)),
    ScorePolicy.standard(reference="human", window=((2, 3), (4, 5)), by=("respondent",)),
    ScorePolicy.paper(),
    SIGNATURE,
    GROUP,
    GROUP.metrics["overlap_rate"],
    REPORT,
)
by_class = pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
by_key = pytest.mark.parametrize(("record", "values"), [(Scene, SCENE), (Response, ANSWER)])


def refused(record: type[Record], field: str, values: dict[str, Any]) -> str:
    """Return the validation message for values, and check that all errors are about one field."""
    with pytest.raises(ValidationError) as caught:
        record(**values)
    assert {error["loc"][0] if error["loc"] else "" for error in caught.value.errors()} == {field}
    return str(caught.value)


class TestRecords:
    @by_class
    def test_records_are_frozen_and_reject_unknown_fields(self, record: Record) -> None:
        values = {field: getattr(record, field) for field in type(record).model_fields}
        for field, value in values.items():
            with pytest.raises(ValidationError, match="frozen"):
                setattr(record, field, value)
        assert "not permitted" in refused(type(record), "colour", {**values, "colour": "red"})

    @by_class
    def test_record_read_from_its_json_is_equal(self, record: Record) -> None:
        text = record.model_dump_json()
        again = type(record).model_validate_json(text)
        assert again == record
        assert again.model_dump_json() == text
        assert type(record).model_validate(json.loads(text)) == record

    @pytest.mark.parametrize(
        ("record", "field", "value"), [(record, field, value) for record, field, values in INVALID for value in values]
    )
    def test_record_with_an_invalid_field_raises_validation_error(
        self, record: type[Record], field: str, value: object
    ) -> None:
        refused(record, field, {**VALID[record], field: value})

    @by_key
    @pytest.mark.parametrize("field", ["sport", "image"])
    def test_key_of_a_record_is_sport_and_image_as_stripped_text_and_blank_names_raise_validation_error(
        self, record: type[Record], values: dict[str, Any], field: str
    ) -> None:
        for invalid in ("", " ", "\t\n", None, math.nan, math.inf):
            refused(record, field, {**values, field: invalid})
        for spelling, name in ((" 163 ", "163"), (163, "163"), ("01", "01")):
            assert getattr(record(**{**values, field: spelling}), field) == name
        assert record(**values).key == ("soccer", "163")  # type: ignore[attr-defined]
        other = record(**{**values, "sport": "volleyball"})
        assert other.key == ("volleyball", "163")  # type: ignore[attr-defined]
        assert other != record(**values)

    @by_key
    def test_record_without_a_sport_has_the_default_sport_and_without_an_image_raises_validation_error(
        self, record: type[Record], values: dict[str, Any]
    ) -> None:
        without = record(**{key: value for key, value in values.items() if key != "sport"})
        assert without.key == (UNNAMED, "163")  # type: ignore[attr-defined]
        refused(record, "image", {key: value for key, value in values.items() if key != "image"})


class TestScenes:
    def test_scene_takes_its_size_from_a_grid_and_rejects_a_different_or_missing_size(self) -> None:
        found = Scene.model_validate({"sport": "soccer", "image": 163, "grid": Grid.standard()})
        assert found == scene()
        assert found.layout == Grid.standard()
        assert scene(grid=Grid.standard()) == found
        for size in ({"width": 1280}, {"height": 720}):
            assert "640 x 360 pixels" in refused(Scene, "", {**SCENE, "grid": Grid.standard(), **size})
        refused(Scene, "width", {"sport": "s", "image": "1", "grid": Grid(6, 10, 640.5, 360)})
        for field in ("width", "height", "grid"):
            refused(Scene, field, {key: value for key, value in SCENE.items() if key != field})

    @pytest.mark.parametrize(
        ("given", "canonical"),
        [
            (["D3", "C2", "D2", "C3"], ("C2", "C3", "D2", "D3")),
            (["3d", " c 2 "], ("C2", "D3")),
            (["C10", "C9", "B10"], ("B10", "C9", "C10")),
            (["C2", "2c", "C2"], ("C2",)),
        ],
    )
    def test_scene_ball_cells_are_sorted_unique_and_in_standard_spelling(
        self, given: list[str], canonical: tuple[str, ...]
    ) -> None:
        found = scene(ball_cells=given)
        assert found.ball_cells == canonical
        assert found.truth is not None
        assert found.truth.cells == canonical
        assert np.flatnonzero(found.truth.mask).tolist() == [Grid.standard().index(label) for label in canonical]

    def test_scene_without_ball_cells_uses_the_cells_of_the_ball_box(self) -> None:
        box = (120, 170, 200, 190)  # columns 2 to 4 (from 64 to 256 px), rows C and D (from 120 to 240 px)
        for unknown in ({}, {"ball_cells": None}, {"ball_cells": []}):
            assert scene(ball_box=box, **unknown).ball_cells == ("C2", "C3", "C4", "D2", "D3", "D4")
        assert scene(ball_box=box, ball_cells=["A1"]).ball_cells == ("A1",)  # given cells have priority over the box

    @pytest.mark.parametrize(
        "values", [{}, {"ball_cells": []}, {"ball_box": (700, 0, 800, 10)}, {"ball_box": (5, 5, 5, 5)}]
    )
    def test_scene_without_a_ball_in_the_image_has_no_truth(self, values: dict[str, Any]) -> None:
        assert scene(**values).ball_cells is scene(**values).truth is None

    @pytest.mark.parametrize("cells", [["G1"], ["A11"], ["A0"], ["C2", "ball"], [""], [5]])
    def test_scene_with_invalid_ball_cells_raises_validation_error(self, cells: list[object]) -> None:
        with pytest.raises(ValidationError):
            scene(ball_cells=cells)

    def test_scene_players_are_none_if_unknown_and_empty_without_players_and_boxes_are_written_as_lists(self) -> None:
        assert scene().control is False
        assert scene().players is None
        assert scene(players=[]).players == ()
        assert scene().boxes.shape == scene(players=[]).boxes.shape == (0, 4)
        boxes = scene(players=[[1, 2, 3, 4], PlayerBox(x1=5, y1=6, x2=7, y2=8)]).boxes
        assert boxes.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
        box = PlayerBox.model_validate([10, 20, 30, 60])
        assert box == PlayerBox(x1=10, y1=20, x2=30, y2=60) == PlayerBox.model_validate((10, 20, 30, 60))
        assert box.corners == (10, 20, 30, 60)
        assert box.model_dump_json() == "[10.0,20.0,30.0,60.0]"
        assert json.loads(scene(players=[box]).model_dump_json())["players"] == [[10, 20, 30, 60]]

    @pytest.mark.parametrize("bad", [[1, 2, 3], [1, 2, 3, 4, 5], [3, 0, 1, 1], [0, 3, 1, 1], ["a", 0, 1, 1], None, 5])
    def test_invalid_player_box_raises_validation_error(self, bad: object) -> None:
        with pytest.raises(ValidationError):
            PlayerBox.model_validate(bad)
        refused(Scene, "players", {**SCENE, "players": [bad]})

    def test_ground_truth_has_sorted_cells_from_labels_or_the_cells_of_a_box_above_min_share(self) -> None:
        grid = Grid(2, 3, 30, 20)
        truth = GroundTruth.from_labels(["b3", "2A"], grid)
        assert truth.cells == ("A2", "B3")
        assert truth.mask.tolist() == [False, True, False, False, False, True]
        # Cells have 10 x 10 px; the box covers 4 x 5, 10 x 5 and 1 x 5 px of the cells of row A.
        assert GroundTruth.from_box((6, 0, 21, 5), grid).cells == ("A1", "A2", "A3")
        assert GroundTruth.from_box((6, 0, 21, 5), grid, min_share=0.1).cells == ("A1", "A2")
        assert GroundTruth.from_box((30, 0, 40, 5), grid).cells == ()
        for bad in (["C1"], ["A4"], ["?"]):
            with pytest.raises(GridError):
                GroundTruth.from_labels(bad, grid)
        for cells in (("B3", "A2"), ("a2",), ("A2", "A2"), ("C1",)):
            with pytest.raises(ValidationError):
                GroundTruth(grid=GridShape(rows=2, cols=3), cells=cells)


def distribution(probabilities: object) -> PredictionDistribution:
    return PredictionDistribution(**ANSWER, probabilities=probabilities)  # type: ignore[arg-type]


MAPPINGS = [{"D5": 1 - 1.1e-6}, {"D5": 1 + 1.1e-6}, {"D5": 0.6, "D6": 0.5}, {"D5": 1.5, "D6": -0.5}, {}]
LISTS = [[0.5, 0.4], [1.0, 1.0], [1.5, -0.5], [1 + 1e-9, -1e-9], [], [0.0, 0.0], ["D5"]]


class TestResponses:
    @pytest.mark.parametrize(("given", "cell"), [("5d", "D5"), (" D 5 ", "D5"), ("aa12", "AA12"), (None, None)])
    def test_response_cell_is_in_standard_spelling_and_other_fields_have_defaults(
        self, given: str | None, cell: str | None
    ) -> None:
        response = Response(**ANSWER, cell=given)
        assert (response.prompt, response.sample, response.participant, response.cell) == ("base", None, None, cell)

    @pytest.mark.parametrize("total", [1 - 9e-7, 1, 1 + 9e-7])
    def test_prediction_distribution_accepts_probabilities_that_sum_to_1_within_a_millionth(self, total: float) -> None:
        for probabilities in ({"D5": total}, {"D5": total / 4, "A1": total * 3 / 4}, [total, 0.0], [total / 2] * 2):
            assert distribution(probabilities).probabilities

    @pytest.mark.parametrize("probabilities", [*MAPPINGS, *LISTS, "D5", None, 1.0], ids=repr)
    def test_prediction_distribution_with_invalid_probabilities_raises_validation_error(
        self, probabilities: object
    ) -> None:
        with pytest.raises(ValidationError):
            distribution(probabilities)

    def test_mass_of_a_distribution_is_normalized_and_the_same_for_labels_and_lists(self) -> None:
        grid = Grid(2, 2, 20, 20)
        by_label, by_index = distribution({"b1": 0.75, "A2": 0.25}), distribution([0, 0.25, 0.75, 0])
        assert by_label.mass(grid).tolist() == by_index.mass(grid).tolist() == [0, 0.25, 0.75, 0]
        nearly = distribution({"A1": 0.5, "B2": 0.5 + 5e-7}).mass(grid)
        assert nearly.sum() == pytest.approx(1, abs=1e-15)
        assert nearly[3] / nearly[0] == pytest.approx(1 + 1e-6, rel=1e-12)

    @pytest.mark.parametrize(
        ("probabilities", "error", "where"),
        [
            ([1.0, 0.0, 0.0], DistributionError, "wrong-shape:probabilities"),
            ([1.0, 0.0, 0.0, 0.0, 0.0], DistributionError, "wrong-shape:probabilities"),
            ({"C1": 1.0}, GridError, "outside-grid"),
            ({"ball": 1.0}, GridError, "invalid-cell"),
            ({"A1": 0.5, "1a": 0.5}, DistributionError, "invalid-distribution:probabilities"),
        ],
    )
    def test_mass_of_a_distribution_that_does_not_fit_the_grid_raises_an_error(
        self, probabilities: object, error: type[SpotballError], where: str
    ) -> None:
        with raises(error, where):
            distribution(probabilities).mass(Grid(2, 2, 20, 20))

    @given(weights=st.lists(st.integers(0, 1000), min_size=6, max_size=6).filter(any))
    def test_mass_of_a_distribution_of_normalized_counts_equals_their_shares(self, weights: list[int]) -> None:
        mass = distribution([weight / sum(weights) for weight in weights]).mass(Grid(2, 3, 30, 20))
        assert mass.tolist() == pytest.approx([weight / sum(weights) for weight in weights], rel=1e-14)
        assert mass.sum() == pytest.approx(1, rel=1e-15)


class TestPolicies:
    def test_standard_policy_is_the_default_and_paper_policy_has_the_choices_of_the_paper(self) -> None:
        policy = ScorePolicy.standard()
        assert policy == ScorePolicy()
        assert (policy.name, policy.reference, policy.images) == ("standard", None, "all")
        assert (policy.controls, policy.prior) == ("out", "scored")
        assert (policy.tau, policy.theta, policy.window, policy.wasserstein_unit) == (0.08, 0.02, None, "px")
        assert (policy.bootstrap, policy.seed, policy.cluster) == (1000, 0, "image")
        assert policy.by == ("sport", "respondent", "prompt")
        paper = ScorePolicy.paper()
        assert (paper.name, paper.images, paper.controls, paper.prior) == ("paper", "all", "paper", "all")
        assert policy.changed() == paper.changed() == {}
        assert ScorePolicy.paper(controls="out").changed() == {"controls": "out"}
        # With a reference, the standard policy uses shared images.
        assert ScorePolicy.standard(reference="human").images == "shared"
        assert ScorePolicy.standard(reference="human", images="all").images == "all"
        assert ScorePolicy.standard(images="shared").images == "shared"
        assert ScorePolicy.paper(reference="human").images == "all"
        assert ScorePolicy.paper(reference="human", images="shared").images == "shared"

    def test_changed_excludes_choices_that_have_their_own_part_in_the_signature(self) -> None:
        named: dict[str, Any] = {"images": "all", "wasserstein_unit": "cell", "bootstrap": 10, "seed": 3}
        policy = ScorePolicy.standard(reference="human", **named, tau=0.1, by=("respondent",))
        assert policy.changed() == {"tau": 0.1, "by": ("respondent",)}
        assert ScorePolicy.standard(tau=0.08).changed() == {}

    @pytest.mark.parametrize(
        ("field", "value"), [(field, value) for field, values in INVALID_CHOICES.items() for value in values]
    )
    def test_standard_policy_with_an_invalid_choice_raises_validation_error(self, field: str, value: object) -> None:
        with pytest.raises(ValidationError, match=field):
            ScorePolicy.standard(**{field: value})  # type: ignore[arg-type]

    def test_signature_has_the_documented_form_and_names_changed_choices(self) -> None:
        assert str(SIGNATURE) == (
            "spotball|v:0.1.0|data:3f9a1c2e|grid:6x10@640x360|policy:standard|images:shared50|ref:human|w:exact-px"
            "|boot:1000|seed:0"
        )
        policy = ScorePolicy.paper(tau=0.125, window=((2, 3), (4, 5)), wasserstein_unit="diagonal", bootstrap=0, seed=7)
        assert str(SIGNATURE.model_copy(update={"policy": policy, "n_images": 118})) == (
            "spotball|v:0.1.0|data:3f9a1c2e|grid:6x10@640x360|policy:paper+tau=0.125+window=2,3,4,5|images:all118|ref:none"
            "|w:exact-diagonal|boot:0|seed:7"
        )

    def test_score_report_json_has_the_documented_keys(self) -> None:
        written = json.loads(REPORT.model_dump_json())
        assert written["schema_version"] == 1
        assert written["signature"] == str(SIGNATURE)
        assert written["policy"]["name"] == "standard"
        (group,) = written["groups"]
        assert list(group) == [
            "sport",
            "respondent",
            "kind",
            "prompt",
            "n_images",
            "n_responses",
            "n_unparsed",
            "metrics",
        ]
        assert group["metrics"] == {
            "accuracy": {"value": 0.081, "ci95": [0.05, 0.11]},
            "overlap_rate": {"value": None, "reason": "no player boxes"},
        }
        with pytest.raises(ValidationError):
            ScoreReport.model_validate({**written, "schema_version": 2})

    def test_score_report_group_returns_the_single_matching_group_or_raises_key_error(self) -> None:
        other = GROUP.model_copy(update={"sport": "basketball"})
        report = REPORT.model_copy(update={"groups": (GROUP, other)})
        assert REPORT.group("gemini") is GROUP
        assert report.group("gemini", sport="basketball") is other
        for found, wanted in ((0, {"sport": "golf"}), (2, {"prompt": "cot"})):
            with pytest.raises(KeyError, match=f"{found} groups"):
                report.group("gemini", **wanted)
