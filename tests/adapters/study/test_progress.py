"""Test the progress of a participant: allowed events, their order, and that rejected events change nothing."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spotball_adapters.study.events import Event, StudyTrial
from spotball_adapters.study.items import Clicks, ItemType, NotAllowedError, ObjectChoice
from spotball_adapters.study.progress import ParticipantProgress, replay
from spotball_core.gaze.data.stimuli import Stimulus
from tests.adapters.study.made import middle, stored
from tests.builders import scene

Step = tuple[Any, ...]
"""An event before it is numbered: kind, trial, elapsed time and value. Trailing parts may be omitted."""

CLICKS = Clicks({("soccer", image): scene(image) for image in "abp"}, 3)
VASE = {"objects": ("cup", "vase", "kettle"), "view": "front", "proximity": 1, "gaze_target": "vase"}
CHOICE = ObjectChoice({("gaze", image): Stimulus(stimulus_id=image, **VASE) for image in "abp"}, "What?")
TRIALS = (
    StudyTrial(-1, "soccer", "p"),
    StudyTrial(0, "soccer", "a", explain=True),
    StudyTrial(1, "soccer", "b", check=True),
)
CHOICES = tuple(StudyTrial(trial.trial, "gaze", trial.image, options=("kettle", "vase", "cup")) for trial in TRIALS)


def numbered(*steps: Step) -> list[Event]:
    made = []
    for seq, (kind, *rest) in enumerate(steps, start=1):
        trial, elapsed, value = (*rest, *(None, 0.0, {})[len(rest) :])
        made.append(stored(seq, kind, trial, elapsed, **value))
    return made


def stage(name: str) -> Step:
    return "stage", None, 0.0, {"stage": name}


def click(trial: int, row: int, col: int, elapsed: float = 0.0) -> Step:
    return "click", trial, elapsed, middle(row, col)


def answered(trial: int, cells: Sequence[tuple[int, int]] = ((3, 2), (3, 2), (1, 9))) -> list[Step]:
    clicks = [click(trial, row, col, 100.0 * (i + 1)) for i, (row, col) in enumerate(cells)]
    return [("shown", trial), *clicks, ("answer", trial, 900.0, {"cells": [list(cell) for cell in cells]})]


BEGIN = [stage("consent"), stage("instructions"), *answered(-1), stage("practice")]
SHOWN = [*BEGIN, ("shown", 0)]
EXPLAINED = ("explanation", 0, 4000.0, {"text": "They look there."})
WHOLE = [*BEGIN, *answered(0), EXPLAINED, *answered(1)]


def at(*steps: Step, trials: Sequence[StudyTrial] = TRIALS, item_type: ItemType = CLICKS) -> ParticipantProgress:
    return replay(trials, numbered(*steps), item_type)


def refused(progress: ParticipantProgress, *step: Any, match: str) -> None:
    """Check that the next event is rejected, and that it changes nothing."""
    before = copy.deepcopy(progress)
    (event,) = numbered(step)
    with pytest.raises(NotAllowedError, match=match):
        progress.take(Event(progress.seq + 1, event.event, event.kind, event.trial, event.value, event.elapsed_ms))
    assert vars(progress) | {"_item_type": None} == vars(before) | {"_item_type": None}


def test_replay_of_a_complete_participation_is_finished_and_contains_all_answers() -> None:
    progress = at(*WHOLE)
    assert progress.stage == "finished"
    assert progress.current is None
    assert progress.seq == len(WHOLE)
    first, second = progress.answers
    assert [click.cell for click in first.answer.clicks] == [(3, 2), (3, 2), (1, 9)]
    assert [click.elapsed_ms for click in first.answer.clicks] == [100, 200, 300]
    assert (first.explanation, second.explanation) == ("They look there.", None)
    # The response time starts at zero for each trial.
    assert (first.response_ms, first.explanation_ms, second.response_ms) == (900, 4000, 900)
    assert set(progress.answered) == {-1, 0, 1}
    assert list(progress.over) == ["consent", "instructions", "practice", "trials"]
    assert progress.over["trials"] == numbered(*WHOLE)[-1].received_at


@pytest.mark.parametrize(
    ("steps", "stage", "current"),
    [
        ([], "consent", None),
        (BEGIN[:1], "instructions", None),
        (BEGIN[:2], "practice", -1),
        (BEGIN[:-1], "practice", None),
        (BEGIN, "trials", 0),
        ([*BEGIN, *answered(0)], "trials", 0),
        ([*BEGIN, *answered(0), EXPLAINED], "trials", 1),
    ],
    ids=count(),
)
def test_replay_of_an_incomplete_participation_gives_its_stage_and_current_trial(
    steps: list[Step], stage: str, current: int | None
) -> None:
    progress = at(*steps)
    assert progress.stage == stage
    assert (progress.current and progress.current.trial) == current


def test_replay_without_practice_trials_goes_from_the_instructions_to_the_images() -> None:
    assert at(*BEGIN[:2], trials=TRIALS[1:]).stage == "trials"


def test_replay_of_a_complete_choice_study_is_finished_and_contains_all_choices() -> None:
    steps = BEGIN[:2]
    for trial in (-1, 0, 1):
        steps += [("shown", trial), ("choice", trial, 700.0, {"option": 1})]
        steps += [stage("practice")] if trial < 0 else []
    progress = at(*steps, trials=CHOICES, item_type=CHOICE)
    assert progress.stage == "finished"
    assert [(one.answer.option, one.response_ms) for one in progress.answers] == [(1, 700), (1, 700)]


def test_response_time_excludes_time_when_the_trial_was_not_shown() -> None:
    # The trial is shown for 2 s and closed, then shown for another 1.5 s until it is answered.
    steps = [*BEGIN, ("shown", 0), click(0, 1, 1, 2000.0), ("shown", 0), click(0, 1, 2, 500.0)]
    steps += [click(0, 1, 3, 900.0), ("answer", 0, 1500.0, {"cells": [[1, 1], [1, 2], [1, 3]]})]
    (answer,) = at(*steps, ("shown", 0), ("explanation", 0, 800.0, {"text": "So."})).answers
    assert (answer.response_ms, answer.explanation_ms) == (3500, 4300)


def test_undo_removes_the_last_click() -> None:
    progress = at(*SHOWN, click(0, 1, 1), click(0, 2, 2), ("undo", 0), click(0, 3, 3))
    assert [click.cell for click in progress.pending] == [(1, 1), (3, 3)]


@pytest.mark.parametrize(
    ("steps", "step", "match"),
    [
        (BEGIN[:1], click(0, 1, 1), "not possible now, because the stage is instructions"),
        (BEGIN[:1], stage("practice"), "the stage practice cannot end now, because the current stage is instructions"),
        (BEGIN[:2], stage("practice"), "practice is not complete"),
        (BEGIN[:2], stage("consent"), "cannot end"),
        (BEGIN, stage("trials"), "cannot end"),
        (WHOLE, stage("finished"), "cannot end"),
        (BEGIN, click(0, 1, 1), "has not been shown yet"),
        (BEGIN, ("shown", 1), "found trial 1, but the current trial is 0"),
        (BEGIN, ("shown", -1), "found trial -1, but the current trial is 0"),
        (BEGIN, ("shown", None), "trial None, but"),
        (SHOWN, ("undo", 0), "no click to undo"),
        (SHOWN, ("answer", 0, 0.0, {"cells": []}), "only 0 of 3 cells are chosen"),
        (SHOWN, ("choice", 0, 0.0, {"option": 0}), "this item does not accept the event choice"),
        (SHOWN, ("explanation", 0, 0.0, {"text": "x"}), "must come after the answer"),
        (SHOWN, click(0, 0, 1), "outside the grid of 6 x 10 cells"),
        (SHOWN, click(0, 7, 1), "outside the grid of 6 x 10 cells"),
        (SHOWN, click(0, 1, 0), "outside the grid of 6 x 10 cells"),
        (SHOWN, click(0, 1, 11), "outside the grid of 6 x 10 cells"),
        (SHOWN, click(0, 10**6, 1), "outside the grid of 6 x 10 cells"),
        (SHOWN, ("click", 0, 0.0, {**middle(3, 2), "x": 0.25}), r"point \(0.25, .*\) is not in row 3, column 2"),
        ([*BEGIN, *answered(0)[:4]], click(0, 1, 1), "all 3 cells are already chosen"),
        (
            [*BEGIN, *answered(0)[:4]],
            ("answer", 0, 0.0, {"cells": [[3, 2], [1, 9], [3, 2]]}),
            "the cells of the answer differ from the cells that were clicked",
        ),
        ([*BEGIN, *answered(0)], answered(0)[-1], "is already answered; the explanation must come next"),
        ([*BEGIN, *answered(0)], ("undo", 0), "is already answered"),
        ([*BEGIN, *answered(0)], ("shown", 1), "trial 1, but the current trial is"),
        (WHOLE[:-1], answered(0)[-1], "trial 0, but the current trial is"),
        (WHOLE, answered(1)[-1], "not possible now, because the stage is finished"),
        (WHOLE, ("shown", 2), "not possible now"),
    ],
    ids=count(),
)
def test_invalid_event_is_rejected_and_changes_nothing(steps: list[Step], step: Step, match: str) -> None:
    refused(at(*steps), *step, match=match)


@pytest.mark.parametrize("x", [0.1 - 1e-9, 0.1, 0.2, 0.2 + 1e-9])
def test_click_point_on_the_edge_of_a_cell_is_accepted(x: float) -> None:
    progress = at(*SHOWN, ("click", 0, 0.0, {**middle(3, 2), "x": x}))
    assert progress.pending[0].cell == (3, 2)


def test_choice_of_a_nonexistent_option_is_rejected() -> None:
    progress = at(*BEGIN[:2], ("shown", -1), trials=CHOICES, item_type=CHOICE)
    refused(progress, "choice", -1, 0.0, {"option": 3}, match="option 3 does not exist: expected 0 to 2")


@pytest.mark.parametrize("seq", [1, 3, 5])
def test_event_with_an_unexpected_sequence_number_is_rejected(seq: int) -> None:
    progress = at(*BEGIN[:3])
    with pytest.raises(NotAllowedError, match=f"found event {seq}, expected event 4"):
        progress.take(stored(seq, "click", -1, **middle(1, 1)))


@pytest.mark.parametrize(
    ("cells", "passed"), [([(3, 2)] * 3, True), ([(3, 2), (3, 2), (3, 3)], False), ([(1, 1)] * 3, False)]
)
def test_attention_check_is_passed_only_if_all_clicks_hit_the_ball(cells: list[tuple[int, int]], passed: bool) -> None:
    check = at(*WHOLE[:-5], *answered(1, cells)).answers[-1]
    assert check.trial.check
    assert CLICKS.passes(check.trial, check.answer) is passed


def test_attention_check_of_a_choice_study_is_passed_by_the_right_option() -> None:
    steps = [*BEGIN[:2], ("shown", -1), ("choice", -1, 1.0, {"option": 1})]
    given_ = at(*steps, trials=CHOICES, item_type=CHOICE).answered[-1]
    assert CHOICE.passes(given_.trial, given_.answer)
    assert CHOICE.feedback(given_.trial, given_.answer) == {"right": True, "option": 1}


KINDS = st.one_of(
    st.sampled_from(["instructions", "practice", "consent", "trials"]).map(stage),
    st.builds(lambda trial: ("shown", trial), st.integers(-1, 1)),
    st.builds(click, st.integers(-1, 1), st.integers(0, 7), st.integers(1, 3), st.floats(0, 1e4)),
    st.builds(lambda trial: ("undo", trial), st.integers(-1, 1)),
    st.builds(lambda trial, text: ("explanation", trial, 1.0, {"text": text}), st.integers(-1, 1), st.text(min_size=1)),
)


@given(st.lists(KINDS, max_size=40), st.data())
def test_replay_of_only_the_accepted_events_gives_the_same_progress_as_the_original_sequence(
    steps: list[Step], data: st.DataObject
) -> None:
    progress, taken = ParticipantProgress(TRIALS, CLICKS), list[Event]()
    for step in [*BEGIN[:2], *steps]:
        if len(progress.pending) == 3 and data.draw(st.booleans()):
            assert progress.current is not None
            step = ("answer", progress.current.trial, 1.0, {"cells": [list(click.cell) for click in progress.pending]})
        (event,) = numbered(step)
        event = Event(progress.seq + 1, event.event, event.kind, event.trial, event.value, event.elapsed_ms)
        try:
            progress.take(event)
        except NotAllowedError:
            continue
        taken.append(event)
    again = replay(TRIALS, taken, CLICKS)
    assert vars(again) == vars(progress)
    assert again.seq == len(taken)
    assert all(len(one.answer.clicks) == 3 for one in again.answered.values())
