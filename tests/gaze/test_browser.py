from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.data.trials import Trial, Trials, make_trials
from spotball_core.gaze.page.browser import browser, disagreement
from spotball_core.gaze.page.photos import PhotoSource

STIMULI = tuple(
    Stimulus(
        stimulus_id=name,
        objects=("cup", "pen", "key"),
        view="front",
        proximity=1,
        gaze_target="pen",
        head_target=head,
        image=f"{name}.png",
    )
    for name, head in (("calm", "pen"), ("disputed", "cup"), ("free", None))
)
COLORS = {"a": "#111111", "b": "#222222"}


def answers() -> Trials:
    """Return trials of two respondents; on `disputed`, the mean shares are 1/3, 1/6 and 1/2."""
    given = [
        ("a", "calm", "pen"),
        ("b", "calm", "pen"),
        ("a", "disputed", "cup"),
        ("a", "disputed", "cup"),
        ("a", "disputed", "pen"),
        ("b", "disputed", "key"),
        ("a", "free", "cup"),
        ("b", "free", "cup"),
        ("b", "free", None),
        ("a", "free", "pen"),
    ]
    trials = [
        Trial(respondent=who, stimulus_id=photo, choice=what, sample=number)
        for number, (who, photo, what) in enumerate(given)
    ]
    return make_trials(trials, STIMULI)


def test_disagreement_equals_a_hand_calculation() -> None:
    found = disagreement(answers())
    assert found["stimulus_id"].to_list() == ["disputed", "free", "calm"]
    # On `free`, respondent a chooses the cup half of the time and b always: the shares are 3/4 and 1/4.
    expected = [1 - (1 / 9 + 1 / 36 + 1 / 4), 1 - (9 / 16 + 1 / 16), 0]
    assert found["disagreement"].to_list() == pytest.approx(expected)


def test_browser_has_a_row_for_each_photo_with_its_targets_and_choices(tmp_path: Path) -> None:
    section = browser(answers(), None, COLORS)
    assert section is not None
    assert section.photos is None
    (group,) = section.tables[0].groups
    texts = [[cell.text for cell in row] for row in group.rows]
    assert texts == [
        ["disputed", "incongruent", "front", "1", "pen", "cup", "61", "cup 2, pen 1", "key 1"],
        ["free", "natural", "front", "1", "pen", "free", "38", "cup 1, pen 1", "? 1, cup 1"],
        ["calm", "congruent", "front", "1", "pen", "pen", "0", "pen 1", "pen 1"],
    ]
    for name in ("calm", "disputed"):
        Image.new("RGB", (40, 20)).save(tmp_path / f"{name}.png")
    with_files = browser(answers(), PhotoSource(answers(), STIMULI, tmp_path), COLORS)
    assert with_files is not None
    assert with_files.photos is not None
    assert [card.title.split(":")[0] for card in with_files.photos.cards] == ["disputed", "calm"]
