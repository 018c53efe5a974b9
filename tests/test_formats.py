"""Test the JSON Schemas: they are up to date, written files match them, and invalid files do not."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from scripts.write_schemas import FOLDER, texts
from spotball_core.baselines import baseline_responses
from spotball_core.comparison.compare import compare
from spotball_core.cues.explanation import explain_cues
from spotball_core.dataset import load
from spotball_core.gaze.analysis import GazeOptions, analyze as analyze_gaze
from spotball_core.gaze.data.trials import Trials
from spotball_core.gaze.follow.annotations import FollowPrediction, FollowTarget
from spotball_core.gaze.follow.evaluate import evaluate_following
from spotball_core.gaze.groups import compare_groups
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from spotball_core.gaze.weights import estimate_weights
from spotball_core.io.frames import write_responses
from spotball_core.io.scenes import write_scenes
from spotball_core.replication.check import replicate
from spotball_core.report.numbers.analyze import analyze
from spotball_core.schema import PlayerBox, PredictionDistribution, Response, Scene, ScorePolicy
from spotball_core.schema.published import formats, json_schema
from spotball_core.scoring.groups import Scoring
from spotball_core.scoring.score import load_counts, score
from spotball_core.synthetic.scenes import synthetic_scenes
from spotball_gen.hub.push import stage
from spotball_gen.poses.dataset import add_poses
from tests.adapters.run_process import dataset as pictured, here
from tests.adapters.study import made
from tests.builders import IDENTIFIERS, PATHS
from tests.cli.process import spotball
from tests.failures import codes
from tests.reasoning.test_analysis import analyzed
from tests.release_layout import write_release

CONFIGURATION = """
[run]
seed = 0
[[sources]]
sport = "handball"
path = "videos"
[sports.handball]
prompts = ["a picture of handball players in action with ball"]
[detect]
kind = "color"
[inpaint]
kind = "telea"
[check]
limit = 0.9
"""

REFERENCE = "oracle"
NAMES = tuple(formats("spotball-core"))
FRONT = [one for one in factorial_design() if one.view == "front"]


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json_schema(name))


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    scenes = synthetic_scenes(12)
    write_scenes(scenes, folder / "scenes.jsonl")
    write_responses(baseline_responses(scenes, samples=4), folder / "responses-baselines.jsonl")
    return folder


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("batch")
    done = here("batch", "export", str(pictured(folder / "data", images=2)), "--out", str(folder / "run"))
    assert done.returncode == 0, done.stderr
    return folder / "run" / "batch-1"


def scoring_of(demo: Path, reference: str | None = None) -> Scoring:
    policy = ScorePolicy.standard(reference=reference, bootstrap=20)
    return Scoring(*load_counts(demo, None, participants=True), policy)


def written(name: str, demo: Path, batch: Path, tmp_path: Path) -> Iterator[Any]:
    """Yield examples of a format, as this package writes them, or reads them from other programs."""
    match name:
        case "scene":
            yield from lines(demo / "scenes.jsonl")
        case "response":
            yield from lines(demo / "responses-baselines.jsonl")
            for probabilities in ({"A1": 0.25, "F10": 0.75}, (1.0,) + (0.0,) * 59):
                about = {"sport": "soccer", "image": "1", "respondent": "a", "kind": "model"}
                answer = PredictionDistribution(**about, probabilities=probabilities)
                yield json.loads(answer.model_dump_json())
        case "scores":
            yield json.loads(score(demo, bootstrap=20, reference=REFERENCE).model_dump_json())
            yield json.loads(score(demo, bootstrap=0, policy="paper").model_dump_json())
        case "report":
            yield json.loads(analyze(scoring_of(demo, reference=REFERENCE)).model_dump_json())
        case "comparison":
            found = compare(scoring_of(demo, reference=REFERENCE), "center", "uniform", permutations=50)
            yield json.loads(found.model_dump_json())
        case "plan":
            yield json.loads(load(demo).plan("center", "uniform", price_answer=0.01, price_image=1).to_json())
        case "cues":
            yield json.loads(explain_cues(scoring_of(demo), cues=["center", "blocked"]).model_dump_json())
        case "replication":
            yield json.loads(replicate(write_release(tmp_path / "release")).model_dump_json())
        case "reasoning":
            yield json.loads(analyzed().model_dump_json())
        case "gaze-report":
            trials = simulate(Observer("head", noise=0.4, lapse=0.1), FRONT, prompts=2, respondent="heady", seed=1)
            yield json.loads(analyze_gaze(trials, GazeOptions(bootstrap=20)).model_dump_json())
        case "gaze-follow":
            target = FollowTarget("a.jpg", "1", (1, 1, 3, 3), (0.2, 0.2), ((0.5, 0.5), (0.6, 0.5)), (40, 30))
            prediction = FollowPrediction("m", "a.jpg", "1", (0.5, 0.6), None)
            yield json.loads(evaluate_following([target], [prediction], bootstrap=20).model_dump_json())
        case "gaze-groups":
            of_person = pl.int_range(pl.len()) % 4
            frame = simulate(Observer("compromise", noise=0.4), FRONT, prompts=2, seed=1).frame
            frame = frame.with_columns(participant=of_person.cast(pl.String), group=(of_person % 2).cast(pl.String))
            yield json.loads(compare_groups(Trials(frame), "group", bootstrap=20).model_dump_json())
        case "gaze-weights":
            trials = simulate(Observer("coin", noise=0.4), FRONT, prompts=2, respondent="coin", seed=1)
            yield json.loads(estimate_weights(trials).model_dump_json())
        case "study":
            yield tomllib.loads((made.study(tmp_path / "study") / "study.toml").read_text(encoding="utf-8"))
        case "generation":
            yield tomllib.loads(CONFIGURATION)
        case "poses":
            keypoints = tmp_path / "keypoints.json"
            keypoints.write_text("[]", encoding="utf-8")
            add_poses(demo, "file", tmp_path / "posed", {"file": str(keypoints)})
            yield json.loads((tmp_path / "posed/poses.json").read_text(encoding="utf-8"))
        case "hub-manifest":
            staged = stage(demo, tmp_path, repo="me/demo", url="https://example.org")
            yield json.loads(staged.files["spotball.json"].read_text(encoding="utf-8"))
        case "batch-manifest":
            yield json.loads((batch / "manifest.json").read_text(encoding="utf-8"))
        case "batch-asked":
            yield from lines(batch / "asked.jsonl")
        case "batch-reply":
            yield {"custom_id": "b1-1-0", "text": "D5", "finish": "stop", "model": "m"}
            yield {"custom_id": "b1-2-0", "replies": [{"text": "D5"}, {"text": "", "finish": "length"}]}
            yield {"custom_id": "b1-3-0", "error": "busy"}
        case _:
            raise AssertionError(f"nothing here writes {name}")


def test_published_json_schemas_equal_those_generated_from_the_code() -> None:
    published = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert published == texts(), "run `make schemas`"


@pytest.mark.parametrize("name", NAMES)
def test_json_schema_is_valid_and_states_its_name_its_version_and_descriptions_of_its_parts(name: str) -> None:
    schema = json_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:spotball-core:schema:v1:{name}"
    version = schema.get("properties", {}).get("schema_version", {"const": 1})
    assert version["const"] == 1, "another version of a file is another version of its schema"
    for title, part in schema.get("$defs", {}).items():
        if "properties" in part:
            assert part["description"], title
            assert part["additionalProperties"] is False, title


SPOILED: dict[str, list[Callable[[Any], Any]]] = {
    "scene": [
        lambda scene: scene.update(width=0),
        lambda scene: scene.update(width=640.5),
        lambda scene: scene.update(sport=""),
        lambda scene: scene.update(players=[[1, 2, 3]]),
        lambda scene: scene.update(players=[{"x1": 1, "y1": 2, "x2": 3, "y2": 4}]),
        lambda scene: scene.update(control="no"),
        lambda scene: scene["grid"].update(rows=0),
    ],
    "response": [
        lambda row: row.update(kind="cat"),
        lambda row: row.update(sample=0),
        lambda row: row.update(probabilities={"A1": -1}),
        lambda row: row.update(cell=["A1"]),
    ],
    "scores": [
        lambda report: report.update(schema_version=2),
        lambda report: report["groups"][0]["metrics"]["accuracy"].pop("value"),
        lambda report: report["groups"][0]["metrics"]["accuracy"].update(ci95=[0.1]),
        lambda report: report["policy"].update(tau=0),
    ],
    "report": [
        lambda report: report.pop("page"),
        lambda report: report["page"]["sports"][0].pop("uniform"),
        lambda report: report["page"]["groups"][0]["cells"].update(shares=["A1"]),
    ],
    "generation": [
        lambda config: config.update(sources=[]),
        lambda config: config["detect"].update(kind="nothing"),
        lambda config: config.pop("detect"),
        lambda config: config["run"].update(seed=-1),
        lambda config: config.update(inpaint={"kind": "telea", "no_such_setting": 1}),
    ],
    "hub-manifest": [
        lambda manifest: manifest.update(format=2),
        lambda manifest: manifest.update(files=[]),
        lambda manifest: manifest["files"][0].update(path="../outside"),
        lambda manifest: manifest["files"][0].update(path="images/.hidden"),
        lambda manifest: manifest["files"][0].update(sha256="0"),
    ],
    "batch-reply": [lambda line: line.update(finish="bored"), lambda line: line.update(replies=[{}])],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_written_files_match_their_json_schema_and_incomplete_or_invalid_files_do_not(
    name: str, demo: Path, batch: Path, tmp_path: Path
) -> None:
    check = validator(name)
    instances = list(written(name, demo, batch, tmp_path))
    assert instances
    for instance in instances:
        assert [error.message for error in check.iter_errors(instance)] == []
    whole = instances[0]
    assert not check.is_valid({**whole, "no_such_field": 1})
    assert not check.is_valid([whole])
    required = set(whole) & set(json_schema(name).get("required", ()))
    for field in required:
        assert not check.is_valid({key: value for key, value in whole.items() if key != field}), field
    for number, spoil in enumerate(SPOILED.get(name, ()), start=1):
        spoiled = deepcopy(whole)
        spoil(spoiled)
        assert not check.is_valid(spoiled), f"invalid value {number} of {name}"


NUMBERS = st.floats(0, 1000, allow_nan=False)
BOXES = st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS).map(
    lambda b: (min(b[::2]), min(b[1::2]), max(b[::2]), max(b[1::2]))
)
SCENES = st.builds(
    Scene,
    sport=IDENTIFIERS,
    image=IDENTIFIERS,
    width=st.integers(10, 5000),
    height=st.integers(10, 5000),
    grid=st.builds(dict, rows=st.integers(1, 9), cols=st.integers(1, 9)),
    ball_cells=st.none() | st.just(("A1",)),
    players=st.none() | st.lists(BOXES.map(PlayerBox.model_validate), max_size=3).map(tuple),
    control=st.booleans(),
    path=st.none() | PATHS,
)
SCENE_CHECK = validator("scene")


@given(SCENES)
def test_scene_with_random_fields_matches_the_json_schema_of_scenes(scene: Scene) -> None:
    SCENE_CHECK.validate(json.loads(scene.model_dump_json()))


@given(
    st.sampled_from(["response", "scene"]),
    st.dictionaries(st.sampled_from(["sport", "image", "kind"]), st.none() | st.integers() | st.text(max_size=3)),
)
def test_scene_and_response_accept_all_values_that_their_json_schemas_accept(name: str, fields: dict[str, Any]) -> None:
    """Check that a record can be read if its schema accepts it and its names are not blank."""
    of_scene = {"width": 640, "height": 360, "grid": {"rows": 6, "cols": 10}}
    of_response = {"respondent": "a", "kind": "model"}
    instance = {"sport": "soccer", "image": "1", **(of_scene if name == "scene" else of_response), **fields}
    if validator(name).is_valid(instance) and all(str(instance[key]).strip() for key in ("sport", "image")):
        (Scene if name == "scene" else Response).model_validate(instance)


def test_schema_command_prints_or_writes_a_schema_lists_all_schemas_and_rejects_an_unknown_name(tmp_path: Path) -> None:
    done = spotball("schema", "scene")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json_schema("scene")
    done = spotball("schema", "scores", "--out", tmp_path / "scores.json")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "scores.json").read_text(encoding="utf-8") == texts()["scores.json"]
    assert re.findall(r"^\S+", spotball("schema").stdout, re.MULTILINE) == list(NAMES)
    done = spotball("schema", "scens")
    assert (done.returncode, codes(done.stderr)) == (2, ["unknown-name"])
    assert all(name in done.stderr for name in ("'scens'", "'scene'", *NAMES))
