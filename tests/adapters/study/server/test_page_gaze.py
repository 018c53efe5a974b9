"""Test a choice study in a real browser, from synthetic photos to the exported trials."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="needs Playwright, of the dev extra")

from playwright.sync_api import expect

from spotball_adapters.study.setup.demo import demo_choices
from spotball_adapters.study.setup.design import load
from spotball_core.gaze.data.trials import read_trials
from tests.adapters.study.browsing import Visitor, stored
from tests.adapters.study.people import command

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_demo_choice_study_in_the_browser_exports_readable_trials(
    tmp_path: Path, visit: Callable[..., Visitor]
) -> None:
    folder = demo_choices(tmp_path)
    stimuli = load(folder).stimuli
    visitor = visit(folder)
    page = visitor.page
    visitor.heading("Where does this person look?: a demo")
    visitor.agree()
    visitor.heading("Instructions")
    # This study has no worked example, which must not appear as null.
    assert "null" not in page.locator("main").inner_text()
    visitor.button("Try it").click()
    ((participant, _),) = stored(folder)
    for trial in participant.trials:
        visitor.ready()
        visitor.where("Practice" if trial.trial < 0 else f"Image {trial.trial + 1} of 11")
        assert page.locator(".option span").all_text_contents() == list(trial.options)
        target = stimuli[trial.key].gaze_target
        # The participant errs once in practice and on the first photo, and passes all checks.
        wrong = trial.trial in (-2, 0)
        chosen = next(option for option in trial.options if (option == target) != wrong)
        page.keyboard.press(str(trial.options.index(chosen) + 1))
        if trial.trial < 0:
            told = f"Not quite. The answer is: {target}." if wrong else "That is correct."
            expect(page.locator(".feedback")).to_have_text(told)
            page.keyboard.press("Enter")
    visitor.heading("Thank you. You are done.")
    assert "null" not in page.locator("main").inner_text()
    expect(page.locator("output")).to_have_text("SYNTHETIC")

    # The test answers faster than people, so only the rule checks is used.
    command("export", folder, "--out", tmp_path / "people", "--exclude", "checks")
    trials = read_trials(tmp_path / "people/trials.csv")
    assert (len(trials.frame), trials.n_checks) == (8, 3)
    assert (trials.frame["choice"] == trials.frame["gaze"]).sum() == 7
    assert (trials.frame["response_time"] > 0).all()
    assert trials.frame["participant"].n_unique() == 1
