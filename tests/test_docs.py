"""The documentation builds, and what the README shows runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SCRIPTS = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.docs
def test_mkdocs_builds_strictly(tmp_path: Path) -> None:
    command = [str(SCRIPTS / "mkdocs"), "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "site/reference/metrics.html").read_text(encoding="utf-8")
    assert "<math" in page
    assert "\\(" not in page
    assert "Traceback" not in "".join(p.read_text(encoding="utf-8") for p in (tmp_path / "site").rglob("*.html"))


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    lines = [line for block in blocks("bash") for line in block.splitlines() if not line.startswith("pip ")]
    assert any(line.startswith("spotball score") for line in lines)
    environment = os.environ | {"PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"}
    script = "set -e\n" + "\n".join(lines)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "spotball|v:" in done.stdout
    assert (tmp_path / "scores.json").stat().st_size > 0


def test_the_python_of_the_readme_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks("python")
    exec(compile(block, "README.md", "exec"), {})
    said = re.search(r"# ([\d.]+) pixels", block)
    assert said
    assert capsys.readouterr().out.strip() == said[1]
