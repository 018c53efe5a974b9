"""Take the screenshots of the report in the documentation, from the demo's synthetic data. Needs Chromium.

python scripts/page_pictures.py
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[1] / "docs/assets"
SIZE = {"width": 1280, "height": 800}
REFERENCE = "simulated-people"


def _wall(page: Any) -> None:
    page.evaluate("document.getElementById('gallery').scrollIntoView()")


def _play(page: Any) -> None:
    page.get_by_role("button", name="Guess before you look").click()
    page.locator("[data-cell=C5]").click()


STATES: Mapping[str, Callable[[Any], None]] = {
    "report-result": lambda _: None,
    "report-images": _wall,
    "report-play": _play,
}
"""The name of each picture, and the function that brings the page into its state."""


def main() -> None:
    """Write a report of the demo, and save a picture of each state."""
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        demo, out = Path(temporary, "demo"), Path(temporary, "report")
        spotball = [sys.executable, "-m", "spotball_core"]
        subprocess.run([*spotball, "demo", "--out", demo], check=True, capture_output=True)
        subprocess.run([*spotball, "report", demo, "--reference", REFERENCE, "--out", out, "--quiet"], check=True)
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, state in STATES.items():
            page = browser.new_page(viewport=SIZE, reduced_motion="reduce", color_scheme="light")
            page.goto((out / "report.html").as_uri())
            state(page)
            picture = Image.open(io.BytesIO(page.screenshot()))
            picture.save(FOLDER / f"{name}.webp", quality=70, method=6)
        browser.close()


if __name__ == "__main__":
    main()
