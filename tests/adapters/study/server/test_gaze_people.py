"""Test a gaze study from the stimuli to the analysis, with simulated participants over HTTP."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import httpx
import polars as pl
import pytest
from PIL import Image

from spotball_adapters.study.store import reading
from spotball_core.gaze.data.stimuli import Stimulus, write_stimuli
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.adapters.study.made import LENIENT, Person, change, running, sent
from tests.adapters.study.people import command
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
"""Numbers of participants who pass and who fail the checks; two per list (31 lists) pass."""


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
    """Take part from consent to the last photo: answer like the observer, and more slowly if wrong."""

    def option(item: dict[str, object]) -> tuple[int, float]:
        picture = client.get(str(item["image"]))
        assert picture.status_code == 200
        red, green, _ = Image.open(io.BytesIO(picture.content)).convert("RGB").getpixel((1, 1))  # type: ignore[misc]
        shown = known[red + 256 * green]
        is_check = shown.attention_check
        place = shown.gaze if is_check else places[int(shown.stimulus_id)]
        if careless and is_check:
            place = 1 - shown.gaze
        options = item["options"]
        assert isinstance(options, list)
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
        events += [sent(seq, "shown", item["trial"])]
        events += [sent(seq + 1, "choice", item["trial"], 1000 * seconds, option=chosen)]
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


def test_lists_are_balanced_and_every_participant_sees_all_checks(answered: Path) -> None:
    with reading(answered) as reader:
        people = reader.participants()
    assert len(people) == N + CARELESS
    # Each list has two of the attentive participants. The careless ones come after them.
    assert Counter(one.list for one in people[:N]) == dict.fromkeys((f"list-{number}" for number in range(31)), 2)
    for one in people:
        checks = [trial for trial in one.trials if trial.check]
        assert len(checks) == 7
        assert len({trial.image for trial in one.trials if trial.trial < 0} & {trial.image for trial in checks}) == 3


def test_gaze_analyze_of_the_export_finds_the_simulated_type(answered: Path, tmp_path: Path) -> None:
    said = command("export", answered, "--out", tmp_path / "people")
    assert f"{N + CARELESS} participants took part, {N + CARELESS} finished, {N} exported" in said
    assert f"{CARELESS} participants excluded by the rule checks" in said
    rows = pl.read_csv(tmp_path / "people/trials.csv", infer_schema=False)
    shown = rows.filter(attention_check="false").group_by("stimulus_id").len()["len"]
    assert len(shown) == len(DESIGN)
    # The 62 attentive participants came first, so two of them saw each list.
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


def test_export_with_keep_all_contains_all_participants(answered: Path, tmp_path: Path) -> None:
    command("export", answered, "--out", tmp_path / "all.csv", "--keep-all")
    rows = pl.read_csv(tmp_path / "all.csv", infer_schema=False)
    assert rows["participant"].n_unique() == N + CARELESS
