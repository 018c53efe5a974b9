"""Simulate a participant who reads, points, types and taps in a real browser, as people do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="needs Playwright, of the dev extra")

from playwright.sync_api import BrowserContext, FloatRect, Locator, Page, Route as Route, expect

from spotball_adapters.study.events import Event
from spotball_adapters.study.progress import ParticipantProgress, replay
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.store import Participant, reading
from tests.adapters.study.made import change, choices, study

CODE = "SECRET-CODE-17"
LINK = f"https://app.prolific.com/submissions/complete?cc={CODE}"


def clicks_study(folder: Path, **changes: str) -> Path:
    """Create a study of four images, two checks, one practice item and one explanation; the ball is in C2."""
    completion = {'# url = "https://app.prolific.com/submissions/complete?cc=XXXXXXXX"': f'url = "{LINK}"'}
    return study(folder, listed=4, changes={"explanations = 4": "explanations = 1", **completion, **changes})


def choice_study(folder: Path, *, options: str = "cup+vase+bowl", **changes: str) -> Path:
    """Create a choice study of four photos, the last of which is the check and the practice item.

    The first of the `options` is always right.
    """
    out = choices(folder, photos=3, checks=1, lists=1, options=options)
    change(out, changes)
    return out


def fits(page: Page) -> None:
    """Check that the page is not wider than its window."""
    wide, inner = page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= inner


def box(locator: Locator) -> FloatRect:
    """Return the position and size of a visible element."""
    found = locator.bounding_box()
    assert found
    return found


class Visitor:
    """A visitor of the page. Methods wait until their action is possible, as people do."""

    def __init__(self, context: BrowserContext, address: str, query: str, folder: Path, errors: list[str]) -> None:
        self.context, self.address, self.folder, self.errors = context, address, folder, errors
        self.page = context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{address}/{query}")

    def tab(self, query: str = "") -> Visitor:
        """Open the page in another tab of the same browser."""
        return Visitor(self.context, self.address, query, self.folder, self.errors)

    # What the page shows --------------------------------------------------------------------------------------------

    def heading(self, text: str) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(text)

    def where(self, text: str) -> None:
        expect(self.page.locator("#where")).to_have_text(text)

    def image(self, number: int, of: int = 6) -> None:
        """Wait until this image, numbered from 1, is visible and can be clicked."""
        self.where(f"Image {number} of {of}")
        self.ready()

    def feedback(self, text: str) -> None:
        expect(self.page.locator(".feedback")).to_contain_text(text)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def cell(self, row: int, col: int) -> Locator:
        return self.page.get_by_role("row").nth(row - 1).get_by_role("gridcell").nth(col - 1)

    def ready(self) -> None:
        """Wait until the picture is visible and can be clicked."""
        expect(self.page.locator(".grid:not([aria-busy]), .option[aria-disabled=false]").first).to_be_visible()

    def only(self) -> tuple[ParticipantProgress, list[Event]]:
        """Return the progress and the stored events of the study's only participant.

        The progress follows from the events by the server's rules.
        """
        ((participant, events),) = stored(self.folder)
        design = load(self.folder)
        return replay(participant.trials, events, design.item_type, design.surveys), events

    def ends(self) -> tuple[ParticipantProgress, list[Event]]:
        """Wait for the end of the study, and return what `only` returns."""
        self.heading("Thank you. You are done.")
        progress, events = self.only()
        assert progress.stage == "finished"
        return progress, events

    def shows(self, number: int, *chosen: str) -> None:
        """Wait until this image is visible, and check which cells are chosen."""
        self.image(number)
        assert self.chosen() == list(chosen)

    def chosen(self) -> list[str]:
        return [text for text in self.page.locator(".slots span").all_text_contents() if text != "–"]

    def until(self, expression: str) -> None:
        """Wait until a JavaScript expression is true. The page's security policy forbids Playwright's own method."""
        for _ in range(600):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(expression)

    def saved(self) -> None:
        """Wait until all events are sent."""
        self.until("Object.keys(localStorage).every((key) => !key.startsWith('spotball:queue:'))")

    def after_confirming(self) -> None:
        """Wait for the screen that follows an image: its explanation, the next image, or the end."""
        there = "textarea, .grid:not(.locked), .option[aria-disabled=false], h1:not(.ask)"
        self.until(f"document.querySelector('{there}') !== null")

    # What the visitor does --------------------------------------------------------------------------------------------

    def agree(self, then: str = "") -> None:
        """Give consent, and wait for a heading."""
        self.page.get_by_role("checkbox").check()
        self.button("Take part").click()
        if then:
            self.heading(then)

    def try_it(self) -> None:
        """Go from consent to the first practice item."""
        self.agree("Instructions")
        self.button("Try it").click()
        self.ready()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def click(self, *cells: tuple[int, int]) -> None:
        self.ready()
        for row, col in cells:
            self.cell(row, col).click()

    def confirm(self) -> None:
        self.button("Confirm").click()

    def practice(self) -> None:
        """Go from consent to the first image."""
        self.try_it()
        self.click((3, 2), (3, 2), (1, 1))
        self.confirm()
        self.feedback("The ball was in C2.")
        self.button("Start").click()
        self.ready()

    def explain_if_asked(self, text: str = "They look there.") -> bool:
        """Give an explanation if the page asks for one after confirming; return whether it did."""
        self.after_confirming()
        area = self.page.get_by_role("textbox")
        if not area.count():
            return False
        area.fill(text)
        self.button("Continue").click()
        return True

    def answer(self, *cells: tuple[int, int]) -> None:
        """Choose cells, confirm, and explain if asked."""
        self.click(*cells)
        self.confirm()
        self.explain_if_asked()

    def images(self, numbers: range, *, cells: tuple[tuple[int, int], ...] = ((3, 2), (2, 4), (6, 10))) -> None:
        """Answer these images, numbered from 1."""
        for number in numbers:
            self.where(f"Image {number} of 6")
            self.answer(*cells)

    def finish(self, first: int = 1) -> tuple[ParticipantProgress, list[Event]]:
        """Answer all images from the given number on, and return what `ends` returns."""
        self.images(range(first, 7))
        return self.ends()


Visit = Callable[..., Visitor]


# What is stored ------------------------------------------------------------------------------------------------


def stored(folder: Path) -> list[tuple[Participant, list[Event]]]:
    """Return all participants and their events; check that event numbers have no gaps, and no event is repeated."""
    with reading(folder) as reader:
        found = [(one, reader.events(one.id)) for one in reader.participants()]
    for _, events in found:
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len({event.event for event in events}) == len(events)
    return found


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


def clicks_of(events: list[Event], trial: int) -> list[tuple[Any, Any]]:
    """Return the cells that were clicked on a trial, in order."""
    values = (event.value for event in events if event.kind == "click" and event.trial == trial)
    return [(value["row"], value["col"]) for value in values]
