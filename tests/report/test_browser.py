"""The page in a browser: it fits a narrow screen, and the browser has nothing to complain of."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.report.conftest import Written

NARROW = 360

MEASURE = """<!doctype html><meta charset="utf-8"><title>measure</title>
<iframe src="{page}" style="width:{wide}px;height:900px;border:0"></iframe>
<p id="said"></p>
<script>
addEventListener("load", () => {{
  const root = document.querySelector("iframe").contentDocument;
  const tall = root.documentElement;
  root.querySelectorAll("details").forEach((one) => {{ one.open = true; }});
  root.querySelector("#show-far").click();
  const shown = [...root.querySelectorAll(".card")].filter((one) => one.checkVisibility()).length;
  const far = root.querySelectorAll(".card.is-far").length;
  const images = [...root.querySelectorAll("symbol image")].length;
  document.querySelector("#said").textContent =
    `${{tall.scrollWidth}} of ${{tall.clientWidth}}; ${{shown}} of ${{far}}; ${{images}}`;
}});
</script>
"""


@pytest.mark.slow
def test_it_fits_a_narrow_screen_without_complaints(written: Written, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium here")
    wrapper = tmp_path / "measure.html"
    wrapper.write_text(MEASURE.format(page=(written.out / "report.html").as_uri(), wide=NARROW), encoding="utf-8")
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --allow-file-access-from-files --dump-dom"
    flags += " --enable-logging=stderr --log-level=0 --virtual-time-budget=10000 --disable-background-networking"
    command = [browser, *flags.split(), f"--user-data-dir={tmp_path / 'profile'}", "--window-size=800,1000"]
    done = subprocess.run(
        [*command, wrapper.as_uri()], capture_output=True, text=True, check=False, timeout=120, errors="replace"
    )
    said = re.search(r'id="said">(\d+) of (\d+); (\d+) of (\d+); (\d+)<', done.stdout)
    assert said, done.stderr[-2000:]
    content, room, shown, far, images = map(int, said.groups())
    assert content <= room <= NARROW
    assert shown == far > 0
    assert images == 5
    assert "CONSOLE" not in done.stderr
