"""Test the task for Inspect and the import of its logs, with Inspect's mock model."""

from __future__ import annotations

import base64
import copy
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spotball_adapters.prompts.picture import encoded
from spotball_adapters.prompts.prompt import load_prompt
from spotball_core.errors import SpotballError
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.metrics.registry import METRICS
from tests.adapters.run_process import Done, good, here, said
from tests.builders import scene, write_jsonl
from tests.conftest import ROOT
from tests.plain_scoring import Plain, index

pytest.importorskip("inspect_ai", reason='needs the extra "inspect"')

pytestmark = pytest.mark.slow

COT = load_prompt("cot")
PLAIN = [key for key, metric in METRICS.items() if not metric.is_matched]
"""The metrics that plain loops compute. `TestImport` compares the others with `score`."""


def make(folder: Path) -> Path:
    """Write a dataset of five images of two sports, one a control, and human responses for four of them."""
    rng = random.Random(0)
    known = []
    names = (("soccer", "1"), ("soccer", "a%b"), ("volleyball", "1"), ("volleyball", "2"))
    for number, (sport, image) in enumerate(names):
        Image.new("RGB", (640, 360), (40 * number, 99, 99)).save(folder / f"{number}.png")
        boxes = [[50 + 90 * number, 60, 120 + 90 * number, 220], [300, 100, 380, 300]]
        cells = ("C2", "D2") if number % 2 else ("D5",)
        known.append(scene(image, sport, path=f"{number}.png", players=boxes, ball_cells=cells))
    known.append(scene("ctrl", path="0.png", control=True))
    write_scenes(known, folder / "scenes.jsonl")
    cells = [f"{row}{col}" for row in "BCDE" for col in range(2, 9)]
    people = [
        {"respondent": "human", "sport": one.sport, "image": one.image, "cell": rng.choice(cells)}
        | {"prompt": prompt, "participant": f"p{number}"}
        for one in known[:3] + known[4:]
        for prompt in ("base", "other")
        for number in range(5)
    ]
    write_jsonl(folder / "responses-human.jsonl", people)
    return folder


@dataclass
class Evaluated:
    """The result of an evaluation."""

    log: Path
    status: str
    asked: list[dict[str, Any]]

    def read(self) -> Any:
        """Return the log as read by Inspect."""
        from inspect_ai.log import read_eval_log

        return read_eval_log(str(self.log))

    @property
    def samples(self) -> list[Any]:
        samples: list[Any] = self.read().samples
        return samples

    @property
    def values(self) -> dict[str, float]:
        """Return the metrics in the log."""
        (scores,) = self.read().results.scores
        return {name: metric.value for name, metric in scores.metrics.items()}


Evaluations = dict[str, Evaluated]

SPECS: dict[str, dict[str, Any]] = {
    "base": {"args": {"prompt": "base", "samples": 6}},
    "cot": {"args": {"prompt": "cot", "samples": 2}, "options": {"temperature": 0.9}},
    "reduced": {"args": {"reference": "human"}, "options": {"epochs": [3, "max"]}},
    "json": {"args": {"samples": 3}, "options": {"log_format": "json"}},
    "failing": {"args": {"samples": 5}, "fails": 4, "options": {"fail_on_error": False}},
    "defaults": {"args": {}, "options": {"limit": 2}},
    "nobody": {"args": {"samples": 1, "dataset": "bare"}},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def evaluated(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Evaluations:
    """Run all evaluations in one process and return their results."""
    work = tmp_path_factory.mktemp("evals")
    bare = make(tmp_path_factory.mktemp("bare"))
    (bare / "responses-human.jsonl").unlink()
    specs = []
    for name, spec in SPECS.items():
        where = bare if spec["args"].get("dataset") == "bare" else data
        args = {**spec["args"], "dataset": str(where), "pictures": str(work / "pictures")}
        specs.append({**spec, "args": args, "logs": str(work / name)})
    (work / "specs.json").write_text(json.dumps(specs))
    command = [sys.executable, "-m", "tests.adapters.inspect_eval", str(work / "specs.json"), str(work / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((work / "out.json").read_text())
    return {
        name: Evaluated(Path(one["log"].removeprefix("file://")), one["status"], one["asked"])
        for name, one in zip(SPECS, found, strict=True)
    }


def import_(out: Path, *logs: str | Path) -> Done:
    return good("parse", *logs, "--out", out)


def refused(folder: Path, *logs: Path) -> str:
    """Try to import logs, check that the command rejects them, and return its error message."""
    done = here("parse", *logs, "--out", folder / "mine.jsonl")
    assert done.returncode == 2, said(done)
    assert "Traceback" not in done.stderr
    assert not (folder / "mine.jsonl").exists()
    return done.stderr


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def plain(data: Path, one: Evaluated) -> dict[str, float]:
    """Compute the metrics with plain loops over the replies in the log and the files of the dataset."""
    scenes = {one.key: one for one in read_scenes(data / "scenes.jsonl")}
    answers: dict[tuple[str, str], list[int | None]] = defaultdict(list)
    for sample in one.samples:
        if sample.error is None:
            cell = re.search(r"Cell: (\w+)", sample.output.completion)
            sport, image = sample.id.replace("%25", "%").split("/")
            answers[sport, image].append(index(cell[1]) if cell else None)
    people: dict[tuple[str, str], list[int | None]] = defaultdict(list)
    for row in rows(data / "responses-human.jsonl") if (data / "responses-human.jsonl").exists() else ():
        people[row["sport"], row["image"]].append(index(row["cell"]))
    values: dict[str, float] = {}
    for sport in ("soccer", "volleyball"):
        images = sorted(key for key in answers if key[0] == sport and (key in people or not people))
        group = Plain(scenes, answers, people or None)
        values |= {
            f"{sport}/n_images": len(images),
            f"{sport}/n_responses": sum(len(answers[key]) for key in images),
            f"{sport}/n_unparsed": sum(answers[key].count(None) for key in images),
        }
        found = {f"{sport}/{name}": group.metric(name, images)[0] for name in PLAIN}
        values |= {name: value for name, value in found.items() if value is not None}
    return values


class TestTask:
    @pytest.mark.parametrize("name", ["base", "cot", "reduced", "json", "failing", "defaults"])
    def test_task_metrics_equal_those_computed_with_plain_loops(
        self, name: str, data: Path, evaluated: Evaluations
    ) -> None:
        one = evaluated[name]
        assert one.status == "success"
        matched = set(METRICS) - set(PLAIN)
        values = {key: value for key, value in one.values.items() if key.split("/")[-1] not in matched}
        assert values == pytest.approx(plain(data, one), rel=1e-9)
        assert {f"volleyball/{key}" for key in ("wasserstein", "near_player_rate", "center_ratio")} <= one.values.keys()

    def test_task_without_human_responses_has_no_wasserstein_metric(self, evaluated: Evaluations) -> None:
        one = evaluated["nobody"]
        bare = Path(one.read().eval.task_args["dataset"])
        assert one.values == pytest.approx(plain(bare, one), rel=1e-9)
        assert one.values["volleyball/n_images"] == 2
        assert not [name for name in one.values if "wasserstein" in name]

    def test_task_has_50_epochs_by_default_and_limit_alternates_between_sports(self, evaluated: Evaluations) -> None:
        one = evaluated["defaults"].read()
        assert one.eval.config.epochs == 50
        # The limit of two images takes one image of each sport.
        assert {sample.id for sample in one.samples} == {"soccer/1", "volleyball/1"}
        assert len(one.samples) == 100
        assert load_prompt("base").version == one.samples[0].metadata["version"]

    def test_task_sends_each_image_with_the_prompt_of_its_sport(self, data: Path, evaluated: Evaluations) -> None:
        scenes = [one for one in read_scenes(data / "scenes.jsonl") if not one.control]
        pictures = {base64.b64encode(encoded(one, data).data).decode(): one for one in scenes}
        assert len(pictures) == 4
        one = evaluated["base"]
        assert len(one.asked) == 4 * 6
        seen = []
        for asked in one.asked:
            (url,) = asked["pictures"]
            shown = pictures[url.removeprefix("data:image/png;base64,")]
            (message,) = load_prompt("base").final(shown.sport)
            assert (asked["text"], asked["roles"], asked["temperature"]) == (message.text, ["user"], 0.6)
            seen.append(shown.key)
        assert {key: seen.count(key) for key in seen} == {one.key: 6 for one in scenes}

    def test_task_with_cot_sends_each_question_separately_before_the_final_prompt(self, evaluated: Evaluations) -> None:
        one = evaluated["cot"]
        assert len(one.asked) == 4 * 2 * 4
        assert {asked["temperature"] for asked in one.asked} == {0.9}
        assert all(asked["roles"] == ["user"] and len(asked["pictures"]) == 1 for asked in one.asked)
        by_text = {asked["said"]: asked["text"] for asked in one.asked}
        assert len(by_text) == len(one.asked)
        finals = []
        for sample in one.samples:
            answers = sample.store["answers"]
            assert [by_text[answer] for answer in answers] == list(COT.questions)
            (message,) = COT.final(sample.id.split("/")[0], answers)
            assert by_text[sample.output.completion] == message.text
            assert sample.messages[0].text == message.text
            finals.append(sample.output.completion)
        assert len(set(finals)) == 8

    def test_scorer_records_the_cell_or_the_reason_why_it_is_missing(self, data: Path, evaluated: Evaluations) -> None:
        truth = {one.key: one.ball_cells or () for one in read_scenes(data / "scenes.jsonl")}
        values = set()
        for sample in evaluated["base"].samples:
            score = sample.scores["spot_the_ball_scorer"]
            cell = re.search(r"Cell: (\w+)", sample.output.completion)
            key = (sample.metadata["scene"]["sport"], sample.metadata["scene"]["image"])
            values.add(score.value)
            if cell is None:
                assert (score.value, score.answer) == ("N", None)
                assert score.metadata["problem"] in ("no answer", "cut off")
            else:
                assert (score.value, score.answer) == ("C" if cell[1] in truth[key] else "I", cell[1])
                assert score.explanation.startswith("reply ")
        assert "N" in values

    def test_task_with_an_unknown_prompt_reference_or_dataset_is_an_error(self, data: Path, tmp_path: Path) -> None:
        from spotball_adapters.inspect.task import spot_the_ball

        for name, value, problem in (
            ("prompt", "bass", "unknown prompt 'bass'"),
            ("reference", "martians", "have no respondent 'martians'"),
            ("dataset", "nowhere", "nowhere/scenes.jsonl: file: found no such file"),
        ):
            with pytest.raises(SpotballError) as caught:
                spot_the_ball(**{"dataset": str(data), "pictures": str(tmp_path), name: value})
            assert problem in str(caught.value)

    def test_task_with_controls_includes_control_images(self, data: Path, tmp_path: Path) -> None:
        from spotball_adapters.inspect.task import spot_the_ball

        task = spot_the_ball(str(data), controls=True, pictures=str(tmp_path))
        known = ["soccer/1", "volleyball/1", "soccer/a%25b", "volleyball/2", "soccer/ctrl"]
        assert [sample.id for sample in task.dataset] == known


class TestImport:
    @pytest.mark.parametrize("name", ["base", "cot", "reduced", "json", "failing"])
    def test_score_of_imported_logs_equals_the_metrics_of_inspect(
        self, name: str, data: Path, evaluated: Evaluations, tmp_path: Path
    ) -> None:
        one, out = evaluated[name], tmp_path / "mine.jsonl"
        import_(out, one.log)
        # With --reference, only the images with human responses are scored, as in the Inspect metrics.
        options = ("--scenes", data / "scenes.jsonl", "--reference", "human", "--by", "sport,respondent")
        shown = ("--bootstrap", "0", "--format", "json")
        scored = json.loads(good("score", out, data / "responses-human.jsonl", *options, *shown).stdout)
        values = {}
        for group in scored["groups"]:
            if group["respondent"] == "mockllm/model":
                found = {key: metric["value"] for key, metric in group["metrics"].items()}
                found |= {key: group[key] for key in ("n_images", "n_responses", "n_unparsed")}
                values |= {f"{group['sport']}/{key}": value for key, value in found.items() if value is not None}
        assert values == one.values

    def test_import_writes_one_row_per_reply(self, evaluated: Evaluations, tmp_path: Path) -> None:
        import_(tmp_path / "mine.jsonl", evaluated["cot"].log)
        expected = {}
        for sample in evaluated["cot"].samples:
            text = sample.output.completion
            cell, why = re.search(r"Cell: (\w+)", text), re.search(r"Reasoning: (.*)", text)
            key = (sample.metadata["scene"]["sport"], sample.metadata["scene"]["image"], sample.epoch)
            expected[key] = (cell[1] if cell else None, why[1] if why else text)
        found = rows(tmp_path / "mine.jsonl")
        assert {(r["sport"], r["image"], r["sample"]): (r["cell"], r["reasoning"]) for r in found} == expected
        assert len(found) == 8
        about = {(r["respondent"], r["kind"], r["prompt"], r["participant"]) for r in found}
        assert about == {("mockllm/model", "model", "cot", None)}

    def test_import_excludes_failed_samples_and_counts_them(self, evaluated: Evaluations, tmp_path: Path) -> None:
        samples = evaluated["failing"].samples
        assert sum(sample.error is not None for sample in samples) == 5
        done = import_(tmp_path / "mine.jsonl", evaluated["failing"].log)
        assert "5 samples failed without a reply and are excluded:\n  5 times: ValueError" in done.stderr
        assert len(rows(tmp_path / "mine.jsonl")) == len(samples) - 5

    def test_import_of_several_logs_writes_all_rows(self, evaluated: Evaluations, tmp_path: Path) -> None:
        out = tmp_path / "mine.jsonl"
        import_(out, evaluated["base"].log, evaluated["cot"].log, "--respondent", "me")
        found = Counter((row["prompt"], row["respondent"]) for row in rows(out))
        assert found == {("base", "me"): 24, ("cot", "me"): 8}

    @pytest.fixture
    def log(self, evaluated: Evaluations) -> Any:
        """Return the content of a log."""
        return json.loads(evaluated["json"].log.read_text())

    def test_import_of_the_same_sample_from_two_logs_or_logs_of_different_datasets_is_an_error(
        self, evaluated: Evaluations, log: Any, tmp_path: Path
    ) -> None:
        base, same = evaluated["base"].log, evaluated["json"].log
        message = refused(tmp_path, base, same)
        assert f"{same}: epoch: found a second reply of mockllm/model to " in message
        assert f", prompt base, sample 1 (the first is in {base}), expected each sample once" in message
        for sample in log["samples"]:
            sample["metadata"]["scene"]["ball_cells"] = ["A1"]
            sample["metadata"]["prompt"] = "other"
        (tmp_path / "other.json").write_text(json.dumps(log))
        problem = "scene: found a scene soccer/1 that differs from the one in an earlier log, expected logs of the same"
        assert problem in refused(tmp_path, base, tmp_path / "other.json")

    def test_import_of_a_file_that_is_not_a_log_or_a_log_of_another_task_is_an_error(
        self, log: Any, tmp_path: Path
    ) -> None:
        other, incomplete = copy.deepcopy(log), copy.deepcopy(log)
        other["eval"].update(task="other/task")
        del incomplete["samples"][0]["metadata"]["scene"]
        for name, content, problem in (
            ("no.eval", None, "no.eval: file: found no such file"),
            ("broken.eval", "PK nothing", "broken.eval: file: found "),
            ("broken.json", "{", "broken.json: file: found "),
            ("other.json", json.dumps(other), "task: found a log of the task 'other/task', expected"),
            ("scene.json", json.dumps(incomplete), "metadata.scene: found nothing, expected a value"),
        ):
            if content is not None:
                (tmp_path / name).write_text(content)
            assert problem in refused(tmp_path, tmp_path / name)


WORDS = """
try:
    import tiktoken
except ImportError:
    pass
else:
    words = type("Words", (), {"encode": lambda self, text, **options: text.split()})
    tiktoken.get_encoding = lambda name: words()
"""
"""Code of a `sitecustomize.py` that prevents the mock model from downloading a tokenizer to count tokens."""


def test_commands_of_the_how_to_on_inspect_succeed_and_import_the_replies(data: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "inspect.md").read_text(encoding="utf-8")
    _demo, *commands = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
    script = "set -e\n" + "\n".join(commands)
    (tmp_path / "dataset").symlink_to(data)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(WORDS)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(tmp_path / "site"), "XDG_CACHE_HOME": str(tmp_path)}
    command = ["bash", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "soccer/accuracy" in done.stdout
    assert "responses-mock.jsonl: 6 samples: 0 with a cell, 6 unparsed (no answer 6)" in done.stderr
    assert len(list((tmp_path / "spotball-core" / "pictures").glob("*.png"))) == 4
