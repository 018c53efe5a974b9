"""Test the task for Inspect and the import of its logs, with Inspect's mock model."""

from __future__ import annotations

import base64
import json
import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spotball_adapters.prompts.picture import encoded
from spotball_adapters.prompts.prompt import load_prompt
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.metrics.registry import METRICS
from tests.adapters.run_process import Done, here, said
from tests.builders import scene, write_jsonl
from tests.conftest import ROOT
from tests.plain_scoring import Plain, index

pytest.importorskip("inspect_ai", reason='needs the extra "inspect"')

pytestmark = pytest.mark.slow

COT = load_prompt("cot")
PLAIN = [key for key, metric in METRICS.items() if not metric.is_matched]
"""The metrics that plain loops compute. `TestTheImport` compares the others with `score`."""


def make(folder: Path) -> Path:
    """Write a dataset of five images of two sports, one a control, and human responses for four of them."""
    rng = random.Random(0)
    known = []
    for number, (sport, image) in enumerate(
        [("soccer", "1"), ("soccer", "a%b"), ("volleyball", "1"), ("volleyball", "2")]
    ):
        Image.new("RGB", (640, 360), (40 * number, 99, 99)).save(folder / f"{number}.png")
        boxes = [[50 + 90 * number, 60, 120 + 90 * number, 220], [300, 100, 380, 300]]
        cells = ("C2", "D2") if number % 2 else ("D5",)
        known.append(scene(image, sport, path=f"{number}.png", players=boxes, ball_cells=cells))
    known.append(scene("ctrl", path="0.png", control=True))
    write_scenes(known, folder / "scenes.jsonl")
    cells = [f"{row}{col}" for row in "BCDE" for col in range(2, 9)]
    people = [
        {"sport": one.sport, "image": one.image, "cell": rng.choice(cells), "prompt": prompt, "participant": f"p{p}"}
        for one in known[:3] + known[4:]
        for prompt in ("base", "other")
        for p in range(5)
    ]
    write_jsonl(folder / "responses-human.jsonl", [{"respondent": "human", **row} for row in people])
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
    def values(self) -> dict[str, float]:
        """Return the metrics in the log."""
        (scores,) = self.read().results.scores
        return {name: metric.value for name, metric in scores.metrics.items()}


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
def evaluated(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Evaluated]:
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


def import_(out: Path, *logs: Path, options: tuple[str, ...] = ()) -> Done:
    return here("import-inspect", *map(str, logs), "--out", str(out), *options)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def plain(data: Path, one: Evaluated) -> dict[str, float]:
    """Compute the metrics with plain loops over the replies in the log and the files of the dataset."""
    scenes = {one.key: one for one in read_scenes(data / "scenes.jsonl")}
    answers: dict[tuple[str, str], list[int | None]] = defaultdict(list)
    for sample in one.read().samples:
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
        for name in PLAIN:
            value = group.metric(name, images)[0]
            if value is not None:
                values[f"{sport}/{name}"] = value
    return values


class TestTheTask:
    @pytest.mark.parametrize("name", ["base", "cot", "reduced", "json", "failing", "defaults"])
    def test_task_metrics_equal_those_of_plain_loops(
        self, name: str, data: Path, evaluated: dict[str, Evaluated]
    ) -> None:
        one = evaluated[name]
        assert one.status == "success"
        values = {
            key: value for key, value in one.values.items() if key.split("/")[-1] not in set(METRICS) - set(PLAIN)
        }
        assert values == pytest.approx(plain(data, one), rel=1e-9)
        assert {f"volleyball/{key}" for key in ("wasserstein", "near_player_rate", "center_ratio")} <= one.values.keys()

    def test_task_without_human_responses_has_no_wasserstein_metric(self, evaluated: dict[str, Evaluated]) -> None:
        one = evaluated["nobody"]
        bare = Path(one.read().eval.task_args["dataset"])
        assert one.values == pytest.approx(plain(bare, one), rel=1e-9)
        assert one.values["volleyball/n_images"] == 2
        assert not [name for name in one.values if "wasserstein" in name]

    def test_task_default_is_50_epochs_and_limit_takes_the_sports_in_turn(
        self, evaluated: dict[str, Evaluated]
    ) -> None:
        one = evaluated["defaults"].read()
        assert one.eval.config.epochs == 50
        # The limit of two images takes one image of each sport.
        assert {sample.id for sample in one.samples} == {"soccer/1", "volleyball/1"}
        assert len(one.samples) == 100
        assert load_prompt("base").version == one.samples[0].metadata["version"]

    def test_task_sends_each_image_with_the_prompt_of_its_sport(
        self, data: Path, evaluated: dict[str, Evaluated]
    ) -> None:
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

    def test_task_with_cot_sends_each_question_separately_before_the_final_prompt(
        self, evaluated: dict[str, Evaluated]
    ) -> None:
        one = evaluated["cot"]
        assert len(one.asked) == 4 * 2 * 4
        assert {asked["temperature"] for asked in one.asked} == {0.9}
        assert all(asked["roles"] == ["user"] and len(asked["pictures"]) == 1 for asked in one.asked)
        by_text = {asked["said"]: asked["text"] for asked in one.asked}
        assert len(by_text) == len(one.asked)
        finals = []
        for sample in one.read().samples:
            answers = sample.store["answers"]
            assert [by_text[answer] for answer in answers] == list(COT.questions)
            sport = sample.id.split("/")[0]
            (message,) = COT.final(sport, answers)
            assert by_text[sample.output.completion] == message.text
            assert sample.messages[0].text == message.text
            finals.append(sample.output.completion)
        assert len(set(finals)) == 8

    def test_scorer_records_the_cell_or_the_reason_why_it_is_missing(
        self, data: Path, evaluated: dict[str, Evaluated]
    ) -> None:
        truth = {one.key: one.ball_cells or () for one in read_scenes(data / "scenes.jsonl")}
        said_no = 0
        for sample in evaluated["base"].read().samples:
            score = sample.scores["spot_the_ball_scorer"]
            cell = re.search(r"Cell: (\w+)", sample.output.completion)
            key = (sample.metadata["scene"]["sport"], sample.metadata["scene"]["image"])
            if cell is None:
                said_no += 1
                assert (score.value, score.answer) == ("N", None)
                assert score.metadata["problem"] in ("no answer", "cut off")
            else:
                assert (score.value, score.answer) == ("C" if cell[1] in truth[key] else "I", cell[1])
                assert score.explanation.startswith("reply ")
        assert said_no

    @pytest.mark.parametrize(
        ("args", "problem"),
        [
            ({"prompt": "bass"}, "unknown prompt 'bass'"),
            ({"reference": "martians"}, "have no respondent 'martians'"),
            ({"dataset": "nowhere"}, "nowhere/scenes.jsonl: file: found no such file"),
        ],
    )
    def test_task_with_an_unknown_prompt_reference_or_dataset_is_an_error(
        self, args: dict[str, str], problem: str, data: Path, tmp_path: Path
    ) -> None:
        from spotball_adapters.inspect.task import spot_the_ball
        from spotball_core.errors import SpotballError

        with pytest.raises(SpotballError) as caught:
            spot_the_ball(**{"dataset": str(data), "pictures": str(tmp_path), **args})
        assert problem in str(caught.value)

    def test_task_with_controls_includes_control_images(self, data: Path, tmp_path: Path) -> None:
        from spotball_adapters.inspect.task import spot_the_ball

        task = spot_the_ball(str(data), controls=True, pictures=str(tmp_path))
        assert [sample.id for sample in task.dataset] == [
            "soccer/1",
            "volleyball/1",
            "soccer/a%25b",
            "volleyball/2",
            "soccer/ctrl",
        ]


class TestTheImport:
    @pytest.mark.parametrize("name", ["base", "cot", "reduced", "json", "failing"])
    def test_score_of_imported_logs_equals_the_metrics_of_inspect(
        self, name: str, data: Path, evaluated: dict[str, Evaluated], tmp_path: Path
    ) -> None:
        one, out = evaluated[name], tmp_path / "mine.jsonl"
        done = import_(out, one.log)
        assert done.returncode == 0, said(done)
        # With --reference, only the images with human responses are scored, as in the Inspect metrics.
        options = ["--scenes", str(data / "scenes.jsonl"), "--reference", "human", "--by", "sport,respondent"]
        scored = here(
            "score", str(out), str(data / "responses-human.jsonl"), *options, "--bootstrap", "0", "--format", "json"
        )
        assert scored.returncode == 0, said(scored)
        values = {}
        for group in json.loads(scored.stdout)["groups"]:
            if group["respondent"] == "mockllm/model":
                found = {key: metric["value"] for key, metric in group["metrics"].items()}
                found |= {key: group[key] for key in ("n_images", "n_responses", "n_unparsed")}
                values |= {f"{group['sport']}/{key}": value for key, value in found.items() if value is not None}
        assert values == one.values

    def test_import_writes_one_row_per_reply(self, evaluated: dict[str, Evaluated], tmp_path: Path) -> None:
        import_(tmp_path / "mine.jsonl", evaluated["cot"].log)
        expected = {}
        for sample in evaluated["cot"].read().samples:
            text = sample.output.completion
            cell, why = re.search(r"Cell: (\w+)", text), re.search(r"Reasoning: (.*)", text)
            scene_ = sample.metadata["scene"]
            expected[scene_["sport"], scene_["image"], sample.epoch] = (
                cell[1] if cell else None,
                why[1] if why else text,
            )
        found = rows(tmp_path / "mine.jsonl")
        assert {(r["sport"], r["image"], r["sample"]): (r["cell"], r["reasoning"]) for r in found} == expected
        assert len(found) == 8
        assert {(r["respondent"], r["kind"], r["prompt"], r["participant"]) for r in found} == {
            ("mockllm/model", "model", "cot", None)
        }

    def test_import_excludes_failed_samples_and_counts_them(
        self, evaluated: dict[str, Evaluated], tmp_path: Path
    ) -> None:
        one = evaluated["failing"]
        samples = one.read().samples
        failed = sum(sample.error is not None for sample in samples)
        assert failed == 5
        done = import_(tmp_path / "mine.jsonl", one.log)
        assert "5 samples failed without a reply and are excluded:\n  5 times: ValueError" in done.stderr
        assert len(rows(tmp_path / "mine.jsonl")) == len(samples) - 5

    def test_import_of_several_logs_writes_all_rows(self, evaluated: dict[str, Evaluated], tmp_path: Path) -> None:
        out = tmp_path / "mine.jsonl"
        done = import_(out, evaluated["base"].log, evaluated["cot"].log, options=("--respondent", "me"))
        assert done.returncode == 0, said(done)
        assert [row["prompt"] for row in rows(out)].count("base") == 24
        assert [row["prompt"] for row in rows(out)].count("cot") == 8
        assert {row["respondent"] for row in rows(out)} == {"me"}

    def test_import_of_the_same_sample_from_two_logs_is_an_error(
        self, evaluated: dict[str, Evaluated], tmp_path: Path
    ) -> None:
        done = import_(tmp_path / "mine.jsonl", evaluated["base"].log, evaluated["json"].log)
        assert done.returncode == 2
        found = f"{evaluated['json'].log}: epoch: found a second reply of mockllm/model to "
        assert found in done.stderr
        found = f", prompt base, sample 1 (the first is in {evaluated['base'].log}), expected each sample once"
        assert found in done.stderr
        assert not (tmp_path / "mine.jsonl").exists()

    def test_import_of_logs_of_different_datasets_is_an_error(
        self, evaluated: dict[str, Evaluated], data: Path, tmp_path: Path
    ) -> None:
        log = json.loads(evaluated["json"].log.read_text())
        for sample in log["samples"]:
            sample["metadata"]["scene"]["ball_cells"] = ["A1"]
            sample["metadata"]["prompt"] = "other"
        (tmp_path / "other.json").write_text(json.dumps(log))
        done = import_(tmp_path / "mine.jsonl", evaluated["base"].log, tmp_path / "other.json")
        assert done.returncode == 2
        assert (
            "scene: found a scene soccer/1 that differs from the one in an earlier log, expected logs of the same"
            in done.stderr
        )

    @pytest.mark.parametrize(
        ("name", "content", "problem"),
        [
            ("no.eval", None, "no.eval: file: found no such file, expected a log of Inspect"),
            ("broken.eval", b"PK nothing", "broken.eval: file: found "),
            ("broken.json", b"{", "broken.json: file: found "),
        ],
    )
    def test_import_of_a_file_that_is_not_a_log_is_an_error(
        self, name: str, content: bytes | None, problem: str, tmp_path: Path
    ) -> None:
        if content is not None:
            (tmp_path / name).write_bytes(content)
        done = import_(tmp_path / "mine.jsonl", tmp_path / name)
        assert done.returncode == 2
        assert problem in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            (lambda log: log["eval"].update(task="other/task"), "task: found a log of the task 'other/task', expected"),
            (lambda log: log["samples"][0]["metadata"].pop("scene"), "metadata.scene: found nothing, expected a value"),
        ],
    )
    def test_import_of_a_log_of_another_task_is_an_error(
        self, change: Any, problem: str, evaluated: dict[str, Evaluated], tmp_path: Path
    ) -> None:
        log = json.loads(evaluated["json"].log.read_text())
        change(log)
        (tmp_path / "other.json").write_text(json.dumps(log))
        done = import_(tmp_path / "mine.jsonl", tmp_path / "other.json")
        assert done.returncode == 2
        assert problem in done.stderr


WORDS = """
try:
    import tiktoken
except ImportError:
    pass
else:
    words = type("Words", (), {"encode": lambda self, text, **options: text.split()})
    tiktoken.get_encoding = lambda name: words()
"""
"""Prevents the mock model from downloading a tokenizer to count tokens."""


def test_commands_of_the_inspect_how_to_run(data: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "inspect.md").read_text(encoding="utf-8")
    _demo, *commands = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
    script = "set -e\n" + "\n".join(commands)
    (tmp_path / "dataset").symlink_to(data)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(WORDS)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(tmp_path / "site"), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "soccer/accuracy" in done.stdout
    assert "responses-mock.jsonl: 6 samples: 0 with a cell, 6 unparsed (no answer 6)" in done.stderr
    assert len(list((tmp_path / "spotball-core" / "pictures").glob("*.png"))) == 4
