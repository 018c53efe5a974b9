"""A participant with a real browser, who looks, points, types and taps as people do."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import BrowserContext, Locator, expect

from spotball_adapters.study.events import Event
from spotball_adapters.study.progress import ParticipantProgress, replay
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.setup.init import init_study
from spotball_adapters.study.store import Participant, reading
from tests.adapters.study.made import address_of, change, study

CODE = "SECRET-CODE-17"
LINK = f"https://app.prolific.com/submissions/complete?cc={CODE}"


def clicks_study(folder: Path, **changes: str) -> Path:
    """Create a study of four images, two checks, one practice item and one explanation; the ball is in C2."""
    return study(
        folder,
        images=6,
        checks=2,
        listed=4,
        changes={
            "explanations = 4": "explanations = 1",
            '# url = "https://app.prolific.com/submissions/complete?cc=XXXXXXXX"': f'url = "{LINK}"',
            **changes,
        },
    )


def choice_study(folder: Path, *, options: str = "cup+vase+bowl", **changes: str) -> Path:
    """Create a choice study of four photos; the last is a check and practice, and the first option is right."""
    data, out = folder / "data", folder / "study"
    data.mkdir(parents=True)
    rows = []
    for number in range(1, 5):
        Image.new("RGB", (448, 448), (40 * number, 90, 120)).save(data / f"{number}.png")
        list_id = -1 if number == 4 else 0
        rows.append([number, "front", 1, options, f"{number}.png", options.split("+")[0], list_id])
    with (data / "stimuli.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["Stimulus_ID", "Angle", "Proximity", "Candidates", "path", "label", "list_id"], *rows]
        )
    init_study(data, out, task="choice")
    change(out, changes)
    return out


@contextmanager
def serving_at(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """Run `spotball study serve` at a fixed port, so that it can be killed and restarted."""
    line = [sys.executable, "-m", "spotball_core", "study", "serve", str(folder), "--port", str(port)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=os.environ) as child:
        try:
            address_of(child)
            yield child
        finally:
            child.kill()
            child.communicate(timeout=60)


class Visitor:
    """A visitor of the page. Methods wait until their action is possible, as people do."""

    def __init__(self, context: BrowserContext, address: str, query: str = "") -> None:
        self.context, self.address = context, address
        self.page = context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{address}/{query}")

    # What the page shows --------------------------------------------------------------------------------------------

    def heading(self, text: str) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(text)

    def where(self, text: str) -> None:
        expect(self.page.locator("#where")).to_have_text(text)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def cell(self, row: int, col: int) -> Locator:
        return self.page.get_by_role("row").nth(row - 1).get_by_role("gridcell").nth(col - 1)

    def ready(self) -> None:
        """Wait until the picture is visible and can be clicked."""
        expect(self.page.locator(".grid:not([aria-busy]), .option[aria-disabled=false]").first).to_be_visible()

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
        """Wait for what follows an image: its explanation, the next image, or the end."""
        there = "textarea, .grid:not(.locked), .option[aria-disabled=false], h1:not(.ask)"
        self.until(f"document.querySelector('{there}') !== null")

    # What the visitor does --------------------------------------------------------------------------------------------

    def agree(self) -> None:
        self.page.get_by_role("checkbox").check()
        self.button("Take part").click()

    def click(self, *cells: tuple[int, int]) -> None:
        self.ready()
        for row, col in cells:
            self.cell(row, col).click()

    def confirm(self) -> None:
        self.button("Confirm").click()

    def practice(self) -> None:
        """Go from consent to the first image."""
        self.agree()
        self.heading("Instructions")
        self.button("Try it").click()
        self.click((3, 2), (3, 2), (1, 1))
        self.confirm()
        expect(self.page.locator(".feedback")).to_contain_text("The ball was in C2.")
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

    def images(self, numbers: range, *, cells: tuple[tuple[int, int], ...] = ((3, 2), (2, 4), (6, 10))) -> None:
        """Answer these images, numbered from 1."""
        for number in numbers:
            self.where(f"Image {number} of 6")
            self.click(*cells)
            self.confirm()
            self.explain_if_asked()


# What is stored ------------------------------------------------------------------------------------------------


def stored(folder: Path) -> list[tuple[Participant, list[Event]]]:
    """Return all participants and their events; check that sequences have no gaps or duplicates."""
    with reading(folder) as reader:
        found = [(one, reader.events(one.id)) for one in reader.participants()]
    for _, events in found:
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len({event.event for event in events}) == len(events)
    return found


def only(folder: Path) -> tuple[ParticipantProgress, list[Event]]:
    """Return the progress (by the server's rules) and the events of the only participant."""
    ((participant, events),) = stored(folder)
    return replay(participant.trials, events, load(folder).item_type), events


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


def clicks_of(events: list[Event], trial: int) -> list[tuple[Any, Any]]:
    """Return the cells that were clicked on a trial, in order."""
    return [
        (event.value["row"], event.value["col"]) for event in events if event.kind == "click" and event.trial == trial
    ]
