"""Test a gaze study from the stimuli to the analysis, with simulated participants over HTTP."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import httpx
import polars as pl
import pytest
from PIL import Image

from spotball_core.gaze.data.stimuli import Stimulus, write_stimuli
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.adapters.study.made import LENIENT, Json, Person, change, running, sent
from tests.adapters.study.stored import command
from tests.cli.process import spotball

pytestmark = pytest.mark.slow

DESIGN = factorial_design()
CHECKS = tuple(
    Stimulus(
        stimulus_id=str(len(DESIGN) + number),
        objects=("object a", "object b"),
        view=("front", "left", "right")[number % 3],
        proximity=1,
        gaze_target=("object a", "object b")[number % 2],
        attention_check=True,
    )
    for number in range(7)
)
N, CARELESS = 62, 4
"""Numbers of participants who pass and who fail the checks. Of those who pass, two see each of the 31 lists."""


def drawn(number: int) -> tuple[int, int, int]:
    """Return the single color of a photo, by which simulated participants identify it."""
    return number % 256, number // 256, 99


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    data = folder / "data"
    data.mkdir()
    stimuli = []
    for number, one in enumerate((*DESIGN, *CHECKS)):
        Image.new("RGB", (4, 4), drawn(number)).save(data / f"{number}.png")
        stimuli.append(one.model_copy(update={"stimulus_id": str(number), "image": f"{number}.png"}))
    write_stimuli(stimuli, data / "stimuli.csv")
    command("init", data, "--task", "choice", "--out", folder / "study")
    change(folder / "study", LENIENT)
    return folder / "study"


def takes_part(
    client: httpx.Client, places: Mapping[int, int], known: Mapping[int, Stimulus], *, careless: bool
) -> None:
    """Take part from consent to the last photo, with the simulated observer's choices and slower wrong answers."""

    def option(item: Json) -> tuple[int, float]:
        picture = client.get(item["image"])
        assert picture.status_code == 200
        red, green, _ = Image.open(io.BytesIO(picture.content)).convert("RGB").getpixel((1, 1))  # type: ignore[misc]
        shown = known[red + 256 * green]
        if shown.attention_check:
            place = 1 - shown.gaze if careless else shown.gaze
        else:
            place = places[int(shown.stimulus_id)]
        options = item["options"]
        assert sorted(options) == sorted(shown.objects)
        seconds = (1 + int(shown.stimulus_id) % 5) * (1.0 if place == shown.gaze else 2.0)
        return options.index(shown.objects[place]), seconds

    person = Person(client)
    person.start()
    person.do("stage", stage="instructions")
    for item in person.state["practice"]:
        chosen, _ = option(item)
        person.do("shown", item["trial"])
        told = person.do("choice", item["trial"], 900.0, option=chosen)
        assert told["feedback"]["right"] is not careless
    person.do("stage", stage="practice")
    events = []
    for item in person.state["trials"]:
        chosen, seconds = option(item)
        seq = person.state["seq"] + len(events) + 1
        choice = sent(seq + 1, "choice", item["trial"], 1000 * seconds, option=chosen)
        events += [sent(seq, "shown", item["trial"]), choice]
    for start in range(0, len(events), 50):
        response = person.post(*events[start : start + 50])
        assert response.status_code == 200, response.text
        assert "feedback" not in response.json()
    assert person.reload()["stage"] == "finished"


@pytest.fixture(scope="module")
def answered(study: Path) -> Path:
    """Simulate participants who choose the head target, with noise."""
    trials = simulate(Observer("head", noise=0.4, lapse=0.05), DESIGN, prompts=N + CARELESS, seed=3).frame
    places: dict[int, dict[int, int]] = {number: {} for number in range(N + CARELESS)}
    for stimulus, prompt, choice in trials.select("stimulus_id", "prompt_id", "choice").iter_rows():
        places[int(prompt) - 1][int(stimulus)] = choice
    known = {int(one.stimulus_id): one for one in (*DESIGN, *CHECKS)}
    with running(study) as url:
        for number in range(N + CARELESS):
            with httpx.Client(base_url=url) as client:
                takes_part(client, places[number], known, careless=number >= N)
    return study


def test_gaze_analyze_of_the_exported_answers_finds_the_simulated_observer_type(answered: Path, tmp_path: Path) -> None:
    said = command("export", answered, "--out", tmp_path / "people")
    assert f"{N + CARELESS} participants took part, {N + CARELESS} finished, {N} exported" in said
    assert f"{CARELESS} participants excluded by the rule checks" in said
    rows = pl.read_csv(tmp_path / "people/trials.csv", infer_schema=False)
    shown = rows.filter(attention_check="false").group_by("stimulus_id").len()["len"]
    assert len(shown) == len(DESIGN)
    # The 62 attentive participants came first, so two of them saw each of the 31 lists.
    assert set(shown) == {2}
    done = spotball(
        *("gaze", "analyze", tmp_path / "people/trials.csv", "--format", "json", "--out", tmp_path / "report"),
        *("--bootstrap", "100", "--jobs", "1"),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    (people,) = report["respondents"]
    assert (people["respondent"], people["type"]) == ("human", "head-only")
    assert people["n_trials"] == 2 * len(DESIGN)
    assert report["provenance"]["dropped"] == {"attention checks": 7 * N}
    effect = people["checks"]["response_time"]
    assert effect["n_trials"] == 2 * len(DESIGN)
    assert effect["estimate"] < -0.3
    assert effect["p"] < 1e-9
